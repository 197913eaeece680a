"""Pictures in a notebook: pages that need nothing but a browser."""

import functools
import json
import re
from typing import Any

import numpy as np
from playwright.sync_api import Page, expect

from bertviz_lab import (
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    interpret,
    show,
)
from bertviz_lab.data.examples import LabelledText
from bertviz_lab.data.probes.probing_tasks import PROBING_TASKS
from bertviz_lab.interpret import Results
from bertviz_lab.training.finetuning.tasks.base import Prediction
from bertviz_lab.training.runs.events import EvalDone, Preparing, StepDone, to_json
from bertviz_lab.ui.components.standalone import PLOTLY, source
from tests.little import little_checkpoint
from tests.ui.components.harness import events

A, B = "the red cat", "a small dog"
TEXT = "the red [MASK] sat on the mat"
PROBES = {"event": "ProbesDone", "probes": "english", "right": {"agreement": 1.0, "article": 0.5}}


@functools.cache
def views() -> dict[str, show.View]:
    """Every picture that there is, of little models, by the name of its function."""
    checkpoint = little_checkpoint()
    tokenizer = checkpoint.tokenizer
    pair = [interpret.trace_text(checkpoint, A, B, causal=causal) for causal in (False, True)]
    masked = interpret.mask_text(tokenizer, TEXT, seed=1)
    filled = [interpret.fill_mask(checkpoint, TEXT, 10, causal=causal) for causal in (False, True)]
    sentences = interpret.similarity(checkpoint, [A, B, "an old man"])
    contexts = interpret.compare_contexts(checkpoint, "the red cat", "the red book", "red")
    norms = interpret.norms_by_layer(checkpoint, A)
    classifier = little_checkpoint(kind=BertForSequenceClassification, id2label=("bad", "good"))
    tagger = little_checkpoint(kind=BertForTokenClassification, id2label=("O", "B-PER", "I-PER"), num_labels=3)
    answers = little_checkpoint(kind=BertForQuestionAnswering)
    run: tuple[dict[str, Any], list[dict[str, Any]]] = ({"preset": "tiny"}, events(40))
    results = results_of_two_trials()
    patching, parts = interpret.patch_activations(checkpoint, TEXT), interpret.decompose_logit(checkpoint, TEXT)
    index, flow = interpret.index_corpus(checkpoint, [A, B, TEXT]), interpret.information_flow(checkpoint, TEXT)
    promoted = interpret.promoted_tokens(checkpoint, index, 1, 3)
    assert promoted is not None
    probes = interpret.probe_layers(checkpoint, PROBING_TASKS["gender"].read())
    return {
        "activation_patching": show.activation_patching(patching, "head"),
        "answer": show.answer(interpret.answer_question(answers, "the red", "the red cat sat on the mat")),
        "architecture": show.architecture(checkpoint, TEXT, B),
        "attention": show.attention(pair[0], "little"),
        "attention_comparison": show.attention_comparison(
            interpret.compare_attention(checkpoint, interpret.untrained(checkpoint), A)
        ),
        "attention_scores": show.attention_scores(pair[0]),
        "attribution": show.attribution(interpret.attribute(checkpoint, TEXT)),
        "classification": show.classification(interpret.classify(classifier, A)),
        "compare_runs": show.compare_runs({"first": run, "second": run}),
        "confusion_matrix": show.confusion_matrix(results),
        "corpus_heads": show.corpus_heads(index),
        "context_paths": show.context_paths(contexts),
        "context_similarity": show.context_similarity(contexts),
        "difference": show.difference(*pair),
        "embedding_sum": show.embedding_sum(interpret.embedding_sum(checkpoint, A, B)),
        "entities": show.entities(interpret.label_words(tagger, A)),
        "examples": show.examples(results),
        "fill_comparison": show.fill_comparison(
            interpret.compare_fill_mask([checkpoint, little_checkpoint(seed=1)], TEXT)
        ),
        "fill_mask": show.fill_mask(filled[0]),
        "findings": show.findings(interpret.measure_findings(checkpoint, TEXT, index=index)),
        "flow_graph": show.flow_graph(flow, 3),
        "head_ablation": show.head_ablation(interpret.ablate_heads(checkpoint, TEXT)),
        "head_examples": show.head_examples(index, tokenizer, 1, 0),
        "head_profile": show.head_profile(index, 1, 0),
        "head_search": show.head_search(interpret.find_heads(checkpoint, index, A, query=2, key=1)),
        "heads": show.heads({"bidirectional": pair[0], "causal": pair[1]}),
        "information_flow": show.information_flow(flow, 3),
        "intervention": show.intervention(*filled, "causal mask"),
        "joint_fill": show.joint_fill(interpret.joint_fill(checkpoint, "the [MASK] [MASK] sat")),
        "label_scores": show.label_scores(results),
        "layer_probes": show.layer_probes(probes, probes, "gender"),
        "learning_curves": show.learning_curves(events(40)),
        "lens_fit": show.lens_fit(interpret.LensFit((2.0, 1.0), (1.0, 0.5), 100, 20, 1.0)),
        "logit_decomposition": show.logit_decomposition(parts, patching),
        "logit_lens": show.logit_lens(interpret.logit_lens(checkpoint, TEXT)),
        "mask_epochs": show.mask_epochs(
            interpret.mask_epochs(tokenizer, TEXT, epochs=4, repeat_after=2, seed=0), static=True
        ),
        "masked_loss": show.masked_loss(masked, interpret.masked_loss(checkpoint, masked)),
        "masking": show.masking(masked),
        "masking_statistics": show.masking_statistics(interpret.masking_statistics(tokenizer, TEXT, draws=100, seed=0)),
        "neighbours": show.neighbours("cat", interpret.nearest_tokens(checkpoint, "cat")),
        "neuron_examples": show.neuron_examples(index, tokenizer, 1, 3),
        "next_sentence": show.next_sentence(interpret.next_sentence(checkpoint, A, B)),
        "next_sentences": show.next_sentences({"little": interpret.next_sentence(checkpoint, A, B)}),
        "norms": show.norms(norms),
        "probes": show.probes([PROBES | {"step": step} for step in (1, 2, 3)]),
        "promoted_tokens": show.promoted_tokens(promoted, 1, 3),
        "pseudo_log_likelihood": show.pseudo_log_likelihood(interpret.pseudo_log_likelihood(checkpoint, TEXT)),
        "query_key": show.query_key(interpret.query_key(pair[0], 0, 0, 1, 2)),
        "reliability": show.reliability(results),
        "sentence_map": show.sentence_map(sentences),
        "similarity": show.similarity(sentences),
        "slices": show.slices(results),
        "token_norms": show.token_norms(norms, "attention"),
        "tokens": show.tokens(tokenizer.encode(TEXT)),
        "trials": show.trials(results),
        "training_influence": show.training_influence(
            interpret.training_influence(lambda step: checkpoint, [1], [np.array(tokenizer.ids([A])[0])], TEXT)
        ),
        "word_splits": show.word_splits(tokenizer, "unbelievably"),
    }


