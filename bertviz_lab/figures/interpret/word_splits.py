"""The steps by which words fall into tokens, cut to what a person can read."""

from collections.abc import Sequence
from typing import Any

from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.tokenization import MergeStep, SplitStep, WordSplit

_MOST_WORDS = 60
_MOST_STEPS = 40
_MOST_TRIES = 12


def splitting_payload(words: Sequence[WordSplit], algorithm: str, *, unknown: str = "[UNK]") -> Payload:
    """The payload of the word-splitting view; of a long text the first words, of a long word the first steps."""
    shown = [
        {
            "word": word.word,
            "pieces": list(word.pieces),
            "unknown": list(word.pieces) == [unknown],
            "kind": algorithm,
            "steps": [_step(step) for step in word.steps[:_MOST_STEPS]],
            "omitted": max(0, len(word.steps) - _MOST_STEPS),
        }
        for word in words[:_MOST_WORDS]
    ]
    return to_json({"algorithm": algorithm, "words": shown, "more": max(0, len(words) - _MOST_WORDS)})


def _step(step: SplitStep | MergeStep) -> dict[str, Any]:
    if isinstance(step, MergeStep):
        return {"before": list(step.pieces_before), "pair": list(step.pair), "rank": int(step.rank)}
    tried = list(step.tried)
    kept = tried if len(tried) <= _MOST_TRIES else [*tried[: _MOST_TRIES - 4], *tried[-4:]]
    return {"tried": kept, "skipped": len(tried) - len(kept), "found": step.found}
