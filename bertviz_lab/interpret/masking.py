"""The 80/10/10 rule on one sentence: the same code that masks in training, with its choices made visible."""

from dataclasses import dataclass

import numpy as np

from bertviz_lab.data.batching import masking_rule
from bertviz_lab.data.masking import KEPT, MASKED, NOT_CHOSEN, REPLACED, SPECIAL, mask_batch
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Encoding, Tokenizer

#: What became of a token, in words.
OUTCOMES = {
    SPECIAL: "special",
    NOT_CHOSEN: "not chosen",
    MASKED: "mask",
    REPLACED: "random",
    KEPT: "kept",
}


@dataclass(frozen=True)
class MaskedText:
    """A text before and after masking, position by position."""

    encoding: Encoding  # before
    outcomes: tuple[str, ...]  # special, not chosen, mask, random, kept
    input_tokens: tuple[str, ...]  # what the model is given
    input_ids: tuple[int, ...]
    labels: tuple[int, ...]  # the true id where the loss looks, -100 elsewhere


def mask_text(
    tokenizer: Tokenizer,
    text_a: str,
    text_b: str | None = None,
    *,
    seed: int,
    mask_probability: float = 0.15,
    mask_share: float = 0.8,
    random_share: float = 0.1,
    whole_word: bool = False,
    max_length: int | None = 512,
) -> MaskedText:
    """Mask a sentence, or a pair, as pretraining would; the same seed gives the same masks.

    Raises `InputError` when there is no text, or a share is not a share.
    """
    if not text_a.strip() and not (text_b or "").strip():
        raise InputError("Type a sentence first.")
    if not 0 < mask_probability <= 1:
        raise InputError(f"The share of tokens to choose must be above 0 and at most 1, not {mask_probability}.")
    if min(mask_share, random_share) < 0 or mask_share + random_share > 1 + 1e-9:
        raise InputError("The shares of [MASK] and of random tokens must not be negative nor exceed 1 together.")
    encoding = tokenizer.encode(text_a, text_b or None, max_length=max_length)
    rule = masking_rule(tokenizer, mask_probability, whole_word, mask_share=mask_share, random_share=random_share)
    ids = np.array([encoding.ids])
    masked = mask_batch(ids, np.array([len(encoding)]), rule, np.random.default_rng(seed))
    labels = np.full(len(encoding), -100)
    used = masked.labels[0] != -100
    labels[masked.positions[0][used]] = masked.labels[0][used]
    return MaskedText(
        encoding=encoding,
        outcomes=tuple(OUTCOMES[int(outcome)] for outcome in masked.outcomes[0]),
        input_tokens=tuple(tokenizer.token(int(i)) for i in masked.input_ids[0]),
        input_ids=tuple(int(i) for i in masked.input_ids[0]),
        labels=tuple(int(label) for label in labels),
    )
