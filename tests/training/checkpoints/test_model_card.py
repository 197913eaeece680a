"""Commands on cards run as printed, wherever their names come from."""

import argparse
import re
import shlex

import pytest

from bertviz_lab.cli.options import add_options, given_options
from bertviz_lab.config import FinetuneConfig, PretrainConfig
from bertviz_lab.training.checkpoints.model_card import run_command, source_name


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
