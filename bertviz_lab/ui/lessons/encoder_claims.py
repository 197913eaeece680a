"""What lessons 9 to 12 and 14 say of the models, measured; see `claims`."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bertviz_lab.ui.languages import Message, Number, Series
from bertviz_lab.ui.lazy import Checkpoint, checkpoints, interpret
from bertviz_lab.ui.lessons.claims import cosine_bars, only_choice, percent, percent_bars
from bertviz_lab.ui.lessons.lesson import CASES, Finding, Lesson
from bertviz_lab.ui.state.app_state import AppState

if TYPE_CHECKING:
    from torch import Tensor


_PADDING = 20  # tokens
_WRITTEN = 12  # tokens
_LENGTH = 128  # tokens of the text whose operations are counted


def wordpiece(session: AppState, lesson: Lesson) -> Finding:
    """Measure the pieces of words that are not in the vocabulary, and the fewest that would do."""
    checkpoint = session.models.open(lesson.model)
    tokenizer, size = checkpoint.tokenizer, checkpoint.config.vocab_size
    vocabulary = {tokenizer.token(index) for index in range(size)}
    split = {word: tokenizer.encode(word).tokens[1:-1] for word in CASES["rare_words"]}
    fewest = {word: fewest_pieces(word, vocabulary) for word in split}
    shortest = {word: _shortest_first(word, vocabulary) for word in split}
    held = [len(split[word]) == len(fewest[word]) for word in split]
    other = next((word for word in list(split)[1:] if len(split[word]) > len(fewest[word])), "")
    word, pieces = CASES["rare_words"][0], split[CASES["rare_words"][0]]
    total = checkpoints.parameter_count(checkpoint.model)

    def written(tokens: Sequence[str]) -> str:
        return " ".join(f"`{piece}`" for piece in tokens)

    greedy, least, short = (fmean(map(len, found.values())) for found in (split, fewest, shortest))
    numbers = {"word": word, "pieces": written(pieces), "vocabulary": Number(size, ","), "other": other,
               "greedy": written(split.get(other, ())), "better": written(fewest.get(other, ())),
               "matrix": Number(size * checkpoint.config.hidden_size, ","), "total": Number(total, ","),
               "words": f"{len(split)}", "mean": Number(greedy, ".1f"), "least": Number(least, ".1f"),
               "short": Number(short, ".1f")}  # fmt: skip
    share = sum(held) / len(held)
    bars = percent_bars(
        [(Message("as few pieces as any split"), share), (Message("more pieces than needed"), 1 - share)]
    )
    named = ((Message("longest piece first"), greedy), (Message("fewest pieces"), least),
             (Message("shortest piece first"), short))  # fmt: skip
    control = tuple((name, length / short, Number(length, ".1f")) for name, length in named)
    return Finding(only_choice(share == 1, 0.5 < share < 1, share <= 0.5), numbers, bars, held, control)


def fewest_pieces(word: str, vocabulary: Collection[str]) -> list[str]:
    """Return a split of a word into as few pieces of the vocabulary as possible: the best split of each prefix."""
    best: list[list[str] | None] = [[], *[None] * len(word)]
    for end in range(1, len(word) + 1):
        for start in range(end):
            piece, before = ("##" if start else "") + word[start:end], best[start]
            if before is not None and piece in vocabulary and len(before) + 1 < len(best[end] or word) + 1:
                best[end] = [*before, piece]
    return best[-1] or [word]


def _shortest_first(word: str, vocabulary: Collection[str]) -> list[str]:
    """Return the split that cuts off the shortest piece each time."""
    pieces, start = list[str](), 0
    for end in range(1, len(word) + 1):
        piece = ("##" if start else "") + word[start:end]
        if piece in vocabulary:
            pieces.append(piece)
            start = end
    return pieces


def residual(session: AppState, lesson: Lesson) -> Finding:
    """Measure whose input vector is nearest to a token's output vector, with residual connections and without."""
    import torch
    from torch.nn.functional import cosine_similarity

    from bertviz_lab.interpret.inputs import backbone

    checkpoint = session.models.open(lesson.model)
    layers: Any = backbone(checkpoint).encoder.layers

    def measure(text: str) -> list[_Kept]:
        trace = interpret.trace_text(checkpoint, text)
        states = torch.tensor(trace.hidden_states)
        kept = []
        for before, after, layer, stages in zip(states[:-1], states[1:], layers, trace.layers, strict=True):
            with torch.no_grad():
                bare = layer.attention_norm(stages.attention_projection[0])
                bare = layer.output_norm(layer.output(layer.expand(bare)))
            cosines, without = (
                cosine_similarity(found[:, None], before[None], dim=-1) for found in (after, bare)
            )  # of each output with each input, (tokens, tokens)
            own, tokens = cosines.diagonal(), len(after)
            kept.append(_Kept(
                float(own.mean()), float((cosines.sum() - own.sum()) / (tokens * tokens - tokens)),
                float((cosines.argmax(1) == torch.arange(tokens)).float().mean()),
                float((without.argmax(1) == torch.arange(tokens)).float().mean()),
            ))  # fmt: skip
        return kept

    measured = [measure(text) for text in CASES["plain"]]
    nearest, bare = ([fmean(of.nearest for of in kept) for kept in measured],
                     [fmean(of.nearest_bare for of in kept) for kept in measured])  # fmt: skip
    first, text = measured[0], CASES["plain"][0]
    trace, norms = interpret.trace_text(checkpoint, text), interpret.norms_by_layer(checkpoint, text)
    token, stages = trace.tokens.index("river"), trace.layers[0]
    came = torch.tensor(trace.hidden_states[0])
    lengths = {"came": came[token].norm(), "attention": norms.attention[0][token]}
    lengths |= {"summed": (came + stages.attention_projection[0])[token].norm()}
    lengths |= {"normed": stages.attention_output[0, token].norm(), "feed_forward": norms.feed_forward[0][token]}
    lengths |= {"gives": norms.hidden[1][token]}

    def series(values: Iterable[float]) -> Series:
        return Series(Number(value, ".2f") for value in values)

    numbers: dict[str, str] = {
        "own": percent(nearest[0]), "bare": percent(bare[0]), "token": "river",
        "alike": Number(fmean(of.cosine for of in first), ".2f"), "by_layer": series(of.cosine for of in first),
        "others": Number(fmean(of.others for of in first), ".2f"), "others_by_layer": series(of.others for of in first),
        **{name: Number(float(length), ".1f") for name, length in lengths.items()},
    }  # fmt: skip
    bars = percent_bars([(Message("with the residual connections"), nearest[0]), (Message("without them"), bare[0])])
    control = cosine_bars([
        (Message("layer {number}, {whose}", number=number, whose=whose), value)
        for number, of in enumerate(first, 1)
        for whose, value in ((Message("its own"), of.cosine), (Message("other tokens"), of.others))
    ])  # fmt: skip
    held = [one > 0.9 and other < 0.5 for one, other in zip(nearest, bare, strict=True)]
    answer = only_choice(nearest[0] > 0.8, False, nearest[0] < 0.5)
    return Finding(answer, numbers, bars, held, control)


