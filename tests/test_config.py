"""Settings: what they are, what they refuse, and how they go to a file and back."""

import dataclasses
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import transformers

from bertviz_lab.config import (
    ABLATIONS,
    PRESETS,
    RECIPES,
    BertConfig,
    FinetuneConfig,
    PretrainConfig,
    ablated,
    ablation_of,
    parse_duration,
    run_config,
)
from bertviz_lab.config.ablations import MEASURES, WHOLE
from bertviz_lab.config.limits import GIGABYTE, MEGABYTE, Limits, limit_fields, read_limits_file, variable_of, words_of
from bertviz_lab.config.options import (
    bounds_of,
    flag_of,
    from_form,
    grouped_options,
    in_flags,
    in_page_words,
    options_of,
)
from bertviz_lab.errors import InputError


def test_the_defaults_are_bert_base_as_transformers_has_it():
    theirs = transformers.BertConfig()
    for name, value in BertConfig().to_dict().items():
        if name not in ("id2label", "share_layers", "position_embedding_type"):
            assert value == getattr(theirs, name), name
    assert BertConfig.preset("base") == BertConfig()


def test_a_no_answer_threshold_is_written_where_there_is_one_and_checked():
    config = BertConfig(handle_impossible_answer=True, null_score_diff_threshold=-1.5)
    assert BertConfig.from_dict(config.to_dict()) == config
    assert config.no_answer_threshold == -1.5
    assert config.replace(handle_impossible_answer=False).no_answer_threshold == math.inf
    assert "null_score_diff_threshold" not in BertConfig().to_dict()
    for wrong in (math.nan, math.inf, "1", True):
        with pytest.raises(InputError, match="null_score_diff_threshold"):
            BertConfig(null_score_diff_threshold=wrong)


def test_decision_thresholds_are_written_where_there_are_some_and_checked():
    config = BertConfig(num_labels=2, decision_thresholds=(0.4, 0.6))
    assert BertConfig.from_dict(config.to_dict()) == config
    assert "decision_thresholds" not in BertConfig().to_dict()
    for wrong in ((0.1, 0.2, 0.3), (1.5,), ("half",), 0.5):
        with pytest.raises(InputError, match="numbers from 0 to 1, one for all labels or one for each"):
            BertConfig(num_labels=2, decision_thresholds=wrong)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_heads_of_sixty_four_and_a_wide_inner_layer(name):
    config = BertConfig.preset(name)
    assert (config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == PRESETS[name]
    assert config.head_size == 64
    assert config.intermediate_size == 4 * config.hidden_size


def test_an_unknown_preset_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="no preset 'huge'; choose one of tiny, mini, small, medium, base, large"):
        BertConfig.preset("huge")
    with pytest.raises(InputError, match="no presets of 'robertta'; choose one of bert, roberta, albert, electra"):
        BertConfig.preset("tiny", family="robertta")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": 0}, "vocab_size must lie between 1 and 4000000, not 0"),
        ({"num_hidden_layers": 2.0}, "num_hidden_layers must be a whole number"),
        ({"hidden_size": 100, "num_attention_heads": 3}, "is not divisible by 3 heads"),
        ({"hidden_act": "prelu"}, "hidden_act must be one of gelu, gelu_new, relu"),
        ({"hidden_dropout_prob": 1.0}, "hidden_dropout_prob must lie between 0.0 and 0.999"),
        ({"attention_probs_dropout_prob": float("nan")}, "attention_probs_dropout_prob must lie"),
        ({"classifier_dropout": 2}, "classifier_dropout must lie"),
        ({"initializer_range": 0}, "initializer_range must lie between"),
        ({"layer_norm_eps": "1e-12"}, "layer_norm_eps must lie between"),
        ({"id2label": ("yes",)}, "id2label names 1 labels but num_labels is 2"),
        ({"id2label": {"no": "yes", 1: "no"}}, "id2label must map 0, 1, 2 ... to names"),
        ({"problem_type": "bogus"}, "problem_type must be one of regression, single_label_class"),
        ({"pad_token_id": -7}, "pad_token_id must lie between 0 and 4000000, not -7"),
        ({"is_decoder": "no"}, "is_decoder must be True or False, not 'no'"),
        ({"hidden_size": np.float64(128)}, r"hidden_size must be a whole number, not 128\.0"),
    ],
)
def test_numbers_that_make_no_model_are_refused_by_name(changes, message):
    with pytest.raises(InputError, match=message):
        BertConfig(**changes)


