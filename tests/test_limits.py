"""The limits of a page: two modes, each limit by option and by environment variable."""

import dataclasses
from pathlib import Path

import pytest

from bertviz_lab.cli.main import command_parser
from bertviz_lab.config.limits import GIGABYTE, MEGABYTE, Limits, flag_of, limit_fields, variable_of, words_of
from bertviz_lab.errors import InputError


def test_a_shared_page_allows_no_more_than_a_local_one() -> None:
    order = {"off": 0, "allowlist": 1, "open": 2}
    for field in limit_fields():
        local, shared = field.metadata["local"], field.metadata["shared"]
        if field.metadata["kind"] == "hub":
            local, shared = order[local], order[shared]
        assert field.metadata["kind"] == "names" or shared <= local, field.name


@pytest.mark.parametrize("field", limit_fields(), ids=lambda field: field.name)
def test_every_limit_has_an_option_and_a_variable_and_its_default_in_the_help(
    field: dataclasses.Field, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command_parser().parse_args(["app", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert flag_of(field.name) in shown
    assert words_of(field.metadata["kind"], field.metadata["shared"]) in shown.replace("- ", "-")
    text = {"switch": "off", "hub": "off", "names": "a/b", "seconds": "7s"}.get(field.metadata["kind"], "7")
    value = {"switch": False, "hub": "off", "names": ("a/b",)}.get(field.metadata["kind"], 7)
    assert getattr(Limits.of(shared=True, environment={variable_of(field.name): text}), field.name) == value
    assert getattr(Limits.of(shared=True, given={field.name: text}), field.name) == value


def test_an_option_counts_more_than_a_variable() -> None:
    environment = {variable_of("upload_bytes"): "1GB"}
    assert Limits.of(shared=True, environment=environment).upload_bytes == GIGABYTE
    limits = Limits.of(shared=True, given={"upload_bytes": "1.5 MB"}, environment=environment)
    assert limits.upload_bytes == 1.5 * MEGABYTE


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("upload_bytes", "many"), ("upload_bytes", "1.2.3MB"), ("upload_bytes", "0"), ("upload_bytes", "-1"),
        ("run_seconds", "soon"), ("run_seconds", "0s"), ("runs_waiting", "1.5"), ("runs_waiting", "0"),
        ("training", "maybe"), ("hub", "closed"),
    ],
)  # fmt: skip
def test_a_limit_that_cannot_work_is_refused_by_its_option(name: str, text: str) -> None:
    with pytest.raises(InputError, match=flag_of(name)):
        Limits.of(shared=False, given={name: text})


def test_the_deployment_guide_has_every_limit_with_its_defaults() -> None:
    rows = ["| option of `bertviz-lab app` | local page | shared page | what it limits |", "|---|---|---|---|"]
    for field in limit_fields():
        kind = field.metadata["kind"]
        local, shared = (words_of(kind, field.metadata[mode]).replace("*", "\\*") for mode in ("local", "shared"))
        rows.append(
            f"| `{flag_of(field.name)}` | {local} | {shared} | {field.metadata['help'].replace('*', chr(92) + '*')} |"
        )
    table = "\n".join(rows)
    guide = (Path(__file__).parents[1] / "docs" / "deployment.md").read_text(encoding="utf-8")
    assert table in guide, f"docs/deployment.md, section Limits, should have:\n{table}"
