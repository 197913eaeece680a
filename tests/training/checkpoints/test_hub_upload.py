"""Cards and publishing: commands that run as printed, what is sent to the hub, and what is said when it refuses."""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from bertviz_lab import InputError, load_checkpoint
from bertviz_lab.cli.main import main
from bertviz_lab.cli.options import add_options, given_options
from bertviz_lab.config import FinetuneConfig, PretrainConfig, shipped_models
from bertviz_lab.training.checkpoints.hub_upload import card_for_hub, push_to_hub, scores_of
from bertviz_lab.training.checkpoints.model_card import run_command, source_name
from tests.little import little_checkpoint, little_folder
from tests.model.support import same_weights
from tests.ui.fake_hub import FakeHub, fake_hub

ROOT = Path(__file__).parents[3]
CARD = """---
pipeline_tag: text-classification
---

# A small BERT

## Training

| score | value |
|---|---|
| accuracy | 0.1 |

## Validation scores on dev.tsv

| score | value |
|---|---|
| accuracy | 0.8360 |
| Macro F1 | 0.8357 |
| something else | 0.5000 |
"""


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with fake_hub() as hub:
        yield hub


def push(hub: FakeHub, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The command against a hub on this machine; the library reads its settings as it is imported."""
    environment = {**os.environ, "HF_ENDPOINT": hub.address, "HF_TOKEN": "hf_" + "t" * 34, "HF_HUB_OFFLINE": "0"}
    environment |= {"HF_HOME": str(folder / "hf"), "HF_HUB_DISABLE_XET": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "bertviz_lab", "push", "--model", str(folder / "model"), "--repo", "me/mine"]
    return subprocess.run([*command, *options], env=environment, capture_output=True, text=True, timeout=120)


def test_what_is_published_can_be_opened_again_and_is_private(hub: FakeHub, tmp_path: Path) -> None:
    little_folder(tmp_path / "model")
    done = push(hub, tmp_path, "--license", "apache-2.0", "--language", "en", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["url"] == f"{hub.address}/me/mine/commit/1"
    assert hub.created == [{"name": "mine", "organization": "me", "visibility": "private", "type": "model"}]
    fetched = tmp_path / "fetched"
    for name, content in hub.repositories["me/mine"].items():
        (fetched / name).parent.mkdir(parents=True, exist_ok=True)
        (fetched / name).write_bytes(content)
    theirs, ours = load_checkpoint(fetched), load_checkpoint(tmp_path / "model")
    assert same_weights(theirs.model, ours.model)
    card = ModelCard.load(fetched / "README.md")
    assert (card.data.license, card.data.language, card.data.library_name) == ("apache-2.0", "en", "transformers")


def test_offline_nothing_is_sent_and_a_dry_run_shows_what_would_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    little_folder(tmp_path / "model")  # this process works offline: sending would fail
    assert main(["push", "--model", str(tmp_path / "model"), "--repo", "me/mine", "--dry-run", "--public"]) == 0
    printed = capsys.readouterr().out
    assert "model.safetensors" in printed
    assert "me/mine, public" in printed
    little_folder(tmp_path / "model")
    assert main(["push", "--model", str(tmp_path / "model"), "--repo", "me/mine"]) == 2
    assert "offline" in capsys.readouterr().err


def test_a_hub_that_refuses_is_one_sentence(hub: FakeHub, tmp_path: Path) -> None:
    little_folder(tmp_path / "model")
    hub.refuses = "You may not write here."
    done = push(hub, tmp_path)
    assert done.returncode == 2
    assert "You may not write here." in done.stderr
    assert "hf auth login" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("repo", ["mine", "../x/y", "a/b/c", "me/" + "x" * 100, "me/mi ne", ""])
def test_names_that_the_hub_does_not_take_are_refused(repo: str) -> None:
    with pytest.raises(InputError, match=r"hub|owner"):
        push_to_hub(little_checkpoint(), repo, dry_run=True)


def test_the_card_carries_the_measured_scores_as_metadata() -> None:
    checkpoint = replace(little_checkpoint(), card=CARD)
    card = ModelCard(card_for_hub(checkpoint, "me/mine", datasets=("sst2",), base_model="google/x"))
    assert card.data.base_model == "google/x"
    assert card.data.pipeline_tag == "text-classification"
    results = {result.metric_name: result.metric_value for result in card.data.eval_results}
    assert results == {"accuracy": 0.836, "Macro F1": 0.8357}, "only scores under a heading of scores"
    assert {result.dataset_name for result in card.data.eval_results} == {"dev.tsv"}
    assert "## Validation scores on dev.tsv" in card.text


@pytest.mark.parametrize("name", shipped_models())
def test_the_cards_of_shipped_models_have_scores_that_the_hub_can_read(name: str) -> None:
    checkpoint = load_checkpoint(name)
    scores = scores_of(checkpoint.card)
    assert scores
    card = ModelCard(card_for_hub(checkpoint, f"me/{name}"))
    read = {(result.dataset_name, result.metric_name): result.metric_value for result in card.data.eval_results}
    assert read == {(data, name): value for data, row in scores.items() for name, value in row.items()}


def typed(config, name):
    """What the command line makes of the command that a card prints."""
    code = re.fullmatch(r"(`+) ?(.*?) ?\1", run_command(name, config))
    words = shlex.split(code[2])
    assert words[:4] == ["python", "-m", "bertviz_lab", name]
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("--out", required=True)
    add_options(parser, type(config))
    given = given_options(parser.parse_args(words[4:]), list(type(config).__dataclass_fields__))
    return PretrainConfig.of_recipe(**given) if isinstance(config, PretrainConfig) else FinetuneConfig(**given)


HUB = "google/bert_uncased_L-2_H-128_A-2"


@pytest.mark.parametrize(
    "config",
    [
        PretrainConfig(corpus=("dataset:wikitext:wikitext-2-raw-v1@train",), steps=7),
        PretrainConfig(corpus=("dataset:org/name@train", "sample:tiny-town"), whole_word=False, learning_rate=3e-4),
        PretrainConfig(corpus=("my books & notes.txt", "it's $HOME `ls`.txt"), init_from=HUB),
        PretrainConfig.of_recipe("paper", corpus=("a.txt",)),
        PretrainConfig.of_recipe("paper", corpus=("a.txt",), dropout=0.0, optimizer="muon", mask_probability=0.3),
        FinetuneConfig(train=("a.csv",), delimiter="tab"),
        FinetuneConfig(train=("a b.csv",), eval=("c;d.csv",), test=("t.csv",), model=HUB, delimiter=";"),
        FinetuneConfig(train=("sample:reviews",), model="random", like="wiki-mini", text_a="the text", seeds=3),
    ],
    ids=lambda config: type(config).__name__,
)
def test_the_printed_command_gives_the_settings_of_the_run(config):
    assert typed(config, "pretrain" if isinstance(config, PretrainConfig) else "finetune") == config


def test_a_local_path_is_printed_without_the_folders_it_lies_in(tmp_path):
    (tmp_path / "first" / "model").mkdir(parents=True)
    model = str(tmp_path / "first" / "model")
    config = FinetuneConfig(train=(str(tmp_path / "a b.csv"),), model=model)
    assert str(tmp_path) not in run_command("finetune", config)
    assert (typed(config, "finetune").train, typed(config, "finetune").model) == (("a b.csv",), "first")
    assert source_name(model) == "first"
    assert source_name(HUB) == HUB
