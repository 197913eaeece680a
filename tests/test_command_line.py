import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bertviz_lab.__main__ import main
from tests.little import little_folder, little_text

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
    assert last.startswith("bertviz_lab: ")
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


def test_progress_goes_to_stderr_and_the_result_to_stdout(capsys, text: str, tmp_path: Path) -> None:
    assert main(["pretrain", "--corpus", text, "--out", str(tmp_path / "run"), "--steps", "2", *TINY]) == 0
    captured = capsys.readouterr()
    assert "step      1" in captured.err
    assert captured.out.startswith("Your model is in")


def test_a_folder_with_a_run_is_not_overwritten(capsys, text: str, tmp_path: Path) -> None:
    arguments = ["pretrain", "--corpus", text, "--out", str(tmp_path / "run"), "--steps", "1", *TINY]
    assert main(arguments) == 0
    capsys.readouterr()
    assert "--resume" in refusal(capsys, *arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "Name at least one text"),
        (["--corpus", "no-such-file.txt"], "no-such-file.txt"),
        (["--corpus", "sample:nothing"], "no sample"),
        (["--corpus", "x", "--preset", "huge"], "tiny, mini"),
        (["--corpus", "x", "--preset", "tin"], "did you mean tiny"),
        (["--corpus", "x", "--seq-len", "4"], "between 8 and 512"),
        (["--corpus", "x", "--learning-rate", "nan"], "between"),
        (["--corpus", "x", "--time-budget", "soon"], "not a length of time"),
        (["--corpus", "x", "--objective", "clm"], "mlm"),
    ],
)
def test_a_bad_option_is_one_clear_line(capsys, tmp_path: Path, options: list[str], message: str) -> None:
    assert message in refusal(capsys, "pretrain", "--out", str(tmp_path / "run"), *options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fill-mask", "--model", "no/such/model/here", "a [MASK]"], "no model"),
        (["fill-mask", "--model", "", "a [MASK]"], "Name a model"),
        (["fill-mask", "--model", "MODEL", "no blank"], "[MASK]"),
        (["next-sentence", "--model", "MODEL", "--text-a", "a", "--text-b", ""], "both sentence"),
        (["attention", "--model", "MODEL", "--text-a", "a", "--out", "x.exe"], ".html, .png or .json"),
        (["attention", "--model", "MODEL", "--text-a", "a", "--out", "/no/such/folder/x.html"], "cannot be written"),
        (["evaluate", "--model", "MODEL", "--data", "no-such-file.txt"], "no-such-file.txt"),
    ],
)
def test_bad_input_is_one_clear_line(capsys, model: str, arguments: list[str], message: str) -> None:
    assert message in refusal(capsys, *(model if a == "MODEL" else a for a in arguments))


def test_next_sentence_answers(capsys, model: str) -> None:
    found = answer(capsys, "next-sentence", "--model", model, "--text-a", "the cat", "--text-b", "a dog")
    assert found["is_next"] + found["is_random"] == pytest.approx(1)


def test_tokenize_shows_tokens_ids_and_segments(capsys, model: str) -> None:
    found = answer(capsys, "tokenize", "--model", model, "the red cat", "--text-b", "a dog")
    assert found["tokens"][:2] == ["[CLS]", "the"]
    assert found["token_type_ids"][-1] == 1


def test_evaluate_gives_the_same_scores_twice(capsys, model: str, text: str) -> None:
    arguments = ["evaluate", "--model", model, "--task", "mlm", "--data", text]
    assert answer(capsys, *arguments) == answer(capsys, *arguments)


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


def test_export_gives_a_folder_that_transformers_opens(capsys, model: str, tmp_path: Path) -> None:
    from transformers import AutoModelForMaskedLM

    answer(capsys, "export", "--model", model, "--out", str(tmp_path / "exported"))
    assert AutoModelForMaskedLM.from_pretrained(tmp_path / "exported") is not None
    assert "not empty" in refusal(capsys, "export", "--model", model, "--out", str(tmp_path / "exported"))


def test_runs_lists_what_is_there(capsys, tmp_path: Path) -> None:
    assert answer(capsys, "runs", "--runs-dir", str(tmp_path)) == {"runs": []}


def test_control_c_before_anything_has_begun_is_130_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bertviz_lab.__main__._parser", interrupted)
    assert main(["runs"]) == 130


def test_control_c_saves_a_checkpoint_and_exits_with_130(text: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-m", "bertviz_lab", "pretrain", "--corpus", text, "--out", str(out), *TINY]
    process = subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    log = out / "events.jsonl"
    end = time.monotonic() + 90
    while not (log.is_file() and "StepDone" in log.read_text(encoding="utf-8")):
        assert time.monotonic() < end
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    result, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert json.loads(result)["reason"] == "stopped"
    assert (next((out / "checkpoints").glob("step-*")) / "trainer.json").is_file()


def test_a_recipe_sets_what_is_not_given(capsys, text: str, tmp_path: Path) -> None:
    shape = ["--vocab-size", "300", "--seq-len", "16", "--batch-size", "8"]
    given = [*TINY, *shape, "--steps", "1", "--recipe", "roberta", "--dropout", "0.2"]
    answer(capsys, "pretrain", "--corpus", text, "--out", str(tmp_path / "run"), *given)
    saved = json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf-8"))
    assert (saved["recipe"], saved["objective"], saved["algorithm"]) == ("roberta", "mlm", "bpe")
    assert (saved["seq_len"], saved["dropout"]) == (16, 0.2)


def test_a_run_can_be_given_more_time_but_not_another_shape(capsys, text: str, tmp_path: Path) -> None:
    out = ["pretrain", "--out", str(tmp_path / "run")]
    answer(capsys, *out, "--corpus", text, *TINY, "--steps", "2")
    assert "--seq-len cannot change" in refusal(capsys, *out, "--resume", "--seq-len", "24")
    found = answer(capsys, *out, "--resume", "--steps", "4", "--learning-rate", "1e-4")
    assert (found["step"], found["reason"]) == (4, "finished")


def test_an_unknown_tracker_is_one_clear_line(capsys, text: str, tmp_path: Path) -> None:
    arguments = ["pretrain", "--corpus", text, "--out", str(tmp_path / "run"), *TINY, "--tracker", "tensorbord"]
    assert "Accelerate knows" in refusal(capsys, *arguments)
