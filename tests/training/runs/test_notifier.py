"""A run whose end is reported, whatever it ends by and whatever becomes of the report."""

import errno
import json
import os
import shlex
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from bertviz_lab.cli.main import main
from bertviz_lab.errors import InputError
from bertviz_lab.training.pretraining.pretrain import pretrain
from bertviz_lab.training.runs import notifier
from bertviz_lab.training.runs.events import CheckpointSaved, EvalDone, Event, RunFinished, RunStarted, StepDone
from bertviz_lab.training.runs.notifier import Notifier
from bertviz_lab.training.runs.run_folder import record
from tests.training.support import short_run

SECRET = "kind-otter-0123456789abcdef"
STARTED = RunStarted("run", 0, 2, None, 10, 5, "mlm", "fp32", "cpu", 1, {})
STEP = StepDone(2, 61.4, 20, 6.5, 1e-3, 0.7, 100.0, 1.0, {"mlm_loss": 6.25})
SCORED = EvalDone(2, 61.4, 20, {"mlm_accuracy": 0.342})
ENDED = RunFinished(2, 61.4, "finished", "runs/book/model", "It has stopped learning <early> & well.")
TEXT = "book: finished after 2 steps in 0:01:01. MLM accuracy 34.2%."
EVENTS = [STARTED, STEP, SCORED, ENDED]


@dataclass
class Webhook:
    """A server that writes down what it is sent."""

    address: str = ""
    status: int = 200
    seconds: float = 0.0  # until it answers
    sent: list[tuple[dict[str, str], Any]] = field(default_factory=list)  # headers and body

    @property
    def bodies(self) -> list[Any]:
        return [body for _, body in self.sent]


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    hook = Webhook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            hook.sent.append((dict(self.headers), json.loads(body) if body.startswith("{") else body))
            time.sleep(hook.seconds)
            with suppress(OSError):  # nobody waits for the answer
                self.send_response(hook.status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    hook.address = f"http://127.0.0.1:{server.server_port}/topic?key=secret"
    yield hook
    server.shutdown()
    server.server_close()


def failing(error: BaseException) -> Iterator[Event]:
    yield from (STARTED, STEP, CheckpointSaved(2, "runs/book/checkpoints/step-2"))
    raise error


def watch(events: Iterable[Event], webhook: str, folder: Path, **options: Any) -> list[Event]:
    return list(Notifier(webhook).watch(events, folder, **options))


def test_the_end_is_json_and_the_events_pass_unchanged(webhook: Webhook, tmp_path: Path) -> None:
    assert watch(EVENTS, webhook.address, tmp_path / "book") == EVENTS
    model = str(Path("runs/book/model").resolve())
    assert webhook.bodies == [
        {
            "run": "book", "status": "finished", "message": ENDED.message, "step": 2, "seconds": 61.4,
            "text": f"{TEXT} {ENDED.message} Its model is in {model}.",
            "measure": "mlm_accuracy", "score": 0.342, "model": model,
        }
    ]  # fmt: skip
    assert watch(EVENTS, "", tmp_path) == EVENTS
    assert len(webhook.sent) == 1


def test_each_service_gets_its_own_shape(webhook: Webhook, tmp_path: Path) -> None:
    for shape in ("ntfy", "slack", "discord"):
        watch(EVENTS, f"{shape}:{webhook.address}", tmp_path / "book")
    (headers, ntfy), (_, slack), (_, discord) = webhook.sent
    assert ntfy.startswith("book: finished after 2 steps")
    assert (headers["Title"], headers["Tags"]) == ("BertViz Lab", "white_check_mark")
    assert "&lt;early&gt; &amp; well" in slack.pop("text")
    assert discord.pop("content") == ntfy
    assert (slack, discord) == ({}, {"allowed_mentions": {"parse": []}})


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("https://ntfy.sh/topic", b"book: "),
        ("https://hooks.slack.com/services/T/B/x", b'{"text": '),
        ("https://discord.com/api/webhooks/1/x", b'{"content": '),
        ("https://example.org/ntfy.sh", b'{"run": '),
        ("json:https://ntfy.sh/topic", b'{"run": '),
    ],
)
def test_a_service_is_recognized_by_its_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str, word: bytes
) -> None:
    sent: list[tuple[str, bytes]] = []

    def refuse(url: str, *, content: bytes, **_: Any) -> None:
        sent.append((url, content))
        raise httpx.ConnectError("nothing leaves this machine")

    monkeypatch.setattr(httpx, "post", refuse)
    with pytest.warns(UserWarning, match="nothing leaves"):
        watch(EVENTS, address, tmp_path / "book")
    ((url, content),) = sent
    assert url == address.removeprefix("json:")
    assert content.startswith(word)


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "ftp://example.org/x", "topic", "https://", "slack:topic", "https://a:b@c.org/", "http://[x"]
)  # fmt: skip
def test_an_address_of_anything_else_is_refused_before_the_run(address: str) -> None:
    with pytest.raises(InputError, match="begins with https:// or http://"):
        Notifier(address)


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (InputError("The loss is NaN. Resume with `resume=True`."), "failed", "The loss is NaN. Resume with --resume."),
        (ZeroDivisionError("by zero"), "failed", "ZeroDivisionError: by zero"),
        (KeyboardInterrupt(), "stopped", "KeyboardInterrupt"),
    ],
)  # fmt: skip
def test_a_failure_and_an_interruption_are_reported_and_raised(
    webhook: Webhook, tmp_path: Path, error: BaseException, status: str, message: str
) -> None:
    with pytest.raises(type(error)):
        watch(failing(error), webhook.address, tmp_path / "book")
    (ending,) = webhook.bodies
    assert (ending["run"], ending["status"], ending["step"], ending["score"]) == ("book", status, 2, None)
    assert message in ending["message"]
    assert ending["model"].endswith("step-2")


