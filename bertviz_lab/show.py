"""The page's figures in a notebook: each function returns HTML that runs by itself, in Jupyter, Colab or a file.

from bertviz_lab import interpret, load_checkpoint, show
show.attention(interpret.trace_text(load_checkpoint("wiki-tiny"), "The cat sat.", "It slept."))

`show.page` is the model itself, which answers in the browser when the kernel is long gone. What needs a server is left
to the page: the snapshots of a run under one slider, and a run that still trains.
"""

import html
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from bertviz_lab import interpret
from bertviz_lab.data.examples import Question, Task
from bertviz_lab.figures.attention import attention_body, attention_payload, heads_payload
from bertviz_lab.figures.corpus import corpus_heads_body, head_examples_body, neuron_examples_body
from bertviz_lab.figures.findings import findings_payload
from bertviz_lab.figures.influence import bm25_payload, tracin_payload
from bertviz_lab.figures.payload import figure
from bertviz_lab.figures.probing import lens_fit_payload, probes_payload
from bertviz_lab.figures.results import (
    attribution_body,
    decomposition_body,
    embedding_body,
    flow_body,
    flow_graph_body,
    patching_body,
    splits_body,
)
from bertviz_lab.figures.training import finetuning as finetuning_figures
from bertviz_lab.figures.training.curves import replay_payload
from bertviz_lab.figures.training.runs import RunView, learning_payload, runs_payload
from bertviz_lab.tokenization import Encoding, Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, save_checkpoint
from bertviz_lab.training.finetuning.tasks import TASKS
from bertviz_lab.training.runs.events import Event, to_json
from bertviz_lab.ui.components.standalone import standalone_page
from bertviz_lab.ui.views.predictions.view import task_payload
from bertviz_lab.ui.views.publish.report import report_of_folder
from bertviz_lab.ui.views.run.results import confusion_view, listed_view

PublishedView = Literal[
    "tokens", "predictions", "architecture", "attention", "attribution", "causes", "corpus", "embeddings", "layers"
]
#: Where the notebook lets it, the frame is as high as what is drawn in it: charts come after the page has loaded.
_FIT = (
    "new this.contentWindow.ResizeObserver(() => {"
    " this.style.height = `${this.contentDocument.body.scrollHeight + 40}px`"
    " }).observe(this.contentDocument.body)"
)


@dataclass(frozen=True)
class View:
    """A figure as a page: shown by a notebook, or saved as a file that opens in any browser without a server."""

    page: str
    height: int = 640  # in pixels, of the frame in a notebook
    note: str = ""  # below the frame

    def _repr_html_(self) -> str:
        frame = f'width="100%" height="{self.height}" style="border: 0" onload="{_FIT}"'
        return f'<iframe {frame} srcdoc="{html.escape(self.page)}"></iframe>{html.escape(self.note)}'

    def save(self, path: str | Path) -> Path:
        """Write the page to a file."""
        path = Path(path)
        path.write_text(self.page, encoding="utf-8")
        return path


def _view(kind: str, label: str, payload: str, height: int) -> View:
    """Return the figure that a component of the page draws of a payload."""
    return View(standalone_page(kind, label, payload), height)


def _chart(label: str, payload: str, height: int = 420) -> View:
    return _view("chart", label, payload, height)


def _strip(label: str, payload: str, height: int = 420) -> View:
    return _view("tokens", label, payload, height)


def _heads(label: str, tokens: Encoding | interpret.Alignment, *shown: Any, **frame: Any) -> View:
    """Return the grid of heads for what is `shown`, the numbers and their title."""
    return _view("attention", label, attention_payload(attention_body(tokens, *shown, **frame)), 900)


def page(
    checkpoint: Checkpoint, view: PublishedView | None = None, text_a: str = "", text_b: str = "", **more: str
) -> View:
    """Show a model that answers in the browser, without a kernel: Explore, or one `view` of it without the frame.

    It opens with the texts, which a reader may change; `more` are settings as an address has them
    (`**{"attention.layer": "2"}`). The weights are in the notebook: 5.5 MB, and 1.3 times the weights in 16 bits, which
    is 19 MB for wiki-mini and 7 MB for tiny-town. Takes half a minute. Raises `InputError` without the extra `onnx`.
    """
    from bertviz_lab.browser.site import publish

    start = {"text_a": text_a, "text_b": text_b, **more} | ({"view": view, "bare": "1"} if view else {})
    with tempfile.TemporaryDirectory() as place:
        model, file = save_checkpoint(checkpoint, Path(place) / "model"), Path(place) / "page.html"
        names = [checkpoint.name or "model"]
        written = publish([str(model)], file, single_file=True, names=names, start=start).path.read_text(
            encoding="utf-8"
        )
    return View(written, 900, f"{len(written) / 1e6:.1f} MB, which this notebook keeps")


