"""What lessons 16 to 21 say, measured: cost, span corruption, answers, unmasking, lengths, heads; see `claims`."""

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random
from statistics import fmean
from typing import Any

from bertviz_lab.errors import InputError
from bertviz_lab.ui.languages import Message, Number, Series
from bertviz_lab.ui.lazy import Checkpoint, checkpoints, interpret
from bertviz_lab.ui.lessons.claims import NO_LOG, only_choice, percent, percent_bars, word_probability
from bertviz_lab.ui.lessons.encoder_claims import log_probabilities, mlm_probabilities
from bertviz_lab.ui.lessons.lesson import CASES, ENGLISH, MASK_ONLY, TINY, TOWN, Finding, Lesson
from bertviz_lab.ui.state.app_state import AppState

#: Tokens that BERT read: 256 sequences a step, 128 tokens each in nine of ten steps and 512 in the others.
_BERT_TOKENS = 1_000_000 * 256 * (0.9 * 128 + 0.1 * 512)


def cost(session: AppState, lesson: Lesson) -> Finding:
    """Measure the tokens and operations of pretraining, next to those of BERT-base."""

    def weights(layers: int, hidden: int) -> int:
        return layers * (12 * hidden * hidden + 13 * hidden)  # without the embeddings

    read, work = dict[str, float](), dict[str, float]()
    for name in (ENGLISH, "wiki-small", TINY, TOWN, MASK_ONLY):
        steps = [row for row in session.log_of(name) if row["event"] == "StepDone"]
        config = session.models.open(name).config
        if steps:
            read[name] = steps[-1]["tokens"]
            work[name] = 6 * weights(config.num_hidden_layers, config.hidden_size) * read[name]
    if ENGLISH not in read:
        raise InputError(NO_LOG)
    bert = 6 * weights(12, 768) * _BERT_TOKENS
    ratio = _BERT_TOKENS / read[ENGLISH]
    numbers: dict[str, str] = {
        "bert": Number(_BERT_TOKENS / 1e9, ".1f"), "own": Number(read[ENGLISH] / 1e6, ".0f"),
        "ratio": Number(ratio, ".0f"), "work": Number(float(f"{bert / work[ENGLISH]:.2g}"), ",.0f"),
    }  # fmt: skip
    answer = only_choice(ratio < 30, 30 < ratio < 300, ratio > 3000)
    bars, control = (
        tuple((name, value / whole, Number(value / whole, ".3%")) for name, value in found.items())
        for found, whole in ((read, _BERT_TOKENS), (work, bert))
    )
    return Finding(answer, numbers, bars, [tokens < _BERT_TOKENS / 10 for tokens in read.values()], control)


def corrupt_spans(
    tokens: Sequence[str], draw: Random, rate: float = 0.15, length: float = 3.0
) -> tuple[list[str], list[str]]:
    """Return the input and the target of T5's span corruption (Raffel et al. 2020, section 3.3.4).

    A `rate` of the tokens is dropped in spans of mean `length`; each leaves a sentinel, which begins it in the target.
    """
    dropped = max(1, round(rate * len(tokens)))
    spans = max(1, round(dropped / length))

    def parts(total: int) -> list[int]:
        """Return `spans` random lengths, each 1 at least, that sum to `total`."""
        cuts = [0, *sorted(draw.sample(range(1, total), spans - 1)), total]
        return [end - start for start, end in pairwise(cuts)]

    source, target, at = list[str](), list[str](), 0
    for number, (kept, gone) in enumerate(zip(parts(len(tokens) - dropped), parts(dropped), strict=True), 1):
        source += [*tokens[at : at + kept], f"<{number}>"]
        target += [f"<{number}>", *tokens[at + kept : at + kept + gone]]
        at += kept + gone
    return source, [*target, f"<{spans + 1}>"]


def span_corruption(session: AppState, lesson: Lesson) -> Finding:
    """Measure what BERT, GPT and T5 have to predict of the same sentences."""
    tokenizer = session.models.open(lesson.model).tokenizer
    texts = [tokenizer.encode(text).tokens[1:-1] for text in CASES["plain"]]
    long = [one + other for one, other in zip(texts, texts[1:] + texts[:1], strict=True)]

    def written(length: float) -> float:
        """Return the length of T5's target, relative to the text."""
        return fmean(len(corrupt_spans(text, Random(at), length=length)[1]) / len(text) for at, text in enumerate(long))

    held, pairs = [], [corrupt_spans(text, Random(at)) for at, text in enumerate(texts)]
    for text, (source, target) in zip(texts, pairs, strict=True):
        spans = iter(" ".join(target).split("<")[1:])
        restored = [token if token[0] != "<" else next(spans).split(">")[1].strip() for token in source]
        held.append(" ".join(restored) == " ".join(text) and len(target) < len(text) / 2)
    bert = fmean(max(1, round(0.15 * len(text))) / len(text) for text in long)
    triple, single = written(3.0), written(1.0)
    source, target = pairs[0]
    numbers: dict[str, str] = {"source": " ".join(source), "target": " ".join(target), "bert": percent(bert),
                               "t5": percent(triple), "single": percent(single)}  # fmt: skip
    bars = percent_bars([("BERT", bert), ("GPT", 1.0), ("T5", triple)])
    control = percent_bars([(Message("spans of three tokens"), triple), (Message("spans of one token"), single)])
    return Finding(only_choice(False, all(held), False), numbers, bars, held, control)