def test_a_full_disk_is_reported_though_the_log_cannot_be_written(
    webhook: Webhook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("bertviz_lab.training.runs.run_folder._Log.append", full)
    with pytest.raises(InputError, match="No space left"):
        watch(record(EVENTS, tmp_path), webhook.address, tmp_path)
    assert [body["status"] for body in webhook.bodies] == ["failed"]
    assert "No space left" in webhook.bodies[0]["message"]


def test_a_reader_that_leaves_early_reports_nothing_and_one_that_leaves_at_the_end_does(
    webhook: Webhook, tmp_path: Path
) -> None:
    for last in (STEP, ENDED):
        stream = Notifier(webhook.address).watch(iter(EVENTS), tmp_path)
        while next(stream) != last:
            pass
        stream.close()  # type: ignore[attr-defined]
    assert [body["status"] for body in webhook.bodies] == ["finished"]


@pytest.mark.parametrize("problem", ["404", "302", "slow", "refused"])
def test_a_webhook_that_fails_is_one_warning_and_the_run_ends_as_it_would(
    webhook: Webhook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: str
) -> None:
    address = "http://127.0.0.1:1/topic?key=secret" if problem == "refused" else webhook.address
    webhook.status = int(problem) if problem.isdecimal() else 200
    webhook.seconds = 1.0 if problem == "slow" else 0.0
    monkeypatch.setattr(notifier, "_WEBHOOK_SECONDS", 0.2)
    began = time.monotonic()
    with pytest.warns(UserWarning, match="could not be reported by the webhook") as warned:
        assert watch(EVENTS, address, tmp_path) == EVENTS
    assert time.monotonic() - began < 5
    assert len(warned) == 1
    assert "secret" not in str(warned[0].message)
    assert len(webhook.sent) <= 1, "nothing is tried again"


def test_a_visitors_run_is_reported_without_what_only_its_owner_may_know(webhook: Webhook, tmp_path: Path) -> None:
    watch(EVENTS, webhook.address, tmp_path / SECRET, public=False)
    (ending,) = webhook.bodies
    assert (ending["text"], ending["message"], ending["model"]) == (TEXT.replace("book", "kind-otter"), "", "")
    assert "0123456789abcdef" not in repr(webhook.bodies)


def test_a_command_gets_the_report_as_data_and_its_failure_is_a_warning(tmp_path: Path) -> None:
    script = "import os, sys; open(sys.argv[1], 'w').write(sys.stdin.read() + '|' + os.environ['BERTVIZ_LAB_TEXT'])"
    out = tmp_path / "ended"
    command = shlex.join([sys.executable, "-c", script, str(out)])
    hostile = [STARTED, RunFinished(1, 1.0, "failed", "", f"$(touch {tmp_path}/hacked) `touch {tmp_path}/hacked`\0")]
    assert list(Notifier(command=command).watch(hostile, tmp_path / "book")) == hostile
    event, text = out.read_text(encoding="utf-8").rsplit("|", 1)
    assert json.loads(event)["text"] == text
    assert "$(touch" in text
    assert not (tmp_path / "hacked").exists()
    with pytest.warns(UserWarning, match="by the command: .*exit status 3"):
        assert list(Notifier(command="exit 3").watch(EVENTS, tmp_path)) == EVENTS


def test_the_command_line_and_python_report_once_and_keep_the_address_in_no_file(
    webhook: Webhook, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = "--preset tiny --vocab-size 120 --seq-len 24 --batch-size 4 --threads 1 --steps 3".split()
    out = tmp_path / "cli"
    assert main(["pretrain", "--corpus", str(text), "--out", str(out), *tiny, "--notify", webhook.address]) == 0
    assert main(["pretrain", "--out", str(tmp_path / "none"), "--corpus", "gone.txt", "--notify", webhook.address]) == 2
    list(pretrain(short_run(text, steps=3, probes=False), tmp_path / "python", notify=webhook.address))
    endings = [(body["run"], body["status"], body["step"]) for body in webhook.bodies]
    assert endings == [("cli", "finished", 3), ("none", "failed", 0), ("python", "finished", 3)]
    assert "gone.txt" in webhook.bodies[1]["text"]
    assert webhook.bodies[0]["model"] == str(out / "model")
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path != text]
    assert not any(b"key=secret" in path.read_bytes() for path in files)
    assert "key=secret" not in capsys.readouterr().err
    assert main(["pretrain", "--out", str(out), "--corpus", str(text), "--notify", "file:///x"]) == 2
    assert "--notify must be an address" in capsys.readouterr().err