@dataclass(frozen=True)
class _Kept:
    """What a layer keeps of the vectors of a text; cosines are means over its tokens."""

    cosine: float  # of a token's output with its own input
    others: float  # with the inputs of the other tokens
    nearest: float  # share of tokens whose own input is the nearest
    nearest_bare: float  # the same without residual connections


def padding(session: AppState, lesson: Lesson) -> Finding:
    """Measure a prediction with padding after the text, with the attention mask and without it."""
    checkpoint = session.models.open(lesson.model)
    tokenizer = checkpoint.tokenizer

    def padded(text: str, token: str, is_seen: bool = True) -> "Tensor":
        """Return the probabilities at [MASK] with tokens of one kind appended, which the mask admits or not."""
        encoding, appended = tokenizer.encode(text), tokenizer.id(token)
        assert appended is not None
        (mask,) = encoding.mask_positions(tokenizer.mask_id)
        seen = [1] * len(encoding) + [int(is_seen)] * _PADDING
        return mlm_probabilities(checkpoint, [*encoding.ids, *[appended] * _PADDING], seen)[mask]

    def probabilities(text: str) -> tuple["Tensor", "Tensor", "Tensor"]:
        encoding = tokenizer.encode(text)
        (mask,) = encoding.mask_positions(tokenizer.mask_id)
        alone = mlm_probabilities(checkpoint, encoding.ids)[mask]
        return alone, padded(text, "[PAD]", is_seen=False), padded(text, "[PAD]")

    def moved(before: "Tensor", after: "Tensor") -> float:
        """Return the probability that moves to other tokens (total variation distance)."""
        return float((after - before).clamp(min=0).sum())

    measured = [probabilities(text) for text, _ in CASES["right_context"]]
    shares = [(moved(alone, masked), moved(alone, unmasked)) for alone, masked, unmasked in measured]
    held = [with_mask < 1e-5 and without > 0.05 for with_mask, without in shares]
    words = [word for _, word in CASES["right_context"]]
    alone, masked, unmasked = (float(found[tokenizer.id(words[0])]) for found in measured[0])
    changes = [
        float(after[tokenizer.id(word)] - before[tokenizer.id(word)])
        for word, (before, _, after) in zip(words, measured, strict=True)
    ]
    fell, rose = (sum(sign * change > 0.002 for change in changes) for sign in (-1, 1))
    others = {
        token: fmean(
            moved(found[0], padded(text, token))
            for found, (text, _) in zip(measured, CASES["right_context"], strict=True)
        )
        for token in (".", "[SEP]")
    }
    pads = fmean(without for _, without in shares)
    numbers = {"word": words[0], "alone": percent(alone), "masked": percent(masked), "unmasked": percent(unmasked),
               "moved": percent(shares[0][1]), "fell": f"{fell}", "rose": f"{rose}", "texts": f"{len(words)}",
               "pads": percent(pads), "dots": percent(others["."]), "seps": percent(others["[SEP]"])}  # fmt: skip
    names = Message("by itself"), Message("padded, with the mask"), Message("padded, without")
    bars = percent_bars(zip(names, (alone, masked, unmasked), strict=True))
    control = percent_bars([("20 × [PAD]", pads), ("20 × .", others["."]), ("20 × [SEP]", others["[SEP]"])])
    answer = only_choice(not all(held), fell == len(words), all(held) and min(fell, rose) > 0)
    return Finding(answer, numbers, bars, held, control)


