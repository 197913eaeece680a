"""What every test shares: a machine that is offline, and the way to the data beside the repository."""

import os
from collections.abc import Iterator
from pathlib import Path

# Before anything imports a Hugging Face library: no test may depend on the network, and a tokenizer that has run
# threads must not be forked with them running.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Two files are tested at a time, each with trainings and a browser: a thread that waits lets others have its core.
# Read when torch is loaded, by the trainings too.
os.environ.setdefault("GOMP_SPINCOUNT", "100")
# Nor may one read or write the texts that a person has prepared.
os.environ["BERTVIZ_LAB_CACHE"] = "none"
# Exporting what a shared page offers to browsers takes minutes of a core.
os.environ["BERTVIZ_LAB_BROWSER_ENGINE"] = "off"

import pytest
from hypothesis import settings

# The browser and its pages.
pytest_plugins = ["tests.browser"]

# A shared machine can stall for longer than the 200 ms that hypothesis allows an example.
settings.register_profile("lab", deadline=None, print_blob=True)
# `pytest --hypothesis-profile thorough` looks for what a hundred examples do not show.
settings.register_profile("thorough", deadline=None, print_blob=True, max_examples=5000)
# `make quick` looks at a few examples of each property.
settings.register_profile("quick", deadline=None, print_blob=True, max_examples=15)
settings.load_profile("lab")

# Checkpoints and logs wait for the disk, which would be most of the time that a small training takes.
os.fsync = lambda handle: None  # type: ignore[assignment]

TESTS = Path(__file__).parent
#: Files and folders in which tests train, start processes or serve a whole page; `make quick` leaves them out.
TRAINING = (
    *("benchmarks", "confined", "e2e", "jobs", "test_command_line.py", "test_doctor.py", "test_installation.py", "ui"),
    *(f"training/{part}" for part in ("checkpoints", "finetuning", "loop", "pretraining", "test_trained_length.py")),
    "interpret/test_results.py",
)

#: The longest files first, so that no worker is left alone with one at the end.
LONGEST_FIRST = (
    *("e2e", "ui/components", "ui", "jobs", "training", "test_command_line.py", "benchmarks", "test_docs.py"),
    *("test_notebooks.py", "test_show.py", "test_installation.py", "interpret"),
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make quick` does not even import what it leaves out: that takes longer than a tenth of its tests."""
    quick = "not training" in config.getoption("markexpr")
    left_out = quick and any(collection_path == TESTS / part for part in TRAINING)
    return left_out or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by what they need, and let a worker begin with the longest files."""
    for item in items:
        path = item.path.relative_to(TESTS)
        if "chromium_path" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
            if os.environ.get("CI"):  # a shared machine can stall while a page is drawn; reruns are in the summary
                item.add_marker(pytest.mark.flaky(reruns=1))
        if any(path.is_relative_to(part) for part in TRAINING):
            item.add_marker("training")
        if path.is_relative_to("e2e"):  # a page that was served leaves its sockets to the garbage collector
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
        if is_third_screen(item):
            item.add_marker("thorough")
    if hasattr(config, "workerinput"):
        items.sort(key=_rank)


def is_third_screen(item: pytest.Item) -> bool:
    """Whether a test looks at a wide dark page or a narrow light one: `make test` looks at the other two."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    screen = (parameters.get("width"), parameters.get("theme", parameters.get("scheme")))
    return parameters.get("screen", screen) in ((1280, "dark"), (400, "light"))


def _rank(item: pytest.Item) -> int:
    path = item.path.relative_to(TESTS)
    ranks = (rank for rank, part in enumerate(LONGEST_FIRST) if path.is_relative_to(part))
    return next(ranks, len(LONGEST_FIRST))


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of prepared texts for each test alone. (Fixtures shared by several tests have none.)"""
    before = os.environ["BERTVIZ_LAB_CACHE"]
    folder = tmp_path_factory.mktemp("cache")
    os.environ["BERTVIZ_LAB_CACHE"] = str(folder)
    yield folder
    os.environ["BERTVIZ_LAB_CACHE"] = before


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of data that is not part of the project; the test is skipped where it is absent."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("BERTVIZ_LAB_DATA") or beside)
    if not folder.is_dir():
        pytest.skip(f"the data folder {folder} is absent (set BERTVIZ_LAB_DATA)")
    return folder
