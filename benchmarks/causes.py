"""How often each method ranks the planted cue of a prediction first, compared with random weights.

The cue of a Tiny Town case is what the sentence was made by: the color's earlier mention, the verb's subject, the
pronoun's antecedent. That of an English sentence is the verb's subject; in most a noun of the other number is nearer to
the verb. All tokens of the text but [MASK] are ranked, in the cases that the trained model gets right. The prediction
explained is the right word against the wrong one; only attribution and patching take it into account.
"""

import itertools
import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.machine import arguments, markdown, report, spread
from bertviz_lab import Checkpoint, Tokenizer, interpret, load_checkpoint
from bertviz_lab.data.probes.minimal_pairs import minimal_pairs, words
from bertviz_lab.data.samples.tiny_town.world import COLOURS, FUR, NEIGHBOURS, PEOPLE
from bertviz_lab.interpret import FLOW_METHODS, Direction, Target
from bertviz_lab.interpret.inputs import ModelInputs

KINDS = ("colour_copy", "agreement", "agreement_distractor", "pronoun")
DIRECTIONS: tuple[Direction, ...] = ("denoising", "noising")
_NOUNS = (
    *"car tree house boy book door dog king road river school bridge song star".split(),
    *"bird horse girl tower game ship".split(),
)
_PREPOSITIONS = ("near", "behind", "with")


class Case(NamedTuple):
    """A text with [MASK], the right word and the wrong one, and the word that decides between them."""

    text: str
    right: str
    wrong: str
    cue: str
    kind: str = "agreement"


def tiny_town(tokenizer: Tokenizer, count: int) -> Iterator[Case]:
    """Yield `count` cases of each kind from held-out stories.

    A pronoun's are those with one name before it. Verbs after a name, all of which are singular, are left out: there is
    nothing to decide. Both words of a case are single tokens.
    """
    names = {person.name for person in (*PEOPLE, *NEIGHBOURS)}
    drawn: dict[str, int] = dict.fromkeys(KINDS, 0)
    for pair in minimal_pairs(seed=7, count=4 * count):
        if pair.kind not in KINDS or pair.position is None or drawn[pair.kind] == count:
            continue
        good, bad = words(pair.good), words(pair.bad)
        if any(len(ids) > 1 for ids in tokenizer.ids([good[pair.position], bad[pair.position]])):
            continue
        before = good[: pair.position]
        subject = next((word for word in before[1:] if word not in (*COLOURS, *FUR)), before[-1])
        cue = {"colour_copy": good[pair.position], "agreement_distractor": subject}.get(pair.kind, before[-1])
        if pair.kind == "agreement" and cue in names:
            continue
        if pair.kind == "pronoun":
            named = [word for word in before if word in names]
            if len(named) != 1:
                continue
            (cue,) = named
        spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", pair.good)]
        start, end = spans[pair.position]
        text = f"{pair.context} {pair.good[:start]}[MASK]{pair.good[end:]}".strip()
        drawn[pair.kind] += 1
        yield Case(text, good[pair.position], bad[pair.position], cue, pair.kind)


def agreement() -> Iterator[Case]:
    """Yield English sentences: "The cars near the tree [MASK] old.", and some without a noun between."""
    others = _NOUNS[1:] + _NOUNS[:1]
    for (noun, other), plural in itertools.product(zip(_NOUNS, others, strict=True), (False, True)):
        subject, distractor = (noun + "s", other) if plural else (noun, other + "s")
        verbs = ("are", "is") if plural else ("is", "are")
        yield Case(f"The {subject} [MASK] old.", *verbs, subject)
        for preposition in _PREPOSITIONS:
            yield Case(f"The {subject} {preposition} the {distractor} [MASK] old.", *verbs, subject)


def scores_of(checkpoint: Checkpoint, text: str, target: Target, tokens: list[int]) -> dict[str, np.ndarray]:
    """Return each method's scores of all tokens; the larger, the more of the prediction is said to be due to one."""
    flow, at = interpret.information_flow(checkpoint, text), target.position
    scores = {"raw attention": flow.contributions["attention"][:, at].mean(0)}
    scores |= {"rollout" if name == "attention" else name: flow.flow(name)[-1, at] for name in FLOW_METHODS}
    for method in ("integrated gradients", "occlusion"):
        scores[method] = interpret.attribute(checkpoint, text, method=method, target=target).scores
    # Patched between the text and the same with every token masked: what one token's state restores, or takes away, in
    # any layer but the last, after which the state of [MASK] is all.
    masked = " ".join(["[MASK]"] * (len(tokens) + 1))
    corruption = interpret.corruption_of(checkpoint, text, None, masked)
    for direction in DIRECTIONS:
        patching = interpret.patch_activations(
            checkpoint, text, target=target, corruption=corruption, direction=direction
        )
        effects = patching.effects("residual")[:-1] * (1 if direction == "denoising" else -1)
        scores[f"patching ({direction})"] = effects.max(0)
    return scores


def is_right(checkpoint: Checkpoint, case: Case) -> bool:
    """Return whether a model prefers the right word to the wrong one."""
    inputs, target = question(checkpoint, case)
    scores = interpret.class_scores(checkpoint, inputs, target)
    return bool(scores[target.index] > scores[target.against.index])  # type: ignore[union-attr]


