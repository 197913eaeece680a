"""What lessons 9 to 12 and 14 say of the models, measured; see `claims`."""

from statistics import fmean
from typing import TYPE_CHECKING, Any

from bertviz_lab.ui.languages import Message, Number, Series
from bertviz_lab.ui.lazy import Checkpoint, checkpoints, interpret
from bertviz_lab.ui.lessons.claims import count_held, only_choice, percent, percent_bars
from bertviz_lab.ui.lessons.lesson import CASES, Finding, Lesson
from bertviz_lab.ui.state.app_state import AppState

if TYPE_CHECKING:
    from torch import Tensor


_PADDING = 20  # tokens
_WRITTEN = 12  # tokens


def wordpiece(session: AppState, lesson: Lesson) -> Finding:
    """Measure the pieces of words that are not in the vocabulary."""
    checkpoint = session.models.open(lesson.model)
    tokenizer, size = checkpoint.tokenizer, checkpoint.config.vocab_size
    vocabulary = {tokenizer.token(index) for index in range(size)}
    split = {word: tokenizer.encode(word).tokens[1:-1] for word in CASES["rare_words"]}

    def is_greedy(word: str) -> bool:
        longest = max((end for end in range(1, len(word)) if word[:end] in vocabulary), default=0)
        first, *others = split[word]
        return first == word[:longest] and first + "".join(piece[2:] for piece in others) == word

    held, total = [is_greedy(word) for word in CASES["rare_words"]], checkpoints.parameter_count(checkpoint.model)
    word, pieces = CASES["rare_words"][1], split[CASES["rare_words"][1]]
    numbers = {"word": word, "pieces": " ".join(f"`{piece}`" for piece in pieces), "vocabulary": Number(size, ","),
               "matrix": Number(size * checkpoint.config.hidden_size, ","), "total": Number(total, ",")}  # fmt: skip
    lengths = [len(pieces) for pieces in split.values()]
    shares = ((length, lengths.count(length) / len(lengths)) for length in sorted(set(lengths)))
    bars = percent_bars([(Message("{count} pieces", count=length), share) for length, share in shares])
    return Finding(only_choice(False, held[1], False), numbers, bars, *count_held(held))


def residual(session: AppState, lesson: Lesson) -> Finding:
    """Measure the similarity of a layer's input and output, with and without its residual connections."""
    import torch
    from torch.nn.functional import cosine_similarity

    from bertviz_lab.interpret.inputs import backbone

    checkpoint = session.models.open(lesson.model)
    layers: Any = backbone(checkpoint).encoder.layers

    def cosines(text: str) -> tuple[list[float], list[float], list[float]]:
        """Return for each layer the cosine of input and output, the same without residuals, and the relative update."""
        trace = interpret.trace_text(checkpoint, text)
        states = torch.tensor(trace.hidden_states)
        kept, without, ratios = [], [], []
        for before, after, layer, stages in zip(states[:-1], states[1:], layers, trace.layers, strict=True):
            added = stages.attention_projection[0]
            with torch.no_grad():
                bare = layer.output_norm(layer.output(layer.expand(layer.attention_norm(added))))
            kept.append(float(cosine_similarity(before, after, dim=-1).mean()))
            without.append(float(cosine_similarity(before, bare, dim=-1).mean()))
            ratios.append(float((added.norm(dim=-1) / before.norm(dim=-1)).mean()))
        return kept, without, ratios

    measured = [cosines(text) for text in CASES["plain"]]
    held = (fmean(kept) > 0.5 and all(one < other for one, other in zip(without, kept, strict=True))
            for kept, without, _ in measured)  # fmt: skip
    (kept, without, ratios), text = measured[0], CASES["plain"][0]
    trace, norms = interpret.trace_text(checkpoint, text), interpret.norms_by_layer(checkpoint, text)
    token, first = trace.tokens.index("river"), trace.layers[0]
    layer = layers[0]
    came = torch.tensor(trace.hidden_states[0])
    summed = came + first.attention_projection[0]
    with torch.no_grad():
        again = layer.attention_norm(summed)
        again = layer.output_norm(again + layer.output(first.intermediate_output[0].clone()))
    error = float((again - torch.tensor(trace.hidden_states[1])).abs().max())
    numbers: dict[str, str] = {
        "alike": Number(fmean(kept), ".2f"), "by_layer": Series(Number(value, ".2f") for value in kept),
        "without": Number(fmean(without), ".2f"), "ratios": Series(Number(value, ".1f") for value in ratios),
        "token": "river",
        "error": Message("less than {size}", size=Number(1e-5, ".5f")) if error < 1e-5 else Number(error, ".5f"),
    }  # fmt: skip
    lengths = {"came": came[token].norm(), "attention": norms.attention[0][token], "summed": summed[token].norm()}
    lengths |= {"normed": first.attention_output[0, token].norm(), "feed_forward": norms.feed_forward[0][token]}
    lengths |= {"gives": norms.hidden[1][token]}
    numbers |= {name: Number(float(length), ".1f") for name, length in lengths.items()}
    names = [Message("layer {number}", number=number) for number in range(1, len(kept) + 1)]
    bars = tuple(zip(names, (max(0.0, value) for value in kept), (Number(value, ".2f") for value in kept), strict=True))
    answer = only_choice(0.5 < fmean(kept) < 0.99, fmean(kept) < 0.5, fmean(kept) >= 0.99)
    return Finding(answer, numbers, bars, *count_held(held))