def architecture(checkpoint: Checkpoint, text: str = "", text_b: str | None = None) -> View:
    """Show the whole model in one picture, zoomed into a layer and a head, with the code of each part.

    With a text it is filled with the numbers of that text. Its menu saves it as SVG and PNG, for slides.
    """
    model = interpret.describe_architecture(checkpoint)
    numbers: dict[str, Any] = {}
    if text.strip():
        norms = interpret.norms_by_layer(checkpoint, text, text_b)
        attentions = interpret.trace_text(checkpoint, text, text_b).attentions
        numbers = {
            "encoding": norms.encoding,
            "norms": norms,
            "embeddings": interpret.embedding_sum(checkpoint, text, text_b).norms(),
            "attention": attention_payload(attention_body(norms.encoding, attentions)),
        }
        if model.has_mlm and norms.encoding.mask_positions(checkpoint.tokenizer.mask_id):
            numbers["masks"] = interpret.fill_mask(checkpoint, text, min(4, model.vocabulary), text_b or "").masks
        if model.pair_objective and text_b:
            numbers["next"] = interpret.next_sentence(checkpoint, text, text_b)
        kind = TASKS.get(cast(Task, model.task))
        if kind and (text_b or kind.example_type is not Question):
            numbers["answer"] = json.loads(task_payload(checkpoint, text, text_b or ""))
    return _view("architecture", f"Architecture of {model.name}", figure("architecture", **vars(model), **numbers), 900)


# ---- Tokens: the input of a model, and its masking


def tokens(encoding: Encoding) -> View:
    """Show the tokens of a text with ids, segments, positions and mask."""
    return _strip("Tokens", figure("tokens", encoding=encoding))


def word_splits(tokenizer: Tokenizer, text: str) -> View:
    """Show how each word of a text is split, step by step."""
    return _view("split", "How words are split", figure("word_splits", **splits_body(tokenizer, text)), 420)


def masking(masked: interpret.MaskedText, mask_probability: float = 0.15) -> View:
    """Show a masked text: which tokens were selected, and how they were replaced."""
    return _strip("Masking", figure("masking", mask_probability=mask_probability, **vars(masked)), 480)


def masked_loss(masked: interpret.MaskedText, loss: interpret.MaskedLoss) -> View:
    """Show the MLM loss at each selected position."""
    payload = figure("masked_loss", positions=loss.positions, **vars(masked))
    return _strip("MLM loss at each selected position", payload)


def masking_statistics(counts: interpret.MaskingStatistics) -> View:
    """Compare the outcomes of many draws with the shares of the masking rule."""
    return _chart("Masking statistics", figure("masking_statistics", **vars(counts)))


def mask_epochs(epochs: Sequence[interpret.MaskedText], *, static: bool = False) -> View:
    """Show the masks of successive epochs; with `static` they repeat."""
    names, outcomes = epochs[0].encoding.tokens, [epoch.outcomes for epoch in epochs]
    return _chart("Masks by epoch", figure("mask_epochs", tokens=names, epochs=outcomes, static=static))


# ---- Predictions and Attribution


def fill_mask(filled: interpret.FillMask) -> View:
    """Show the predictions for each masked token."""
    return _view("fill", "Predictions for the masked tokens", figure("fill_mask", **vars(filled)), 420)


def fill_comparison(compared: interpret.FillComparison) -> View:
    """Show the predictions of several models for the same masked tokens."""
    return _chart("Predictions of several models", figure("fill_comparison", **vars(compared)), 480)


def joint_fill(joint: interpret.JointFill) -> View:
    """Show all masked tokens filled jointly, next to the independent predictions."""
    return _chart("Masked tokens filled together", figure("joint_fill", **vars(joint)))


def pseudo_log_likelihood(scored: interpret.PseudoLogLikelihood) -> View:
    """Show the surprisal of each token (pseudo-log-likelihood)."""
    return _strip("Surprisal of each token", figure("pseudo_log_likelihood", **vars(scored)), 360)


def next_sentence(prediction: interpret.NextSentence) -> View:
    """Show the NSP prediction."""
    return _chart("Next sentence", figure("next_sentence", **vars(prediction)), 320)