_STORIES = 8


def answers(session: AppState, lesson: Lesson) -> Finding:
    """Measure whether the marked span follows the question, and with a question about something else."""
    from bertviz_lab.data.samples.task_samples import sample_path

    checkpoint = session.models.open(lesson.model)
    file = sample_path("town-questions").with_name("town_questions_held_out.json")
    told = [story for part in json.loads(file.read_text(encoding="utf-8"))["data"] for story in part["paragraphs"]]
    stories = [
        (story["context"], asked)
        for story in told
        if len(asked := [(qa["question"], qa["answers"][0]["text"]) for qa in story["qas"] if qa.get("answers")]) > 1
    ][:_STORIES]

    def marked(context: str, question: str) -> str | None:
        return interpret.answer_question(checkpoint, question, context).text

    found = [(marked(context, question), right) for context, asked in stories for question, right in asked]
    others = [
        (marked(context, asked[at - 1][0]), right) for context, asked in stories for at, (_, right) in enumerate(asked)
    ]
    held = [span == right for span, right in found]
    share, other = fmean(held), fmean(span == right for span, right in others)
    tags = session.models.open("entities-mini")
    entities = interpret.label_words(tags, CASES["entities"]).entities
    context, ((first, one), (second, two), *_) = stories[0]
    numbers: dict[str, str] = {
        "first": first, "one": f"{marked(context, first)}", "second": second, "two": f"{marked(context, second)}",
        "share": percent(share), "other": percent(other), "questions": f"{len(found)}", "stories": f"{len(stories)}",
        "hidden": f"{checkpoint.config.hidden_size}", "new": Number(2 * (checkpoint.config.hidden_size + 1), ","),
        "labels": f"{len(tags.config.labels)}",
        "entities": ", ".join(f"{entity.text} ({entity.type})" for entity in entities),
    }  # fmt: skip
    bars = percent_bars([(Message("its own question"), share), (Message("another question"), other)])
    follows = numbers["one"] == one and numbers["two"] == two and one != two
    return Finding(only_choice(False, follows, False), numbers, bars, held, bars)


Order = Callable[[int, float], float]


def unmask(
    checkpoint: Checkpoint, ids: Sequence[int], order: Order = lambda _, surest: -surest, at_once: bool = False
) -> list[int]:
    """Fill all [MASK] of a text, one in each pass of the model, the surest first.

    `order` sorts the masked positions by (position, highest probability); `at_once` fills all of them in one pass.
    """
    filled, tokenizer = list(ids), checkpoint.tokenizer
    special = [tokenizer.id(token) for token in ("[MASK]", "[CLS]", "[SEP]", "[PAD]", "[UNK]")]
    while left := [at for at, token in enumerate(filled) if token == tokenizer.mask_id]:
        probabilities = mlm_probabilities(checkpoint, filled).clone()
        probabilities[:, special] = 0
        best, guesses = probabilities.max(-1)
        chosen = left if at_once else [min(left, key=lambda at: order(at, float(best[at])))]
        for at in chosen:
            filled[at] = int(guesses[at])
    return filled


def writing(session: AppState, lesson: Lesson) -> Finding:
    """Measure texts that are unmasked at once and step by step, and how many tokens come back by the mask rate."""
    checkpoint = session.models.open(lesson.model)
    tokenizer = checkpoint.tokenizer

    def text(ids: Sequence[int]) -> str:
        return " ".join(map(tokenizer.token, ids[1:-1]))

    begun = []
    for start in CASES["town_starts"]:
        *ids, end = tokenizer.encode(start).ids
        *_, stop, _ = tokenizer.encode(".").ids
        begun.append([*ids, *[tokenizer.mask_id] * 9, stop, end])
    once, steps, left = (
        [unmask(checkpoint, ids, **how) for ids in begun]
        for how in ({"at_once": True}, {}, {"order": lambda at, _: at})
    )
    # The mean log-probability of each token given all others (pseudo-log-likelihood).
    scores = [[fmean(log_probabilities(checkpoint, ids)) for ids in found] for found in (once, steps, left)]
    rates = (15, 50, 100)
    recovered = {
        name: [_recovered(session.models.open(name), rate / 100) for rate in rates] for name in (lesson.model, TOWN)
    }
    means = [Number(fmean(found), ".1f") for found in scores]
    numbers: dict[str, str] = {
        "once": text(once[0]), "steps": text(steps[0]), "score_once": means[0], "score_steps": means[1],
        "score_left": means[2], "left": text(left[0]),
    }  # fmt: skip
    for kind, shares in zip(("rate", "town"), recovered.values(), strict=True):
        numbers |= {f"{kind}_{rate}": percent(share) for rate, share in zip(rates, shares, strict=True)}
    bars = percent_bars(
        (Message("{model}, {rate}% masked", model=name, rate=rate), share)
        for at, rate in enumerate(rates)
        for name, share in ((name, shares[at]) for name, shares in recovered.items())
    )
    better = [stepwise > together for together, stepwise in zip(*scores[:2], strict=True)]
    answer = only_choice(False, not better[0], better[0])
    return Finding(answer, numbers, bars, better)


