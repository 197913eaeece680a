"""What lessons 6, 7, 13 and 15 say of training, measured; see `claims`."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from bertviz_lab.errors import InputError
from bertviz_lab.ui.languages import Message, Number, Series
from bertviz_lab.ui.lazy import Checkpoint, checkpoints, interpret
from bertviz_lab.ui.lessons.claims import BIKE, NO_LOG, only_choice, percent, percent_bars, word_probability
from bertviz_lab.ui.lessons.lesson import CASES, ENGLISH, TOWN, Finding, Lesson
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.state.app_state import AppState

#: What the sample of sentiments calls its kinds of sentence.
_KINDS = {
    "plain": Message("plain"), "negation": Message("negation"), "comparison": Message("comparison"),
    "implied": Message("implied"), "irony": Message("irony"), "mixed": Message("mixed"),
}  # fmt: skip


def classifier(session: AppState, lesson: Lesson) -> Finding:
    """Measure nearest neighbors before and after fine-tuning, and the number of new parameters."""
    tuned, plain = session.models.open(lesson.model), session.models.open(ENGLISH)
    before, after = (_neighbours(checkpoint, "cls") for checkpoint in (plain, tuned))
    phrases = len(before)
    half = phrases // 2  # the praise comes first, then its opposites in the same order

    def is_twin(found: Sequence[int]) -> list[bool]:
        return [near == (at + half) % phrases for at, near in enumerate(found)]

    def is_same(found: Sequence[int]) -> list[bool]:
        return [near // half == at // half for at, near in enumerate(found)]

    twin, same = is_twin(before), is_same(after)
    random = sum(is_twin(_neighbours(interpret.untrained(plain), "cls")))
    said = {text: interpret.classify(tuned, text).labels[0] for text in CASES["traps"]}
    trap = next((text for text in said if said[text].label == "negative"), CASES["traps"][0])
    config, total = tuned.config, checkpoints.parameter_count(tuned.model)
    new = len(config.labels) * (config.hidden_size + 1)
    numbers = {
        "twins": f"{sum(twin)}", "phrases": f"{phrases}", "same": f"{sum(same)}",
        "twins_mean": f"{sum(is_twin(_neighbours(plain, 'mean')))}",
        "twins_random": f"{random}",
        "same_mean": f"{sum(is_same(_neighbours(tuned, 'mean')))}",
        "new": Number(new, ","), "total": Number(total, ","), "share": Number(new / total, ".2%"),
        "labels": f"{len(config.labels)}",
        "hidden": f"{config.hidden_size}", "trap": trap, "trapped": percent(said[trap].score),
    }  # fmt: skip
    shares = [sum(is_same(found)) / phrases for found in (before, after)]
    first = before[0] // half
    answer = only_choice(first == 0, twin[0] and same[0], False)
    held = [one and other for one, other in zip(twin, same, strict=True)]
    names = Message("without fine-tuning"), Message("after fine-tuning")
    bars = percent_bars(zip(names, shares, strict=True))
    control = percent_bars(
        [(Message("pretrained"), sum(twin) / phrases), (Message("random weights"), random / phrases)]
    )
    return Finding(answer, numbers, bars, held, control)


def _neighbours(checkpoint: Checkpoint, pooling: Literal["cls", "mean"]) -> list[int]:
    """Return the nearest other phrase of each of `CASES["opposites"]`, all praise first, by cosine."""
    import numpy as np

    phrases = [praise for praise, _ in CASES["opposites"]] + [blame for _, blame in CASES["opposites"]]
    vectors = interpret.encode(checkpoint, phrases, pooling=pooling, normalize=True)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2)
    return [int(near) for near in cosines.argmax(1)]


def curves(session: AppState, lesson: Lesson) -> Finding:
    """Measure the losses of the classifier's runs, and the effect of pretraining."""
    trials, model = list[_Trial](), lesson.model
    for row in session.log_of(model):
        if row.get("event") == "TrialStarted":
            trials.append(_Trial([], []))
        elif trials and row.get("event") in ("StepDone", "EvalDone"):
            (trials[-1].steps if row["event"] == "StepDone" else trials[-1].evaluations).append(row)
    trials = [trial for trial in trials if trial.steps and trial.evaluations]
    if not trials:
        raise InputError(
            Message(
                "This copy of the lab has no training log of {model}, so there is no curve to look at.", model=model
            )
        )
    shown = trials[0]
    first, lowest, last = shown.evaluations[0], shown.lowest, shown.evaluations[-1]
    losses = {"first": first["loss"], "last": last["loss"]}
    losses |= {"then": shown.training_loss(first["step"]), "end": shown.training_loss()}
    numbers: dict[str, str] = {name: Number(loss, ".2f") for name, loss in losses.items()}
    numbers |= {"accuracy_first": percent(first["accuracy"]), "accuracy_last": percent(last["accuracy"])}
    names = Message("first evaluation"), Message("lowest"), Message("last")
    one, least, end = (row["loss"] for row in (first, lowest, last))
    bars = tuple((name, min(1.0, x), Number(x, ".2f")) for name, x in zip(names, (one, least, end), strict=True))
    answer = only_choice(shown.overfits, shown.ends_lowest, least == one)
    pairs = [(trial.evaluations[0], trial.evaluations[-1]) for trial in trials]
    numbers["losses"] = Series(
        Message("{low} to {end}", low=Number(low["loss"], ".2f"), end=Number(end["loss"], ".2f")) for low, end in pairs
    )
    numbers["accuracies"] = Series(
        Message("{low} to {end}", low=percent(low["accuracy"]), end=percent(end["accuracy"])) for low, end in pairs
    )
    control = tuple(
        (Message("seed {number}, {when}", number=seed, when=when), min(1.0, row["loss"]), Number(row["loss"], ".2f"))
        for seed, pair in enumerate(pairs, 1)
        for when, row in zip(names[::2], pair, strict=True)
    )
    held = [trial.ends_lowest for trial in trials]
    return Finding(answer, numbers | _learned(session), bars, held, control)