def results_of_two_trials() -> Results:
    """A fine-tuning with one error in ten."""
    examples = tuple(LabelledText(f"a film {n}", None, ("bad", "good")[n % 2], n) for n in range(10))
    said = [example.label for example in examples[:9]] + ["bad"]
    predictions = tuple(Prediction(label, (0.9, 0.1) if label == "bad" else (0.2, 0.8)) for label in map(str, said))
    trial = {"name": "seed 0", "scores": {"accuracy": 0.9, "macro_f1": 0.9}, "best_step": 4, "random": False}
    return Results(
        task="classification", labels=("bad", "good"), metric="accuracy", start="little", scores={"accuracy": 0.9},
        baselines={"accuracy": 0.5}, trials=(trial, trial | {"name": "seed 1"}), seed_statistics=(), planned=2,
        train_count=40, examples=examples, predictions=predictions,
    )  # fmt: skip


def test_every_picture_is_among_these() -> None:
    functions = {name for name, value in vars(show).items() if getattr(value, "__module__", "") == show.__name__}
    assert set(views()) == {name for name in functions if not name.startswith("_")} - {"View", "page", "run_report"}


def test_a_view_asks_nothing_of_the_net_and_can_be_saved(tmp_path) -> None:
    for name, view in views().items():
        ours = view.page.replace(source(PLOTLY), "")  # whose comments and namespaces name addresses
        addresses = set(re.findall(r"https?://[^'\"` ]+", ours))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name
        assert view.save(tmp_path / f"{name}.html").read_text(encoding="utf-8") == view.page
        assert view._repr_html_().startswith("<iframe")


