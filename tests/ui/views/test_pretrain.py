import dataclasses
import json
from pathlib import Path

import pytest

from bertviz_lab import InputError, PretrainConfig
from bertviz_lab.config import RECIPES
from bertviz_lab.config.limits import Limits
from bertviz_lab.config.options import options_of
from bertviz_lab.config.pretrain import RECIPE_TITLES
from bertviz_lab.data.samples import SAMPLES
from bertviz_lab.jobs import WorkerProcesses
from bertviz_lab.training.loop import clock
from bertviz_lab.ui.forms import OWN, Source
from bertviz_lab.ui.server.uploads import UploadedFile
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.forecast import Forecaster
from bertviz_lab.ui.state.models import RANDOM
from bertviz_lab.ui.views.finetune import view as finetune_view
from bertviz_lab.ui.views.pretrain import run_settings
from bertviz_lab.ui.views.pretrain.view import advise, forecast, form
from tests.little import little_folder, little_text
from tests.ui.finetuned import write_reviews
from tests.ui.pages import little_settings
from tests.ui.state.test_models import RUN, make_run

HIDDEN = {f.name for f in options_of(PretrainConfig, "command line", "recipe")}
TEXT = Source("Tiny Town", ("sample:tiny-town",))


@pytest.fixture
def little(tmp_path: Path) -> Source:
    path = tmp_path / "little.txt"
    path.write_text(little_text(), encoding="utf-8")
    return Source("little", (), (path,))


def config_of(session: AppState, **chosen: object) -> PretrainConfig:
    return run_settings.config_from(session, TEXT, chosen)


def test_the_machine_is_not_the_visitors_to_set(session: AppState) -> None:
    drawn = [field for group in form(session, NOBODY)["groups"] for field in group["fields"]]
    assert {field["name"] for field in drawn} == {f.name for f in options_of(PretrainConfig, "page")}
    kinds = {"preset": "radio", "lowercase": "checkbox", "seq_len": "number", "steps": "number"}
    assert {field["name"]: field["kind"] for field in drawn}.items() >= kinds.items()
    config = config_of(session, **{field["name"]: field["value"] for field in drawn})
    assert config.threads == session.settings.threads
    wanted = SAMPLES["tiny-town"].settings
    assert {name: getattr(config, name) for name in wanted} == dict(wanted)
    assert (config.recipe, config.init_from) == ("lab", "")
    for name in (*HIDDEN, "x"):
        with pytest.raises(InputError, match="The page has no option"):
            config_of(session, **{name: "/etc"})


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_a_recipe_fills_in_its_own_values(recipe: str) -> None:
    found = run_settings.filled_in(recipe, OWN)
    for name, value in RECIPES[recipe].items():
        assert found[name] == value
    assert set(run_settings.BY_RECIPE) >= set(RECIPES[recipe]) - HIDDEN
    assert "preset" not in run_settings.BY_RECIPE  # the size stays what the person chose


def test_what_suits_a_sample_goes_with_the_labs_recipe_its_time_with_any() -> None:
    wanted = dict(SAMPLES["tiny-town"].settings)
    found = run_settings.filled_in("lab", "tiny-town")
    assert {name: found[name] for name in wanted} == wanted
    paper = run_settings.filled_in("paper", "tiny-town")
    assert (paper["seq_len"], paper["time_budget"]) == (512, wanted["time_budget"])


def test_a_text_of_ones_own_is_trained_as_the_title_of_the_recipe_says() -> None:
    assert "word vectors and few layers first" in RECIPE_TITLES["lab"]
    for source, size in ((OWN, 1_600_000), (OWN, 60_000_000), ("docstrings", 0)):
        found = run_settings.filled_in("lab", source, size)
        assert (found["word_vectors"], found["causal_share"]) == (True, 0.0), source
        assert found["shallow_share"] > 0, source


def test_in_a_workshop_runs_are_as_long_as_its_plans_say(tmp_path: Path) -> None:
    limits = Limits.of(shared=True, given={"run_seconds": "3m"})
    room = dataclasses.replace(little_settings(tmp_path), workshop="A room", limits=limits)
    for source in ("tiny-town", "docstrings"):
        assert advise(AppState(room), source, [], "lab", RANDOM)["values"]["time_budget"] == "3m"