@dataclass(frozen=True)
class _Trial:
    """The training steps and the evaluations of a trial of a fine-tuning."""

    steps: list[dict[str, Any]]
    evaluations: list[dict[str, Any]]

    @property
    def lowest(self) -> dict[str, Any]:
        return min(self.evaluations, key=lambda row: float(row["loss"]))

    def training_loss(self, until: float = math.inf) -> float:
        """Return the mean training loss of the last ten steps up to one."""
        losses = [row["loss"] for row in self.steps if row["step"] <= until][-10:]
        return float(sum(losses)) / max(1, len(losses))

    @property
    def overfits(self) -> bool:
        """Return whether the held-out loss fell and rose again while the training loss fell."""
        fell = self.training_loss() < self.training_loss(self.lowest["step"])
        return bool(self.evaluations[0]["loss"] > self.lowest["loss"]) and fell and not self.ends_lowest

    @property
    def ends_lowest(self) -> bool:
        """Return whether the held-out loss fell, and ended at its lowest or within 2% of it."""
        first, last = self.evaluations[0], self.evaluations[-1]
        return bool(first["loss"] > last["loss"] <= 1.02 * self.lowest["loss"])


def _learned(session: AppState) -> dict[str, str]:
    """Measure Tiny Town's prediction before its first training step and now."""
    town = session.models.open(TOWN)
    before, now = word_probability(interpret.untrained(town), BIKE, "blue"), word_probability(town, BIKE, "blue")
    return {"vocabulary": Number(town.config.vocab_size, ","), "before": Number(before, ".2%"), "now": percent(now),
            "between": _between(session)}  # fmt: skip


def _between(session: AppState) -> str:
    """Return the rough steps at which Tiny Town began to predict a color and the right one; "" without snapshots."""
    from bertviz_lab.data.samples.tiny_town.world import COLOURS

    kept = [name for name, _ in session.snapshots.choices(NOBODY)]
    steps = session.snapshots.reader(TOWN).steps() if TOWN in kept else ()
    kind = right = None
    for step in steps:
        checkpoint = session.snapshots.open(TOWN, step)
        chances = {color: word_probability(checkpoint, BIKE, color) for color in COLOURS}
        kind = step if kind is None and sum(chances.values()) > 0.5 else kind
        right = step if right is None and chances["blue"] > 0.5 else right
    if kind is None or right is None or kind >= right:
        return ""
    steps_of = {"kind": Number(kind, ","), "right": Number(right, ",")}
    return Message("By step {kind} the model predicted some color here; by step {right} the right one.", **steps_of)


#: Labeled sentences that the linear classifier of lesson 13 learns from, and how often they are drawn.
_LABELED, _DRAWS = 60, 5
_SAMPLES = ("topics", "sentiment")


def pretrain_once(session: AppState, lesson: Lesson) -> Finding:
    """Measure what frozen vectors are worth to a linear classifier, and the tokens of pretraining and fine-tuning."""
    import numpy as np

    plain = session.models.open(ENGLISH)
    encoders = plain, interpret.untrained(plain)
    accuracy: dict[str, list[list[float]]] = {}  # of each draw: pretrained, random weights, shuffled labels
    kinds: dict[str, int] = {}
    for name in _SAMPLES:
        rows = _rows_of(name)
        labels = np.array([row["label"] for row in rows])
        vectors = [interpret.encode(encoder, [row["text"] for row in rows]) for encoder in encoders]
        kinds[name] = len(set(labels))
        accuracy[name] = [_linear_accuracy(vectors, labels, seed) for seed in range(_DRAWS)]
    means = {name: [fmean(draw[at] for draw in draws) for at in range(3)] for name, draws in accuracy.items()}
    gained = {name: [pretrained - random for pretrained, random, _ in draws] for name, draws in accuracy.items()}
    topics, sentiment = (fmean(gained[name]) for name in _SAMPLES)
    held = [much > 0.2 and little < much / 2 for much, little in zip(*gained.values(), strict=True)]
    numbers: dict[str, str] = {f"{name}_{kind}": percent(value) for name, values in means.items()
               for kind, value in zip(("pretrained", "random", "shuffled"), values, strict=True)}  # fmt: skip
    numbers |= {f"{name}_chance": percent(1 / count) for name, count in kinds.items()}
    named = [
        (Message("topics, pretrained"), means["topics"][0]),
        (Message("topics, random weights"), means["topics"][1]),
        (Message("sentiment, pretrained"), means["sentiment"][0]),
        (Message("sentiment, random weights"), means["sentiment"][1]),
    ]
    control = [(Message("topics, labels shuffled"), means["topics"][2]),
               (Message("sentiment, labels shuffled"), means["sentiment"][2])]  # fmt: skip
    answer = only_choice(
        topics > 0.2 and sentiment < topics / 2, min(topics, sentiment) > 0.2, max(topics, sentiment) < 0.1
    )
    numbers |= _tokens_read(session, lesson)
    return Finding(answer, numbers, percent_bars(named), held, percent_bars(control))


