"""Texts to try on a model: sentences whose words it has met, and examples that a fine-tuned one was not trained on."""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.data.samples.task_samples import sample_path
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.ui.lazy import Checkpoint

_WORD = re.compile(r"[^\W\d_]{3,}")
_LOOKED_AT = 60  # documents of a person's text
_FEW_WORDS, _MANY_WORDS = 5, 16


@dataclass(frozen=True)
class Examples:
    """What the tabs begin with for a model: one text with masked tokens each, and pairs of sentences."""

    masked: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    contrast: tuple[str, str, str]  # two sentences and a word that means, or does, something else in each
    others: tuple[str, ...] = ()  # sentences that do not belong together
    tracked: tuple[tuple[str, str, str], ...] = ()  # text A, text B, words to track; those that should win come first

    def with_mask(self, mask: str) -> "Examples":
        """Return the same for a tokenizer whose mask token is not "[MASK]"."""
        return replace(self, masked=tuple(text.replace("[MASK]", mask) for text in self.masked))

    def singles(self) -> tuple[str, ...]:
        """Return texts without masked tokens: both sentences of each pair."""
        return tuple(f"{first} {second}" for first, second in self.pairs)


#: For models of general text, those that know Tiny Town and nothing else, and those that have
#: read Python's documentation.
GENERAL, TOWN, PYTHON = TypeAdapter(tuple[Examples, ...]).validate_python(
    tomllib.loads((resources.files(__package__) / "examples.toml").read_text(encoding="utf-8"))["sets"]
)


def examples_for(tokenizer: Tokenizer) -> Examples:
    """Return the set whose words are best known to a vocabulary: in the fewest pieces, `[UNK]` counting as many."""

    def strangeness(examples: Examples) -> float:
        texts = [*examples.singles(), *(text.replace("[MASK]", " ") for text in examples.masked)]
        ids = [token for row in tokenizer.ids(texts) for token in row]
        words = sum(len(text.split()) for text in texts)
        return (len(ids) + 10 * ids.count(tokenizer.unk_id)) / words

    # Where they do equally well, general sentences tell more about a model.
    return min((GENERAL, PYTHON, TOWN), key=lambda examples: round(strangeness(examples), 1))


def examples_from(corpus: Sequence[str], tokenizer: Tokenizer, documents: str = "auto") -> Examples | None:
    """Return sentences out of the text that a model was trained on; None where that is gone or has none that suit."""
    try:
        texts = list(islice(read_documents(corpus, documents=documents), _LOOKED_AT))
    except InputError:
        return None
    sentences = [s for document in texts for s in document.sentences if _fits(s) and "[" not in s]
    hidden = [_hide(tokenizer, sentence, number) for number, sentence in enumerate(_spread(sentences, 15))]
    masked = [text for text in hidden if text][:5]
    if not masked:
        return None
    pairs = [pair for document in texts for pair in pairwise(document.sentences) if all(map(_fits, pair))]
    chosen = _spread(pairs, 3) or [(text.replace("[MASK]", " "), "") for text in masked[:3]]
    return Examples(tuple(masked), tuple(chosen), _contrast(tokenizer, sentences), tuple(_spread(sentences, 30)))


def _contrast(tokenizer: Tokenizer, sentences: Sequence[str]) -> tuple[str, str, str]:
    """Return the longest word that two sentences share, and both; empty where none do."""
    met: dict[str, str] = {}
    best = ("", "", "")
    for sentence in sentences[:200]:
        for word in dict.fromkeys(sentence[start:end] for start, end in _words(tokenizer, sentence)):
            other = met.setdefault(word, sentence)
            if other != sentence and len(word) > len(best[-1]):
                best = (other, sentence, word)
    return best


def _hide(tokenizer: Tokenizer, sentence: str, number: int) -> str | None:
    """Return the sentence with one word hidden that the vocabulary has as a whole; None where too few words suit."""
    # Before the first word there is too little to guess from. Names give themselves away by their capitals.
    suited = [(start, end) for start, end in _words(tokenizer, sentence) if start and not sentence[start].isupper()]
    if len(suited) < 2:
        return None
    start, end = suited[number % len(suited)]
    return sentence[:start] + "[MASK]" + sentence[end:]


def _words(tokenizer: Tokenizer, sentence: str) -> list[tuple[int, int]]:
    """Return where the words are that are one token; in a text without spaces, all tokens that are no punctuation."""
    encoding = tokenizer.encode(sentence)
    pieces = Counter(encoding.word_ids)
    return [
        (start, end)
        for (start, end), word, token in zip(encoding.offsets, encoding.word_ids, encoding.ids, strict=True)
        if word is not None and token != tokenizer.unk_id and (pieces[word] == 1 or _has_no_spaces(sentence))
        if _WORD.fullmatch(sentence[start:end]) or unicodedata.category(sentence[start]) in ("Lo", "So")
    ]


def _fits(sentence: str) -> bool:
    words = len(sentence) // 2 if _has_no_spaces(sentence) else len(sentence.split())
    return _FEW_WORDS <= words <= _MANY_WORDS


def _has_no_spaces(sentence: str) -> bool:
    """Return whether words are not separated, as in Chinese, Japanese and Thai."""
    return len(sentence) > 10 * len(sentence.split())


def _spread(items: list[Any], most: int) -> list[Any]:
    """Return at most so many items, evenly spread over all."""
    return items[:: max(1, len(items) // most)][:most]


#: The sample for a model of no run; the models that come with the lab were not trained on these.
_SAMPLES = {
    "classification": "sentiment",
    "multilabel": "guest-book",
    "regression": "paraphrases",
    "tokens": "entities:held-out",
    "qa": "questions",
    "embeddings": "same-event",
}
#: Those of Tiny Town for a model whose vocabulary is so small that it can only know the words of Tiny Town.
_TOWN_SAMPLE, _TOWN_VOCABULARY = "town-questions:held-out", 1_000
_HELD_OUT_READ = 2_000  # examples of a run
_MARK = re.compile(r" (?=[.,;:!?](?: |$))")
_LONGEST = {"qa": 1200}  # characters; others are short enough to be read at a glance


def task_examples(checkpoint: Checkpoint, run_folder: Path | None) -> list[tuple[str, str]]:
    """Return texts and second texts that a task model was not trained on: held out by its run, or of a sample."""
    from bertviz_lab.data.examples import read_examples
    from bertviz_lab.data.formats.read import read_task
    from bertviz_lab.training.finetuning.predict import task_of

    try:
        task = task_of(checkpoint)
    except InputError:
        return []
    if run_folder is not None:
        examples = read_examples(run_folder / "examples" / "held_out.jsonl", most=_HELD_OUT_READ)
    else:
        of_town = task == "qa" and checkpoint.config.vocab_size <= _TOWN_VOCABULARY
        examples = read_task([sample_path(_TOWN_SAMPLE if of_town else _SAMPLES[task])], task).examples
    texts = [example.inputs for example in examples]
    if task == "tokens":  # words that were set apart, as a person would write them
        texts = [(_MARK.sub("", a), b) for a, b in texts]
    short = [(a, b or "") for a, b in texts if len(a) + len(b or "") <= _LONGEST.get(task, 160)] or [
        (a, b or "") for a, b in texts
    ]
    first = min(2, len(short) - 1)  # the larger samples begin with the hardest
    return list(islice(short[first :: max(1, len(short) // 5)], 5))