def test_a_further_file_changes_what_is_recommended(session: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_settings, "_LARGE", 1000)
    short, long = (UploadedFile(Path("x.txt"), "x.txt", size) for size in (10, 1000))
    for files, expected in (([short], "2m"), ([short, long], "5m")):
        assert advise(session, OWN, files, "lab", RANDOM)["values"]["time_budget"] == expected


def test_the_writing_system_of_a_file_preselects_casing_and_algorithm(session: AppState, tmp_path: Path) -> None:
    for sentence, expected in (("Їжак читає новий журнал.", (False, "wordpiece")), ("แมวนั่งอยู่บนเสื่อ", (False, "bpe"))):
        path = tmp_path / f"{expected[1]}.txt"
        path.write_text(f"{sentence}\n" * 50, encoding="utf-8")
        values = advise(session, OWN, [UploadedFile(path, path.name, 9)], "lab", RANDOM)["values"]
        assert (values["lowercase"], values["algorithm"]) == expected
    assert {"lowercase", "algorithm"} <= set(run_settings.BY_TEXT)


def test_going_back_to_the_labs_recipe_undoes_the_papers(session: AppState) -> None:
    answers = {name: advise(session, "docstrings", [], name, RANDOM)["values"] for name in ("paper", "lab")}
    assert answers["paper"] != answers["lab"]
    found = answers["lab"]
    untouched = PretrainConfig(corpus=("x",))
    assert all(
        found[name] == getattr(untouched, name) for name in set(run_settings.BY_RECIPE) - set(run_settings.BY_TEXT)
    )


def test_a_recipe_decides_what_was_left_empty(session: AppState) -> None:
    config = config_of(session, recipe="paper", seq_len=None, batch_size=64)
    assert (config.recipe, config.seq_len, config.batch_size) == ("paper", 512, 64)
    assert config.dropout == RECIPES["paper"]["dropout"]
    assert config_of(session, recipe="paper", learning_rate="").learning_rate is None


def test_a_complaint_speaks_of_labels(session: AppState) -> None:
    for chosen, words in (
        ({"preset": "gigantic"}, '"Model size" must be one of'),
        ({"seq_len": 10**9}, '"Max sequence length" must lie'),
        ({"recipe": "mine"}, '"Recipe" must be one of'),
    ):
        with pytest.raises(InputError, match=words) as refused:
            config_of(session, **chosen)
        assert "--" not in str(refused.value)


def test_a_short_run_is_saved_and_scored_often_enough_to_be_seen(session: AppState) -> None:
    config = config_of(session, time_budget="30s")
    assert config.checkpoint_every == 5.0
    assert config.eval_every == 3.0
    long = config_of(session, time_budget="3h")
    assert long.checkpoint_every == PretrainConfig(corpus=("x",)).checkpoint_every


def test_replaced_token_detection_is_a_choice_of_the_form_by_objective_or_by_recipe(session: AppState) -> None:
    for config in (config_of(session, objective="rtd"), config_of(session, recipe="electra")):
        assert config.replaces_tokens
        assert config.model_config(100).model_type == "electra"
        assert config.generator_size == 0.25
    with pytest.raises(InputError, match='leave "Start from" out or choose "Pretraining objective" mlm'):
        config_of(session, recipe="electra", init_from="little", seq_len=32)


def test_words_are_added_by_their_number_and_never_from_a_file_of_this_machine(session: AppState) -> None:
    config = config_of(session, init_from="little", add_vocabulary="50", seq_len=32)
    assert (config.add_vocabulary, config.added_pieces) == ("50", 50)
    start = session.models.open("little")
    assert run_settings.model_of(config, start, 0).vocab_size == start.config.vocab_size + 50
    with pytest.raises(InputError, match='"New words" is a number on this page'):
        config_of(session, init_from="little", add_vocabulary="/etc/hostname", seq_len=32)
    with pytest.raises(InputError, match='use "Start from"'):
        config_of(session, add_vocabulary="50")