def next_sentences(predictions: Mapping[str, interpret.NextSentence]) -> View:
    """Show the NSP prediction of several models, or for several pairs, by their names."""
    shares = [prediction.is_next for prediction in predictions.values()]
    return _chart("Next sentence", figure("next_sentences", names=list(predictions), shares=shares))


def classification(prediction: interpret.Classification) -> View:
    """Show the probability of each label of a text; of a regression the predicted number."""
    return _chart("Labels", figure("classification", **vars(prediction)))


def entities(labelled: interpret.WordLabels) -> View:
    """Show the entities of a text, or the labels of its words, marked in it."""
    return _view(
        "marked", "Entities", figure("entities", text=labelled.text, words=labelled.words, labels=labelled.labels), 300
    )


def answer(answer: interpret.PassageAnswer) -> View:
    """Show the answer to a question marked in its passage, and the next best ones."""
    return _view("marked", "Answer", figure("answer", **vars(answer)), 420)


def attribution(attributions: interpret.Attribution | Sequence[interpret.Attribution]) -> View:
    """Show the attribution of a prediction to its tokens, by one method or several."""
    several = [attributions] if isinstance(attributions, interpret.Attribution) else list(attributions)
    return _strip("Attribution", figure("attribution", **attribution_body(several)), 360)


def head_ablation(ablation: interpret.HeadAblation) -> View:
    """Show effect of each head on a prediction (head ablation)."""
    return _chart("Head ablation", figure("head_ablation", **vars(ablation)), 640)


def intervention(before: interpret.FillMask, after: interpret.FillMask, what: str) -> View:
    """Show the likeliest tokens for the first [MASK] before and after an intervention, in words such as "causal mask".

    A token that one of the two does not list counts as 0 there: ask both for enough.
    """
    shares = [{c.token: c.probability for c in filled.masks[0].candidates} for filled in (before, after)]
    names = list(dict.fromkeys([*list(shares[0])[:6], *list(shares[1])[:6]]))
    values = [[share.get(name, 0.0) for name in names] for share in shares]
    payload = figure("intervention", names=names, before=values[0], after=values[1], changed=what)
    return _chart("Before and after", payload)


# ---- Causes


def activation_patching(patching: interpret.ActivationPatching, component: interpret.Component = "residual") -> View:
    """Show the effect of each patch of a component on a prediction (causal tracing)."""
    return _chart("Activation patching", figure("activation_patching", **patching_body(patching, component)))


def logit_decomposition(parts: interpret.LogitDecomposition, patching: interpret.ActivationPatching) -> View:
    """Show what each component adds to a logit, next to the effect of patching it."""
    return _chart("Components of a logit", figure("logit_decomposition", **decomposition_body(parts, patching)), 640)


def information_flow(flow: interpret.InformationFlow, position: int) -> View:
    """Show each token's contribution to a position by value zeroing, norms and ALTI, next to attention."""
    return _strip("Information flow", figure("information_flow", **flow_body(flow, position)))


def training_influence(influence: interpret.TrainingInfluence, *, baseline: bool = False) -> View:
    """Show the training sentences that taught a prediction by TracIn, or with `baseline` by BM25."""
    return _chart("Training influence", (bm25_payload if baseline else tracin_payload)(influence), 640)


def flow_graph(
    flow: interpret.InformationFlow,
    position: int,
    method: interpret.FlowMethod = "value zeroing",
    threshold: float = 0.05,
) -> View:
    """Show the paths to a position through the layers; edges with less than `threshold` of its state are left out."""
    payload = figure("flow_graph", **flow_graph_body(flow, method, position, threshold))
    return _chart("Paths through the layers", payload, 560)


def findings(report: interpret.Findings) -> View:
    """Show the findings report on a prediction: five sentences, each with its picture."""
    return _view("findings", "Findings", findings_payload(report), 720)


# ---- Corpus search


def corpus_heads(
    index: interpret.CorpusIndex, x: str = "position", y: str = "content", head: tuple[int, int] = (0, 0)
) -> View:
    """Show all heads of a model by two metrics of a corpus index."""
    payload = figure("corpus_heads", **corpus_heads_body(index, interpret.head_roles(index), (x, y), head))
    return _chart("All heads on a corpus", payload, 560)


def head_profile(index: interpret.CorpusIndex, layer: int, head: int) -> View:
    """Show a head's mean weight by distance over a corpus."""
    payload = figure("head_profile", layer=layer, head=head, values=index.profile[layer, head])
    return _chart("Mean weight by distance", payload, 360)


