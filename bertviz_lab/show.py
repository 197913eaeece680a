"""The page's pictures in a notebook: each function gives HTML that runs by itself, in Jupyter, Colab or a file.

from bertviz_lab import interpret, load_checkpoint, show
show.attention(interpret.trace_text(load_checkpoint("wiki-tiny"), "The cat sat.", "It slept."))
"""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviz_lab.figures.interpret.attention import attention_body, attention_payload, difference_body
from bertviz_lab.figures.interpret.attribution import attribution_payload
from bertviz_lab.figures.interpret.embeddings import similarity_payload
from bertviz_lab.figures.interpret.head_ablation import head_ablation_payload
from bertviz_lab.figures.interpret.logit_lens import logit_lens_payload, surprisal_payload
from bertviz_lab.figures.interpret.masking import masking_payload
from bertviz_lab.figures.interpret.predictions import fill_mask_payload, next_sentence_payload
from bertviz_lab.figures.interpret.tokens import token_payload
from bertviz_lab.figures.training.curves import replay_payload
from bertviz_lab.interpret import (
    METRICS,
    AttentionComparison,
    Attribution,
    FillMask,
    HeadAblation,
    LogitLens,
    MaskedText,
    NextSentence,
    PseudoLogLikelihood,
    Similarity,
    TextTrace,
    attention_difference,
    head_metrics,
)
from bertviz_lab.tokenization import Encoding
from bertviz_lab.ui.components.assemble import Assembly
from bertviz_lab.ui.components.attention.attention_grid import ATTENTION_GRID
from bertviz_lab.ui.components.charts.chart import CHART
from bertviz_lab.ui.components.charts.loss_chart import LOSS_CHART
from bertviz_lab.ui.components.tokens.fill_mask_bars import FILL_MASK_BARS
from bertviz_lab.ui.components.tokens.token_strip import TOKEN_STRIP


@dataclass(frozen=True)
class View:
    """A picture as a page: shown by a notebook, or saved as a file that opens in any browser without a server."""

    page: str
    height: int = 640  # in pixels, of the frame in a notebook

    def _repr_html_(self) -> str:
        frame = f'width="100%" height="{self.height}" style="border: 0"'
        return f'<iframe {frame} srcdoc="{html.escape(self.page)}"></iframe>'

    def save(self, path: str | Path) -> Path:
        """Write the page to a file."""
        path = Path(path)
        path.write_text(self.page, encoding="utf-8")
        return path


def attention(trace: TextTrace, title: str = "") -> View:
    """Every head of a trace: the grid, one head in detail, lines, filters, metrics."""
    metrics = {name: (METRICS[name], values) for name, values in head_metrics(trace).metrics.items()}
    encoding = trace.encoding
    body = attention_body(
        trace.tokens,
        encoding.token_type_ids,
        trace.attentions,
        title,
        layers=range(len(trace.layers)),  # there is no server to ask for others
        special=encoding.special_tokens_mask,
        metrics=metrics,
        windows=[layer.window for layer in trace.layers],
    )
    return _view(ATTENTION_GRID, "Attention of every head", attention_payload(body), 900)


def tokens(encoding: Encoding) -> View:
    """The tokens of a text with ids, segments, positions and mask."""
    return _view(TOKEN_STRIP, "Tokens", token_payload(encoding), 420)


def masking(masked: MaskedText, mask_probability: float = 0.15) -> View:
    """A masked text: which tokens were selected, and how they were replaced."""
    return _view(TOKEN_STRIP, "Masking", masking_payload(masked, mask_probability=mask_probability), 480)


def fill_mask(filled: FillMask) -> View:
    """The predictions for each masked token."""
    return _view(FILL_MASK_BARS, "Predictions for the masked tokens", fill_mask_payload(filled), 420)


def attribution(attributions: Attribution | Sequence[Attribution]) -> View:
    """Attribution of a prediction to its tokens, by one method or several."""
    several = [attributions] if isinstance(attributions, Attribution) else list(attributions)
    return _view(TOKEN_STRIP, "Attribution", attribution_payload(several), 360)


def head_ablation(ablation: HeadAblation) -> View:
    """Effect of each head on a prediction (head ablation)."""
    payload = head_ablation_payload(ablation.effects, ablation.baseline - ablation.without_layer, ablation.target.title)
    return _view(CHART, "Head ablation", payload, 640)


def difference(first: TextTrace, second: TextTrace, title: str = "The second minus the first") -> View:
    """Attention of the second trace minus the first; both have the same tokens, layers and heads."""
    encoding = first.encoding
    weights = attention_difference(first, second)
    special = encoding.special_tokens_mask
    body = difference_body(first.tokens, encoding.token_type_ids, weights, title, special=special)
    return _view(ATTENTION_GRID, title, attention_payload(body), 900)


def attention_comparison(compared: AttentionComparison, title: str = "The second minus the first") -> View:
    """Attention of the second model minus the first, between the stretches of text that are whole tokens in both."""
    shared = compared.alignment
    weights, special = compared.second - compared.first, shared.special_tokens_mask
    body = difference_body(shared.tokens, shared.segment_ids, weights, title, special=special)
    return _view(ATTENTION_GRID, title, attention_payload(body), 900)


def next_sentence(prediction: NextSentence) -> View:
    """Whether B follows A."""
    return _view(CHART, "Next sentence", next_sentence_payload(prediction.is_next, prediction.is_random), 320)


def similarity(result: Similarity) -> View:
    """Cosine similarity of sentences."""
    return _view(CHART, "Cosine similarity of the sentences", similarity_payload(result.texts, result.cosines), 480)


def logit_lens(lens: LogitLens) -> View:
    """The prediction at every layer."""
    return _view(CHART, "Logit lens", logit_lens_payload(lens), 560)


def pseudo_log_likelihood(scored: PseudoLogLikelihood) -> View:
    """Surprisal of each token (pseudo-log-likelihood)."""
    payload = surprisal_payload(
        scored.encoding, scored.log_probabilities, scored.expected, scored.total, scored.perplexity
    )
    return _view(TOKEN_STRIP, "Surprisal of each token", payload, 360)


def learning_curves(events: Iterable[Mapping[str, Any]], title: str = "") -> View:
    """The curves of a run: losses, accuracies, perplexity, learning rate; `events` as in its `events.jsonl`."""
    return _view(LOSS_CHART, "Learning curves", replay_payload(events, title), 640)


def _view(assembly: Assembly, label: str, payload: str, height: int) -> View:
    return View(assembly.page(label, payload), height)