def test_a_model_to_start_from_brings_its_own_shape_and_vocabulary(session: AppState) -> None:
    config = config_of(
        session, init_from="little", preset="large", vocab_size=99, algorithm="bpe", causal_share=0.5, seq_len=32
    )
    untouched = PretrainConfig(corpus=("x",))
    assert config.init_from == str(session.settings.checkpoints / "little")
    assert config.causal_share == 0.0
    for name in ("preset", "vocab_size", "algorithm"):
        assert getattr(config, name) == getattr(untouched, name)
    assert config_of(session, init_from=RANDOM, preset="large").init_from == ""
    folder = make_run(session)
    assert config_of(session, init_from=RUN, seq_len=32).init_from == str(folder / "model")


@pytest.mark.parametrize("shared", [False, True])
def test_nothing_is_started_from_that_is_not_on_the_list(tmp_path: Path, shared: bool) -> None:
    session = AppState(little_settings(tmp_path, shared=shared))
    elsewhere = little_folder(tmp_path / "elsewhere")
    active = "calm-fox-fedcba9876543210"
    make_run(session, active, status="training")
    for sent in (str(elsewhere), str(tmp_path / "checkpoints" / "little"), "../..", "prajjwal1/bert-tiny", RUN, active):
        with pytest.raises(InputError, match="not there; choose another one from the list"):
            config_of(session, init_from=sent, seq_len=32)


def test_a_chosen_model_disables_what_it_brings_and_holds_the_length(session: AppState) -> None:
    with pytest.raises(InputError, match='little has a max sequence length of 64 tokens; lower "Max sequence length"'):
        config_of(session, init_from="little", seq_len=128)
    advice = advise(session, "docstrings", [], "paper", "little")
    assert (advice["longest"], advice["values"]["seq_len"]) == (64, 64)
    assert set(advice["disabled"]) == set(run_settings.INHERITED)
    assert "brings its own" in advice["disabled"]["preset"]
    assert "preset" not in advise(session, "docstrings", [], "distil", "little")["disabled"]
    assert advise(session, "docstrings", [], "paper", RANDOM)["disabled"] == {}


def test_the_report_counts_with_the_vocabulary_of_the_model_to_start_from(session: AppState, little: Source) -> None:
    own = run_settings.report_of(session, little, {"vocab_size": 90, "init_from": RANDOM})
    brought = run_settings.report_of(session, little, {"vocab_size": 90, "init_from": "little"})
    tokenizer = session.models.open("little").tokenizer
    assert own.vocab_size <= 90 < brought.vocab_size == tokenizer.vocab_size
    assert brought.tokens < own.tokens  # larger pieces


