"""MLM and NSP scores on held-out text: always the same masks, always without dropout and gradients."""

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from bertviz_lab.config import SHORTEST_SEQUENCE
from bertviz_lab.data.batches import BatchStream
from bertviz_lab.data.corpora.read import ReadingNotes, read_documents
from bertviz_lab.data.pretraining.batches import PretrainingBatch, PretrainingData, masking_rule
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus, sentence_lines
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForMaskedLM, BertForNextSentencePrediction, BertForPreTraining
from bertviz_lab.model.heads import token_logits
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.loop.evaluation import EVAL_BATCH_SIZE, LabelScores, evaluating
from bertviz_lab.training.loop.hardware import Hardware, choose_hardware
from bertviz_lab.training.pretraining.replaced_tokens import GeneratorAndDiscriminator, as_classes


@dataclass(frozen=True)
class EvalSize:
    """How much is enough: an evaluation ends after a batch with which it has both, or when all has been seen once."""

    masked_tokens: int
    pairs: int


#: While a model trains: the curves need little, and training waits for it.
QUICK_EVAL = EvalSize(masked_tokens=6_000, pairs=0)
#: Where scores decide something: 2,000 sentence pairs have a standard error of 1.1 points at an accuracy of 50%.
FULL_EVAL = EvalSize(masked_tokens=30_000, pairs=2_000)


def eval_batches(data: PretrainingData, size: EvalSize) -> Iterator[PretrainingBatch]:
    """Batches of the first pass over held-out documents, the same every time, as many as `size` asks for.

    Raises `InputError` where the documents give no example.
    """
    stream = BatchStream(data)
    masked_tokens = pairs = 0
    for batch in stream:
        if stream.epoch > 0:
            return
        yield batch
        masked_tokens, pairs = masked_tokens + batch.label_count, pairs + batch.pair_count
        if masked_tokens >= size.masked_tokens and (pairs >= size.pairs or not data.pairs):
            return


def predict(model: nn.Module, batch: PretrainingBatch) -> tuple[Tensor | None, Tensor | None]:
    """Logits of whichever pretraining head there is: of the asked tokens (batch, positions, vocab), of the pair."""
    inputs = (batch.input_ids, batch.attention_mask, batch.token_type_ids)
    head = getattr(model, "module", model)  # several processes wrap it
    if isinstance(head, BertForNextSentencePrediction):
        return None, model(*inputs).logits
    out = model(*inputs, masked_positions=batch.masked_positions, causal=batch.causal)
    return token_logits(out), getattr(out, "seq_relationship_logits", None)


@torch.no_grad()  # and not inference_mode: weights that a sharded model gathers meanwhile are trained afterwards
def evaluate_pretraining(model: nn.Module, batches: Iterable[PretrainingBatch], hardware: Hardware) -> dict[str, float]:
    """Means over all labels: `mlm_loss` (nats) and `mlm_accuracy`; `nsp_loss` and `nsp_accuracy` where there are pairs,
    with `nsp_accuracy_se`, the standard error of that share, and `nsp_majority`, that of the more frequent label.

    For replaced-token detection the MLM scores are the generator's, and the discriminator has `rtd_loss`,
    `rtd_accuracy`, `rtd_majority`, that of calling every token original, and `rtd_f1`, the F1 of replaced tokens, which
    are rare.
    """
    mlm, nsp, rtd = LabelScores(), LabelScores(), LabelScores()
    is_detection = isinstance(getattr(model, "module", model), GeneratorAndDiscriminator)  # several processes wrap it

    def add(batch: PretrainingBatch) -> None:  # its logits are freed before the next ones are computed
        with hardware.autocast():
            out = model(batch) if is_detection else None
            mlm_logits, nsp_logits = (out.generator_logits, None) if out else predict(model, batch)
        if mlm_logits is not None:
            mlm.add(mlm_logits, batch.labels)
        if nsp_logits is not None and batch.next_sentence_label is not None:
            nsp.add(nsp_logits, batch.next_sentence_label)
        if out:
            rtd.add(as_classes(out.discriminator_logits), out.labels)

    with evaluating(model):
        for batch in batches:
            add(batch.to(hardware.device))
    scores = mlm.means("mlm") | nsp.means("nsp") | rtd.means("rtd")
    if nsp.count:  # of a share of independent pairs
        scores["nsp_accuracy_se"] = math.sqrt(scores["nsp_accuracy"] * (1 - scores["nsp_accuracy"]) / nsp.count)
        scores["nsp_majority"] = max(nsp.positives, nsp.count - nsp.positives) / nsp.count
    if is_detection:
        scores["rtd_majority"] = 1 - rtd.positives / max(1, rtd.count)
        errors = rtd.count - rtd.correct  # of two classes: false positives and false negatives
        scores["rtd_f1"] = 2 * rtd.true_positives / max(1, 2 * rtd.true_positives + errors)
    return scores


