"""README.md and docs/ say what is so: their commands and Python blocks run, their links and numbers are right."""

import importlib.util
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertviz_lab.cli.main import command_parser, main
from bertviz_lab.config import BertConfig
from bertviz_lab.config.families import FAMILIES
from tests.little import little_text

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "notebooks").glob("*.md")])
#: Documents whose commands are run one after the other; those of the others are parsed.
RUN = ("README.md", "command-line.md")
#: What makes a documented training run small. The rest of each command is run as it is printed.
SMALL = {
    "pretrain": "--preset tiny --vocab-size 200 --seq-len 24 --batch-size 4 --steps 4 --threads 1 --precision fp32",
    "finetune": "--epochs 1 --batch-size 4 --max-length 24 --threads 1 --max-train-examples 16 --precision fp32",
}
#: The same in Python blocks.
REPLACED = {
    "steps=2000": "steps=4, vocab_size=200, seq_len=24, batch_size=4, threads=1",
    '"bert-base-uncased"': '"tiny"',
    "seeds=3": "seeds=1, epochs=1, max_train_examples=16, max_length=24, threads=1",
    '"checkpoints/tiny-town"': repr(str(ROOT / "checkpoints" / "tiny-town")),
    "history.steps()": "history.steps()[:2]",
}


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.M | re.S)


def commands(path: Path) -> list[list[str]]:
    return [shlex.split(line) for block in blocks(path, "console") for line in block.splitlines()]


def arguments_of(command: list[str]) -> list[str] | None:
    """What the lab's own command line is given by a command, alone or under a launcher."""
    if command[0] == "bertviz-lab":
        return command[1:]
    return command[command.index("bertviz_lab") + 1 :] if "bertviz_lab" in command else None


EXAMPLES = [path for path in DOCUMENTS if blocks(path, "python") and path.name != "api.md"]  # whose are signatures
EVERY_COMMAND = [(path.name, command) for path in DOCUMENTS for command in commands(path)]


@pytest.mark.parametrize(("document", "command"), EVERY_COMMAND, ids=lambda value: str(value)[:60])
def test_every_documented_command_exists(document: str, command: list[str]) -> None:
    if (arguments := arguments_of(command)) is not None:
        options = command_parser().parse_args(arguments)
        assert callable(options.run)
    elif command[0] == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)
        assert command[1] in targets
    else:
        assert command[:2] == ["pip", "install"]  # tests/test_installation.py does that


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the documents name."""
    (tmp_path / "texts").mkdir()
    for name in ("book.txt", "other.txt", "texts/a.txt"):
        (tmp_path / name).write_text(little_text(), encoding="utf-8")
    rows = [f"the {word} film number {n},{word}" for n in range(20) for word in ("good", "bad")]
    for name in ("reviews.csv", "more.csv"):
        (tmp_path / name).write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "texts.txt").write_text("a good film\na bad film\n", encoding="utf-8")
    pair = {"sentence_good": "The cat sleeps.", "sentence_bad": "The cat sleep.", "linguistics_term": "agreement"}
    (tmp_path / "blimp" / "data").mkdir(parents=True)
    (tmp_path / "blimp" / "data" / "agreement.jsonl").write_text(json.dumps(pair) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.training
@pytest.mark.parametrize("document", RUN)
def test_documented_commands_run_one_after_the_other(
    document: str, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = next(path for path in DOCUMENTS if path.name == document)  # the first README.md is that of the project
    ran = 0
    for command in commands(path):
        arguments = arguments_of(command)
        if arguments is None or arguments[0] == "app":
            continue
        assert main([*arguments, *shlex.split(smaller(arguments))]) == 0, (command, capsys.readouterr().err)
        ran += 1
    assert ran >= 4


def smaller(arguments: list[str]) -> str:
    """The options that shorten a training run; a resumed run keeps its own, and a model brings its tokenizer."""
    added = "" if "--resume" in arguments else SMALL.get(arguments[0], "")
    return re.sub(r"--preset tiny --vocab-size 200 ", "", added) if "--init-from" in arguments else added


@pytest.mark.training
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_python_blocks_run_in_order(path: Path, desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for block in blocks(path, "python"):
        for printed, small in REPLACED.items():
            block = block.replace(printed, small)
        exec(compile(block, path.name, "exec"), names)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        if not link.startswith(("http://", "https://")):
            assert (path.parent / link).exists(), link


def test_every_row_of_the_coverage_has_its_place():
    text = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0] != "subject"]
    lessons = {int(path.name[:2]) for path in (ROOT / "bertviz_lab/ui/lessons/texts").glob("[0-9]*_*.toml")}
    notebooks = {int(path.name[:2]) for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    for subject, places, code in rows:
        for kind, known in (("lesson", lessons), ("notebook", notebooks)):
            for numbers in re.findall(rf"\b{kind}s? ([\d, and]+)", places):
                assert {int(n) for n in re.findall(r"\d+", numbers)} <= known, subject
        assert all((ROOT / name).exists() for name in re.findall(r"docs/[\w.]+", places)), subject
        assert (ROOT / code.strip("`")).exists(), subject
    assert "partly" not in text.lower()
    assert len(rows) > 60


def test_the_api_reference_is_up_to_date() -> None:
    """Signatures aside, which Python versions print in different ways: `make docs` writes it anew."""
    spec = importlib.util.spec_from_file_location("make_api", ROOT / "docs" / "make_api.py")
    assert spec is not None
    assert spec.loader is not None
    make_api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_api)
    fence = re.compile(r"^```python\n.*?^```", flags=re.M | re.S)
    written = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert fence.sub("", make_api.reference()) == fence.sub("", written)


def readme_rows() -> Iterator[tuple[str, str]]:
    """Shipped models and what the README says of them."""
    for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"\| \[([\w-]+)\]\(checkpoints/", line):
            yield match[1], line


def test_the_readme_lists_every_shipped_model() -> None:
    assert {name for name, _ in readme_rows()} == {folder.name for folder in (ROOT / "checkpoints").iterdir()}


@pytest.mark.parametrize(("model", "row"), list(readme_rows()), ids=lambda value: value[:20])
def test_scores_in_the_readme_are_those_of_the_card(model: str, row: str) -> None:
    card = (ROOT / "checkpoints" / model / "README.md").read_text(encoding="utf-8")
    scores = card[card.index("## Scores") :]
    known = set(re.findall(r"\d+\.\d%", scores)) | {f"{float(x):.1%}" for x in re.findall(r"\b0\.\d{4}\b", scores)}
    printed = set(re.findall(r"\d+\.\d%", row))
    assert printed
    assert printed <= known


def test_versions_agree() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    gradio = re.search(r"^gradio==(.+)$", (ROOT / "requirements.txt").read_text(encoding="utf-8"), flags=re.M)
    assert gradio
    assert f"\nsdk_version: {gradio[1]}\n" in (ROOT / "README.md").read_text(encoding="utf-8")


TEXT = (ROOT / "docs" / "families.md").read_text(encoding="utf-8")


def test_the_table_says_what_the_configs_say():
    rows = dict(re.findall(r"^\| `([\w-]+)` \| [^|]+ \| ([^|]+) \|", TEXT, flags=re.M))
    del rows["model_type"]
    assert rows.keys() == FAMILIES.keys()
    for model_type, segments in rows.items():
        if model_type in ("roberta", "xlm-roberta", "camembert", "deberta-v2"):  # their files say it
            continue
        assert BertConfig.from_dict({"model_type": model_type}).has_segments == (segments == "2"), model_type
