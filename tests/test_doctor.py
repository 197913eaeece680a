"""`bertviz-lab doctor` tells before a workshop whether a machine can carry the page."""

import json
import socket
from pathlib import Path

import psutil
import pytest

from bertviz_lab.cli.main import main
from bertviz_lab.ui.workshop.machine import Check, examine_machine
from tests.processes import free_port


def checks(port: int, runs_dir: Path, visitors: int) -> dict[str, Check]:
    return {check.name: check for check in examine_machine("0.0.0.0", port, runs_dir, visitors=visitors)}


def test_a_machine_that_passes_the_tests_can_carry_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--visitors", "2", "--host", "127.0.0.1", "--port", str(free_port()), "--json"]) == 0
    printed = capsys.readouterr()
    body = json.loads(printed.out)
    assert body["ready"] is True
    names = [check["name"] for check in body["checks"]]
    assert names == [
        "Packages", "Cores", "Memory", "Disk", "Temporary files", "Port", "Address", "Models", "Answers", "Training",
        "Browser",
    ]  # fmt: skip
    assert all(name in printed.err for name in names)  # each as soon as it is done
    assert not list(tmp_path.iterdir())  # nothing is kept


def test_what_would_fail_in_the_room_fails_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertviz_lab.training.loop.memory.available_memory", lambda: 10**9)
    monkeypatch.setattr(psutil, "net_if_addrs", dict)
    monkeypatch.setattr("bertviz_lab.ui.workshop.machine.available_cores", lambda: 3)
    blocked = tmp_path / "file"
    blocked.write_text("")
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        result = checks(taken.getsockname()[1], tmp_path, 10_000)
    assert {name for name, check in result.items() if check.outcome == "failed"} == {"Memory", "Port", "Address"}
    assert result["Disk"].outcome == "warning"
    assert result["Cores"].sentence.startswith("3 cores, ")
    assert "; 1 training run at a time." in result["Cores"].sentence
    assert "choose another" in result["Port"].sentence


@pytest.mark.parametrize("wrong", [["--visitors", "0"], ["--port", "70000"], ["--port", "-1"]])
def test_numbers_that_cannot_be_are_refused(wrong: list[str]) -> None:
    assert main(["doctor", *wrong]) == 2
