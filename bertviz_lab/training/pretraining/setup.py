"""What a pretraining run is made of: the objective its text allows, training and held-out data, and their baselines."""

import math
from dataclasses import dataclass, replace

import numpy as np

from bertviz_lab.config import PretrainConfig
from bertviz_lab.config.families import FAMILIES
from bertviz_lab.data.pretraining.batches import PretrainingData, masking_rule
from bertviz_lab.data.pretraining.split import split_corpus
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.loop.evaluation import EVAL_BATCH_SIZE
from bertviz_lab.training.pretraining.evaluate import FULL_EVAL

#: Google's code writes the text out this many times, each time cut and masked differently, and then repeats these.
_DUPE_FACTOR = 10
#: objective -> what is asked about the two texts of an example.
PAIRS = {"mlm+nsp": "nsp", "mlm+sop": "sop"}
_MLM_ONLY = "sentence pairs are left out and the model is trained on masked language modeling only."


@dataclass(frozen=True)
class RunData:
    """The data of a run."""

    objective: str  # mlm, mlm+nsp, mlm+sop or rtd: the one asked for, or mlm where the text has no sentence pairs
    training: PretrainingData
    held_out: PretrainingData
    notes: tuple[str, ...]  # what a person should know of it


def build_data(config: PretrainConfig, tokenizer: Tokenizer, corpus: TokenizedCorpus) -> RunData:
    """Split the corpus and say how batches are drawn from each part; without sentence pairs the objective is mlm.

    Of a streamed text `corpus` is the held-out documents, and the training documents are read later.
    """
    objective, notes = config.objective, []
    family = FAMILIES[config.family]
    if objective == "mlm+nsp" and family.pretraining != "nsp":
        objective = {"sop": "mlm+sop", "rtd": "rtd"}.get(family.pretraining, "mlm")
        notes.append(f"{family.title} has no next-sentence prediction: this run trains {objective}.")
    if objective == "mlm+nsp" and corpus.documents < 2:
        objective = "mlm"
        notes.append(
            f"The text is a single document, so there is no other to draw a random next sentence from: {_MLM_ONLY}"
        )
    if config.streaming:  # the corpus is what was held out of it
        train_view = held_out_view = corpus.select(np.arange(corpus.documents))
        notes.append(f"The text is read as it is trained on; its first {corpus.documents:,} documents are held out.")
    else:
        train_view, held_out_view = split_corpus(corpus, min_documents=2 if objective == "mlm+nsp" else 1)
    pairs = PAIRS.get(objective, "")
    if pairs and not train_view.has_sentence_pairs:
        objective, pairs = "mlm", ""
        notes.append(f"Every document is a single sentence, so no sentence has a next one: {_MLM_ONLY}")
    held_out_pairs = pairs if held_out_view.has_sentence_pairs else ""
    if pairs and not held_out_pairs:
        notes.append("No held-out document has two sentences: sentence pairs are trained on, but not scored.")
    if not config.streaming and np.array_equal(held_out_view.spans, train_view.spans):
        notes.append("The text is too short to hold some of it out: the scores are on text that is also trained on.")
    training = PretrainingData(
        documents=train_view,
        tokenizer=tokenizer,
        rule=masking_rule(
            tokenizer,
            config.mask_probability,
            config.whole_word,
            config.span_masking,
            mask_share=config.mask_shares[0],
            random_share=config.mask_shares[1],
        ),
        seq_len=config.seq_len,
        batch_size=config.batch_size,
        short_seq_probability=config.short_seq_probability,
        pairs=pairs,
        seed=config.seed,
        repeat_after=_DUPE_FACTOR if config.masking == "static" else None,
    )
    # Scored by the paper's rule whatever the run trains with, so that the scores of all runs can be compared.
    held_out = replace(
        training,
        documents=held_out_view,
        rule=masking_rule(tokenizer),
        batch_size=EVAL_BATCH_SIZE,
        pairs=held_out_pairs,
        seed=config.seed + 1,
        repeat_after=None,
    )
    return RunData(objective, training, held_out, tuple(notes))


def baselines(counts: np.ndarray, tokenizer: Tokenizer, data: RunData) -> dict[str, float]:
    """Scores without a model; losses in nats.

    Of masked tokens: the uniform baseline ln V, and by token frequency (`counts`, (vocab,)) the unigram entropy and the
    share of the most frequent one. Of pairs: the uniform baseline ln 2, and of the held-out pairs the entropy of the
    labels and the share of the more frequent label. There are more random pairs than next ones in short sequences:
    where one sentence fills A's room, the next one cannot follow it (google-research/bert).
    """
    share = _shares(counts)
    values = {
        "mlm_loss": math.log(tokenizer.vocab_size),
        "unigram_entropy": _entropy(share),
        "unigram_accuracy": float(share.max()),
    }
    if data.training.pairs:
        values["nsp_loss"] = math.log(2)
    if data.held_out.pairs:
        labels = _shares(np.bincount(data.held_out.pair_labels(FULL_EVAL.pairs)))
        values |= {"nsp_entropy": _entropy(labels), "nsp_majority": float(labels.max())}
    return values


def _shares(counts: np.ndarray) -> np.ndarray:
    return counts[counts > 0] / counts.sum()


def _entropy(shares: np.ndarray) -> float:
    return float(-(shares * np.log(shares)).sum())