def generation(session: AppState, lesson: Lesson) -> Finding:
    """Measure what a model writes by appending one [MASK] after another, and the value of the right context."""
    checkpoint = session.models.open(lesson.model)
    tokenizer = checkpoint.tokenizer

    def written(start: str, after: Sequence[int] = ()) -> list[str]:
        *ids, end = tokenizer.encode(start).ids
        begun = len(ids)
        for _ in range(_WRITTEN):
            asked = [*ids, tokenizer.mask_id, *after, end]
            ids.append(int(mlm_probabilities(checkpoint, asked)[len(ids)].argmax()))
        return [tokenizer.token(index) for index in ids[begun:]]

    def punctuation(tokens: Sequence[str]) -> float:
        return fmean(not token.strip("#").isalnum() for token in tokens)

    texts = [written(start) for start in CASES["starts"]]
    *_, stop, _ = tokenizer.encode(".").ids
    stopped = [written(start, [stop]) for start in CASES["starts"]]
    held = [punctuation(tokens) > 0.5 for tokens in texts]
    lost, kept = (fmean(map(punctuation, found)) for found in (texts, stopped))
    plain = [tokenizer.encode(text).ids for text in CASES["plain"]]
    both, left = (
        math.exp(fmean(value for ids in plain for value in log_probabilities(checkpoint, ids, cut=cut)))
        for cut in (False, True)
    )
    numbers = {"start": CASES["starts"][0], "written": " ".join(texts[0]), "both": percent(both), "left": percent(left),
               "other": CASES["starts"][4], "stopped": " ".join(stopped[4]), "lost": percent(lost),
               "kept": percent(kept)}  # fmt: skip
    names = Message("with what comes after it"), Message("with what comes before it only")
    bars = percent_bars(zip(names, (both, left), strict=True))
    control = percent_bars([(Message("nothing after the gap"), lost), (Message("a full stop after the gap"), kept)])
    return Finding(only_choice(False, False, held[0] and left < both / 2), numbers, bars, held, control)