def padding(session: AppState, lesson: Lesson) -> Finding:
    """Measure a prediction with padding after the text, with the attention mask and without it."""
    import torch

    checkpoint = session.models.open(lesson.model)
    tokenizer = checkpoint.tokenizer

    def probabilities(text: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        inputs = interpret.encode_inputs(checkpoint, text)
        (mask,) = inputs.encoding.mask_positions(tokenizer.mask_id)
        filled = torch.nn.functional.pad(inputs.input_ids, (0, _PADDING), value=checkpoint.config.pad_token_id)
        real = torch.nn.functional.pad(inputs.attention_mask, (0, _PADDING))
        alone = _mlm_probabilities(checkpoint, inputs.input_ids, inputs.attention_mask)
        masked, unmasked = (_mlm_probabilities(checkpoint, filled, seen) for seen in (real, torch.ones_like(real)))
        return alone[mask], masked[mask], unmasked[mask]

    def moved(before: torch.Tensor, after: torch.Tensor) -> float:
        """Return the probability that moves to other tokens (total variation distance)."""
        return float((after - before).clamp(min=0).sum())

    measured = [probabilities(text) for text, _ in CASES["right_context"]]
    shares = [(moved(alone, masked), moved(alone, unmasked)) for alone, masked, unmasked in measured]
    held = [with_mask < 1e-5 and without > 0.05 for with_mask, without in shares]
    word = CASES["right_context"][0][1]
    alone, masked, unmasked = (float(found[tokenizer.id(word)]) for found in measured[0])
    numbers = {"word": word, "alone": percent(alone), "masked": percent(masked), "unmasked": percent(unmasked),
               "moved": percent(shares[0][1])}  # fmt: skip
    names = Message("by itself"), Message("padded, with the mask"), Message("padded, without")
    bars = percent_bars(zip(names, (alone, masked, unmasked), strict=True))
    with_mask, without = shares[0]
    answer = only_choice(with_mask > 1e-5, without < 0.05, held[0])
    return Finding(answer, numbers, bars, *count_held(held))


def generation(session: AppState, lesson: Lesson) -> Finding:
    """Measure what a model writes by appending one [MASK] after another, and the value of the right context."""
    import torch

    checkpoint = session.models.open(lesson.model)
    tokenizer = checkpoint.tokenizer

    def written(start: str) -> list[str]:
        *ids, end = tokenizer.encode(start).ids
        begun = len(ids)
        for _ in range(_WRITTEN):
            asked = torch.tensor([[*ids, tokenizer.mask_id, end]])
            ids.append(int(_mlm_probabilities(checkpoint, asked)[-2].argmax()))
        return [tokenizer.token(index) for index in ids[begun:]]

    def log_probabilities(text: str, cut: bool) -> list[float]:
        ids = list(tokenizer.encode(text).ids)
        logs = []
        for place in range(1, len(ids) - 1):
            after = ids[-1:] if cut else ids[place + 1 :]
            asked = torch.tensor([[*ids[:place], tokenizer.mask_id, *after]])
            logs.append(float(_mlm_probabilities(checkpoint, asked)[place, ids[place]].log()))
        return logs

    texts = [written(start) for start in CASES["starts"]]
    held = [sum(not token.strip("#").isalnum() for token in tokens) > _WRITTEN / 2 for tokens in texts]
    both, left = (
        float(torch.tensor([value for text in CASES["plain"] for value in log_probabilities(text, cut)]).mean().exp())
        for cut in (False, True)
    )
    numbers = {"start": CASES["starts"][0], "written": " ".join(texts[0]), "both": percent(both), "left": percent(left)}
    names = Message("with what comes after it"), Message("with what comes before it only")
    bars = percent_bars(zip(names, (both, left), strict=True))
    return Finding(only_choice(False, False, held[0] and left < both / 2), numbers, bars, *count_held(held))


def family(session: AppState, lesson: Lesson) -> Finding:
    """Count the parameters of the base models, built from their settings without memory for the weights."""
    import torch

    from bertviz_lab.config import BertConfig
    from bertviz_lab.model import BertModel

    sizes = {}
    for name, base in CASES["families"].items():
        with torch.device("meta"):
            model = BertModel(BertConfig.from_dict(base["config"]))
        sizes[name] = sum(value.numel() for value in model.parameters()) / 1e6
    published = {name: base["millions"] for name, base in CASES["families"].items()}
    held = (abs(size - published[name]) <= 0.03 * published[name] for name, size in sizes.items())
    share = sizes["ALBERT"] / sizes["BERT"]
    answer = only_choice(share > 0.8, 0.05 < share < 0.15, 0.4 < share < 0.65)
    numbers = {"sizes": ", ".join(f"{name} {size:.0f}" for name, size in sizes.items())}
    largest = max(sizes.values())
    millions = {name: Message("{count} million", count=Number(size, ".0f")) for name, size in sizes.items()}
    bars = tuple((name, size / largest, millions[name]) for name, size in sizes.items())
    return Finding(answer, numbers, bars, *count_held(held))


def _mlm_probabilities(checkpoint: Checkpoint, ids: "Tensor", attention_mask: "Tensor | None" = None) -> "Tensor":
    """Return the MLM probabilities of one text, (tokens, vocabulary)."""
    import torch

    model: Any = checkpoint.model
    mask = torch.ones_like(ids) if attention_mask is None else attention_mask
    with torch.inference_mode():
        out = model(input_ids=ids, attention_mask=mask, token_type_ids=torch.zeros_like(ids))
        probabilities: Tensor = out.prediction_logits[0].float().softmax(-1)
    return probabilities
