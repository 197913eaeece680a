"""Report the end of a run to a webhook and to a command, once, whatever it ended by.

A webhook is one of ntfy, Slack or Discord, recognized by its host or by a prefix such as `slack:`, or any other
address, which receives the fields of `Ending` as JSON. Both come from the command line, from Python or from the
environment, never from a page or the folder of a run: they make this machine send requests and run commands.
"""

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from bertviz_lab import strict_json
from bertviz_lab.config.options import NOTIFY_VARIABLES, in_flags
from bertviz_lab.errors import InputError
from bertviz_lab.metrics.names import named_score
from bertviz_lab.training.runs.events import Event, to_row
from bertviz_lab.training.runs.run_folder import ACTIVE, RunState, next_state
from bertviz_lab.training.runs.summary import RunSummary

_SHAPES = ("ntfy", "slack", "discord", "json")
_HOSTS = {"ntfy.sh": "ntfy", "hooks.slack.com": "slack", "discord.com": "discord", "discordapp.com": "discord"}
_WEBHOOK_SECONDS, _COMMAND_SECONDS = 10.0, 60.0
_LONGEST = 1500  # characters of a message; Discord takes 2,000


@dataclass(frozen=True)
class Ending:
    """How a run ended; its fields are those of the JSON."""

    run: str  # its name
    status: str  # finished, stopped (it can be resumed) or failed
    text: str  # all of this in one line
    message: str  # why it failed or ended early, "" otherwise
    step: int
    seconds: float  # of training
    measure: str  # the name of the score, such as mlm_accuracy, "" where there is none
    score: float | None
    model: str  # the folder of its newest model, "" where there is none


@dataclass(frozen=True)
class Notifier:
    """A webhook and a shell command, "" for none. Raises `InputError` for an address that no request can be sent to."""

    webhook: str = field(default="", repr=False)  # anyone who knows it can post there
    command: str = ""

    def __post_init__(self) -> None:
        if self.webhook:
            _shape_and_url(self.webhook)

    @classmethod
    def of_environment(cls) -> Self:
        """Return the one that BERTVIZ_LAB_NOTIFY and BERTVIZ_LAB_NOTIFY_COMMAND name."""
        return cls(*(os.environ.get(name, "") for name in NOTIFY_VARIABLES))

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables by which a process that is started finds this one."""
        return dict(zip(NOTIFY_VARIABLES, (self.webhook, self.command), strict=True))

    def watch(self, events: Iterable[Event], folder: Path, *, public: bool = True) -> Iterator[Event]:
        """Pass the events of a run on, and report its end, after its last event or before its error is raised again.

        What cannot be reported is one warning. Where `public` is False the report leaves out what only the owner of
        the run may know: the secret in its name, its message, which may quote a text, and its folder.
        """
        if not (self.webhook or self.command):
            yield from events
            return
        state, summary = RunState(), RunSummary()
        try:
            for event in events:
                state, summary = next_state(state, event), summary.after([to_row(event)])
                yield event
        except GeneratorExit:
            raise
        except BaseException as error:
            message = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            state = replace(state, status="failed", message=message)
            if not isinstance(error, Exception):  # Ctrl-C
                state = replace(state, status="stopped")
            raise
        finally:
            if state.status not in ACTIVE:
                name = folder.resolve().name
                if not public:
                    name, state = re.sub(r"-[0-9a-f]{16}$", "", name), replace(state, message="", model="")
                self._send(_ending(name, state, summary))

    def _send(self, ending: Ending) -> None:
        for send, target in ((_post, self.webhook), (_run, self.command)):
            try:
                if target:
                    send(target, ending)
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                what = "command" if send is _run else "webhook"
                warnings.warn(f"The end of the run could not be reported by the {what}: {error}", stacklevel=2)


def _ending(name: str, state: RunState, summary: RunSummary) -> Ending:
    message = in_flags(state.message).replace("\0", "")[:_LONGEST]
    time = timedelta(seconds=round(state.seconds))
    words = [f"{name}: {state.status} after {state.step:,} {'step' if state.step == 1 else 'steps'} in {time}."]
    words += [f"{named_score(summary.measure, summary.score)}."] if summary.score is not None else []
    words += [message] if message else []
    model = str(Path(state.model).resolve()) if state.model else ""
    words += [f"Its model is in {model}."] if model else []
    text, score = " ".join(words), summary.score
    return Ending(name, state.status, text, message, state.step, state.seconds, summary.measure, score, model)


# ---- a webhook


def _shape_and_url(webhook: str) -> tuple[str, str]:
    prefix, _, rest = webhook.partition(":")
    shape, url = (prefix, rest) if prefix in _SHAPES else ("", webhook)
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.password is None and parts.port != 0
    except ValueError:
        usable = False
    if not usable:  # other schemes would read files of this machine
        allowed = "an address that begins with https:// or http://, without a password"
        raise InputError(f"`notify` must be {allowed}, alone or behind {', '.join(f'{name}:' for name in _SHAPES)}.")
    return shape or _HOSTS.get(parts.hostname or "", "json"), url


def _post(webhook: str, ending: Ending) -> None:
    """Send one request, without following it elsewhere. Raises `OSError` unless it is accepted."""
    import httpx  # takes a tenth of a second

    shape, url = _shape_and_url(webhook)
    headers = {"User-Agent": "bertviz-lab"}  # Discord refuses those of some libraries
    if shape == "ntfy":
        body = ending.text.encode()
        headers |= {"Title": "BertViz Lab", "Tags": "warning" if ending.status == "failed" else "white_check_mark"}
    else:
        escaped = ending.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")  # Slack's markup
        bodies = {
            "slack": {"text": escaped},
            "discord": {"content": ending.text, "allowed_mentions": {"parse": []}},
            "json": asdict(ending),
        }
        body = strict_json.dumps(bodies[shape]).encode()
        headers |= {"Content-Type": "application/json"}
    try:
        answer = httpx.post(url, content=body, headers=headers, timeout=_WEBHOOK_SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise OSError(str(error)) from error
    if not answer.is_success:
        raise OSError(f"{answer.status_code} {answer.reason_phrase}")


# ---- a command


def _run(command: str, ending: Ending) -> None:
    """Run a shell command with the event. Raises `OSError` or `SubprocessError` unless it succeeds in time."""
    event = strict_json.dumps(asdict(ending))
    subprocess.run(
        command,
        shell=True,
        check=True,
        input=event,
        encoding="utf-8",
        env=os.environ | {"BERTVIZ_LAB_EVENT": event, "BERTVIZ_LAB_TEXT": ending.text},
        stdout=sys.__stderr__,  # stdout is for results
        timeout=_COMMAND_SECONDS,
    )