class _NoModules:
    """Count operations of the whole model only: by modules, the library hooks into the models of all threads."""

    parents = ("Global",)

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


def family(session: AppState, lesson: Lesson) -> Finding:
    """Count parameters and operations of the base models, built from their settings without memory for the weights."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from bertviz_lab.config import BertConfig
    from bertviz_lab.model import BertModel

    sizes, operations = dict[str, float](), dict[str, float]()
    for name, base in CASES["families"].items():
        with torch.device("meta"):
            model = BertModel(BertConfig.from_dict(base["config"])).eval()
            counter = FlopCounterMode(display=False)
            counter.mod_tracker = _NoModules()  # type: ignore[assignment]
            with counter:
                model(input_ids=torch.zeros(1, _LENGTH, dtype=torch.long))
        operations[name] = counter.get_total_flops() / 1e9
        sizes[name] = sum(value.numel() for value in model.parameters()) / 1e6
    published = {name: base["millions"] for name, base in CASES["families"].items()}
    held = [abs(size - published[name]) <= 0.03 * published[name] for name, size in sizes.items()]
    share, work = sizes["ALBERT"] / sizes["BERT"], operations["ALBERT"] / operations["BERT"]
    answer = only_choice(work < 0.3, 0.8 < work < 1.2 and share < 0.2, 0.3 < work < 0.7)
    numbers = {"sizes": ", ".join(f"{name} {size:.0f}" for name, size in sizes.items()),
               "albert": Number(operations["ALBERT"], ".1f"), "bert": Number(operations["BERT"], ".1f"),
               "distil": Number(operations["DistilBERT"], ".1f"), "share": percent(share), "length": f"{_LENGTH}",
               "operations": Series(Message("{name} {count}", name=name, count=Number(count, ".0f"))
                                    for name, count in operations.items())}  # fmt: skip
    largest = max(sizes.values())
    millions = {name: Message("{count} million", count=Number(size, ".0f")) for name, size in sizes.items()}
    bars = tuple((name, size / largest, millions[name]) for name, size in sizes.items())
    most = max(operations.values())
    control = tuple((name, count / most, Number(count, ".1f")) for name, count in operations.items())
    return Finding(answer, numbers, bars, held, control)


def log_probabilities(checkpoint: Checkpoint, ids: Sequence[int], *, cut: bool = False) -> list[float]:
    """Return the log-probability of each token between the special ones, in nats, with [MASK] in its place alone.

    `cut` leaves out what comes after it, but for the last token.
    """
    logs = []
    for at in range(1, len(ids) - 1):
        asked = [*ids[:at], checkpoint.tokenizer.mask_id, *(ids[-1:] if cut else ids[at + 1 :])]
        logs.append(float(mlm_probabilities(checkpoint, asked)[at, ids[at]].log()))
    return logs


def mlm_probabilities(checkpoint: Checkpoint, ids: Sequence[int], seen: Sequence[int] | None = None) -> "Tensor":
    """Return the MLM probabilities of one text, (tokens, vocabulary); `seen` is its attention mask."""
    import torch

    model: Any = checkpoint.model
    row = torch.tensor([ids])
    mask = torch.ones_like(row) if seen is None else torch.tensor([seen])
    with torch.inference_mode():
        out = model(input_ids=row, attention_mask=mask, token_type_ids=torch.zeros_like(row))
        probabilities: Tensor = out.prediction_logits[0].float().softmax(-1)
    return probabilities
