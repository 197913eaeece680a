"""The tokenization of words step by step, limited to a readable number."""

from collections.abc import Sequence
from typing import Any

from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.tokenization import MergeStep, PathStep, SplitStep, WordSplit

_MAX_WORDS = 60
_MAX_STEPS = 40
_MAX_CANDIDATES = 12


def splitting_payload(words: Sequence[WordSplit], algorithm: str, *, unknown: str = "[UNK]") -> Payload:
    """The payload of the word-splitting view; for a long text the first words, for a long word the first steps."""
    shown = [
        {
            "word": word.word,
            "pieces": list(word.pieces),
            "unknown": list(word.pieces) == [unknown],
            "kind": algorithm,
            "steps": [_step(step) for step in word.steps[:_MAX_STEPS]],
            "omitted": max(0, len(word.steps) - _MAX_STEPS),
        }
        for word in words[:_MAX_WORDS]
    ]
    return to_json({"algorithm": algorithm, "words": shown, "more": max(0, len(words) - _MAX_WORDS)})


def _step(step: SplitStep | MergeStep | PathStep) -> dict[str, Any]:
    if isinstance(step, MergeStep):
        return {"before": list(step.pieces_before), "pair": list(step.pair), "rank": int(step.rank)}
    if isinstance(step, PathStep):
        best, *others = [f"{candidate.piece} {candidate.total:.1f}" for candidate in step.candidates[:_MAX_CANDIDATES]]
        skipped = len(step.candidates) - 1 - len(others)
        return {"tried": [*others, best], "skipped": skipped, "found": best}
    candidates = list(step.candidates)
    shown = candidates if len(candidates) <= _MAX_CANDIDATES else [*candidates[: _MAX_CANDIDATES - 4], *candidates[-4:]]
    return {"tried": shown, "skipped": len(candidates) - len(shown), "found": step.match}
