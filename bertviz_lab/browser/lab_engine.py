"""The engine on the lab's own page: shipped models are computed in the browsers of visitors, who get static files.

A model is exported once, by a process of low priority, and kept in the cache of this user. Until then the server
answers. `client/answering.js` routes the questions.
"""

import atexit
import contextlib
import logging
import multiprocessing
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from bertviz_lab.browser.export import GRAPH, WEIGHTS
from bertviz_lab.browser.facts import PARTIAL
from bertviz_lab.browser.site import LIBRARIES, PUBLISHED, WASM, WORKER, browser_source, export_model, vendored
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import to_json
from bertviz_lab.training.checkpoints.atomic_io import atomic_folder
from bertviz_lab.training.checkpoints.onnx_export import require_libraries
from bertviz_lab.training.pretraining.corpus_cache import cache_folder
from bertviz_lab.ui.guard.logins import is_logged_in, only_for
from bertviz_lab.ui.server.assets import KEPT_FOR_A_YEAR, PageEngine, digest, kept_file
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState

_log = logging.getLogger(__name__)

_FOLDER = "lab-engine"
_FACTS = "facts.json"
_ENDS = (_FACTS, GRAPH, WEIGHTS, "tokenizer.json")
#: The server traces causes faster than a browser, of longer texts, and reads any corpus.
_VIEWS = ("explore", *(view for view in PUBLISHED if view not in ("causes", "corpus")))
_KEPT_SECONDS = 30 * 86_400.0  # of a model that no page has offered meanwhile


def engine_of(state: AppState) -> PageEngine | None:
    """Return the engine that a page offers by its setting `browser_engine`, and begin to export what it lacks.

    Raises `InputError` where it is asked for and the libraries for exporting are missing.
    """
    asked = state.settings.browser_engine
    if asked == "off" or (asked == "auto" and not state.settings.shared):
        return None
    try:
        require_libraries()
    except InputError as error:
        if asked == "on":
            raise
        _log.info("no model is computed in browsers: %s", error)
        return None
    files = EngineFiles(state)
    threading.Thread(target=files.export_missing, daemon=True).start()
    return PageEngine(files.route(), f"{_FOLDER}/{code_version()}", f"{_FOLDER}/offer.json")


class EngineFiles:
    """The files of a page's shipped models, in a cache that pages of this user share."""

    def __init__(self, state: AppState) -> None:
        self._state = state
        if cached := cache_folder():
            self._folder = cached.with_name("browser")
        else:
            self._folder = Path(tempfile.mkdtemp(prefix="bertviz-lab-browser-"))
            atexit.register(shutil.rmtree, self._folder, ignore_errors=True)

    def export_missing(self) -> None:
        """Export the shipped models that are not there yet, one after the other, and remove what is long unused."""
        for name in self._state.models.shipped():
            folder = self._folder / self._key(name)
            if not (folder / _FACTS).is_file():
                # A process of its own: exporting holds the interpreter's lock for seconds.
                arguments = (name, self._state.settings.checkpoints, folder)
                process = multiprocessing.get_context("spawn").Process(target=_export, args=arguments, daemon=True)
                process.start()
                process.join()
                if process.exitcode:
                    _log.warning("%s is not computed in browsers: it could not be exported", name)
                    continue
            os.utime(folder)
        for old in self._folder.iterdir():
            with contextlib.suppress(OSError):
                if time.time() - old.stat().st_mtime > _KEPT_SECONDS:
                    shutil.rmtree(old)

    def offer(self) -> dict[str, Any]:
        """Return what client/answering.js is told: the models that are there, and what the engine needs."""
        keys = {name: self._key(name) for name in self._state.models.shipped()}
        code = f"{_FOLDER}/{code_version()}"
        libraries = {name: f"./{file}" for name, file in LIBRARIES.items()}
        return {
            "facts": {
                name: f"{_FOLDER}/models/{key}/{_FACTS}"
                for name, key in keys.items()
                if (self._folder / key / _FACTS).is_file()
            },
            "views": _VIEWS,
            "server": PARTIAL,
            "addresses": {"base": f"{_FOLDER}/", "worker": f"{code}/engine/worker.js", **libraries},
            "site": {
                "model": "",
                "models": {},
                "unavailable": {"any": ""},  # then the server is asked
                "files": {"wasm": f"{code_version()}/engine/{WASM}"},
            },
        }

    def route(self) -> Route:
        """Return the route of the offer, the engine's modules and libraries, and the files of models."""

        async def file(request: Request) -> Response:
            kind, _, name = request.path_params["name"].partition("/")
            if kind == "offer.json" and not name:
                body = await run_in_threadpool(self.offer)
                return Response(to_json(body), headers={"Cache-Control": "no-cache"}, media_type="application/json")
            if kind == code_version() and name in code_files():
                return kept_file(request, name, code_files()[name])
            path = await run_in_threadpool(self._file, name) if kind == "models" else None
            if path is None:
                return PlainTextResponse("There is no such file.", status_code=404)
            return FileResponse(path, headers=KEPT_FOR_A_YEAR)

        return Route(f"/{_FOLDER}/{{name:path}}", only_for(is_logged_in, file))

    def _file(self, name: str) -> Path | None:
        """Return the file of a shipped model, KEY/END; None for any other."""
        key, _, end = name.partition("/")
        is_known = end in _ENDS and key in map(self._key, self._state.models.shipped())
        path = self._folder / key / end
        return path if is_known and path.is_file() else None

    def _key(self, name: str) -> str:
        """Return the name of a model's folder: another one when its files or the lab's code have changed."""
        return digest(self._state.models.version(name), _code_digest())


def _export(name: str, checkpoints: Path, folder: Path) -> None:
    """Write the files of a shipped model; ends the process with 1 where that is not possible."""
    import torch

    if hasattr(os, "nice"):
        os.nice(19)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        state = AppState(Settings(runs_dir=Path(scratch), checkpoints=checkpoints))
        try:
            model = export_model(state, name, name, causes=False)
        except InputError as error:
            raise SystemExit(1) from error
        facts = model.facts_with({end: f"models/{folder.name}/{end}" for end in model.files})
        with atomic_folder(folder) as fresh:
            for end, content in (model.files | {_FACTS: to_json(facts).encode()}).items():
                (fresh / end).write_bytes(content)


@cache
def code_files() -> Mapping[str, str | bytes]:
    """Return the engine's modules and libraries by their names: texts, and the bytes of the runtime."""
    modules = {f"engine/{name}.js": browser_source(f"engine/{name}.js") for name in ("engine", *WORKER)}
    libraries = {f"engine/{file}": vendored(file).decode() for file in LIBRARIES.values()}
    return modules | libraries | {f"engine/{WASM}": vendored(WASM)}


@cache
def code_version() -> str:
    """Return the name of the folder of `code_files`: other files have another one."""
    return digest(*chain(*code_files().items()))


@cache
def _code_digest() -> str:
    """Return a digest of the whole package: facts are made by many of its files."""
    package = Path(__file__).parents[1]
    return digest(*(path.read_bytes() for path in sorted(package.rglob("*.py"))))