def head_examples(index: interpret.CorpusIndex, tokenizer: Tokenizer, layer: int, head: int) -> View:
    """Show where a head attends on a corpus: its strongest pairs of tokens, and random ones by interval."""
    payload = figure("head_examples", **head_examples_body(index, tokenizer, layer, head))
    return _view("contexts", "Where a head attends", payload, 640)


def head_search(search: interpret.HeadSearch) -> View:
    """Show which heads link tokens like those of an example."""
    return _chart("Heads that link such tokens", figure("head_search", **vars(search)))


def neuron_examples(index: interpret.CorpusIndex, tokenizer: Tokenizer, layer: int, neuron: int) -> View:
    """Show the most activating tokens of a feed-forward neuron on a corpus."""
    payload = figure("neuron_examples", **neuron_examples_body(index, tokenizer, layer, neuron))
    return _view("contexts", "Where a neuron fires", payload, 420)


def promoted_tokens(promoted: interpret.PromotedTokens, layer: int, neuron: int) -> View:
    """Show the tokens that a feed-forward neuron promotes and suppresses."""
    payload = figure("promoted_tokens", layer=layer, neuron=neuron, **vars(promoted))
    return _chart("Promoted tokens", payload, 560)


# ---- Attention, Layers and Embeddings


def attention(trace: interpret.TextTrace, title: str = "") -> View:
    """Show every head of a trace: the grid, one head in detail, lines, filters, metrics."""
    return _heads(
        title or "Attention of every head",
        trace.encoding,
        trace.attentions,
        title,
        layers=range(len(trace.layers)),  # there is no server to ask for others
        windows=[layer.window for layer in trace.layers],
    )


def attention_scores(trace: interpret.TextTrace, term: str = "score", title: str = "") -> View:
    """Show the scores before the softmax, or one of their terms (`AttentionScores.terms`), in the same way."""
    scores = interpret.attention_scores(trace)
    frame = {"number": "score", "windows": scores.windows, "shown": term}
    return _heads("Attention scores of every head", trace.encoding, scores.values(term), title, **frame)


def query_key(pair: interpret.QueryKey) -> View:
    """Show the score of a pair of tokens in a head: query times key, dimension by dimension."""
    return _chart("Query times key", figure("query_key", **vars(pair)))


def difference(
    first: interpret.TextTrace, second: interpret.TextTrace, title: str = "The second minus the first"
) -> View:
    """Show the attention of the second trace minus that of the first; both have the same tokens, layers and heads."""
    weights = interpret.attention_difference(first, second)
    return _heads(title, first.encoding, weights, title, number="difference")


def attention_comparison(compared: interpret.AttentionComparison, title: str = "The second minus the first") -> View:
    """Show attention of the second model minus the first, between stretches that are whole tokens in both."""
    return _heads(title, compared.alignment, compared.second - compared.first, title, number="difference")


def heads(traces: Mapping[str, interpret.TextTrace]) -> View:
    """Show all heads of several models side by side, by their names."""
    bodies = [
        attention_body(trace.encoding, trace.attentions, windows=[layer.window for layer in trace.layers])
        for trace in traces.values()
    ]
    return _view("heads", "Heads of several models", heads_payload(traces, bodies), 640)


def logit_lens(lens: interpret.LogitLens) -> View:
    """Show the prediction at every layer, by the logit lens or a tuned lens."""
    return _chart("Tuned lens" if lens.is_tuned else "Logit lens", figure("logit_lens", **vars(lens)), 560)


def lens_fit(fit: interpret.LensFit) -> View:
    """Show how near a tuned lens comes to the model's own output at each layer, next to the logit lens."""
    return _chart("Fit of the tuned lens", lens_fit_payload(fit))


def layer_probes(probes: interpret.LayerProbes, random: interpret.LayerProbes, task: str) -> View:
    """Show what linear probes read off each layer, with their control task and the same of random weights."""
    return _chart("Probes", probes_payload(probes, random, task))


def norms(by_layer: interpret.NormsByLayer, position: int | None = None) -> View:
    """Show norms by layer, of hidden states and of what both sub-layers add: of a token, or the median of all."""
    return _chart("Norms by layer", figure("norms", position=position, **vars(by_layer)))


def token_norms(
    by_layer: interpret.NormsByLayer, kind: Literal["hidden", "attention", "feed_forward"] = "hidden"
) -> View:
    """Show the norms of one kind of vector, layer by layer and token by token."""
    return _strip("Norms by layer and token", figure("token_norms", kind=kind, **vars(by_layer)))