def _recovered(checkpoint: Checkpoint, rate: float) -> float:
    """Return the share of hidden tokens that come back where this share of each text is hidden."""
    tokenizer, shares = checkpoint.tokenizer, []
    for number, (sentence, word) in enumerate(CASES["copied"]):
        ids = tokenizer.encode(sentence.replace("[MASK]", word)).ids
        places = range(1, len(ids) - 1)
        hidden = Random(number).sample(places, max(1, round(rate * len(places))))
        again = unmask(checkpoint, [tokenizer.mask_id if at in hidden else token for at, token in enumerate(ids)])
        shares.append(fmean(again[at] == ids[at] for at in hidden))
    return fmean(shares)


def reach(session: AppState, lesson: Lesson) -> Finding:
    """Read from their settings how many tokens the base models can read at once."""
    from bertviz_lab.config import BertConfig

    limits = {
        name: BertConfig.from_dict(base["config"]).max_position_embeddings for name, base in CASES["families"].items()
    }
    most = max(limits.values())
    ratio = (most / limits["BERT"]) ** 2
    numbers: dict[str, str] = {
        "limit": f"{limits['BERT']}", "most": Number(most, ","), "ratio": Number(ratio, ".0f"),
        "limits": Series(
            Message("{name} {count}", name=name, count=Number(limit, ",")) for name, limit in limits.items()
        ),
    }  # fmt: skip
    bars = tuple((name, limit / most, Number(limit, ",")) for name, limit in limits.items())
    answer = only_choice(False, limits["BERT"] < 3000, False)
    return Finding(answer, numbers, bars, [limit < 3000 for limit in limits.values()])


def heads(session: AppState, lesson: Lesson) -> Finding:
    """Measure what MLM and NSP predict with the pooler set to zero, and with the MLM head's transform set to zero."""
    import torch

    checkpoint = session.models.open(lesson.model)

    def without(part: str) -> Checkpoint:
        model: Any = copy.deepcopy(checkpoint.model)
        with torch.no_grad():
            for name, weights in model.named_parameters():
                if part in name:
                    weights.zero_()
        return replace(checkpoint, model=model)

    def measure(model: Checkpoint) -> tuple[list[float], list[float]]:
        masked = [word_probability(model, text, word) for text, word in CASES["right_context"]]
        return masked, [interpret.next_sentence(model, *pair).is_next for pair in pairs]

    true, others = CASES["pairs"][:6], CASES["pairs"][6:12]
    pairs = [*true, *((one[0], other[1]) for one, other in zip(true, others, strict=True))]
    whole, no_pooler, no_transform = map(measure, (checkpoint, without("pooler"), without("mlm.transform")))
    same = [abs(one - other) < 1e-6 for one, other in zip(whole[0], no_pooler[0], strict=True)]
    constant = [abs(value - no_pooler[1][0]) < 1e-6 for value in no_pooler[1]]
    spread = [max(found[1]) - min(found[1]) for found in (whole, no_pooler, no_transform)]
    pooler = sum(weights.numel() for name, weights in checkpoint.model.named_parameters() if "pooler" in name)
    total = checkpoints.parameter_count(checkpoint.model)
    numbers: dict[str, str] = {
        "word": percent(whole[0][0]), "word_without": percent(no_pooler[0][0]), "nsp": percent(no_pooler[1][0]),
        "spread": percent(spread[0]), "spread_transform": percent(spread[2]),
        "word_transform": percent(no_transform[0][0]),
        "pooler": Number(pooler, ","), "share": percent(pooler / total),
    }  # fmt: skip
    bars = percent_bars([(Message("MLM, as it is"), whole[0][0]), (Message("MLM, pooler set to zero"), no_pooler[0][0]),
                         (Message("NSP, range over the pairs, as it is"), spread[0]),
                         (Message("NSP, range, pooler set to zero"), spread[1])])  # fmt: skip
    control = percent_bars([(Message("MLM, MLM transform set to zero"), no_transform[0][0]),
                            (Message("NSP, range, MLM transform set to zero"), spread[2])])  # fmt: skip
    answer = only_choice(False, all(same) and all(constant), False)
    return Finding(answer, numbers, bars, [*same, *constant], control)
