import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

from bertviz_lab import FinetuneConfig, PretrainConfig, finetune, interpret, load_checkpoint, pretrain
from bertviz_lab.cli.main import command_parser, main
from bertviz_lab.cli.options import expand_home
from bertviz_lab.config.families import FROM_SCRATCH
from bertviz_lab.errors import InputError
from tests.data.tasks.glue_files import write_as_published
from tests.family_checkpoints import family_folder
from tests.little import SENTENCES, little_folder, little_text
from tests.processes import wait_for
from tests.training.finetuning.support import Files

TINY = ["--preset", "tiny", "--vocab-size", "200", "--seq-len", "16", "--batch-size", "4", "--threads", "1"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(little_folder(tmp_path_factory.mktemp("model") / "little"))


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "text.txt"
    path.write_text(little_text(), encoding="utf-8")
    return str(path)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    last = captured.err.strip().splitlines()[-1]
    assert last.startswith("bertviz-lab: ")
    assert "Traceback" not in captured.err
    return last


def test_pretrain_leaves_a_model_that_fills_masks(capsys, text: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    trained = answer(capsys, "pretrain", "--corpus", text, "--out", str(out), "--steps", "3", *TINY)
    assert trained["reason"] == "finished"
    assert trained["step"] == 3
    assert trained["mlm_loss"] > 0
    filled = answer(capsys, "fill-mask", "--model", trained["path"], "the red [MASK] sat", "--top-k", "2")
    assert len(filled["masks"][0]["candidates"]) == 2


def test_a_folder_with_a_model_or_a_run_of_the_python_interface_is_not_overwritten(
    capsys, model: str, text: str, tmp_path: Path
) -> None:
    answer(capsys, "export", "--model", model, "--out", str(tmp_path / "exported"))
    config = PretrainConfig(corpus=(text,), steps=1, vocab_size=300, layers=1, seq_len=32, batch_size=2)
    for _ in pretrain(config, tmp_path / "run"):
        pass
    for folder in ("exported", "run"):
        before = {path: path.read_bytes() for path in (tmp_path / folder).rglob("*") if path.is_file()}
        said = refusal(capsys, "pretrain", "--corpus", text, "--out", str(tmp_path / folder), "--steps", "1", *TINY)
        assert "holds a model already" in said
        assert {path: path.read_bytes() for path in (tmp_path / folder).rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("there", ["examples/my_notebook.py", "tokenizer/tokenizer.json", "config.json"])
def test_a_folder_with_files_of_another_kind_is_not_overwritten(
    capsys, model: str, text: str, tmp_path: Path, there: str
) -> None:
    mine = tmp_path / "project" / there
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text('{"mine": 1}', encoding="utf-8")
    folder = tmp_path / "project"
    runs = (
        pretrain(PretrainConfig(corpus=(text,), steps=1), folder),
        finetune(FinetuneConfig(train=("sample:topics",), model=model), folder),
    )
    for run in runs:
        with pytest.raises(InputError, match="would be overwritten"):
            list(run)
    assert "would be overwritten" in refusal(
        capsys, "pretrain", "--corpus", text, "--out", str(folder), "--steps", "1", *TINY
    )
    assert [path for path in folder.rglob("*") if path.is_file()] == [mine]
    assert mine.read_text(encoding="utf-8") == '{"mine": 1}'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pretrain", "--out", "RUN"], "Name at least one text"),
        (["pretrain", "--out", "RUN", "--corpus", ""], "A name is empty"),
        (["pretrain", "--out", "", "--corpus", "x"], "--out is empty"),
        (["pretrain", "--out", "RUN", "--corpus", "x", "--preset", "tin"], "did you mean tiny"),
        (["fill-mask", "--model", "no/such/model/here", "a [MASK]"], "no model"),
        (["fill-mask", "--model", "", "a [MASK]"], "Name a model"),
        (["attention", "--model", "MODEL", "--text-a", "a", "--out", "x.exe"], ".html, .png or .json"),
        (["attention", "--model", "MODEL", "--text-a", "a", "--out", "/no/such/folder/x.html"], "cannot be written"),
        (["evaluate", "--model", "MODEL", "--data", "x", "--seed", "-1"], "from 0 on"),
        (["evaluate", "--model", "MODEL", "--data", "x", "--out", "scores.json"], "--out goes with --suite"),
        (["predict", "--model", "sentiment-mini", "--data", ""], "A name is empty"),
        (["predict", "--model", "embed-mini", "--data", "x"], "gives vectors, not labels: use the command encode."),
        (["finetune", "--train", "sample:sentiment", "--eval", "", "--out", "RUN"], "A name is empty"),
    ],
)
def test_bad_input_is_one_clear_line(capsys, model: str, tmp_path: Path, arguments: list[str], message: str) -> None:
    named = {"MODEL": model, "RUN": str(tmp_path / "run")}
    assert message in refusal(capsys, *(named.get(argument, argument) for argument in arguments))


def test_a_tilde_is_expanded_in_the_paths_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    paths = {
        "pretrain": ("--corpus", "--init-from", "--teacher", "--tokenizer"),
        "finetune": ("--train", "--eval", "--test", "--model", "--like"),
    }
    for command, flags in paths.items():
        given = [command, "--out=~/run", *(f"{flag}=~/x" for flag in flags)]
        options = vars(expand_home(command_parser().parse_args(given)))
        assert "~" not in str({name: value for name, value in options.items() if name != "run"})


def test_control_c_before_anything_has_begun_is_130_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bertviz_lab.cli.main.command_parser", interrupted)
    assert main(["runs"]) == 130


def test_evaluate_says_what_a_model_can_do(capsys) -> None:
    scores = answer(capsys, "evaluate", "--task", "probes", "--model", "tiny-town")
    assert scores["agreement"] >= 0.9
    assert scores == answer(capsys, "evaluate", "--task", "probes", "--model", "tiny-town", "--data", "tiny-town")
    assert main(["evaluate", "--task", "probes", "--model", "tiny-town"]) == 0
    assert re.search(r"^word order +100\.0%$", capsys.readouterr().out, re.MULTILINE)
    assert "too few of the words" in refusal(
        capsys, "evaluate", "--task", "probes", "--model", "tiny-town", "--data", "english"
    )


def test_evaluate_scores_minimal_pairs_by_phenomenon(capsys, model: str, tmp_path: Path) -> None:
    pairs = [("the cat sat", "sat cat the", "order"), ("she reads", "she read", "agreement")]
    rows = [{"sentence_good": good, "sentence_bad": bad, "linguistics_term": term} for good, bad, term in pairs]
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = ["evaluate", "--task", "minimal-pairs", "--model", model, "--data", str(tmp_path)]
    scores = answer(capsys, *command)
    assert scores["phenomena"].keys() == {"order", "agreement"}
    assert main(command) == 0
    printed = capsys.readouterr()
    assert f"all       {scores['accuracy']:8.1%}        2" in printed.out
    assert "2 of 2 pairs" in printed.err
    file.write_text("{}\n", encoding="utf-8")
    assert "Record 1 of" in refusal(capsys, *command)


@pytest.mark.training
def test_evaluate_fine_tunes_and_scores_what_a_folder_has_of_glue(capsys, model: str, tmp_path: Path) -> None:
    write_as_published(tmp_path / "data")
    command = ["evaluate", "--suite", "glue", "--model", model, "--data", str(tmp_path / "data")]
    command += ["--out", str(tmp_path / "out"), *"--seeds 2 --epochs 1 --max-train-examples 16 --threads 1".split()]
    body = answer(capsys, *command)
    assert [list(splits) for splits in body["tasks"].values()] == [["dev"], ["dev"], ["test"], ["dev"]]
    assert body["tasks"]["stsb"]["dev"]["seeds"] == [0, 1]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "step" not in printed.err, "nothing is trained again"
    spearman = body["tasks"]["stsb"]["dev"]["mean"]["spearman"]
    assert re.search(rf"^stsb +dev +16 / 8 +spearman +{100 * spearman:.1f} ± .* 0\.0$", printed.out, re.MULTILINE)
    assert printed.out.splitlines()[-1].split() == ["average", "of", "4", f"{100 * body['average']:.1f}"]


def test_a_suite_wants_its_folders_and_its_options_nothing_else(capsys, model: str, tmp_path: Path) -> None:
    suite = ["evaluate", "--suite", "glue", "--model", model]
    assert "--suite needs --data" in refusal(capsys, *suite, "--data", str(tmp_path))
    assert "no complete task of GLUE" in refusal(
        capsys, *suite, "--data", str(tmp_path), "--out", str(tmp_path / "out")
    )
    assert not (tmp_path / "out").exists()
    grid = ["--data", str(tmp_path), "--out", str(tmp_path / "out"), "--grid", "small", "--epochs", "2"]
    assert "--grid small sets" in refusal(capsys, *suite, *grid)
    assert "--epochs goes with --suite" in refusal(capsys, "evaluate", "--model", model, "--data", "x", "--epochs", "2")
    with pytest.raises(SystemExit):
        main([*suite, "--task", "nsp"])


def test_attention_is_written_as_page_picture_and_numbers(capsys, model: str, tmp_path: Path) -> None:
    for suffix in ("html", "png", "json"):
        out = tmp_path / f"x.{suffix}"
        answer(capsys, "attention", "--model", model, "--text-a", "<script>x</script> cat", "--out", str(out))
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    numbers = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert sum(numbers["attentions"][0][0][0]) == pytest.approx(1, abs=1e-4)
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "<script>x</script>" not in page
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=.?http", page)


def disk_that_fills(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that takes half of a file."""

    def write_half(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", write_half)


def test_heads_and_neurons_are_searched_in_a_corpus(capsys, model: str, tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text(little_text(8), encoding="utf-8")
    searched = ("corpus-search", "--model", model, "--corpus", str(tmp_path / "corpus.txt"))
    body = answer(capsys, *searched)
    assert (body["corpus"], len(body["roles"])) == (str(tmp_path / "corpus.txt"), 2)
    head = answer(capsys, *searched, "--head", "2.1")["found"]
    assert len(head["strongest"]) == 6
    assert main([*searched, "--neuron", "2.3", "--texts", "20"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Active (above 0) at ")
    assert "\npromoted: " in text
    for options, message in ((("--head", "3.1"), "from 1.1 to 2.2"), (("--texts", "0"), "between 1 and 5,000")):
        assert main([*searched, *options]) == 2
        assert message in capsys.readouterr().err


def test_layers_are_probed_next_to_control_labels_and_to_random_weights(capsys, model: str, tmp_path: Path) -> None:
    words = (("cat", "NOUN"), ("sat", "VERB"), ("dog", "NOUN"), ("ran", "VERB"))
    sentences = "\n\n".join("\n".join(f"{word}\t{label}" for word, label in words) for _ in range(40))
    (tmp_path / "words.conll").write_text(sentences, encoding="utf-8")
    body = answer(capsys, "probe-layers", "--model", model, "--data", str(tmp_path / "words.conll"))
    assert (body["labels"], len(body["layers"]), body["word_type"]) == (["NOUN", "VERB"], 3, 1.0)
    for layer in body["layers"]:
        assert layer["accuracy"] == layer["random_accuracy"] == 1.0  # a word type alone is enough here
        assert layer["selectivity"] == pytest.approx(layer["accuracy"] - layer["control"])
    assert "one of pos, number" in refusal(capsys, "probe-layers", "--model", model, "--task", "mood")


def test_a_prediction_is_explained_in_five_sentences(capsys, model: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("bertviz_lab.interpret.MOST_TEXTS", 40)
    path = tmp_path / "findings.html"
    body = answer(capsys, "findings", "--model", model, "--text-a", "the red [MASK] sat", "--out", str(path))
    assert len(body["findings"]) == 5
    assert body["findings"][0]["sentence"] in path.read_text(encoding="utf-8")


def test_a_full_disk_leaves_the_earlier_file_in_place_of_half_a_new_one(
    capsys, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("a wonderful film\n", encoding="utf-8")
    (tmp_path / "out").mkdir()
    disk_that_fills(monkeypatch)
    for command, name in (
        (["predict", "--model", "sentiment-mini", "--data", str(texts)], "p.csv"),
        (["encode", "--model", model, "--data", str(texts)], "v.npy"),
        (["encode", "--model", model, "--data", str(texts)], "v.jsonl"),
        (["attention", "--model", model, "--text-a", "a cat"], "a.json"),
    ):
        out = tmp_path / "out" / name
        out.write_text("the earlier file", encoding="utf-8")
        assert "cannot be written: No space left" in refusal(capsys, *command, "--out", str(out))
        assert out.read_text(encoding="utf-8") == "the earlier file"
    assert len(list((tmp_path / "out").iterdir())) == 4, "nothing else is left behind"


def test_a_file_is_written_behind_a_link_and_into_a_pipe(capsys, model: str, tmp_path: Path) -> None:
    link = tmp_path / "a.json"
    link.symlink_to(tmp_path / "real.json")
    answer(capsys, "attention", "--model", model, "--text-a", "a cat", "--out", str(link))
    assert link.is_symlink()
    assert json.loads((tmp_path / "real.json").read_text(encoding="utf-8"))["tokens"]
    data = ["--data", str(tmp_path / "texts.txt")]
    (tmp_path / "texts.txt").write_text("a wonderful film\n", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    with open(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
        assert main(["predict", "--model", "sentiment-mini", *data, "--out", str(tmp_path / "pipe")]) == 0
        assert reader.read().startswith(b"row,text,label")


def test_who_reads_the_first_line_only_breaks_no_pipe(tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("a wonderful film\n" * 1_600, encoding="utf-8")
    command = f"{sys.executable} -m bertviz_lab predict --model sentiment-mini --data {texts} | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_a_folder_that_may_not_be_read_is_one_clear_line(capsys, tmp_path: Path, monkeypatch) -> None:
    locked = little_folder(tmp_path / "locked")

    def refuse(original):
        def guarded(path, *rest, **options):
            if locked in (Path(path), Path(path).parent):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return original(path, *rest, **options)

        return guarded

    for owner, name in ((io, "open"), (os, "listdir"), (os, "scandir")):  # who runs the tests may be root
        monkeypatch.setattr(owner, name, refuse(getattr(owner, name)))
    said = refusal(capsys, "export", "--model", str(locked), "--out", "x")
    assert said == f"bertviz-lab: {locked / 'config.json'} cannot be read or written: Permission denied."
    said = refusal(capsys, "runs", "--runs-dir", str(locked))
    assert said == f"bertviz-lab: {locked} cannot be read or written: Permission denied."


def test_encode_writes_a_vector_for_each_text(capsys, model: str, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("the red cat\nan old house by the river\n", encoding="utf-8")
    expected = interpret.encode(load_checkpoint(model), ["the red cat", "an old house by the river"])
    base = ["encode", "--model", model, "--data", str(tmp_path / "texts.txt"), "--out"]
    said = answer(capsys, *base, str(tmp_path / "v.npy"))
    about = {"texts": 2, "dimension": 32, "pooling": "mean", "rows": [1, 2], "left_out": 0}
    assert said == {"path": str(tmp_path / "v.npy")} | about
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), expected, atol=1e-6)
    answer(capsys, *base, str(tmp_path / "v.jsonl"), "--normalize")
    rows = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows] == ["the red cat", "an old house by the river"]
    unit = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose([row["vector"] for row in rows], unit, atol=1e-6)
    assert "must end in .npy or .jsonl" in refusal(capsys, *base, str(tmp_path / "v.csv"))


# Fine-tuning

SHORT = ["--epochs", "1", "--batch-size", "4", "--precision", "fp32"]


@pytest.fixture(scope="module")
def labelled(model: str) -> Files:
    """Labelled examples of each task, and the little model."""
    return Files(Path(model).parent)


def tune(labelled: Files, task: str, out: Path, count: int = 16) -> list[str]:
    files = ["--train", labelled.train(task, count), "--eval", labelled.held(task)]
    return ["finetune", "--task", task, *files, "--model", labelled.model, "--out", str(out), *SHORT]


def test_finetune_tells_its_progress_on_stderr(capsys, labelled: Files, tmp_path: Path) -> None:
    assert main([*tune(labelled, "classification", tmp_path / "run"), "--seeds", "2"]) == 0
    captured = capsys.readouterr()
    assert "trial 2 of 2: seed 1" in captured.err
    assert "baselines accuracy" in captured.err
    assert captured.out.endswith(f"Your model is in {tmp_path / 'run' / 'model'}\n")
    assert "2 seeds, mean ± standard deviation" in captured.out
    assert "--resume" in refusal(capsys, *tune(labelled, "classification", tmp_path / "run"))
    assert "another kind" in refusal(capsys, "pretrain", "--out", str(tmp_path / "run"), "--resume")


def test_predict_says_what_a_model_makes_of_each_text(capsys, tmp_path: Path) -> None:
    texts = tmp_path / "texts.csv"
    texts.write_text("review;stars\nA wonderful film.;5\n;1\nA boring and silly mess.;1\n", encoding="utf-8")
    found = answer(capsys, "predict", "--model", "sentiment-mini", "--data", str(texts), "--text-a", "review")
    assert [(row["row"], row["label"]) for row in found["predictions"]] == [(2, "positive"), (4, "negative")]
    assert found["left_out"] == 1
    out = tmp_path / "out.csv"
    command = ["predict", "--model", "sentiment-mini", "--data", str(texts), "--text-a", "review", "--out", str(out)]
    assert main(command) == 0
    told = capsys.readouterr()
    assert '1 row was left out: the text is empty, such as "texts.csv" row 3.\n' in told.err
    assert told.err.startswith('Read as a table, for classification: 2 examples; columns text_a = "review".\nExample: ')
    assert told.out == f"2 predictions, written to {out}\n"
    head, first, _ = out.read_text(encoding="utf-8").splitlines()
    assert head == "row,text,label,p(negative),p(positive)"
    assert first.startswith("2,A wonderful film.,positive,")
    assert "has not been fine-tuned" in refusal(capsys, "predict", "--model", "wiki-tiny", "--data", str(texts))


def test_an_unsure_reading_is_refused_with_the_option_that_decides_it(capsys, model: str, tmp_path: Path) -> None:
    table, run = tmp_path / "reviews.csv", str(tmp_path / "run")
    rows = [f"the text number {n},{('positive', 'negative', 'Negative')[n % 3]}" for n in range(12)]
    table.write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    evaluate = ["evaluate", "--task", "classification", "--model", "sentiment-mini", "--data", str(table)]
    finetune = ["finetune", "--train", str(table), "--model", model, "--out", run, *SHORT, "--max-length", "16"]
    for command in (evaluate, finetune):
        said = refusal(capsys, *command)
        assert "look alike" in said
        assert "This reading is not sure: give --label label to confirm it" in said
        assert main([*command, "--label", "label"]) == 0
        capsys.readouterr()
    sure = tmp_path / "sure.csv"
    sure.write_text("\n".join(["text,label", *rows]).replace("Neg", "neg"), encoding="utf-8")
    for other in ("--eval", "--test"):
        held_out = ["finetune", "--train", str(sure), other, str(table), "--model", model, "--out", f"{run}-2", *SHORT]
        assert "look alike" in refusal(capsys, *held_out)
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("title,text\n" + "".join(f"a title of {n},the text {n} is long\n" for n in range(9)))
    assert "--text-b none" in refusal(capsys, "predict", "--model", "sentiment-mini", "--data", str(pairs))


def test_control_c_saves_a_fine_tuning_which_goes_on_later(capsys, labelled: Files, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = [*tune(labelled, "tokens", out, count=400), *"--epochs 2 --evals-per-epoch 1 --threads 1".split()]
    process = subprocess.Popen(
        [sys.executable, "-m", "bertviz_lab", *arguments, "--json", "--notify-command", f"cat > {tmp_path}/ended.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = out / "events.jsonl"
    wait_for(lambda: log.is_file() and "StepDone" in log.read_text(encoding="utf-8"))
    os.kill(process.pid, signal.SIGINT)
    result, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in told
    stopped = json.loads(result)
    assert stopped["reason"] == json.loads((tmp_path / "ended.json").read_text())["status"] == "stopped"
    assert 0 < stopped["step"] < 200
    assert (next((out / "checkpoints").glob("step-*")) / "trainer.json").is_file()
    assert "--epochs cannot change" in refusal(capsys, *arguments, "--resume", "--epochs", "3")
    found = answer(capsys, "finetune", "--out", str(out), "--resume")
    assert (found["reason"], found["step"]) == ("finished", 200)
    steps = [row["step"] for row in map(json.loads, log.read_text().splitlines()) if row["event"] == "StepDone"]
    assert steps == sorted(set(steps))


def test_doubted_labels_are_printed_accepted_and_written_back(capsys, tmp_path: Path) -> None:
    rows = [
        (f"the {('red cat', 'small dog')[n % 2]} sat on day {n}", ("good", "bad")[(n % 2) ^ (n == 6)])
        for n in range(60)
    ]
    reviews = tmp_path / "reviews.csv"
    reviews.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows), encoding="utf-8")
    model, runs = str(little_folder(tmp_path / "little")), str(tmp_path / "runs")
    run = ["--model", model, "--out", f"{runs}/first", "--epochs", "2", "--batch-size", "8", "--threads", "1"]
    answer(capsys, "finetune", "--train", str(reviews), *run)
    check = ["runs", "check", "first", "--runs-dir", runs, "--first", "1", "--accept", "1"]
    found = answer(capsys, *check, "--corrected", str(tmp_path / "mended"))
    assert [(row["row"], row["label"], row["suggested"]) for row in found["doubts"]] == [(8, "bad", "good")]
    before, after = (Path(path).read_text(encoding="utf-8").splitlines() for path in (reviews, *found["files"]))
    assert [pair for pair in zip(before, after, strict=True) if len(set(pair)) > 1] == [
        ("the red cat sat on day 6,bad", "the red cat sat on day 6,good")
    ]
    run[3] = f"{runs}/second"
    answer(capsys, "finetune", "--train", str(reviews), *run, "--corrections", f"{runs}/first/corrections.jsonl")
    about = (tmp_path / "runs" / "second" / "examples" / "about.json").read_text(encoding="utf-8")
    assert "1 training example was corrected or left out." in about
    assert "is no fine-tuning" in refusal(capsys, "runs", "check", "little", "--runs-dir", str(tmp_path))

    written = answer(capsys, "runs", "report", "first", "--runs-dir", runs, "--out", str(tmp_path / "first.html"))
    page = Path(written["path"]).read_text(encoding="utf-8")
    parts = ["Summary", "Learning curves", "Results on held-out examples"]
    parts += ["Training dynamics: predictions at some steps", "Settings"]
    assert re.findall("<h2.*>(.*)</h2>", page) == parts
    assert str(tmp_path) not in page
    assert "runs report NAME --out page.html" in refusal(capsys, "runs", "report", "first", "--runs-dir", runs)


@pytest.mark.parametrize("model_type", ["electra", "deberta-v2", "modernbert"])
def test_training_goes_on_from_a_family_and_leaves_one_of_it(model_type, capsys, text: str, tmp_path: Path):
    options = ("--seq-len", "16", "--batch-size", "4", "--threads", "1", "--steps", "2", "--objective", "mlm")
    start = ("--init-from", str(family_folder(model_type, tmp_path / "model")), "--out", str(tmp_path / "run"))
    trained = answer(capsys, "pretrain", "--corpus", text, *start, *options)
    assert trained["mlm_loss"] > 0
    config = json.loads((Path(trained["path"]) / "config.json").read_text())
    assert config["model_type"] == model_type
    scores = answer(capsys, "evaluate", "--model", trained["path"], "--task", "mlm", "--data", text)
    assert scores["mlm_loss"] > 0

    rows = [f"{sentence} {number},{'cat' in sentence}" for number in range(6) for sentence in SENTENCES]
    data = tmp_path / "rows.csv"
    data.write_text("\n".join(["text,label", *rows]))
    tuning = ("--task", "classification", "--train", str(data), "--model", trained["path"])
    limits = ("--epochs", "1", "--max-length", "16", "--out", str(tmp_path / "tuned"), "--threads", "1")
    tuned = answer(capsys, "finetune", *tuning, *limits)
    named = json.loads((Path(tuned["path"]) / "config.json").read_text())["architectures"]
    assert named[0].endswith("ForSequenceClassification")
    assert named[0] != "BertForSequenceClassification"


@pytest.mark.parametrize("model_type", [name for name in FROM_SCRATCH if name != "electra"])
def test_a_small_one_is_trained_from_random_weights_and_opens_in_transformers(
    model_type, capsys, text: str, tmp_path: Path
):
    run = ("--corpus", text, "--out", str(tmp_path / "run"), "--steps", "3", *TINY)
    trained = answer(capsys, "pretrain", "--family", model_type, *run)
    assert trained["mlm_loss"] > 0
    assert ("nsp_loss" in trained) == (model_type in ("bert", "albert"))
    checkpoint = load_checkpoint(trained["path"])
    assert checkpoint.config.model_type == model_type
    theirs = AutoModelForMaskedLM.from_pretrained(trained["path"]).eval()
    ids = torch.tensor([checkpoint.tokenizer.encode("the red [MASK] sat").ids])
    with torch.no_grad():
        ours = checkpoint.model(ids)
        logits = ours.logits if hasattr(ours, "logits") else ours.prediction_logits
        torch.testing.assert_close(logits, theirs(ids).logits, rtol=0, atol=1e-4)