@pytest.mark.parametrize(
    "config",
    [
        BertConfig(),
        BertConfig.preset("mini", vocab_size=12, hidden_act="gelu_new", classifier_dropout=0.3),
        BertConfig(num_labels=1),
        BertConfig(num_labels=3, id2label=("red", "green", "blue")),
        BertConfig(num_labels=12, id2label=tuple(f"tag {index}" for index in range(12))),
    ],
)
def test_a_config_goes_to_a_file_and_back_and_transformers_reads_it(config, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config.to_dict()))
    assert BertConfig.from_dict(json.loads(path.read_text())) == config
    theirs = transformers.BertConfig.from_pretrained(tmp_path)
    assert theirs.num_labels == config.num_labels
    assert theirs.id2label == dict(enumerate(config.labels))
    assert theirs.label2id == {label: index for index, label in enumerate(config.labels)}


def test_a_config_of_transformers_is_read_and_labels_may_be_a_mapping():
    theirs = transformers.BertConfig(hidden_size=64, num_attention_heads=4, id2label={0: "a", 1: "b", 2: "c"})
    config = BertConfig.from_dict(json.loads(theirs.to_json_string(use_diff=False)))  # null where none was given
    assert (config.hidden_size, config.num_attention_heads, config.labels) == (64, 4, ("a", "b", "c"))
    assert BertConfig(id2label={1: "pos", 0: "neg"}) == BertConfig(id2label=("neg", "pos"))
    assert BertConfig(id2label={"0": "neg", "1": "pos"}).labels == ("neg", "pos")
    many = {str(index): f"tag {index}" for index in reversed(range(12))}
    assert BertConfig(num_labels=12, id2label=many).labels[2:11:8] == ("tag 2", "tag 10")


def test_numbers_of_numpy_become_numbers_of_python():
    given = {"hidden_size": np.int64(128), "num_attention_heads": np.int32(2), "hidden_dropout_prob": np.float32(0.5)}
    config = BertConfig(**given, is_decoder=np.bool_(True), decision_thresholds=np.array([0.25, 0.5]))
    assert type(config.hidden_size) is int
    assert type(config.hidden_dropout_prob) is float
    assert config == BertConfig.from_dict(json.loads(json.dumps(config.to_dict()))).replace(share_layers=False)
    assert hash(BertConfig(id2label=["no", "yes"])) == hash(BertConfig(id2label=("no", "yes")))
    run = PretrainConfig(corpus=("a",), learning_rate=np.float32(0.5), steps=np.int64(7), whole_word=np.bool_(True))
    assert run == PretrainConfig(corpus=("a",), learning_rate=0.5, steps=7, whole_word=True)
    json.dumps(run.to_dict())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"model_type": "gpt2"}, "a 'gpt2' model; the lab reads bert, roberta, "),
        ({"position_embedding_type": "relative_key_query"}, "relative positions"),
        ({"is_decoder": True, "add_cross_attention": True}, "cross-attention"),
        ({"id2label": ["a"]}, "id2label must map 0, 1, 2"),
        ({"id2label": [1]}, "id2label must map 0, 1, 2"),
        ({"id2label": {"x": "a"}}, "id2label must map 0, 1, 2"),
        ({"hidden_size": "64"}, "hidden_size must lie between 1 and 32768, not '64'"),
    ],
)
def test_a_file_of_another_model_is_refused(body, message):
    with pytest.raises(InputError, match=message):
        BertConfig.from_dict(body)


