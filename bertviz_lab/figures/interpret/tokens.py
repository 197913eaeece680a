"""The model's input, position by position, and how words were split into its tokens."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.figures.strips import MASKS, ScoreRow, scores_payload, token_columns
from bertviz_lab.tokenization import Encoding, MergeStep, PathStep, SplitStep, WordSplit

_ROLES = {
    "cls": "classification token at the start of every input; its last hidden state represents the whole text",
    "sep": "separator: marks the end of a sentence",
    "mask": "masked token: the model predicts what was here",
    "pad": "padding to equal length; no token attends to it",
    "unk": "unknown token: not representable with the vocabulary",
}
#: BERT's spellings, and RoBERTa's.
SPELLINGS = (
    {f"[{role.upper()}]": says for role, says in _ROLES.items()},
    {{"cls": "<s>", "sep": "</s>"}.get(role, f"<{role}>"): says for role, says in _ROLES.items()},
)
SPECIAL_TOKENS = SPELLINGS[0] | SPELLINGS[1]
KIND_NAMES = {
    "seg-a": "sentence A",
    "seg-b": "sentence B",
    "special": "added by the tokenizer",
    "masked": "masked token",
    "pad": "padding",
}


def token_payload(encoding: Encoding, note: str = "", *, segments_note: str = "", positions_note: str = "") -> Payload:
    """Return the strip of an input. A column's index is its position; `note` is a sentence.

    Of a family without segment embeddings, or with other positions than a table of them, the notes say so.
    """
    columns = token_columns(encoding)
    masks = [column["mask"] for column in columns]
    real = [column for column in columns if column["mask"]]
    words = len({column["word"] for column in real if column["word"] is not None})
    added = sum(column["special"] for column in real)
    dropped = [list(encoding.dropped_a), list(encoding.dropped_b)]
    cut, padding = len(dropped[0]) + len(dropped[1]), len(columns) - len(real)
    sentences = [
        f"The text was too long: {_counted(cut, 'token')} did not fit and {'was' if cut == 1 else 'were'} truncated."
        * bool(cut),
        note,
        segments_note,
        positions_note,
        f"The last {_counted(padding, 'position')} {'holds' if padding == 1 else 'hold'} only padding." * bool(padding),
    ]
    numbers = partial(ScoreRow, scale="none", digits=0)
    rows = [
        numbers("id", "The index of the token in the vocabulary, the input of the model", [c["id"] for c in columns]),
        numbers(
            "text" if segments_note else "segment",
            "Which text a token is of; not an input of this model"
            if segments_note
            else "Segment id (token type): 0 is sentence A, 1 is sentence B",
            [c["segment"] for c in columns],
            texts=[
                f"{c['segment']} {_letter(c)}"[2 * bool(segments_note) :] if c["mask"] else str(c["segment"])
                for c in columns
            ],
            kinds=[f"seg-{_letter(c).lower()} strong" if c["mask"] else "number" for c in columns],
        ),
        numbers("position", "Position in the input, counted from 0", range(len(columns))),
        numbers(
            "attention mask",
            "1: other tokens attend to it. 0: masked out (padding)",
            masks,
            kinds=["number" if mask else "number off" for mask in masks],
        ),
    ]
    used = {column["kind"] for column in columns}
    return scores_payload(
        encoding,
        rows,
        title=f"{_counted(words, 'word')} became {_counted(len(real) - added, 'token')}, plus {added} special tokens",
        sentence=" ".join(filter(None, sentences)),
        dropped=dropped,
        details=[_details(columns, position, has_segments=not segments_note) for position in range(len(columns))],
        legend=[[kind, "", name] for kind, name in KIND_NAMES.items() if kind in used],
        glossary=[[row.label, row.description] for row in rows]
        + [list(item) for item in SPELLINGS["<s>" in encoding.tokens].items()],
    )


def _details(columns: Sequence[dict[str, Any]], position: int, has_segments: bool) -> list[str]:
    """Describe a token in a list of which every second part is emphasized."""
    column = columns[position]
    token, word = column["token"], column["word"]
    text = f"segment {column['segment']} ({_letter(column)})" if has_segments else f"text {_letter(column)}"
    place = f"Position {position}, id {column['id']}, {text}."
    if token in SPECIAL_TOKENS and (column["special"] or token in (*MASKS, "[UNK]", "<unk>")):
        return ["", token, f" {SPECIAL_TOKENS[token]}. {place}"]
    pieces = [at for at, other in enumerate(columns) if word is not None and other["word"] == word]
    if len(pieces) < 2:
        return ["", token, f" is a whole word or sign. {place}"]
    which = f" is piece {pieces.index(position) + 1} of {len(pieces)} of the word "
    return ["", token, which, "".join(columns[at]["surface"] for at in pieces), f". {place}"]


def _letter(column: dict[str, Any]) -> str:
    return "B" if column["segment"] == 1 else "A"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


_MAX_WORDS = 60
_MAX_STEPS = 40
_MAX_CANDIDATES = 12
RULES = {
    "wordpiece": "WordPiece takes the longest prefix of the word that is in the vocabulary, then the longest piece "
    "that continues it, marked with ##, and so on. If no piece matches, the word becomes [UNK].",
    "bpe": "Byte-pair encoding (BPE) starts from single bytes and repeatedly merges the adjacent pair that was learned "
    "first, until no learned pair is left. Ġ marks the space before a word.",
    "unigram": "Unigram takes the split with the largest sum of log-probabilities. Each line has the piece taken, "
    "after others that end at the same place, with the best sum up to there. ▁ marks the space before a word.",
}
#: Of a word that is not in the vocabulary as a whole, and was not searched.
WITHOUT_STEPS = {
    "wordpiece": "The word has more characters than WordPiece takes: it becomes [UNK] without a search.",
    "bpe": "None of its pairs was learned: its bytes stay single.",
}


def splitting_payload(words: Sequence[WordSplit], algorithm: str, *, unknown: str = "[UNK]") -> Payload:
    """Return the word-splitting view: the first words of a long text, the first steps of a long word."""
    first = words[:_MAX_WORDS]
    split = [word for word in first if len(word.pieces) > 1 or list(word.pieces) == [unknown] != [word.word]]
    drawn = [
        {
            "word": word.word,
            "pieces": list(word.pieces),
            "steps": [_step(step) for step in word.steps[:_MAX_STEPS]],
            "note": _note(len(word.steps), algorithm),
        }
        for word in split
    ]
    entire = list(dict.fromkeys(word.word for word in first if word not in split))
    more = max(0, len(words) - _MAX_WORDS)
    return to_json({"rule": RULES[algorithm], "words": drawn, "entire": entire, "more": more})


def _note(steps: int, algorithm: str) -> str | None:
    omitted = steps - _MAX_STEPS
    if omitted > 0:
        return f"{_counted(omitted, 'more step')} not shown."
    return None if steps else WITHOUT_STEPS.get(algorithm)


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