def test_the_column_of_a_table_is_read_as_chosen(session: AppState, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    rows = [f"{number},the dog ran,a much longer text that would be guessed to be the one" for number in range(40)]
    path.write_text("\n".join(["id,short,text", *rows]), encoding="utf-8")
    table = Source("table.csv", (), (path,))
    characters = [run_settings.report_of(session, table, {"text_field": name}).characters for name in ("short", "")]
    assert characters[0] == 40 * len("the dog ran") < characters[1]


def test_the_forecast_is_that_of_the_model_that_will_be_trained(
    session: AppState, little: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def measure(model: object, config: object) -> float:
        tried.append(model)
        return 1000.0

    monkeypatch.setattr(clock, "tokens_per_second", measure)
    own = [UploadedFile(little.files[0], "little.txt", 1)]
    line = json.loads(forecast(session, OWN, own, {"init_from": "little", "seq_len": 32, "time_budget": "2h"}))
    items = dict(line["items"])
    assert items["Throughput on this machine"] == "about 1,000 tokens a second"
    assert items["Epochs"] == "about 3,200"
    assert [model.hidden_size for model in tried] == [32]
    assert line["note"] == ""
    for _ in range(2):
        note = json.loads(forecast(session, OWN, own, {"preset": "medium"}))["note"]
    assert "0.2 million tokens will be read" in note, "that NSP will not be learned is said beforehand"
    assert note.endswith("or start from wiki-mini if the text is English.")
    path = little.files[0].with_name("one_document.txt")  # has no pairs
    path.write_text(little_text().replace("\n", " "), encoding="utf-8")
    single = [UploadedFile(path, path.name, 1)]
    assert json.loads(forecast(session, OWN, single, {"preset": "medium"}))["note"] == ""
    assert [model.hidden_size for model in tried] == [32, 512]
    assert tried[-1].num_hidden_layers == 4  # medium is not tried in the page: its speed follows from small


def test_a_causal_phase_is_reckoned_slower_and_one_of_few_layers_faster(
    session: AppState, little: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "tokens_per_second", lambda model, config: 1000.0)

    def speed(**chosen: object) -> float:
        config = config_of(session, preset="tiny", **{"shallow_share": 0.0} | chosen)
        return Forecaster(session.settings.limits).forecast(config, config.model_config(8192)).tokens_per_second

    assert speed(causal_share=0.0) == pytest.approx(1000)
    # One layer of two for half of the run.
    layer, vocabulary = 12 * 128**2, 0.3 * 128 * 8192
    few = (layer + vocabulary) / (2 * layer + vocabulary)
    options = {"causal_share": 0.0, "shallow_share": 0.5, "mask_probability": 0.3}
    assert speed(**options) == pytest.approx(1000 * (0.5 / few + 0.5))
    assert speed(**options, steps="10") == pytest.approx(1000 / (0.5 * few + 0.5))
    # 2 layers of 12 x 128^2, and 128 x 8192 for each token that is asked for: 2.6 times as much where all are, not 15%.
    for masked, cost in ((0.15, 2.619), (0.3, 2.037)):
        options = {"causal_share": 0.5, "mask_probability": masked}
        assert speed(**options) == pytest.approx(1000 * (0.5 + 0.5 / cost), rel=1e-3)
        assert speed(**options, steps="10") == pytest.approx(1000 / (0.5 + 0.5 * cost), rel=1e-3)


@pytest.mark.parametrize(("allowed", "expected"), [(3, 2), (0, 0)])
def test_the_next_run_is_expected_where_its_form_is_filled_in_and_runs_are_allowed(
    session: AppState, little: Source, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, allowed: int, expected: int
) -> None:
    expecting: list[WorkerProcesses] = []
    monkeypatch.setattr(WorkerProcesses, "warm_up", lambda processes: expecting.append(processes))
    monkeypatch.setattr(Forecaster, "_speed", lambda *_: 1000.0)
    settings = dataclasses.replace(
        session.settings, limits=Limits.of(shared=True, given={"runs_per_visitor": str(allowed)})
    )
    page = AppState(settings)
    forecast(page, OWN, [UploadedFile(little.files[0], "little.txt", 1)], {"init_from": "little", "seq_len": 32})
    reviews = write_reviews(tmp_path / "reviews.csv")
    finetune_view.check(page, OWN, [UploadedFile(reviews, "reviews.csv", 1)], [], {"model": "little", "max_length": 64})
    assert len(expecting) == expected


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_memory_is_forecast_for_the_precision_that_the_processor_has(
    precision: str, session: AppState, little: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "tokens_per_second", lambda model, config: 1000.0)
    monkeypatch.setattr("bertviz_lab.training.loop.hardware.cpu_multiplies_bf16", lambda: precision == "bf16")

    def memory(precision: str) -> int:
        config = config_of(session, preset="mini", precision=precision)
        return Forecaster(session.settings.limits).forecast(config, config.model_config(8192)).memory_bytes

    assert memory("auto") == memory(precision)
    assert memory("bf16") != memory("fp32")


def test_with_the_recipe_of_distillation_the_model_to_start_from_is_the_teacher(session: AppState) -> None:
    chosen = {"recipe": "distil", "init_from": "little", "preset": "tiny", "vocab_size": 500, "seq_len": 48}
    config = config_of(session, **chosen)
    assert config.teacher.endswith("little")
    assert config.init_from == ""
    assert (config.preset, config.objective, config.causal_share) == ("tiny", "mlm", 0.0)
    assert config_of(session, **chosen, add_vocabulary="50").add_vocabulary == "", "the vocabulary is the teacher's"
    taught = dataclasses.replace(session.models.open("little"), trained_length=16)
    assert [run_settings.longest_of(taught, recipe) for recipe in ("distil", "lab")] == [16, 64]
    with pytest.raises(InputError, match="choose it under Start from"):
        config_of(session, **(chosen | {"init_from": RANDOM}))