@pytest.mark.parametrize("kind", [PretrainConfig, FinetuneConfig])
def test_every_option_is_declared_once_for_the_command_line_and_the_page(kind):
    labels = [field.metadata["label"] for field in dataclasses.fields(kind)]
    assert len(set(labels)) == len(labels)
    for field in dataclasses.fields(kind):
        assert field.metadata["help"]
        assert not field.metadata["help"].endswith(".")
    by_group = [field.name for fields in grouped_options(kind).values() for field in fields]
    assert sorted(by_group) == sorted(field.name for field in dataclasses.fields(kind))
    assert next(iter(grouped_options(kind, "page"))) == "Model and training"
    assert not {"corpus", "train", "threads", "temperature"} & {field.name for field in options_of(kind, "page")}


def test_a_form_leaves_emptied_fields_to_the_recipe_and_messages_have_its_labels():
    sent = {"steps": "500", "learning_rate": " 1e-3 ", "seq_len": 64.0, "text_field": "", "layers": "", "warmup": None}
    assert from_form(PretrainConfig, sent) == {"steps": 500, "learning_rate": 1e-3, "seq_len": 64, "layers": None}
    untouched = {field.name: field.default for field in options_of(PretrainConfig, "page")}
    assert PretrainConfig(corpus=("x",), **from_form(PretrainConfig, untouched)) == PretrainConfig(corpus=("x",))
    for value in ("many", [1], {"a": 1}):
        with pytest.raises(InputError, match='"Max sequence length" must be a number'):
            from_form(PretrainConfig, {"seq_len": value})
    with pytest.raises(InputError, match='"Time budget" is too long: it has at most 500 characters'):
        from_form(PretrainConfig, {"time_budget": "9" * 501})
    message = "`short_seq_len=9` is longer than `seq_len`; go on with `resume=True`."
    assert in_flags(message) == "--short-seq-len 9 is longer than --seq-len; go on with --resume."
    words = '"Initial sequence length" 9 is longer than "Max sequence length"; go on with "Resume training".'
    assert in_page_words(PretrainConfig, message) == in_page_words(PretrainConfig, in_flags(message)) == words
    assert (
        in_flags('choose `family="albert"`; see `bertviz-lab runs`') == "choose --family albert; see `bertviz-lab runs`"
    )


@pytest.mark.parametrize(
    ("kind", "needed"),
    [
        (PretrainConfig, {"corpus": ("a",), "seq_len": 512, "batch_size": 65_536, "init_from": "a model"}),
        (FinetuneConfig, {"train": ("a",), "max_length": 512, "batch_size": 4096, "max_question_length": 4}),
    ],
)
def test_an_option_at_either_end_of_its_range_is_accepted_and_beyond_it_refused(kind, needed):
    for field in dataclasses.fields(kind):
        low, high = bounds_of(field)
        if low is None:
            continue
        for value in (low, high):
            assert getattr(kind(**(needed | {field.name: value})), field.name) == value
        for value in (low - 1, high + 1, float("nan"), "many", True):
            with pytest.raises(InputError, match=f"`{field.name}` must lie between"):
                kind(**(needed | {field.name: value}))


