"""The findings report: sentences made of measured numbers, each with its condition, its caveat and its picture."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_lab.figures.corpus import head_name
from bertviz_lab.figures.payload import Payload, figure, to_json
from bertviz_lab.figures.results import attribution_body, decomposition_body, patching_body

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import Findings, Target

_FEWEST_NATS = 0.5  # of an effect that is worth a sentence
_TIMES_RANDOM = 2.0  # and it must be so many times what random weights reach
_OF_HALF, _OF_HEAD, _LINKS = 0.5, 0.25, 0.1  # shares of a difference; weight above that of the distance
_CAVEATS = (
    "A probability is no degree of belief, and a lens reads layers with a head that was trained on the last one "
    "(nostalgebraist 2020; Belrose et al. 2023).",
    "Hiding a token gives the model another text, and attribution methods disagree: none of them is a proof (Jacovi "
    "and Goldberg 2020; Bilodeau et al. 2024).",
    "A patch shows what is enough, or needed, for this change of this text. Components can take over from each other "
    "(Zhang and Nanda 2024).",
    "Direct contributions only: what a component does through later ones is counted there (Elhage et al. 2021).",
    "Where a head attends is not what the prediction uses, and its role on one corpus may be another one elsewhere "
    "(Jain and Wallace 2019; Bolukbasi et al. 2021).",
)
#: What a head does that has a role of `interpret.ROLES` on average.
_ROLES = {
    "previous": "attends to the previous token",
    "next": "attends to the next token",
    "same": "attends to the token itself",
    "same_word": "attends to other places of the same token",
    "cls": "attends to [CLS]",
    "separator": "attends to the separator",
    "position": "attends by position",
    "content": "attends by content",
    "": "has no single role",
}
#: Where each sentence's picture is on the page: the view and the fold.
_PLACES = (("layers", ""), ("attribution", ""), ("causes", ""), ("causes", "decomposition"), ("corpus", "pairs"))


def findings_payload(findings: "Findings") -> Payload:
    """Return five sentences: the prediction, its tokens, its causes, its components, and its main head elsewhere."""
    sentences = [make(findings) for make in (_prediction, _tokens, _causes, _components, _head)]
    lens, parts, patching = findings.lens, findings.parts, findings.patching
    pictures: list[tuple[str, Payload] | None] = [
        ("chart", figure("logit_lens", target=lens.target, layers=lens.layers, is_tuned=lens.is_tuned))
        if lens
        else None,
        ("tokens", figure("attribution", **attribution_body([findings.occlusion, findings.gradients]))),
        ("chart", figure("activation_patching", **patching_body(patching, "residual"))),
        ("chart", figure("logit_decomposition", **decomposition_body(parts, patching))) if parts else None,
        ("chart", figure("head_search", **vars(findings.search))) if findings.search else None,
    ]
    items = [
        {
            "sentence": sentence,
            "caveat": caveat,
            "picture": picture and {"kind": picture[0], "payload": str(picture[1])},
            "place": {"show": view, "part": part},
        }
        for sentence, caveat, picture, (view, part) in zip(sentences, _CAVEATS, pictures, _PLACES, strict=True)
    ]
    return to_json(
        {
            "title": f"Findings on {findings.target.title}",
            "sentence": " | ".join(filter(None, patching.encoding.texts)),
            "items": items,
            "note": f"An effect counts from {_FEWEST_NATS} nats, and where it is more than twice that of the same "
            "model with random weights. All of it holds for this text; others may differ.",
            "file": "findings",
        }
    )


def _score_text(target: "Target", score: float) -> str:
    """Write a target's score as people read it: a probability, a log-ratio in nats, or the number of a regression."""
    if target.is_regression:
        return f"{score:.2f}"
    return f"log-ratio {score:+.2f} nats" if target.against else f"{math.exp(score):.1%}"


def _counts(findings: "Findings", size: float, random: float) -> bool:
    least = 0 if findings.target.is_regression else _FEWEST_NATS
    return size >= least and size > _TIMES_RANDOM * random


def _prediction(findings: "Findings") -> str:
    name = findings.target.name
    if findings.target.is_regression:
        return f"The model predicts {findings.score:.2f} as {name}."
    if findings.score < min(0.75, max(0.05, 2 / findings.classes)):
        return (
            f"No prediction stands out: {name} has {findings.score:.2%}, where a guess among {findings.classes:,} has "
            f"{1 / findings.classes:.2%}."
        )
    lens = ""
    if findings.lens:
        ranks = [layer.rank for layer in findings.lens.layers]
        last = len(ranks) - 1
        first = next((at for at in range(len(ranks)) if set(ranks[at:]) == {1}), None)
        where = f"from layer {first} of {last} on" if first else "from the embeddings on"
        kind = "tuned" if findings.lens.is_tuned else "logit"
        lens = f"; by the {kind} lens it ranks first {where}" if first is not None else f"; it ranks {ranks[-1]:,}"
    return f"The model gives {name} a probability of {findings.score:.1%}{lens}."