def test_a_run_is_drawn_from_its_events_as_from_its_log() -> None:
    done = StepDone(1, 0.5, 64, 2.0, 1e-3, 1.0, 128.0, 0.5, {"mlm_loss": 2.0})
    scored = EvalDone(1, 0.5, 64, {"mlm_loss": 2.5})
    yielded = (Preparing("read", 0, 1, ""), done, scored)
    logged = [json.loads(to_json(event)) for event in yielded]
    assert show.learning_curves(yielded).page == show.learning_curves(logged).page


def test_hostile_tokens_do_not_leave_their_strings() -> None:
    page = show.tokens(little_checkpoint().tokenizer.encode("</script><img src=x onerror=alert(1)>")).page
    assert page.count("</script>") == 3  # import map, payload, script


def test_each_view_draws_itself_without_a_server(page: Page, tmp_path) -> None:
    for name, view in views().items():
        page.goto(view.save(tmp_path / "view.html").as_uri())
        expect(page.locator("#view > .lab"), name).to_contain_text(re.compile(r"\w{3}"))
        assert not page.locator(".lab .empty:visible").count(), name
        drawn = page.locator(".lab :is(canvas, svg, td, button, mark, li, span)")
        assert drawn.count() > 1, name


def test_the_frame_in_a_notebook_grows_with_what_is_drawn_in_it_later(page: Page) -> None:
    """Charts come when the page has long been loaded: of three only two were seen."""
    script = "setTimeout(() => { document.getElementById('box').style.height = '1500px'; }, 500)"
    late = f"<!doctype html><body><div id='box' style='height: 50px'></div><script>{script}</script></body>"
    page.set_content(show.View(late, height=200)._repr_html_())
    page.wait_for_function("() => document.querySelector('iframe').clientHeight > 1500", timeout=10_000)
    page.set_viewport_size({"width": 700, "height": 900})
    page.set_content(views()["learning_curves"]._repr_html_())
    charts = page.frame_locator("iframe").locator(".main-svg")
    expect(charts.last).to_be_attached()
    page.wait_for_function(
        """() => {
          const frame = document.querySelector('iframe');
          return frame.contentDocument.body.scrollHeight <= frame.clientHeight;
        }"""
    )


def test_a_model_in_a_notebook_answers_without_a_kernel(page: Page) -> None:
    view = show.page(little_checkpoint(), "predictions", "the red [MASK] sat")
    assert view.note.endswith("MB, which this notebook keeps")
    page.set_content(view._repr_html_())
    frame = page.frame_locator("iframe")
    expect(frame.locator("#fill-bars .bar-row")).to_have_count(5)
    expect(frame.locator("#text-a, #panel-attention").locator("visible=true")).to_have_count(0)
    frame.locator("#fill-bars .word").first.click()  # masks it
    expect(frame.locator("#fill-bars .blank")).to_have_count(2)
    page.wait_for_function(  # the page ends above the end of its frame, which would grow with it for ever
        """() => {
          const frame = document.querySelector('iframe');
          return frame.contentDocument.querySelector('.page').offsetHeight < frame.clientHeight - 30;
        }"""
    )