@pytest.mark.parametrize("name", ["steps", "vocab_size", "seq_len", "batch_size", "seed", "threads"])
def test_an_option_that_counts_takes_whole_numbers_only(name):
    with pytest.raises(InputError, match=r"must be a whole number, not 100\.5"):
        PretrainConfig(corpus=("a",), **{name: 100.5})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"preset": "minni"}, "`preset` must be one of tiny, mini, .* not 'minni'; did you mean mini?"),
        ({"objective": "nsp"}, r"`objective` must be one of mlm\+nsp, mlm, mlm\+sop, rtd, not 'nsp'"),
        ({"optimizer": "sgd"}, "`optimizer` must be one of adamw, muon"),
        ({"time_budget": "soon"}, "'soon' is not a length of time"),
        ({"corpus": (3,)}, "`corpus` takes a list of files"),
        ({"lowercase": "no"}, "lowercase must be True or False, not 'no'"),
        ({"recipe": "bert"}, "`recipe` must be one of lab, paper, roberta, distil, electra, not 'bert'"),
        ({"batch_size": 4, "gradient_accumulation_steps": 8}, "steps=8` is more than the batch size, 4"),
        ({"short_seq_len": 7}, "`short_seq_len` is 7: choose at least 8 tokens, or 0"),
        (
            {"preset": "tiny", "heads": 3},
            "`heads=3` does not divide the hidden size 128 of a tiny model; choose 1, 2, 4",
        ),
        ({"seq_len": None}, "`seq_len` must lie between"),
        ({"family": "t5"}, "must be one of bert, roberta, albert, electra, deberta-v2, modernbert"),
        ({"family": "roberta", "objective": "mlm+sop"}, "RoBERTa has no sentence-order prediction or"),
        ({"family": "roberta", "objective": "rtd"}, "RoBERTa is not trained by replaced-token detection"),
        ({"family": "modernbert", "init_from": "x"}, "`init_from` brings its model's family"),
        ({"objective": "rtd", "init_from": "x"}, "starts from scratch: leave `init_from` out"),
        ({"objective": "rtd", "teacher": "x"}, "starts from scratch: leave `teacher` out"),
    ],
)
def test_a_wrong_option_is_named_with_what_is_allowed(changes, message):
    with pytest.raises(InputError, match=message):
        PretrainConfig(**({"corpus": ("a",)} | changes))


def test_files_may_be_one_name_a_list_and_paths():
    assert PretrainConfig(corpus="sample:tiny-town").corpus == ("sample:tiny-town",)
    assert FinetuneConfig(train=Path("a.csv"), eval="b.csv").train == ("a.csv",)
    config = PretrainConfig(corpus=[Path("books") / "a.txt", "sample:tiny-town"])
    assert config == PretrainConfig(corpus=(str(Path("books") / "a.txt"), "sample:tiny-town"))
    assert PretrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    config = FinetuneConfig(train=(Path("a.csv"),), eval=[Path("b.csv")], like="")
    assert (config.train, config.eval) == (("a.csv",), ("b.csv",))
    assert config.resumed_with(train=[Path("a.csv")]) == config


def test_steps_win_over_the_time_budget_and_the_model_has_preset_and_dropout():
    assert PretrainConfig(corpus=("a",), time_budget="10m").time_budget_seconds == 600
    assert PretrainConfig(corpus=("a",), time_budget="10m", steps=5).time_budget_seconds is None
    config = PretrainConfig(corpus=("a",), preset="tiny", dropout=0.2).model_config(vocab_size=321)
    assert config.vocab_size == 321
    assert config.hidden_size == 128
    assert config.hidden_dropout_prob == config.attention_probs_dropout_prob == 0.2


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("1.5h", 5400), ("2d", 172_800), ("45", 45), (" 3 M ", 180), (60, 60)],
)
def test_lengths_of_time(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "0", "-5s", "nan", "inf", "1e400", "ten minutes", "5 weeks"])
def test_what_is_no_length_of_time_is_refused(text):
    with pytest.raises(InputError, match="is not a length of time"):
        parse_duration(text)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_a_set_of_defaults_that_what_is_given_replaces(name):
    config = PretrainConfig.of_recipe(name, corpus=("a",))
    assert config.recipe == name
    assert {key: getattr(config, key) for key in RECIPES[name]} == RECIPES[name]
    assert config.mask_probability == (0.3 if name == "lab" else 0.15)
    assert PretrainConfig.of_recipe(name, corpus=("a",), dropout=0.3).dropout == 0.3


def test_the_papers_recipe_is_the_papers():
    paper = PretrainConfig.of_recipe("paper", corpus=("a",))
    assert (paper.objective, paper.optimizer, paper.masking) == ("mlm+nsp", "adamw", "static")
    assert (paper.dropout, paper.learning_rate, paper.adam_beta2, paper.weight_decay) == (0.1, 1e-4, 0.999, 0.01)
    assert (paper.batch_size, paper.short_seq_len, paper.short_share, paper.seq_len) == (256, 128, 0.9, 512)
    assert (paper.causal_share, paper.unigram_bias, paper.word_vectors) == (0.0, False, False)


