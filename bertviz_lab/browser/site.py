"""Models as a static site: a folder of files for any web server, or one HTML file that opens from a disk.

The page is the lab's own client (`ui/client`, `ui/components` and the views of Explore) with an engine in the browser
in the place of the server (`engine/`). In a folder its modules are files under a hash of their content; a single file
has them packed, and gives them addresses when it opens.
"""

import base64
import gzip
import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from bertviz_lab.browser.export import CAUSES, GRAPH, WEIGHTS, Precision, export_graphs
from bertviz_lab.browser.facts import NO_GRADIENTS, UNAVAILABLE, model_facts
from bertviz_lab.browser.recorded import recorded_corpus, recorded_dynamics, recorded_lessons, snapshots_folder
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.corpora.tuned_lens import TunedLens
from bertviz_lab.training.checkpoints.atomic_io import atomic_folder
from bertviz_lab.training.checkpoints.checkpoint import model_name, parameter_count
from bertviz_lab.ui.components.standalone import DRAWINGS, PLOTLY, source, standalone_page, with_imports
from bertviz_lab.ui.server import assets
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views import VIEWS

#: The views of a published page.
PUBLISHED = (
    "tokens", "predictions", "architecture", "attention", "attribution", "causes", "corpus", "embeddings", "layers"
)  # fmt: skip
_DRAWINGS = ("architecture", "attention", "chart", "contexts", "facts", "fill", "findings", "marked", "split", "tokens")
_ENGINE = "browser/engine"
#: The modules of the worker, in the order of their imports, and its libraries.
WORKER = (
    "numeric", "tokenizer", "model", "explore", "recorded", "predictions", "tokens", "attention", "task", "targets",
    "attribution", "causes", "layers", "worker",
)  # fmt: skip
LIBRARIES = {"runtime": "ort.wasm.bundle.min.js", "tokenizers": "tokenizers.min.js"}
WASM = "ort-wasm-simd-threaded.wasm.gz"
_ANSWERER = f"import {{ publishedEngine }} from 'lab/{_ENGINE}/engine.js';\nexport const answerer = publishedEngine();"
#: What starts a page, and the engine as it sees it.
_PAGE = ("browser/start.js", f"{_ENGINE}/engine.js")
#: Weights of all models in 32 bits; more than this is too slow to load and to run in a page.
_MOST_BYTES = 130_000_000

#: The files of the lessons, of a model's training dynamics, where there are some, and of its heads on a corpus.
_LESSONS, _DYNAMICS, _CORPUS = "lessons.json", "dynamics.json", "corpus.json"

Report = Callable[[str], None]


@dataclass(frozen=True)
class Published:
    """What was written."""

    path: Path
    bytes: int  # of all files
    models: tuple[str, ...]