def question(checkpoint: Checkpoint, case: Case) -> tuple[ModelInputs, Target]:
    inputs = interpret.encode_inputs(checkpoint, case.text)
    return inputs, interpret.choose_target(checkpoint, inputs, choice=case.right, against=case.wrong)


def ranks(checkpoint: Checkpoint, case: Case) -> tuple[int, dict[str, int]]:
    """Return how many tokens are ranked, and the rank of the cue by each method: that of its best piece."""
    inputs, target = question(checkpoint, case)
    tokens = inputs.encoding.unmasked_positions(checkpoint.tokenizer.mask_id)
    spans = [match.span() for match in re.finditer(rf"\b{case.cue}\b", case.text)]
    starts = {at: inputs.encoding.offsets[at][0] for at in tokens}
    cues = [at for at in tokens if any(first <= starts[at] < end for first, end in spans)]
    scores = scores_of(checkpoint, case.text, target, tokens)
    return len(tokens), {name: 1 + int((values[tokens] > values[cues].max()).sum()) for name, values in scores.items()}


def measure(name: str, cases: list[Case]) -> dict[str, Any]:
    """Return for each method the share of cases with the cue first, and among the first three."""
    trained, began = load_checkpoint(name), time.perf_counter()
    right = [case for case in cases if is_right(trained, case)]
    models = {"trained": trained, "random weights": interpret.untrained(trained)}
    of_models = {model: [ranks(checkpoint, case) for case in right] for model, checkpoint in models.items()}
    counts = np.array([count for count, _ in of_models["trained"]])
    body: dict[str, Any] = {"model": name, "cases": len(cases), "right": len(right)}
    body |= {"chance": float((1 / counts).mean()), "tokens": float(counts.mean()), "methods": {}}
    for method in of_models["trained"][0][1]:
        orders = {
            model: np.array([order[method] for _, order in ranks_of_cases])
            for model, ranks_of_cases in of_models.items()
        }
        body["methods"][method] = {
            model: {"first": float((order == 1).mean()), "in_three": float((order <= 3).mean())}
            for model, order in orders.items()
        }
    return body | {"seconds": round(time.perf_counter() - began, 1)}


def seconds(name: str) -> dict[str, Any]:
    """Return the time of each analysis of a text of 16 tokens, with all cores, and the processor's time for it."""
    checkpoint, text = load_checkpoint(name), "The capital of France is the city of [MASK], which lies there."
    corruption = interpret.propose_corruption(checkpoint, text)
    analyses = {
        "activation patching, all cells": lambda: interpret.patch_activations(checkpoint, text, corruption=corruption),
        "proposed corruption": lambda: interpret.propose_corruption(checkpoint, text),
        "decomposition of the logit": lambda: interpret.decompose_logit(checkpoint, text),
        "information flow": lambda: interpret.information_flow(checkpoint, text),
    }
    body: dict[str, Any] = {"model": name, "tokens": len(interpret.encode_inputs(checkpoint, text).encoding)}
    body |= {"threads": torch.get_num_threads(), "analyses": {}}
    for analysis, run in analyses.items():
        run()
        walls, processor = [], []
        for _ in range(5):
            began = time.perf_counter(), time.process_time()
            run()
            walls.append(time.perf_counter() - began[0])
            processor.append(time.process_time() - began[1])
        body["analyses"][analysis] = {"wall": spread(walls), "processor": spread(processor)}
    return body


def table(result: dict[str, Any]) -> str:
    sets = [result["tiny_town"], result["agreement"]]
    header = ["cue ranked first / in the first three"]
    header += [f"{of_set['model']}, {model}" for of_set in sets for model in ("trained", "random weights")]
    rows = [
        (
            method,
            *(
                f"{cell['first']:.0%} / {cell['in_three']:.0%}"
                for of_set in sets
                for cell in of_set["methods"][method].values()
            ),
        )
        for method in sets[0]["methods"]
    ]
    about = "; ".join(
        f"{of_set['model']}: {of_set['right']} of {of_set['cases']} cases right and counted, {of_set['tokens']:.1f} "
        f"tokens to rank, first by chance {of_set['chance']:.0%}, {of_set['seconds']:.0f} s"
        for of_set in sets
    )
    speed = result["speed"]
    times = (
        (name, *(f"{of_analysis[clock][end]:.3f}" for clock in ("wall", "processor") for end in ("min", "median")))
        for name, of_analysis in speed["analyses"].items()
    )
    header_of_times = [f"seconds, {speed['model']}, {speed['tokens']} tokens, {speed['threads']} thread(s)"]
    header_of_times += ["fastest", "median", "processor, least", "processor, median"]
    about += (
        ". Patching is between the text and the same with every token masked; a token's score is the largest effect of "
        "its residual state in any layer but the last. Flow methods and attention do not know which prediction is asked"
    )
    return f"{about}.\n\n{markdown(header, rows)}\n\n{markdown(header_of_times, times)}"


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--count", type=int, default=30, help="Tiny Town cases of each kind")
    options = parser.parse_args()
    cases = list(tiny_town(load_checkpoint("tiny-town").tokenizer, options.count))
    town = measure("tiny-town", cases)
    english = measure("wiki-mini", list(agreement()))
    report("causes", {"tiny_town": town, "agreement": english, "speed": seconds("wiki-mini")}, table)
