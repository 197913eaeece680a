"""docs/families.md names every family, settings that exist, and code that is where it says."""

import dataclasses
import re
from pathlib import Path

import pytest

from bertviz_lab.config import BertConfig
from bertviz_lab.config.families import FAMILIES
from bertviz_lab.interpret.family_notes import CHANGES

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "families.md").read_text(encoding="utf-8")
HEADINGS = re.findall(r"^## (.+)$", TEXT, flags=re.M)
#: What stands in parentheses after a change is its settings, then perhaps the paper.
SETTINGS = {name for group in re.findall(r"\*\* \(([^)]*)\)", TEXT) for name in re.findall(r"`(\w+)`", group)}
PLACES = re.findall(r"((?:`\w+`(?: and )?)+)\s+in\s+`(bertviz_lab/[\w/]+\.py)`", TEXT)


@pytest.mark.parametrize("model_type", [name for name in FAMILIES if name != "bert"])
def test_every_family_has_a_section_and_a_row(model_type):
    assert any(f"`{model_type}`" in heading for heading in HEADINGS)
    assert f"\n| `{model_type}` | " in TEXT


def test_the_settings_exist():
    fields = {field.name for field in dataclasses.fields(BertConfig)}
    assert len(SETTINGS) > 20
    assert fields >= SETTINGS


def test_every_setting_of_a_family_is_explained():
    named = set(re.findall(r"`(\w+)`", TEXT))
    own = {name for family in FAMILIES.values() for name in (*family.own, *family.fixed)}
    assert named >= own - {"layer_norm_eps"}


def test_the_code_is_where_it_is_said_to_be():
    assert len(PLACES) > 15
    for names, path in PLACES:
        text = (ROOT / path).read_text(encoding="utf-8")
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"(def |class |self\.){name}\b", text), (name, path)


def test_the_table_says_what_the_configs_say():
    rows = dict(re.findall(r"^\| `([\w-]+)` \| [^|]+ \| ([^|]+) \|", TEXT, flags=re.M))
    del rows["model_type"]
    assert rows.keys() == FAMILIES.keys()
    for model_type, segments in rows.items():
        if model_type in ("roberta", "xlm-roberta", "camembert", "deberta-v2"):  # their files say it
            continue
        assert BertConfig.from_dict({"model_type": model_type}).has_segments == (segments == "2"), model_type


@pytest.mark.parametrize("model_type", [name for name in FAMILIES if name != "bert"])
def test_the_page_says_what_changed_in_the_same_words(model_type):
    (section,) = re.findall(rf"^## [^\n]*`{model_type}`.*?(?=^## |\Z)", TEXT, flags=re.M | re.S)
    assert f"What changed: {CHANGES[model_type]}" in re.sub(r"\s+", " ", section)
