"""Fine-tuning for sentence embeddings: a folder that sentence-transformers opens, with the same vectors."""

import json

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses as theirs
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

from bertviz_lab import load_checkpoint
from bertviz_lab.errors import InputError
from bertviz_lab.interpret import encode, read_results
from bertviz_lab.training.finetuning.predict import evaluate_task, prediction_task, task_of
from bertviz_lab.training.finetuning.tasks.embeddings import cosine_loss, ranking_loss
from tests.training.finetuning.embeddings.support import config_for, pairs, write_related
from tests.training.finetuning.support import finish
from tests.training.support import resumes_exactly

pytestmark = pytest.mark.filterwarnings("ignore")
TEXTS = ["the red cat", "where is the old man", "the river that is big sat here " * 9]


@pytest.fixture(scope="module")
def run(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("embeddings")
    finish(config_for(files, folder, "pairs", epochs=4), folder / "run")
    return folder / "run"


def test_sentence_transformers_opens_the_folder_with_the_same_vectors(run) -> None:
    ours = load_checkpoint(run / "model")
    theirs = SentenceTransformer(str(run / "model"), device="cpu")
    assert theirs.max_seq_length == ours.max_length == ours.trained_length
    np.testing.assert_allclose(encode(ours, TEXTS), theirs.encode(TEXTS), atol=1e-5)
    assert theirs.similarity_fn_name == "cosine"


def test_training_ranks_the_right_texts_higher(run, files) -> None:
    outcome = read_results(run)
    assert (outcome.task, outcome.metric) == ("embeddings", "mrr")
    before = load_checkpoint(files.model)
    anchors, positives = ([e.texts[n] for e in outcome.examples] for n in (0, 1))
    evaluator = InformationRetrievalEvaluator(
        dict(zip(map(str, range(len(anchors))), anchors, strict=True)),
        {text: text for text in positives},
        {str(n): {text} for n, text in enumerate(positives)},
        mrr_at_k=[100],
        precision_recall_at_k=[1, 5],
        show_progress_bar=False,
    )
    theirs = evaluator(SentenceTransformer(str(run / "model"), device="cpu"))
    assert outcome.scores["mrr"] == pytest.approx(theirs["cosine_mrr@100"])
    for k in (1, 5):
        assert outcome.scores[f"recall_at_{k}"] == pytest.approx(theirs[f"cosine_recall@{k}"])
    vectors = encode(before, anchors, normalize=True), encode(before, positives, normalize=True)
    untrained = np.mean([1 / (row >= row[n]).sum() for n, row in enumerate(vectors[0] @ vectors[1].T)])
    assert outcome.scores["mrr"] > untrained
    assert outcome.scores["mrr"] > outcome.baselines["mrr"]
    assert sorted(outcome.picked()) == list(range(len(outcome.examples)))


def test_the_scores_come_out_of_evaluate_again(run) -> None:
    model = load_checkpoint(run / "model")
    assert task_of(model) == "embeddings"
    again = evaluate_task(model, [run / "examples" / "held_out.jsonl"], "embeddings", threads=1)
    report = json.loads((run / "report.json").read_text())
    assert again == pytest.approx({name: report["scores"][name] for name in again}, abs=1e-6)


def test_pairs_with_scores_judge_by_spearman_and_may_judge_triplets(files, tmp_path) -> None:
    config = config_for(files, tmp_path, "scores")
    finish(config, tmp_path / "run")
    model = load_checkpoint(tmp_path / "run" / "model")
    assert read_results(tmp_path / "run").metric == "spearman"
    path = write_related(tmp_path, "scores")
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    theirs = SentenceTransformer(str(tmp_path / "run" / "model"), device="cpu")
    first, second = (theirs.encode([row[n] for row in rows], normalize_embeddings=True) for n in (0, 1))
    expected = spearmanr((first * second).sum(1), [float(row[2]) for row in rows]).statistic
    assert evaluate_task(model, [path], "embeddings")["spearman"] == pytest.approx(expected, abs=1e-6)
    finish(config_for(files, tmp_path, "triplets", eval=(str(path),)), tmp_path / "triplets")
    assert read_results(tmp_path / "triplets").metric == "spearman"


@pytest.mark.parametrize("kind", ["pairs", "triplets", "scores"])
def test_a_stopped_run_resumes_to_the_same_model(files, tmp_path, kind) -> None:
    assert resumes_exactly(config_for(files, tmp_path, kind), tmp_path, steps=3, run=finish)


def test_pairs_without_scores_need_their_whole_batch(files, tmp_path) -> None:
    config = config_for(files, tmp_path, "pairs", gradient_accumulation_steps=2)
    with pytest.raises(InputError, match="must not be split"):
        finish(config, tmp_path / "run")
    finish(config_for(files, tmp_path, "scores", gradient_accumulation_steps=2), tmp_path / "scored")


def test_a_table_of_labels_is_not_what_embeddings_give(run) -> None:
    model = load_checkpoint(run / "model")
    with pytest.raises(InputError, match="use the command encode"):
        prediction_task(model)


def test_a_search_is_scored_on_all_candidates(run, tmp_path) -> None:
    model, texts = load_checkpoint(run / "model"), pairs(12)
    body = {"questions": [a for a, _ in texts], "candidates": [b for _, b in reversed(texts)]}
    body["ground_truths"] = [[11 - n] for n in range(12)]
    (tmp_path / "search.json").write_text(json.dumps(body))
    scores = evaluate_task(model, [tmp_path / "search.json"], "embeddings")
    vectors = [encode(model, body[name], normalize=True) for name in ("questions", "candidates")]
    cosines = vectors[0] @ vectors[1].T
    ranks = [int((row >= row[11 - n]).sum()) for n, row in enumerate(cosines)]
    assert scores["mrr"] == pytest.approx(np.mean([1 / rank for rank in ranks]))
    assert scores["recall_at_1"] == pytest.approx(np.mean([rank == 1 for rank in ranks]))


@pytest.mark.parametrize(
    ("right", "sentence"),
    [([[0], [5]], r"Question 2 of .* no right candidate among the 2"), ([[0]], "for each question")],
)
def test_a_search_that_does_not_fit_together_is_refused(run, tmp_path, right, sentence) -> None:
    body = {"questions": ["a", "b"], "candidates": ["c", "d"], "ground_truths": right}
    (tmp_path / "search.json").write_text(json.dumps(body))
    with pytest.raises(InputError, match=sentence):
        evaluate_task(load_checkpoint(run / "model"), [tmp_path / "search.json"], "embeddings")


def test_a_search_is_scored_alone_and_on_rows_with_room_for_a_text(run, tmp_path) -> None:
    model = load_checkpoint(run / "model")
    body = {"questions": ["a", "b"], "candidates": ["c", "d"], "ground_truths": [[0], [1]]}
    search, other = tmp_path / "search.json", write_related(tmp_path, "pairs")
    search.write_text(json.dumps(body))
    for files in ([search, tmp_path / "missing.json"], [other, search]):
        with pytest.raises(InputError, match="is scored by itself: give it alone"):
            evaluate_task(model, files, "embeddings")
    with pytest.raises(InputError, match="A length of 2 tokens is too short; choose at least"):
        evaluate_task(model, [search], "embeddings", max_length=2)


def vectors(count: int, seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(6, 16, generator=generator, requires_grad=True) for _ in range(count)]


def assert_equal(ours, reference, inputs) -> None:
    torch.testing.assert_close(ours, reference, atol=1e-6, rtol=1e-5)
    mine, other = (torch.autograd.grad(loss, inputs, retain_graph=True) for loss in (ours, reference))
    for a, b in zip(mine, other, strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("count", [2, 3, 4])  # pairs, triplets, two negatives
def test_multiple_negatives_ranking_is_that_of_sentence_transformers(count) -> None:
    inputs = vectors(count)
    reference = theirs.MultipleNegativesRankingLoss(torch.nn.Identity()).compute_loss_from_embeddings(inputs, None)
    assert_equal(ranking_loss(inputs), reference, inputs)


def test_the_cosine_loss_is_that_of_sentence_transformers_and_parts_add_up() -> None:
    inputs, scores = vectors(2), torch.linspace(0, 1, 6)
    reference = theirs.CosineSimilarityLoss(torch.nn.Identity()).compute_loss_from_embeddings(inputs, scores)
    assert_equal(cosine_loss(inputs, scores, 6), reference, inputs)
    inputs, scores = vectors(2), torch.linspace(0, 1, 6)
    parts = [cosine_loss([v[start::2] for v in inputs], scores[start::2], 6) for start in (0, 1)]
    torch.testing.assert_close(sum(parts), cosine_loss(inputs, scores, 6))
