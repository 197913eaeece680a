"""The input of a model, and its masking: the panel Tokens."""

from collections.abc import Sequence

from bertviz_lab.figures.interpret.masking import (
    epochs_payload,
    losses_payload,
    masking_payload,
    masking_statistics_payload,
)
from bertviz_lab.figures.interpret.tokens import splitting_payload, token_payload
from bertviz_lab.interpret import MaskedLoss, MaskedText, MaskingStatistics
from bertviz_lab.show.view import View, chart, view
from bertviz_lab.tokenization import Encoding, Tokenizer, explain


def tokens(encoding: Encoding) -> View:
    """Show the tokens of a text with ids, segments, positions and mask."""
    return view("tokens", "Tokens", token_payload(encoding), 420)


def word_splits(tokenizer: Tokenizer, text: str) -> View:
    """Show how each word of a text is split, step by step."""
    payload = splitting_payload(
        explain(tokenizer, text), tokenizer.algorithm, unknown=tokenizer.token(tokenizer.unk_id)
    )
    return view("split", "How words are split", payload, 420)


def masking(masked: MaskedText, mask_probability: float = 0.15) -> View:
    """Show a masked text: which tokens were selected, and how they were replaced."""
    return view("tokens", "Masking", masking_payload(masked, mask_probability=mask_probability), 480)


def masked_loss(masked: MaskedText, loss: MaskedLoss) -> View:
    """Show the MLM loss at each selected position."""
    return view("tokens", "MLM loss at each selected position", losses_payload(masked, loss), 420)


def masking_statistics(counts: MaskingStatistics) -> View:
    """Show the outcomes of many draws next to those that the masking rule predicts."""
    expected = {count.outcome: count.expected / max(1, counts.chosen) for count in counts.outcomes}
    return chart("Masking statistics", masking_statistics_payload(counts, expected))


def mask_epochs(epochs: Sequence[MaskedText], *, static: bool = False) -> View:
    """Show the masks of successive epochs; with `static` they repeat."""
    return chart("Masks by epoch", epochs_payload(epochs, static))