def embedding_sum(embeddings: interpret.EmbeddingSum) -> View:
    """Show the norms of the vectors that are added for each token, and their cosines with the sum."""
    return _strip("Embedding sum", figure("embedding_sum", **embedding_body(embeddings)))


def similarity(result: interpret.Similarity) -> View:
    """Show the cosine similarity of sentences."""
    payload = figure("similarity", texts=result.texts, products=result.products)
    return _chart("Cosine similarity of the sentences", payload, 480)


def sentence_map(result: interpret.Similarity) -> View:
    """Show sentences in the plane of the first two principal components of their vectors."""
    payload = figure("sentence_map", texts=result.texts, products=result.products)
    return _chart("Map of the sentences", payload, 480)


def neighbours(word: str, nearest: Sequence[interpret.Neighbour]) -> View:
    """Show the tokens whose embeddings are nearest to a word's."""
    return _chart(f"Nearest neighbors of {word}", figure("neighbours", word=word, neighbours=nearest))


def context_similarity(contexts: interpret.ContextComparison) -> View:
    """Show a word in two contexts: the similarity of its two vectors at each layer."""
    return _chart("Contextual embeddings", figure("context_similarity", word=contexts.word, products=contexts.products))


def context_paths(contexts: interpret.ContextComparison) -> View:
    """Show the same as two paths through the layers, in one plane."""
    return _chart(
        "Paths through the layers", figure("context_paths", word=contexts.word, products=contexts.products), 480
    )


# ---- Runs, apart from what follows a run while it trains


#: As `pretrain` and `finetune` yield them, or as the rows of a run's `events.jsonl`.
Events = Iterable[Event | Mapping[str, Any]]


def learning_curves(events: Events, title: str = "") -> View:
    """Show the curves of a run: losses, accuracies, perplexity, learning rate.

    `events` are what `pretrain` or `finetune` yields, or the rows of a run's `events.jsonl`.
    """
    return _view("loss", "Learning curves", replay_payload(_rows(events), title), 640)


def run_report(folder: str | Path) -> View:
    """Show a whole run of a folder: curves, results, probes, training dynamics, predictions and settings.

    Raises `InputError` where there is no run, or no log of it yet.
    """
    return View(report_of_folder(Path(folder)), 900)


def compare_runs(runs: Mapping[str, tuple[Mapping[str, Any], Events]]) -> View:
    """Show several runs, (settings, events) by their names: the settings that differ, and their curves."""
    views = [RunView("", name, settings, _rows(events)) for name, (settings, events) in runs.items()]
    return _view("comparison", "Comparison of runs", runs_payload(views), 900)


def probes(events: Events) -> View:
    """Show the minimal-pair probes of a run over training. Raises `ValueError` for a run that has none."""
    payload = learning_payload(_rows(events))
    if payload is None:
        raise ValueError("There are no probes in these events.")
    return _chart("Minimal-pair probes", payload, 560)


def confusion_matrix(results: interpret.Results) -> View:
    """Show true and predicted labels; the scores of each for words and several labels; else scores by length."""
    return _chart("Confusion matrix", confusion_view(results), 480)


def label_scores(results: interpret.Results) -> View:
    """Show precision, recall and F1 of each label. Raises `ValueError` for a task without labels."""
    if results.report is None:
        raise ValueError("There are no labels in this task.")
    return _chart("Scores of each label", finetuning_figures.per_class_payload(results.report))


def reliability(results: interpret.Results) -> View:
    """Show the reliability diagram: accuracy against confidence."""
    return _chart("Reliability diagram", finetuning_figures.reliability_payload(results.calibration()))


def slices(results: interpret.Results) -> View:
    """Show the score by length and by label."""
    return _chart("Slices", finetuning_figures.slices_payload(results.slices(), results.measure))


def trials(results: interpret.Results) -> View:
    """Show the trials of a run side by side. Raises `ValueError` if there is only one."""
    if len(results.trials) < 2:
        raise ValueError("There is one trial only.")
    return _chart("Trials", finetuning_figures.trials_payload(results))


def examples(results: interpret.Results) -> View:
    """Show the held-out examples with their predictions, errors first."""
    return _view("examples", "Held-out examples", listed_view(results, results.picked()), 560)


def _rows(events: Events) -> list[Mapping[str, Any]]:
    return [event if isinstance(event, Mapping) else json.loads(to_json(event)) for event in events]