def _tokens(findings: "Findings") -> str:
    tokens, scores = findings.occlusion.encoding.tokens, findings.occlusion.scores
    at = int(np.abs(scores).argmax())
    size = abs(float(scores[at]))
    if not _counts(findings, size, findings.random.token):
        return (
            f"No single token decides it: hiding the one that matters most, {tokens[at]} ({at}), changes the "
            f"{findings.target.quantity} by {size:.2f}, and random weights reach {findings.random.token:.2f}."
        )
    effect = f"changes it by {-scores[at]:+.2f}"
    if not findings.target.is_regression:
        effect = f"makes it {math.exp(min(size, 20)):,.1f} times {'less' if scores[at] > 0 else 'more'} likely"
    others = np.abs(findings.gradients.scores)
    rank, first = 1 + int((others > others[at]).sum()), int(others.argmax())
    agree = "rank the same token first" if rank == 1 else f"rank it {rank}, after {tokens[first]} ({first})"
    return f"It rests most on {tokens[at]} ({at}): hiding that token {effect}. Integrated gradients {agree}."


def _causes(findings: "Findings") -> str:
    patching, target = findings.patching, findings.target
    tokens, total = patching.encoding.tokens, patching.total
    change = patching.corruption.title(patching.encoding)
    if not _counts(findings, abs(total), findings.random.change):
        return (
            f"Changing one token hardly matters: {change}, the change that lowers it most, moves it by "
            f"{abs(total):.2f}, and random weights by {findings.random.change:.2f}."
        )
    shares = patching.effects("residual") / total
    cue, place = patching.corruption.positions[0], target.position
    begins = f"{change} turns {_score_text(target, patching.clean)} into {_score_text(target, patching.corrupted)}."
    held = [layer for layer in range(len(shares)) if (shares[: layer + 1, cue] >= _OF_HALF).all()]
    arrived = [layer for layer in range(len(shares)) if (shares[layer:, place] >= _OF_HALF).all()]
    carried = ""
    if cue != place and held and arrived:
        until = f"up to layer {held[-1]}" if held[-1] else "in the embeddings"
        carried = (
            f" At least half of the difference is in the state of {tokens[cue]} ({cue}) {until}, and in that of "
            f"{tokens[place]} ({place}) from layer {arrived[0]} on."
        )
    share = float(patching.effects("head")[findings.head] / total)
    head = f"head {head_name(*findings.head)} alone carries {share:.0%}"
    if share < _OF_HEAD:
        head = f"no head alone carries more than {share:.0%}"
    return f"{begins}{carried} Of the heads, {head}."


def _components(findings: "Findings") -> str:
    parts = findings.parts
    if parts is None:
        return "This classifier reads the mean of all tokens, so its logit is not written as a sum here."
    named = [(f"the {name} embedding", value) for name, value in parts.embeddings.items()]
    named += [(f"head {head_name(*at)}", float(value)) for at, value in np.ndenumerate(parts.heads)]
    named += [(f"the feed-forward layer {n + 1}", float(value)) for n, value in enumerate(parts.feed_forward)]
    name, value = max(named, key=lambda pair: abs(pair[1]))
    if not _counts(findings, abs(value), findings.random.component):
        return (
            f"No component adds much to the logit: the largest, {name}, adds {value:+.2f}, and random weights reach "
            f"{findings.random.component:.2f}."
        )
    return (
        f"As a sum over components the logit is {parts.logit:.2f}: {name} adds most, {value:+.2f}; all heads together "
        f"{parts.heads.sum():+.2f}, all feed-forward layers {parts.feed_forward.sum():+.2f}."
    )


def _head(findings: "Findings") -> str:
    patching, index = findings.patching, findings.index
    share = float(patching.effects("head")[findings.head] / (patching.total or 1.0))
    if not _counts(findings, abs(patching.total), findings.random.change) or share < _OF_HEAD:
        return "No single head carries the difference, so there is none to look up in a corpus."
    name = f"Head {head_name(*findings.head)}, the head that carries most,"
    if index is None:
        return f"{name} has not been looked up: make an index in Corpus search to see what it does on other texts."
    where = f"{name} {_ROLES[findings.role]} on average over {len(index.texts):,} texts ({index.name})"
    search = findings.search
    if search is None:
        return f"{where}; they have no pair of tokens like the ones here."
    weight, expected = float(search.weights[findings.head]), float(search.expected[findings.head])
    links = "It links such tokens there too" if weight - expected >= _LINKS else "It does not link such tokens there"
    return (
        f"{where}. {links}: {search.pairs:,} pairs like {' → '.join(search.example)} have a mean weight of "
        f"{weight:.2f}, and their distance alone gives {expected:.2f}."
    )


def findings_text(payload: dict[str, Any]) -> str:
    """Return the report as plain text: numbered sentences, each with what it does not show."""
    lines = [f"{at}. {item['sentence']}\n   {item['caveat']}" for at, item in enumerate(payload["items"], 1)]
    return "\n".join([payload["title"], *lines, payload["note"]])
