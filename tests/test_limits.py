"""The limits of a page: two modes; each limit by file and by environment variable, the common ones by option."""

import dataclasses
import re
from pathlib import Path

import pytest

from bertviz_lab.cli.main import command_parser
from bertviz_lab.config.limits import GIGABYTE, MEGABYTE, Limits, limit_fields, read_limits_file, variable_of, words_of
from bertviz_lab.config.options import flag_of
from bertviz_lab.errors import InputError


def test_a_shared_page_allows_no_more_than_a_local_one() -> None:
    local, shared = Limits.of(shared=False), Limits.of(shared=True)
    derived = [name for name, value in vars(Limits).items() if isinstance(value, property) and name != "question"]
    for name in [*(field.name for field in limit_fields() if field.name != "hub"), *derived]:
        assert getattr(shared, name) <= getattr(local, name), name


@pytest.mark.parametrize("field", limit_fields(), ids=lambda field: field.name)
def test_every_limit_is_set_by_a_file_and_by_a_variable(field: dataclasses.Field, tmp_path: Path) -> None:
    text, value = {"hub": ("a/b", "a/b"), "seconds": ("7s", 7)}.get(field.metadata["kind"], ("7", 7))
    assert getattr(Limits.of(shared=True, environment={variable_of(field.name): text}), field.name) == value
    (tmp_path / "limits.toml").write_text(f"{field.name} = {text if text == '7' else repr(text)}")
    assert getattr(Limits.of(shared=True, given=read_limits_file(tmp_path / "limits.toml")), field.name) == value


def test_the_help_of_the_app_fits_on_two_screens(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        command_parser().parse_args(["app", "--help"])
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 48
    assert [flag_of(field.name) in shown for field in limit_fields()] == [f.metadata["option"] for f in limit_fields()]


def test_an_option_counts_more_than_a_variable() -> None:
    environment = {variable_of("upload_bytes"): "1GB"}
    assert Limits.of(shared=True, environment=environment).upload_bytes == GIGABYTE
    limits = Limits.of(shared=True, given={"upload_bytes": "1.5 MB"}, environment=environment)
    assert limits.upload_bytes == 1.5 * MEGABYTE


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("upload_bytes", "many"), ("upload_bytes", "1.2.3MB"), ("upload_bytes", "0"), ("upload_bytes", "-1"),
        ("run_seconds", "soon"), ("run_seconds", "0s"), ("visitors", "1.5"), ("visitors", "0"), ("hub", "a//b"),
        ("runs_per_visitor", "-1"),
    ],
)  # fmt: skip
def test_a_limit_that_cannot_work_is_refused_by_its_name(name: str, text: str) -> None:
    with pytest.raises(InputError, match=name):
        Limits.of(shared=False, given={name: text})


@pytest.mark.parametrize(("content", "sentence"), [("upload_byte = 1", "for example upload_bytes"), ("=", "cannot be")])
def test_a_file_of_limits_that_cannot_be_used_is_refused(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "limits.toml").write_text(content)
    with pytest.raises(InputError, match=sentence):
        read_limits_file(tmp_path / "limits.toml")
    with pytest.raises(InputError, match="cannot be read"):
        read_limits_file(tmp_path / "none.toml")


@pytest.mark.parametrize("field", limit_fields(), ids=lambda field: field.name)
def test_the_deployment_guide_has_every_limit_with_its_defaults_and_a_reason(field: dataclasses.Field) -> None:
    meta = field.metadata
    name = f"`{field.name}`" + (f", `{flag_of(field.name)}`" if meta["option"] else "")
    cells = [name, *(words_of(meta["kind"], meta[mode]) for mode in ("local", "shared")), meta["help"]]
    row = "| " + " | ".join(cell.replace("*", "\\*") for cell in cells) + " | "
    guide = (Path(__file__).parents[1] / "docs" / "deployment.md").read_text(encoding="utf-8")
    assert re.search(re.escape(row) + r"\w[^|]+ \|\n", guide), row