def evaluate_text(
    checkpoint: Checkpoint,
    paths: Sequence[str],
    task: str,
    *,
    seq_len: int | None = None,
    seed: int = 0,
    balanced: bool | None = None,
    on_note: Callable[[str], None] = lambda sentence: None,
) -> dict[str, float]:
    """Return scores of a model on text files, masked as in pretraining; the same seed gives the same masks.

    `task` is "mlm", "nsp" or, in one pass, "mlm+nsp". `seq_len` is 128 where none is given, or fewer if
    the model was trained on fewer. With `balanced` half of the pairs are true next sentences; without, as Google's code
    draws them; None is as the model was trained. `on_note` hears which files were left out.
    Raises `InputError` when the model lacks the head, the text has no second document or no two sentences in one for
    `nsp`, or `seq_len` leaves no room.
    """
    if seq_len is not None and seq_len < SHORTEST_SEQUENCE:
        raise InputError(f"A length of {seq_len} tokens is too short; choose at least {SHORTEST_SEQUENCE}.")
    model, positions = checkpoint.model, checkpoint.config.max_position_embeddings
    needed = {"mlm": BertForMaskedLM, "nsp": BertForNextSentencePrediction}.get(task, BertForPreTraining)
    if not isinstance(model, (BertForPreTraining, needed)):
        what = f"{checkpoint.name} is a {checkpoint.architecture} and cannot be scored on {task}"
        raise InputError(f'{what}; name its own task, for example `task="classification"`.')
    if "nsp" in task and not checkpoint.config.has_nsp:
        raise InputError(f"{checkpoint.name} was not pretrained on next-sentence prediction; choose the task mlm.")
    with tempfile.TemporaryDirectory() as folder:
        notes = ReadingNotes()
        documents = read_documents(paths, max_bytes=math.inf, notes=notes)
        corpus = TokenizedCorpus.write(sentence_lines(documents), checkpoint.tokenizer, Path(folder))
        for sentence in notes.left_out():
            on_note(sentence)
        if "nsp" in task and corpus.documents < 2:
            raise InputError("The text is one document; random next sentences need at least two.")
        view = corpus.select(np.arange(corpus.documents))
        if "nsp" in task and not view.has_sentence_pairs:
            raise InputError("Every document is a single sentence, so no sentence has a next one.")
        data = PretrainingData(
            documents=view,
            tokenizer=checkpoint.tokenizer,
            rule=masking_rule(checkpoint.tokenizer),
            seq_len=min(seq_len or min(128, checkpoint.trained_length or 128), positions),
            batch_size=EVAL_BATCH_SIZE,
            short_seq_probability=0.1,
            pairs="nsp" if corpus.documents > 1 and checkpoint.config.type_vocab_size > 1 else "",
            seed=seed,
            balanced=bool(checkpoint.config.balanced_pairs if balanced is None else balanced),
        )
        hardware = choose_hardware("fp32")
        batches = eval_batches(data, EvalSize(masked_tokens=100_000, pairs=2_000))
        scores = evaluate_pretraining(hardware.borrow(model), batches, hardware)
    return {name: value for name, value in scores.items() if name.startswith(tuple(task.split("+")))}