@dataclass(frozen=True)
class ExportedModel:
    """A model of a page: its facts, and the bytes of its files by their ends."""

    facts: dict[str, Any]
    files: dict[str, bytes]

    def facts_with(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Return what the engine is told of the model; `names` are those of its files by their ends."""
        kinds = {
            "graph": GRAPH, "causes": CAUSES, "weights": WEIGHTS, "tokenizer": "tokenizer.json", "dynamics": _DYNAMICS,
            "corpus": _CORPUS,
        }  # fmt: skip
        return self.facts | {"files": {kind: names[end] for kind, end in kinds.items() if end in names}}


@dataclass(frozen=True)
class _Content:
    """What a page is about: its models, the first of which it opens with, and the lessons on them ({} for none).

    `start` is what it opens with where its address says nothing, as a query.
    """

    models: Sequence[ExportedModel]
    lessons: dict[str, Any]
    start: str

    @property
    def has_dynamics(self) -> bool:
        """Return whether there is training dynamics of a model."""
        return any(_DYNAMICS in model.files for model in self.models)

    @property
    def drawings(self) -> tuple[str, ...]:
        """Return the drawings that can be saved as a page."""
        return (*_DRAWINGS, "scrubber") if self.has_dynamics else _DRAWINGS

    @property
    def modules(self) -> dict[str, str]:
        """Return the modules of the page by their names below `lab/`."""
        return _modules((*PUBLISHED, "dynamics") if self.has_dynamics else PUBLISHED, self.drawings)

    def files(self) -> dict[str, bytes]:
        """Return the files that the engine asks for, by NAME/END of a model's, or `_LESSONS`."""
        files = {_LESSONS: json.dumps(self.lessons, ensure_ascii=False).encode()} if self.lessons else {}
        return files | {f"{m.facts['name']}/{end}": body for m in self.models for end, body in m.files.items()}


def publish(
    models: Sequence[str],
    out: Path,
    *,
    single_file: bool = False,
    precision: Precision = "fp16",
    names: Sequence[str] = (),
    snapshots: int = 0,
    start: Mapping[str, str] = {},
    report: Report = lambda words: None,
) -> Published:
    """Write models as a page that needs no server, a new folder or with `single_file` a new HTML file.

    `names` are those of the models on the page, by default their own or of their folders. `snapshots` is how many of a
    model's run the training dynamics are recorded of, 0 or 2 and more. `start` are parameters of an address
    (docs/publishing.md) that the page opens with where its own has none. `report` is called with what happens. Raises
    `InputError` for a model that is not there or too large, without snapshots where they are asked for, for another
    number of them, and where the place is taken or cannot be written.
    """
    if snapshots < 0 or snapshots == 1:
        raise InputError(f"`snapshots` is 2 or more, or 0 for none, not {snapshots}.")
    _check_place(out, single_file)
    with tempfile.TemporaryDirectory() as scratch:
        state = AppState(Settings(runs_dir=Path(scratch) / "runs"))
        given = dict(zip(dict.fromkeys(models), names, strict=False))
        called = {model: given.get(model, model_name(model)) for model in dict.fromkeys(models)}
        if len(set(called.values())) < len(called):
            raise InputError(f"Two models have one name: name them apart, such as --name {' '.join(called.values())}2.")
        dynamics = _dynamics(state, called, snapshots, Path(scratch)) if snapshots else {}
        exported = [export_model(state, *pair, precision, report) for pair in called.items()]
        for model, original in zip(exported, called, strict=True):
            corpus = recorded_corpus(state.models.open(original))
            model.files[_CORPUS] = json.dumps(corpus, ensure_ascii=False).encode()
            model.files.update(dynamics.get(model.facts["name"], {}))
        report("Lessons are measured, and the page is put together.")
        unchanged = [name for model, name in called.items() if model == name]
        made = _Content(exported, recorded_lessons(state, unchanged, PUBLISHED), urlencode(start))
        if single_file:
            out.write_text(_single_file(made), encoding="utf-8")
        else:
            with atomic_folder(out) as fresh:
                for name, content in _folder(made).items():
                    path = fresh / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
                if out.exists():
                    out.rmdir()  # an empty one
    files = [out] if single_file else [path for path in out.rglob("*") if path.is_file()]
    return Published(out, sum(path.stat().st_size for path in files), tuple(called.values()))


def _dynamics(state: AppState, called: Mapping[str, str], most: int, scratch: Path) -> dict[str, dict[str, bytes]]:
    """Return the files of training dynamics of those models that have snapshots, by name; of one at least."""
    folders = {name: state.models.locate(model)[0] for model, name in called.items()}
    recorded = {name: folder for name, folder in folders.items() if snapshots_folder(folder)} or folders
    made = {name: recorded_dynamics(folder, name, most, scratch / name) for name, folder in recorded.items()}
    return {name: {_DYNAMICS: json.dumps(body, ensure_ascii=False).encode()} for name, body in made.items()}


def _check_place(out: Path, single_file: bool) -> None:
    if single_file and (out.exists() or out.suffix.lower() != ".html"):
        raise InputError(f"{out} must be a new file whose name ends in .html.")
    if not single_file and out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InputError(f"{out} is not an empty folder; name a new one.")


def export_model(
    state: AppState,
    model: str,
    name: str,
    precision: Precision = "fp16",
    report: Report = lambda words: None,
    *,
    causes: bool = True,
) -> ExportedModel:
    """Export a model under its name on the page, with what Causes needs unless `causes` is False.

    Raises `InputError` for one that is not there or too large.
    """
    checkpoint = replace(state.models.open(model), name=name)
    size = 4 * parameter_count(checkpoint.model)
    if size > _MOST_BYTES:
        raise InputError(
            f"{checkpoint.name} has {size / 2e6:,.0f} MB of weights in 16 bits, and a page takes up to about "
            f"{_MOST_BYTES / 2e6:,.0f} MB: choose a smaller model."
        )
    report(f"{checkpoint.name} is exported.")
    with tempfile.TemporaryDirectory() as scratch:
        folder, _ = state.models.locate(model)
        # That of a run lies beside its model.
        lens = TunedLens.load(folder, checkpoint) or TunedLens.load(folder.parent, checkpoint)
        weights = export_graphs(checkpoint, Path(scratch), precision, lens=lens, causes=causes)
        facts = model_facts(state, model, checkpoint, lens) | {"weights": weights}
        tokenizer = checkpoint.tokenizer.backend.to_str().encode()
        files = {path.name: path.read_bytes() for path in Path(scratch).iterdir()}
        return ExportedModel(facts, files | {"tokenizer.json": tokenizer})


# ---- the parts of a page


@cache
def browser_source(name: str) -> str:
    """Return the text of a file below `bertviz_lab/browser`."""
    return resources.files("bertviz_lab.browser").joinpath(name).read_text(encoding="utf-8")


def vendored(name: str) -> bytes:
    """Return a file of a library of the engine."""
    return resources.files("bertviz_lab.browser").joinpath(f"vendor/{name}").read_bytes()


@cache
def _modules(ids: Sequence[str], drawings: Sequence[str]) -> dict[str, str]:
    views = [view for view in VIEWS if view.id in ids]
    ours = {name: browser_source(name.removeprefix("browser/")) for name in _PAGE}
    generated = ("site.js", *ours)
    names = [f"views/{view.id}/view.js" for view in views] + [DRAWINGS[kind].module for kind in drawings]
    texts = {name: source(name) for name in with_imports(["client/main.js", *names], generated)}
    site = assets.site(views, _ANSWERER)
    return texts | ours | {"site.js": site, PLOTLY: source(PLOTLY)}


def _styles() -> str:
    return f"{browser_source('published.css')}\n{assets.files()['lab.css']}"


def _published(content: _Content, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the engine's configuration; `names` maps each kind of file to its name."""
    first, *_ = content.models
    described = {}
    for model in content.models:
        name = model.facts["name"]
        described[name] = model.facts_with({end: names[f"{name}/{end}"] for end in model.files})
    files = {"wasm": names["wasm"], "drawings": names["drawings"], "lessons": names.get(_LESSONS, "")}
    shared = {"no_gradients": NO_GRADIENTS, "unavailable": UNAVAILABLE, "files": files}
    return {"model": first.facts["name"], "models": described} | shared


def _page(content: _Content, names: Mapping[str, str], policy: Mapping[str, str], **parts: Any) -> str:
    cards = {model.facts["name"]: model.facts["card"] or "This model has no card." for model in content.models}
    dynamics = {"runs": "Training dynamics"} if content.has_dynamics else {}
    learn = {"learn": "Learn"} if content.lessons else {}
    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return template.from_string(browser_source("index.html")).render(
        title=" and ".join(cards) if len(cards) < 3 else f"{next(iter(cards))} and {len(cards) - 1} other models",
        gloss="Computed in your browser: nothing that you type leaves it.",
        spaces={"explore": "Explore", **dynamics, **learn, "about": "About"},
        cards=cards,
        start=content.start,
        published=Markup(json.dumps(_published(content, names), ensure_ascii=False).replace("<", "\\u003c")),
        policy="; ".join(f"{name} {sources}" for name, sources in policy.items()),
        **{name: Markup(part) if isinstance(part, str) else part for name, part in parts.items()},
    )


_POLICY = {"default-src": "'none'", "style-src": "'self' 'unsafe-inline'", "img-src": "'self' data: blob:"}
_WAITING = "The page is loading. It needs JavaScript and a current browser."
_NO_FORMS = {"base-uri": "'none'", "form-action": "'none'"}


def _folder(content: _Content) -> dict[str, bytes]:
    """Return the files of a site by their names."""
    assets_by_name = {name: text.encode() for name, text in content.modules.items()}
    assets_by_name |= {f"{_ENGINE}/{name}.js": browser_source(f"engine/{name}.js").encode() for name in WORKER}
    assets_by_name |= {f"{_ENGINE}/{file}": vendored(file) for file in (*LIBRARIES.values(), WASM)}
    assets_by_name |= {f"drawings/{kind}.html": standalone_page(kind, "").encode() for kind in content.drawings}
    assets_by_name["lab.css"] = _styles().encode()
    folder = f"lab-{assets.digest(*(part for file in sorted(assets_by_name.items()) for part in file))}"
    files = {f"{folder}/{name}": text for name, text in assets_by_name.items()}
    names = {"wasm": f"{folder}/{_ENGINE}/{WASM}", "drawings": f"{folder}/drawings/"}
    for name, body in content.files().items():
        stem, dot, end = re.sub(r"[^\w./-]+", "-", name).rpartition(".")
        names[name] = path = f"models/{stem}-{assets.digest(body)}{dot}{end}"
        files[path] = body
    import_map = json.dumps({"imports": {"lab/": f"./{folder}/"}})
    ours = ("site.js", *_PAGE)
    preloaded = [*ours, *with_imports(assets.FIRST, ours)]
    head = [f'<script type="importmap">{import_map}</script>', f'<link rel="stylesheet" href="{folder}/lab.css">']
    head += [f'<link rel="modulepreload" href="{folder}/{name}">' for name in preloaded]
    allowed = base64.b64encode(hashlib.sha256(import_map.encode()).digest()).decode()  # the one inline script
    scripts = f"'self' 'sha256-{allowed}' 'wasm-unsafe-eval'"
    policy = _POLICY | {"script-src": scripts, "connect-src": "'self'", "worker-src": "'self'"} | _NO_FORMS
    addresses = {"base": "./", "worker": f"./{folder}/{_ENGINE}/worker.js"}
    addresses |= {name: f"./{file}" for name, file in LIBRARIES.items()}
    foot = f'<script type="module" src="{folder}/browser/start.js"></script>'
    page = _page(
        content,
        names,
        policy,
        addresses=addresses,
        head="\n".join(head),
        foot=foot,
        waiting=f"{_WAITING} A web server must serve it: the pages of a folder cannot be opened from a disk.",
    )
    return files | {"index.html": page.encode()}


def _single_file(content: _Content) -> str:
    """Return a page that has everything in itself."""
    names = {"wasm": "wasm", "drawings": "drawings/"}
    packs = {"wasm": vendored(WASM)}
    for place, (file, body) in enumerate(content.files().items()):
        names[file] = name = f"file-{place}"
        packs[name] = gzip.compress(body, mtime=0)
    worker = {
        "texts": [(f"{name}.js", browser_source(f"engine/{name}.js")) for name in WORKER],
        "libraries": {name: vendored(file).decode() for name, file in LIBRARIES.items()},
    }
    scripts = {"modules": content.modules, "worker": worker, "loader": browser_source("loader.js")}
    pack = base64.b64encode(gzip.compress(json.dumps(scripts).encode(), mtime=0)).decode()
    foot = [
        f'<script type="text/plain" data-file="{name}">{base64.b64encode(body).decode()}</script>'
        for name, body in packs.items()
    ]
    foot.append(f'<script type="text/plain" id="lab-pack">{pack}</script>')
    foot.append(f'<script nonce="lab">{browser_source("boot.js")}</script>')
    allowed = "'nonce-lab' blob: 'wasm-unsafe-eval'"
    policy = _POLICY | {"script-src": allowed, "worker-src": "blob:"} | _NO_FORMS
    addresses = {"base": "./", "worker": "", **{name: name for name in LIBRARIES}}
    head = f"<style>{_styles()}</style>"
    return _page(content, names, policy, addresses=addresses, head=head, foot="\n".join(foot), waiting=_WAITING)