def _linear_accuracy(vectors: Sequence[Any], labels: Any, seed: int) -> list[float]:
    """Return the accuracy of a linear classifier on the rest, for each kind of vectors, and on shuffled labels."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    draw = np.random.default_rng(seed)
    order = draw.permutation(len(labels))
    few, rest = order[:_LABELED], order[_LABELED:]

    def score(found: Any, taught: Any) -> float:
        scaled = (found - found[few].mean(0)) / (found[few].std(0) + 1e-6)
        model = LogisticRegression(C=0.1, max_iter=500).fit(scaled[few], taught)
        return float(model.score(scaled[rest], labels[rest]))

    shuffled = draw.permutation(labels[few])
    return [*(score(found, labels[few]) for found in vectors), score(vectors[0], shuffled)]


def _rows_of(sample: str) -> list[dict[str, str]]:
    from bertviz_lab.data.samples.task_samples import sample_path

    with sample_path(sample).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def _tokens_read(session: AppState, lesson: Lesson) -> dict[str, str]:
    """Return the millions of tokens of pretraining and of one fine-tuning, from their logs."""
    logs = [[row for row in session.log_of(name) if row["event"] in ("StepDone", "TrialStarted")]
            for name in (ENGLISH, lesson.model)]  # fmt: skip
    if not all(logs):
        raise InputError(NO_LOG)
    seeds = max(1, sum(row["event"] == "TrialStarted" for row in logs[1]))
    whole, tuning = (max(row.get("tokens", 0) for row in rows) for rows in logs)
    return {"tokens": Number(whole / 1e6, ".0f"), "tuning": Number(tuning / seeds / 1e6, ".1f"),
            "share": percent(tuning / seeds / whole)}  # fmt: skip


def kinds_of_error(session: AppState, lesson: Lesson) -> Finding:
    """Measure the accuracy on each kind of sentence, of the sample and of further ironic ones."""
    from bertviz_lab.data.examples import LabelledText
    from bertviz_lab.training.finetuning.predict import predict_with

    checkpoint, rows = session.models.open(lesson.model), _rows_of("sentiment")
    added = [(label, text) for label, texts in CASES["ironic"].items() for text in texts]
    rows += [{"text": text, "label": label, "kind": "irony"} for label, text in added]
    examples = [LabelledText(row["text"], None, row["label"], number) for number, row in enumerate(rows)]
    predictions, _ = predict_with(checkpoint, examples)
    correct: dict[str, list[bool]] = {}
    words = fmean(len(row["text"].split()) for row in rows if row["kind"] == "irony")
    long: list[bool] = []  # plain sentences at least as long as the ironic ones
    for prediction, row in zip(predictions, rows, strict=True):
        correct.setdefault(row["kind"], []).append(prediction.label == row["label"])
        if row["kind"] == "plain" and len(row["text"].split()) >= words:
            long.append(prediction.label == row["label"])
    said = {text: interpret.classify(checkpoint, text).labels[0] for text in (lesson.example, CASES["without_irony"])}
    shares = {kind: sum(right) / len(right) for kind, right in correct.items()}
    irony, plain = shares["irony"], shares["plain"]
    numbers = {"plain": percent(plain), "irony": percent(irony), "sentences": str(len(rows)), "added": str(len(added)),
               "right": str(sum(correct["irony"])), "ironic": str(len(correct["irony"])),
               "together": percent(sum(map(sum, correct.values())) / len(rows)),
               "long": percent(fmean(long or [0.0])), "longs": str(len(long)),
               "said": said[lesson.example].label, "without": said[CASES["without_irony"]].label}  # fmt: skip
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    answer = only_choice(irony > plain - 0.1, 0.4 < irony < 0.6, irony < 0.4)
    bars = percent_bars([(_KINDS[kind], share) for kind, share in ordered])
    control = percent_bars(
        [(Message("plain, as long as the ironic ones"), fmean(long or [0.0])), (_KINDS["irony"], irony)]
    )
    held = [shares[kind] < plain for kind in shares.keys() - {"plain"}]
    return Finding(answer, numbers, bars, held, control)