def test_older_runs_and_other_versions_are_read_for_what_is_known():
    body = PretrainConfig(corpus=("a",)).to_dict()
    added = ("shallow_share", "unigram_bias", "word_vectors", "balanced_pairs")
    older = PretrainConfig.from_dict({name: value for name, value in body.items() if name not in added})
    assert (older.shallow_share, older.unigram_bias, older.word_vectors, older.balanced_pairs) == (0, *[False] * 3)
    body = FinetuneConfig(train=("a.csv",), epochs=3).to_dict() | {"from_the_future": 1}
    del body["dropout"]
    assert run_config(body) == FinetuneConfig(train=("a.csv",), epochs=3)
    assert run_config(body | {"grid": "small"}) == FinetuneConfig(train=("a.csv",), grid="small")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"eval": 3}, "`eval` takes a list of files"),
        ({"random_baseline": 1}, "random_baseline must be True or False, not 1"),
        ({"task": "ner"}, "`task` must be one of auto, classification, multilabel, regression, .* not 'ner'"),
        ({"metric": "acuracy"}, "did you mean accuracy?"),
        ({"grid": "large"}, "`grid` must be one of none, rates, paper, small"),
        ({"like": "wiki-tiny"}, '`like` goes with `model="random"`'),
        ({"grid": "small", "epochs": 2}, '`grid="small"` sets `epochs` itself'),
        (
            {"grid": "paper", "learning_rate": 1e-3},
            'sets `learning_rate` itself: leave that out, or use `grid="rates"`',
        ),
        ({"gradient_accumulation_steps": 33}, "`gradient_accumulation_steps=33` is more than the batch size, 32"),
        ({"learning_rate": float("nan")}, "`learning_rate` must lie between"),
    ],
)
def test_a_wrong_option_of_fine_tuning_is_named_with_what_is_allowed(changes, message):
    with pytest.raises(InputError, match=message):
        FinetuneConfig(**({"train": ("a.csv",)} | changes))


def test_a_fine_tuning_that_goes_on_may_not_become_another():
    config = FinetuneConfig(train=("a.csv",), epochs=3)
    assert config.resumed_with(threads=2, epochs=3).threads == 2
    for name, value in (("epochs", 4), ("train", ("b.csv",)), ("learning_rate", 1e-3), ("max_length", 64)):
        with pytest.raises(InputError, match=f"`{name}` cannot change when a run is resumed"):
            config.resumed_with(**{name: value})


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


EVERY = (WHOLE, *ABLATIONS)


@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_differs_from_the_whole_recipe_in_what_it_says_and_nothing_else(name):
    whole, without = ablated(WHOLE), ablated(name)
    differs = {f.name for f in dataclasses.fields(whole) if getattr(whole, f.name) != getattr(without, f.name)}
    assert differs == set(ABLATIONS[name].changes)
    assert len(differs) == 1
    assert ABLATIONS[name].asks
    assert set(ABLATIONS[name].asks) <= set(MEASURES)


@pytest.mark.parametrize("name", EVERY)
def test_a_run_s_settings_tell_which_it_is(name):
    config = ablated(name, steps=77, seed=3, threads=2)
    assert ablation_of(config) == name
    assert ablation_of(PretrainConfig.from_dict(json.loads(json.dumps(config.to_dict())))) == name
    assert ablation_of(dataclasses.replace(config, eval_every=99.0, snapshot_room=0, threads=5)) == name


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": None},
        {"corpus": ("book.txt",)},
        {"batch_size": 31},
        {"position_embeddings": False, "segment_embeddings": False},
    ],
    ids=str,
)
def test_another_run_is_none_of_them(changes):
    assert ablation_of(dataclasses.replace(ablated(WHOLE), **changes)) is None


def test_no_clock_decides_what_is_learnt():
    for name in EVERY:
        config = ablated(name)
        assert config.time_budget_seconds is None
        assert config.precision == "fp32"
        assert (config.seed, config.steps, config.corpus) == (0, ablated(WHOLE).steps, ("sample:tiny-town",))
