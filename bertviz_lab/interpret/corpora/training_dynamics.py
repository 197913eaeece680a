"""Training dynamics: everything that one snapshot of a training run computes for a text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lab.interpret import predictions
from bertviz_lab.interpret.attention import head_metrics
from bertviz_lab.interpret.inputs import ModelInputs, analysis, backbone, check_memory, encode_inputs
from bertviz_lab.interpret.targets import head_logits, head_scores, target_kinds, text_position
from bertviz_lab.interpret.token_labels import PassageAnswer, WordLabel, answer_question, label_words
from bertviz_lab.tokenization import Encoding, Tokenizer, token_text
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.loop.growth import joined_layers

#: Maximum number of masked tokens that are analyzed.
MAX_MASKS = 6
_TOP_K = 8  # candidates of a masked token
_GROUPS = 7  # in which the words are masked for their losses


@dataclass(frozen=True)
class MaskedToken:
    """The predictions for one [MASK], at the last layer and by the logit lens."""

    position: int
    candidates: tuple[predictions.Candidate, ...]  # most probable first
    tracked: tuple[predictions.RankedCandidate, ...]  # the requested tokens, in their order
    layers: tuple[predictions.Candidate, ...]  # the top prediction at the embeddings and after each layer (logit lens)


@dataclass(frozen=True, eq=False)
class SnapshotAnalysis:
    """Everything that one snapshot computes for a text; results of heads that the model lacks are None or empty.

    - `attentions`: (layers, heads, tokens, tokens), rows sum to 1; `heads` has their metrics.
    - `windows`: of each layer that of its local attention; None where it sees all tokens.
    - `joined`: of each layer whether it adds anything; one that has not joined the training does not.
    - `is_next`: probability that B follows A.
    - `losses`: (tokens,), -log of each token's probability when masked, in nats; NaN at special tokens and [MASK].
    - `labels`: of a sequence classifier, in the order of its configuration; `words`: of a token classifier.
    - `answer`: of a question-answering model.
    - `vectors`: (projected tokens, hidden), their word embeddings scaled to length 1.
    """

    encoding: Encoding
    attentions: NDArray[np.float32]
    heads: dict[str, NDArray[np.float64]]
    windows: tuple[int | None, ...]
    joined: tuple[bool, ...]
    masked_tokens: tuple[MaskedToken, ...]
    is_next: float | None
    losses: NDArray[np.float32] | None
    labels: tuple[predictions.LabelScore, ...]
    words: tuple[WordLabel, ...]
    answer: PassageAnswer | None
    vectors: NDArray[np.float32]

    @property
    def loss(self) -> float | None:
        """Mean of `losses`; None where there are none."""
        scored = None if self.losses is None else self.losses[~np.isnan(self.losses)]
        return float(scored.mean()) if scored is not None and scored.size else None


@analysis
def analyze_snapshot(
    checkpoint: Checkpoint,
    text_a: str,
    text_b: str | None = None,
    *,
    tracked: Sequence[int] = (),
    projected: Sequence[int] = (),
) -> SnapshotAnalysis:
    """Analyze a text with one model.

    `tracked` are ids of tokens whose probability at each [MASK] is reported, `projected` of those whose embeddings are.
    It takes two forward passes: the text, and a batch of seven copies with a seventh of its words masked in each.
    Raises `InputError` when there is no text.
    """
    inputs = encode_inputs(checkpoint, text_a, text_b)
    encoding = inputs.encoding
    check_memory(checkpoint, len(inputs.encoding), traced=True)
    encoder = backbone(checkpoint)
    out = encoder(**inputs.arguments(), output_attentions=True, output_hidden_states=True)
    attentions = np.stack([layer[0].float().numpy() for layer in out.attentions])
    kinds = target_kinds(checkpoint)
    predicts_next = "next" in kinds and 1 in encoding.token_type_ids
    answers = "start" in kinds and bool(text_a.strip() and (text_b or "").strip())
    *earlier, last = out.hidden_states
    states_SLD = torch.cat([*map(encoder.as_final, earlier), last])
    read = states_SLD[-1, :1] if text_position(checkpoint) == 0 else states_SLD[-1:]
    return SnapshotAnalysis(
        encoding=encoding,
        attentions=attentions,
        windows=checkpoint.config.windows,
        joined=joined_layers(checkpoint.model),
        heads=head_metrics(attentions, encoding),
        masked_tokens=_masked_tokens(checkpoint, encoding, states_SLD, tracked) if "token" in kinds else (),
        is_next=float(head_scores(checkpoint, "next", states_SLD[-1, :1])[0, 0]) if predicts_next else None,
        losses=_losses(checkpoint, inputs) if "token" in kinds else None,
        labels=predictions.classify_vector(checkpoint, read) if "label" in kinds else (),
        words=label_words(checkpoint, text_a).words if "word" in kinds else (),
        answer=answer_question(checkpoint, text_a, text_b or "", n_best=1) if answers else None,
        vectors=word_embeddings(checkpoint, projected),
    )


def _masked_tokens(
    checkpoint: Checkpoint, encoding: Encoding, states_SLD: torch.Tensor, tracked: Sequence[int]
) -> tuple[MaskedToken, ...]:
    """Return the predictions at each [MASK] from the hidden states of all layers, (layers + 1, tokens, hidden)."""
    tokenizer = checkpoint.tokenizer
    masked_tokens = []
    for position in encoding.mask_positions(tokenizer.mask_id)[:MAX_MASKS]:
        rows_SV = head_scores(checkpoint, "token", states_SLD[:, position])
        lens = tuple(predictions.candidates_of(tokenizer, row_V, 1)[0] for row_V in rows_SV)
        asked = tuple(predictions.ranked(tokenizer, rows_SV[-1], token) for token in tracked)
        candidates = predictions.candidates_of(tokenizer, rows_SV[-1], _TOP_K)
        masked_tokens.append(MaskedToken(position, candidates, asked, lens))
    return tuple(masked_tokens)


def _losses(checkpoint: Checkpoint, inputs: ModelInputs) -> NDArray[np.float32]:
    """Return the loss of every token of the text: each is masked once, in a fixed group with others."""
    encoding, mask = inputs.encoding, checkpoint.tokenizer.mask_id
    positions = encoding.unmasked_positions(mask)
    losses = np.full(len(encoding), np.nan, dtype=np.float32)
    groups = [positions[start::_GROUPS] for start in range(_GROUPS) if positions[start::_GROUPS]]
    if not groups:
        return losses
    ids_PL = inputs.input_ids.repeat(len(groups), 1)
    for row, group in enumerate(groups):
        ids_PL[row, group] = mask
    last_PLD = backbone(checkpoint)(**inputs.variants(ids_PL)).last_hidden_state
    hidden_ND = torch.cat([last_PLD[row, group] for row, group in enumerate(groups)])
    order = [position for group in groups for position in group]
    targets_N = torch.tensor([encoding.ids[position] for position in order])
    logits_NV = head_logits(checkpoint.model, "token", hidden_ND).float()
    losses[order] = torch.nn.functional.cross_entropy(logits_NV, targets_N, reduction="none").numpy()
    return losses


@torch.inference_mode()
def word_embeddings(checkpoint: Checkpoint, tokens: Sequence[int]) -> NDArray[np.float32]:
    """Return the word embeddings of some tokens scaled to length 1, (tokens, hidden)."""
    table = backbone(checkpoint).embeddings.word.weight[torch.tensor(list(tokens), dtype=torch.long)]
    return torch.nn.functional.normalize(table.float(), dim=-1).numpy()


@torch.inference_mode()
def related_tokens(checkpoint: Checkpoint, seeds: Sequence[int], count: int = 40) -> tuple[int, ...]:
    """Return the seeds and the words with the nearest embeddings, at most `count` in all, without repetition.

    Special tokens, single characters and pieces inside a word (`Tokenizer.continuation`) are left out.
    """
    tokenizer = checkpoint.tokenizer
    table = torch.nn.functional.normalize(backbone(checkpoint).embeddings.word.weight.float(), dim=-1)
    chosen = [token for token in dict.fromkeys(seeds) if _is_word(tokenizer, token)]
    if not chosen:
        return ()
    similarity_V = (table @ table[chosen].T).max(-1).values[: tokenizer.vocab_size]
    for token in similarity_V.argsort(descending=True).tolist():
        if len(chosen) >= count:
            break
        if token not in chosen and _is_word(tokenizer, token):
            chosen.append(token)
    return tuple(chosen[:count])


def _is_word(tokenizer: Tokenizer, token_id: int) -> bool:
    """Return whether a token begins a word and has letters only, two at least."""
    if token_id >= tokenizer.vocab_size or tokenizer.continuation[token_id]:  # padding rows of the embedding matrix
        return False
    text = token_text(tokenizer, token_id)
    return len(text) > 1 and text.isalpha()
