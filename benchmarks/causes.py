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

from benchmarks.machine import arguments, markdown, report
from bertviz_lab import Checkpoint, interpret, load_checkpoint
from bertviz_lab.data.probes.minimal_pairs import minimal_pairs, words
from bertviz_lab.data.samples.tiny_town.world import NEIGHBOURS, PEOPLE
from bertviz_lab.interpret import FLOW_METHODS, Direction, Target

KINDS = ("colour_copy", "agreement", "agreement_distractor", "pronoun")
DIRECTIONS: tuple[Direction, ...] = ("denoising", "noising")
_NOUNS = ("car", "tree", "house", "boy", "book", "door", "dog", "king")
_PREPOSITIONS = ("near", "behind", "with")


class Case(NamedTuple):
    """A text with [MASK], the right word and the wrong one, and the word that decides between them."""

    text: str
    right: str
    wrong: str
    cue: str


def tiny_town(count: int) -> Iterator[Case]:
    """Yield `count` cases of each kind from held-out stories; a pronoun's only where one name comes before it."""
    names = {person.name for person in (*PEOPLE, *NEIGHBOURS)}
    drawn: dict[str, int] = dict.fromkeys(KINDS, 0)
    for pair in minimal_pairs(seed=7, count=4 * count):
        if pair.kind not in KINDS or pair.position is None or drawn[pair.kind] == count:
            continue
        good, bad = words(pair.good), words(pair.bad)
        before = good[: pair.position]
        cue = {"colour_copy": good[pair.position], "agreement_distractor": good[1]}.get(pair.kind, before[-1])
        if pair.kind == "pronoun":
            named = [word for word in before if word in names]
            if len(named) != 1:
                continue
            (cue,) = named
        spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", pair.good)]
        start, end = spans[pair.position]
        text = f"{pair.context} {pair.good[:start]}[MASK]{pair.good[end:]}".strip()
        drawn[pair.kind] += 1
        yield Case(text, good[pair.position], bad[pair.position], cue)


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
    found = {"raw attention": flow.contributions["attention"][:, at].mean(0)}
    found |= {"rollout" if name == "attention" else name: flow.flow(name)[-1, at] for name in FLOW_METHODS}
    for method in ("integrated gradients", "occlusion"):
        found[method] = interpret.attribute(checkpoint, text, method=method, target=target).scores
    # Patched between the text and the same with every token masked: what one token's state restores, or takes away, in
    # any layer but the last, after which the state of [MASK] is all.
    masked = " ".join(["[MASK]"] * (len(tokens) + 1))
    corruption = interpret.corruption_of(checkpoint, text, None, masked)
    for direction in DIRECTIONS:
        patching = interpret.patch_activations(
            checkpoint, text, target=target, corruption=corruption, direction=direction
        )
        effects = patching.effects("residual")[:-1] * (1 if direction == "denoising" else -1)
        found[f"patching ({direction})"] = effects.max(0)
    return found


def ranks(checkpoint: Checkpoint, case: Case) -> tuple[bool, int, dict[str, int]]:
    """Return whether the right word is preferred, how many tokens are ranked, and the cue's rank by each method."""
    inputs = interpret.encode_inputs(checkpoint, case.text)
    target = interpret.choose_target(checkpoint, inputs, choice=case.right, against=case.wrong)
    scores = interpret.class_scores(checkpoint, inputs, target)
    tokens = inputs.encoding.unmasked_positions(checkpoint.tokenizer.mask_id)
    starts = [match.start() for match in re.finditer(rf"\b{case.cue}\b", case.text)]
    cues = [at for at in tokens if inputs.encoding.offsets[at][0] in starts]
    found = scores_of(checkpoint, case.text, target, tokens)
    order = {name: 1 + int((values[tokens] > values[cues].max()).sum()) for name, values in found.items()}
    return bool(scores[target.index] > scores[target.against.index]), len(tokens), order  # type: ignore[union-attr]


def measure(name: str, cases: list[Case]) -> dict[str, Any]:
    """Return for each method the share of cases with the cue first, and among the first three."""
    trained, began = load_checkpoint(name), time.perf_counter()
    of_trained = [ranks(trained, case) for case in cases]
    right = [place for place, (is_right, _, _) in enumerate(of_trained) if is_right]
    of_random = [ranks(interpret.untrained(trained), cases[place]) for place in right]
    body: dict[str, Any] = {"model": name, "cases": len(cases), "right": len(right)}
    counts = np.array([of_trained[place][1] for place in right])
    body |= {"chance": float((1 / counts).mean()), "tokens": float(counts.mean()), "methods": {}}
    for method in of_trained[0][2]:
        of_models = {
            "trained": np.array([of_trained[place][2][method] for place in right]),
            "random weights": np.array([order[method] for _, _, order in of_random]),
        }
        body["methods"][method] = {
            model: {"first": float((order == 1).mean()), "in_three": float((order <= 3).mean())}
            for model, order in of_models.items()
        }
    return body | {"seconds": round(time.perf_counter() - began, 1)}


def table(result: dict[str, Any]) -> str:
    sets = [result["tiny_town"], result["agreement"]]
    header = ["cue ranked first / in the first three"]
    header += [f"{found['model']}, {model}" for found in sets for model in ("trained", "random weights")]
    rows = [
        (
            method,
            *(
                f"{cell['first']:.0%} / {cell['in_three']:.0%}"
                for found in sets
                for cell in found["methods"][method].values()
            ),
        )
        for method in sets[0]["methods"]
    ]
    about = "; ".join(
        f"{found['model']}: {found['right']} of {found['cases']} cases right and counted, {found['tokens']:.1f} "
        f"tokens to rank, first by chance {found['chance']:.0%}, {found['seconds']:.0f} s"
        for found in sets
    )
    return f"{about}.\n\n" + markdown(header, rows)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--count", type=int, default=30, help="Tiny Town cases of each kind")
    options = parser.parse_args()
    town = measure("tiny-town", list(tiny_town(options.count)))
    report("causes", {"tiny_town": town, "agreement": measure("wiki-mini", list(agreement()))}, table)
