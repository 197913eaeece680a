"""What visitors may train: every start and every resumption on the page passes here, and nowhere else.

Runs are counted by visitor, and on a shared page by network address too, since anybody can throw a cookie away. An
address has a larger bound: a whole classroom may stand behind it.
"""

import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from bertviz_lab.config import FinetuneConfig, PretrainConfig, RunConfig
from bertviz_lab.config.limits import Limits, words_of
from bertviz_lab.data.corpora.reading_notes import pluralized
from bertviz_lab.errors import InputError
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.ui.operations.event_log import log_event
from bertviz_lab.ui.server.visitors import Visitor

if TYPE_CHECKING:
    from bertviz_lab.ui.state.models import Models

_MOST_KEYS = 1000  # start keys that are remembered
OFF = "Training is off on this page."
_NO_COOKIE = (
    "This page knows your runs by a cookie, which your browser did not send: allow cookies for this site, or open the "
    "page in a tab of its own."
)


class RunQuota:
    """Starts and resumes runs within the limits of a page."""

    def __init__(self, models: "Models", limits: Limits) -> None:
        self._models, self._runs, self._limits = models, models.runs, limits
        self._lock = threading.Lock()  # two starts at a time would both find the last place free
        self._started: OrderedDict[tuple[str, str], str] = OrderedDict()  # the run of each owner's start key

    def check(self, visitor: Visitor, config: RunConfig, count: int = 1, key: str = "") -> None:
        """Raise `InputError` naming the limit where `count` such runs may not be started."""
        self._check_config(visitor, config)
        with self._lock:
            if not self._run_of(visitor, key):
                self._check_count(visitor, count)

    def start(
        self,
        visitor: Visitor,
        config: RunConfig,
        texts: tuple[Path, ...] = (),
        scored: tuple[Path, ...] = (),
        key: str = "",
    ) -> str:
        """Start a run as `Runs.start` and return its id. Raises as `check`.

        While the run that a visitor started with a `key` trains or waits, the key returns that run: a start that is
        sent twice starts one run.
        """
        self._check_config(visitor, config)
        with self._lock:
            if run_id := self._run_of(visitor, key):
                return run_id
            self._check_count(visitor, 1)
            run_id = self._runs.start(config, texts, scored, owner=visitor.owner, address=visitor.address)
            log_event("run started", run=run_id)
            if key:
                self._started[visitor.owner, key] = run_id
                if len(self._started) > _MOST_KEYS:
                    self._started.popitem(last=False)
            return run_id

    def _run_of(self, visitor: Visitor, key: str) -> str:
        """Return the run of a start key while it trains or waits, otherwise ""."""
        run_id = self._started.get((visitor.owner, key), "")
        return run_id if run_id in self._runs.ids() and self._runs.state(run_id).status in ACTIVE else ""

    def resume(self, visitor: Visitor, run_id: str) -> None:
        """Resume a run as `Runs.resume`, which takes a place like a new one. Raises as `check`."""
        state = self._runs.state(run_id)
        if state.seconds >= self._limits.run_seconds:
            raise InputError(
                f"This run has trained for {words_of('seconds', self._limits.run_seconds)}, the longest time on this "
                "page; start a new one from its model to go on."
            )
        with self._lock:
            if state.status not in ACTIVE:
                self._check_count(visitor, 1)
            self._runs.resume(run_id)

    def check_examples(self, count: int) -> None:
        """Raise `InputError` where a fine-tuning asks for more examples than it may, over all epochs and trials."""
        most = self._limits.run_examples
        if count > most:
            raise InputError(
                f"This asks for {count:,} examples over all epochs and trials, and this page takes {most:,}: choose "
                "fewer epochs, seeds or examples."
            )

    def _check_config(self, visitor: Visitor, config: RunConfig) -> None:
        limits = self._limits
        if not limits.training:
            raise InputError(OFF)
        if isinstance(config, PretrainConfig):
            if (config.steps or 0) > limits.run_steps:
                raise InputError(
                    f"This asks for {config.steps:,} steps, and a run on this page takes up to {limits.run_steps:,}: "
                    'lower "Steps".'
                )
            if (config.time_budget_seconds or 0) > limits.run_seconds:
                longest = words_of("seconds", limits.run_seconds)
                raise InputError(f'A run on this page trains for up to {longest}: lower "Time budget".')
        # Not from another visitor's model: what is trained further can be downloaded.
        start = config.model if isinstance(config, FinetuneConfig) else config.init_from
        folder = Path(start).parent if start else None
        if folder and folder.parent == self._runs.root and not self._models.owns(visitor, folder.name):
            raise InputError("The model to start from is not there; choose another one from the list.")

    def _check_count(self, visitor: Visitor, count: int) -> None:
        limits = self._limits
        if not limits.training:
            raise InputError(OFF)
        if limits.shared and not visitor.owner:
            raise InputError(_NO_COOKIE)
        statuses = {run_id: self._runs.state(run_id).status for run_id in self._runs.ids()}
        active = [run_id for run_id, status in statuses.items() if status in ACTIVE]
        most = limits.runs_per_visitor
        own = sum(self._models.has_started(visitor, run_id) for run_id in active)
        if own + count > most:
            more = f", and this asks for {count}" if count > 1 else ""
            may = pluralized(most, "run<s> that <trains or waits|train or wait>")
            now = pluralized(own, "of yours <does|do>")
            raise InputError(
                f"A visitor of this page may have {may}; {now}{more}: wait until one has ended, or stop it."
            )
        most = limits.runs_per_address
        tag = self._runs.address_tag(visitor.address)
        here = sum(self._runs.visitor(run_id)[0] == tag for run_id in active)
        if limits.shared and here + count > most:
            raise InputError(
                f"{here} runs that were started from your network train or wait, and this page takes {most} of one "
                "network: wait until some have ended."
            )
        waiting = [*statuses.values()].count("waiting")
        if waiting + count > limits.runs_waiting:
            raise InputError(
                f"{waiting} runs wait on this page, and {limits.runs_waiting} may: come back when some have ended."
            )


def limits_sentence(limits: Limits, what: str = "") -> str:
    """Return the limits of a run, for a form whose word for its size is `what`; "" on a page of one's own."""
    if not limits.training:
        return f"{OFF} Its models can be looked into, and this copy of the lab can be run on a machine of your own."
    if not limits.shared:
        return ""
    return (
        f"On this page a run may take up to {what or f'{limits.run_steps:,} steps'} or "
        f"{words_of('seconds', limits.run_seconds)}, and {limits.run_parameters / 1e6:,.0f} million parameters; "
        f"{pluralized(limits.runs_per_visitor, 'run<s> of a visitor <trains or waits|train or wait>')} "
        f"at a time. Ended runs are deleted after "
        f"{words_of('seconds', limits.run_age)}."
    )
