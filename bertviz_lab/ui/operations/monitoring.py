"""Health and metrics for who runs a server: `/healthz`, and `/metrics` in the format of Prometheus.

Metrics count and measure; none has a name or a text of a visitor.
"""

import contextlib
import hmac
import shutil
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gradio.utils import get_upload_folder
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client import ProcessCollector as ProcessMetrics
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bertviz_lab.errors import InputError
from bertviz_lab.jobs import Runs
from bertviz_lab.jobs.retention import bytes_below
from bertviz_lab.ui.guard.addresses import ip_address
from bertviz_lab.ui.operations.event_log import log_event

_BUCKETS = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds
_LEAST_DISK = 100_000_000  # bytes; with less, runs cannot save


class Monitor:
    """Counts what a server does, and logs it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.started = time.monotonic()
        ProcessMetrics(registry=self.registry)
        self._seconds = Histogram(
            "bertviz_lab_question_seconds",
            "Time from the arrival of a question to its answer, with the time that it waits",
            ("question", "outcome"),
            registry=self.registry,
            buckets=_BUCKETS,
        )
        at_work, refused = "bertviz_lab_questions_at_work", "bertviz_lab_requests_refused"
        self._at_work = Gauge(at_work, "Questions that wait or are computed", registry=self.registry)
        self._refused = Counter(refused, "Requests that the guard refused", ("status",), registry=self.registry)

    @contextlib.contextmanager
    def question(self, name: str) -> Iterator[None]:
        """Measure a question while it is answered; `name` is its view's and its own, or that of an endpoint."""
        started, outcome = time.monotonic(), "cancelled"
        try:
            with self._at_work.track_inprogress():
                yield
            outcome = "answered"
        except InputError:
            outcome = "refused"
            raise
        except Exception:
            outcome = "failed"
            raise
        finally:
            seconds = time.monotonic() - started
            self._seconds.labels(name, outcome).observe(seconds)
            log_event("question", question=name, seconds=round(seconds, 3), outcome=outcome)

    def refused(self, status: int) -> None:
        self._refused.labels(str(status)).inc()
        log_event("request refused", status=status)


class _StateMetrics(Collector):
    """Gauges that are read at each visit of Prometheus."""

    def __init__(self, runs: Runs, open_models: Callable[[], tuple[int, int]]) -> None:
        self._runs, self._open_models = runs, open_models

    def collect(self) -> Iterable[GaugeMetricFamily]:
        root = self._runs.root
        runs = GaugeMetricFamily("bertviz_lab_runs", "Runs by state", labels=["state"])
        for status, count in Tally(self._runs.state(run_id).status for run_id in self._runs.ids()).items():
            runs.add_metric([status], count)
        models, model_bytes = self._open_models()
        values = {
            "bertviz_lab_open_models": ("Models that are kept open", models),
            "bertviz_lab_open_model_bytes": ("Their weights", model_bytes),
            "bertviz_lab_runs_bytes": ("Disk that the runs take", bytes_below(root)),
            "bertviz_lab_uploads_bytes": (
                "Disk that uploads and downloads take",
                bytes_below(Path(get_upload_folder())),
            ),
            "bertviz_lab_disk_free_bytes": ("Disk that is free for runs", shutil.disk_usage(root).free),
        }
        return [runs, *(GaugeMetricFamily(name, help, value=value) for name, (help, value) in values.items())]


def health_route(runs: Runs, monitor: Monitor) -> Route:
    """Return the route `/healthz`, open to everybody: status 200 while runs can be saved, else 503."""

    def health(request: Request) -> Response:
        free = shutil.disk_usage(runs.root).free
        status = "ok" if free > _LEAST_DISK else "disk full"
        uptime = round(time.monotonic() - monitor.started, 1)
        body = {"status": status, "version": _version(), "uptime_seconds": uptime}
        return JSONResponse(body, 200 if status == "ok" else 503, {"Cache-Control": "no-store"})

    return Route("/healthz", health)


def metrics_route(runs: Runs, open_models: Callable[[], tuple[int, int]], monitor: Monitor, token: str = "") -> Route:
    """Return the route `/metrics`: for programs on this machine, or for those that send the token as a bearer."""
    monitor.registry.register(_StateMetrics(runs, open_models))

    async def metrics(request: Request) -> Response:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        right = bool(token) and scheme == "Bearer" and hmac.compare_digest(given.encode(), token.encode())
        address = ip_address(request.client.host if request.client else "")
        if not right and (token or address is None or not address.is_loopback):
            return PlainTextResponse("Metrics are for the owner of this server.", 403)
        content = await run_in_threadpool(generate_latest, monitor.registry)
        return Response(content, media_type=CONTENT_TYPE_LATEST)

    return Route("/metrics", metrics)


def _version() -> str:
    with contextlib.suppress(PackageNotFoundError):
        return version("bertviz-lab")
    return "source"
