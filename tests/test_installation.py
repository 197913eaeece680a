"""`pip install .`: the wheel is built, installed where the checkout is out of reach, and used."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import free_port, wait_for

ROOT = Path(__file__).parents[1]
SOURCES = ("pyproject.toml", "setup.py", "requirements.txt", "README.md", "LICENSE", "bertviz_lab", "checkpoints")
TEXT = "She won a gold [MASK] at the Olympic Games."

pytestmark = pytest.mark.slow


def outside(folder: Path) -> dict[str, str]:
    """An environment from which nothing leads back into the checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "BERTVIZ", "GRADIO"))}
    return kept | {"HF_HUB_OFFLINE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "HOME": str(folder)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: setuptools leaves a `build` folder behind in the sources."""
    copy, out = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, copy / name)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "."], cwd=copy, env=outside(out), check=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def commands(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a new environment that holds the wheel, and finds its dependencies where these tests find theirs.

    A path in a `.pth` file adds packages but no `.pth` file of theirs: an editable install of the checkout is unseen.
    """
    venv = tmp_path_factory.mktemp("environment") / "venv"
    environment = outside(venv.parent)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], env=environment, check=True)
    packages = sysconfig.get_path("purelib", "venv", {"base": str(venv), "platbase": str(venv)})
    installed = [path for path in sys.path if path.endswith("site-packages")]
    Path(packages, "dependencies.pth").write_text("\n".join(installed) + "\n")
    scripts = Path(sysconfig.get_path("scripts", "venv", {"base": str(venv), "platbase": str(venv)}))
    pip = [sys.executable, "-m", "pip", "--python", str(scripts / "python"), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", "--force-reinstall", str(wheel)], env=environment, check=True)
    return scripts


def run(commands: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(commands / "bertviz-lab"), *arguments]
    return subprocess.run(command, cwd=folder, env=outside(folder), capture_output=True, text=True)


def test_a_wheel_holds_every_model_without_snapshots_and_every_file_of_the_package(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in (ROOT / "checkpoints").iterdir():
        files = [path.relative_to(ROOT) for path in folder.rglob("*") if path.is_file()]
        expected = {f"bertviz_lab/{path.as_posix()}" for path in files if "snapshots" not in path.parts}
        assert expected <= names
    assert not [name for name in names if "snapshots/" in name]
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "checkpoints/"))]
    assert wheel.stat().st_size < 100e6  # the most that PyPI takes
    names = set(zipfile.ZipFile(wheel).namelist())
    package = [path for path in (ROOT / "bertviz_lab").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {path.relative_to(ROOT).as_posix() for path in package} <= names


def test_an_installed_package_is_not_the_checkout_and_knows_its_models(commands: Path, tmp_path: Path) -> None:
    code = "import bertviz_lab; from bertviz_lab.config import SHIPPED; print(bertviz_lab.__file__); print(SHIPPED)"
    python = [str(commands / "python"), "-c", code]
    done = subprocess.run(python, cwd=tmp_path, env=outside(tmp_path), capture_output=True, text=True, check=True)
    assert all(Path(line).is_relative_to(commands.parent) for line in done.stdout.split())


def test_the_installed_command_fills_a_mask_with_a_shipped_model(commands: Path, tmp_path: Path) -> None:
    done = run(commands, tmp_path, "fill-mask", "--json", "--model", "wiki-mini", TEXT)
    assert done.returncode == 0, done.stderr
    (mask,) = json.loads(done.stdout)["masks"]
    assert mask["candidates"][0]["token"] == "medal"


@pytest.fixture(scope="module")
def address(commands: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page, served by `bertviz-lab app` from an empty folder."""
    folder = tmp_path_factory.mktemp("served")
    port = free_port()
    command = [str(commands / "bertviz-lab"), "app", "--port", str(port)]
    log = (folder / "log").open("w")
    with log, subprocess.Popen(command, cwd=folder, env=outside(folder), stdout=log, stderr=log) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(
                lambda: f"BertViz Lab is open at {url}" in (folder / "log").read_text() or server.poll() is not None
            )
            assert server.poll() is None, (folder / "log").read_text()
            yield url
        finally:
            server.kill()


def test_the_installed_page_offers_the_shipped_models(address: str) -> None:
    question = {"ticket": "1", "view": "explore", "question": "models", "arguments": {}}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}/lab/ask", json.dumps(question).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        ((_, shipped),) = json.load(answer)["answer"]
    assert {name for name, _ in shipped} == {folder.name for folder in (ROOT / "checkpoints").iterdir()}
