"""Texts for analyses of a corpus: a sentence each, or several short ones of one document."""

from collections.abc import Iterable, Iterator

from bertviz_lab.data.documents import Document, count_words, split_sentences
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.samples import SAMPLES
from bertviz_lab.data.samples.task_samples import TASK_SAMPLES, sample_path
from bertviz_lab.tokenization import Tokenizer

#: What comes with the lab, by name: its title on the page.
CORPORA = {
    "sentences": "English sentences that come with the lab",
    "tiny-town": "held-out stories of Tiny Town",
    "docstrings": "Python's documentation",
}
_WORDS = 24  # of sentences that are joined: what pronouns and repeated words refer to is in the sentence before
_TRIED = 60  # texts by which the vocabulary's own corpus is recognized


def corpus_texts(documents: Iterable[Document], most: int) -> list[str]:
    """Return the first different texts of some documents, at most `most`."""
    texts: dict[str, None] = {}
    for text in _joined(documents):  # no further than needed: some documents are slow to read
        if len(texts) == most:
            break
        texts[text] = None
    return list(texts)


def _joined(documents: Iterable[Document]) -> Iterator[str]:
    for document in documents:
        text = ""
        for sentence in document.sentences:
            if text and count_words(text) + count_words(sentence) > _WORDS:
                yield text
                text = ""
            text = f"{text} {sentence}".strip()
        if text:
            yield text


def sample_texts(name: str, most: int) -> list[str]:
    """Return the texts of one of `CORPORA`."""
    if name == "sentences":
        return corpus_texts(_task_documents(), most)
    sample = SAMPLES[name]
    return corpus_texts((sample.held_out or sample.documents)(), most)


def _task_documents() -> Iterator[Document]:
    """Yield each text of the task samples in ordinary English; those in the words of Tiny Town are left out."""
    for name, sample in TASK_SAMPLES.items():
        if sample.start:
            continue
        for example in read_task([sample_path(name)], sample.task).examples:
            yield from (Document(name, tuple(split_sentences(text or ""))) for text in example.inputs)


def suited_corpus(tokenizer: Tokenizer) -> str:
    """Return the name of the corpus that a vocabulary knows best: in the fewest tokens a word, unknown ones counted ten
    times."""

    def strangeness(name: str) -> float:
        texts = sample_texts(name, _TRIED)
        ids = [token for row in tokenizer.ids(texts) for token in row]
        return round((len(ids) + 10 * ids.count(tokenizer.unk_id)) / sum(map(count_words, texts)), 1)

    return min(CORPORA, key=strangeness)
