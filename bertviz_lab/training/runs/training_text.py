"""The sentences that a model was pretrained on, as token ids: of a run, or of a shipped model of a sample text."""

import dataclasses
import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.config import PretrainConfig, RunConfig
from bertviz_lab.config.options import from_form
from bertviz_lab.data.corpora.read import SAMPLE_PREFIX, read_documents
from bertviz_lab.data.pretraining.split import split_corpus
from bertviz_lab.data.pretraining.tokenized_corpus import CachedTokenizer, CorpusView, TokenizedCorpus
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.runs.run_folder import SHIPPED_LOG, read_config, read_log

_FIELDS = {field.name for field in dataclasses.fields(PretrainConfig)}
_RECIPE = "recipe.json"


@dataclass(frozen=True, eq=False)
class TrainingText:
    """The different sentences of a training text; held-out documents are not among them."""

    sentences: tuple[NDArray[np.int64], ...]  # token ids, without special tokens
    counts: NDArray[np.int64]  # how often each occurs
    config: PretrainConfig
    learning_rates: tuple[tuple[int, float], ...]  # (step, learning rate), as logged

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of a step, interpolated between those logged; 1 without a log."""
        if not self.learning_rates:
            return 1.0
        steps, rates = zip(*self.learning_rates, strict=True)
        return float(np.interp(step, steps, rates))


def read_training_text(folder: Path, tokenizer: Tokenizer) -> TrainingText:
    """Return what the pretraining run, or the shipped model, in a folder was trained on.

    Raises `InputError` for a fine-tuned model, and for one whose text is not here.
    """
    corpus: TokenizedCorpus | None = None
    config: RunConfig | None
    if (folder / "corpus").is_dir():
        config, log = read_config(folder), read_log(folder)[0]
        if isinstance(config, PretrainConfig) and not config.streaming:
            corpus = TokenizedCorpus.open(folder / "corpus")
    else:
        config, log = shipped_config(folder), read_log(folder, name=SHIPPED_LOG)[0]
        corpus = _sample(config, tokenizer) if isinstance(config, PretrainConfig) else None
    if corpus is None or not isinstance(config, PretrainConfig):
        raise InputError(
            "The text that this model was trained on is not here: choose tiny-town, or pretrain a model in Train."
        )
    has_pairs = config.objective == "mlm+nsp" and corpus.documents > 1
    training, _ = split_corpus(corpus, min_documents=2 if has_pairs else 1)
    sentences = _different_sentences(training)
    rates = tuple((row["step"], row["learning_rate"]) for row in log if row.get("event") == "StepDone")
    dtype = corpus.ids.dtype
    ids = tuple(np.frombuffer(sentence, dtype).astype(np.int64) for sentence in sentences)
    return TrainingText(ids, np.array([*sentences.values()]), config, rates)


def shipped_config(folder: Path) -> PretrainConfig | None:
    """Return the settings in a shipped model's recipe; None unless it is one command, of a pretraining."""
    path = folder / _RECIPE
    recipe = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"command": [""]}
    kind, *words = recipe["command"]
    if kind != "pretrain" or "earlier" in recipe:  # of several stages none says it all
        return None
    given: dict[str, list[str]] = {}
    for word in words:
        if word.startswith("--"):
            texts = given.setdefault(word[2:].replace("-", "_"), [])
        else:
            texts.append(word)
    corpus, values = tuple(given.pop("corpus")), dict[str, object]()
    for flag, texts in given.items():
        if flag in _FIELDS:
            values[flag] = " ".join(texts) if texts else True
        elif flag.removeprefix("no_") in _FIELDS:
            values[flag.removeprefix("no_")] = False
    return PretrainConfig.of_recipe(corpus=corpus, **from_form(PretrainConfig, values))


def without_sentences(
    config: PretrainConfig, tokenizer: Path, sentences: tuple[str, ...], steps: int
) -> PretrainConfig:
    """Return the settings of the same run without some sentences: same vocabulary, seed and number of steps."""
    own = "" if config.init_from or config.teacher else str(tokenizer)
    return replace(config, without=sentences, steps=steps, tokenizer=own)


def _sample(config: PretrainConfig, tokenizer: Tokenizer) -> TokenizedCorpus | None:
    if not all(entry.startswith(SAMPLE_PREFIX) for entry in config.corpus):
        return None
    documents = [document.sentences for document in read_documents(config.corpus)]
    return TokenizedCorpus.of_texts(documents, CachedTokenizer(tokenizer))


def _different_sentences(view: CorpusView) -> Counter[bytes]:
    """Return the ids of each sentence as bytes, with how often it occurs."""
    ids, ends = np.asarray(view.corpus.ids), np.asarray(view.corpus.sentence_ends)
    places = np.concatenate([np.arange(first, end) for first, end in view.spans])
    starts = np.concatenate(([0], ends[:-1]))[places]
    return Counter(ids[start:end].tobytes() for start, end in zip(starts.tolist(), ends[places].tolist(), strict=True))
