"""Models stay open by their bytes, and of what takes long to make the last few are kept."""

import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from bertviz_lab import InputError, PretrainConfig
from bertviz_lab.config.limits import Limits
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state import models as models_module
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.lru_cache import LruCache
from tests.little import little_folder
from tests.ui.pages import OWNER, STRANGER

RUN = "kind-otter-0123456789abcdef"


def make_run(
    session: AppState, run_id: str = RUN, status: str = "finished", *, model: bool = True, seed: int = 1
) -> Path:
    folder = session.settings.runs_dir / run_id
    folder.mkdir(parents=True)
    write_json(folder / "config.json", PretrainConfig(corpus=("sample:tiny-town",)).to_dict())
    write_state(folder, RunState(status=status, step=7))
    (folder / "owner").write_text(OWNER.owner)
    if model:
        little_folder(folder / "model", seed=seed)
    return folder


def test_the_picker_lists_trained_models_before_those_that_ship(session: AppState) -> None:
    make_run(session)
    names, labels = zip(*session.models.choices(NOBODY), strict=True)
    assert names == (RUN, "little")
    assert labels == ("kind-otter (finished)", "little (comes with the lab)")


def test_the_default_is_a_shipped_model_else_the_newest_trained_one_else_none(
    session: AppState, settings: Settings, tmp_path: Path
) -> None:
    make_run(session)
    assert session.models.default() == "little"
    bare = AppState(replace(settings, checkpoints=tmp_path / "nothing"))
    assert bare.models.default() == RUN
    empty = AppState(replace(settings, checkpoints=tmp_path / "nothing", runs_dir=tmp_path / "no runs"))
    assert empty.models.default() == ""
    with pytest.raises(InputError, match="Train your own"):
        empty.models.open()


def test_a_training_can_start_from_what_ships_and_from_runs_that_have_ended(session: AppState) -> None:
    make_run(session)
    make_run(session, "calm-fox-fedcba9876543210", status="training")
    make_run(session, "wise-owl-0000456789abcdef", status="failed", model=False)
    assert [name for name, _ in session.models.starts(NOBODY)] == ["random", "little", RUN]
    shared = AppState(replace(session.settings, limits=Limits.of(shared=True)))
    assert [name for name, _ in shared.models.starts(NOBODY)] == ["random", "little"]
    assert [name for name, _ in shared.models.starts(OWNER)] == ["random", "little", RUN]


def test_on_a_shared_page_a_visitor_sees_their_own_runs_only(session: AppState, settings: Settings) -> None:
    make_run(session)
    make_run(session, "calm-fox-fedcba9876543210")
    (settings.runs_dir / RUN / "owner").write_text(STRANGER.owner)
    shared = AppState(replace(settings, limits=Limits.of(shared=True)))
    assert shared.models.visible_runs(OWNER) == ("calm-fox-fedcba9876543210",)
    assert shared.models.visible_runs(STRANGER) == (RUN,)
    assert shared.models.visible_runs(NOBODY) == ()
    assert [name for name, _ in shared.models.choices(NOBODY)] == ["little"]
    assert set(session.models.visible_runs(NOBODY)) == {RUN, "calm-fox-fedcba9876543210"}


def test_models_stay_open_by_their_bytes_and_switching_among_small_ones_opens_none_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    little = models_module.bytes_of(AppState(settings).models.open("little"))
    monkeypatch.setattr(Limits, "open_model_bytes", 10 * little)
    session, loads = AppState(settings), []
    load = models_module._load

    def counting(folder: Path, most_bytes: int) -> object:
        loads.append(folder.name)
        return load(folder, most_bytes)

    monkeypatch.setattr(models_module, "_load", counting)
    names = [f"m{number}" for number in range(8)]
    for number, name in enumerate(names):
        little_folder(settings.checkpoints / name, seed=number)
    for _ in range(3):
        for name in names:
            session.models.open(name)
    assert loads == names
    for number in range(8, 12):
        little_folder(settings.checkpoints / f"m{number}", seed=number)
        session.models.open(f"m{number}")
    assert session.models.opened.load[0] == 10
    assert not session.models.opened._making


def test_every_model_can_be_opened_with_random_weights(session: AppState) -> None:
    models = session.models
    little_folder(session.settings.checkpoints / "other", seed=1)
    trained, random = models.open("other"), models.open("random:other")
    assert random is models.open("random:other") is not trained
    assert random.name == "other with random weights"
    assert random.tokenizer is trained.tokenizer
    weights, others = (next(iter(each.model.parameters())) for each in (trained, random))
    assert weights.shape == others.shape
    assert not weights.equal(others)
    assert models.version("random:other") != models.version("other")


def test_a_running_runs_model_is_opened_anew_when_it_has_saved_another(session: AppState) -> None:
    folder = make_run(session, status="stopped", model=False)
    with pytest.raises(InputError, match="kind-otter has no model yet"):
        session.models.open(RUN)
    saved = folder / "checkpoints" / "step-00000010"
    little_folder(saved, seed=1)
    first = session.models.open(RUN)
    assert first.name == "kind-otter"
    assert session.models.open(RUN) is first
    little_folder(folder / "checkpoints" / "step-00000020", seed=2)
    shutil.rmtree(saved)
    second = session.models.open(RUN)
    assert second is not first
    assert [path for path, _ in session.models.opened._values] == [folder / "checkpoints" / "step-00000020"]
    # The final model takes the place of the checkpoint, unless the run went on after it.
    little_folder(folder / "model", seed=3)
    assert session.models.locate(RUN)[0] == folder / "model"
    later = (folder / "model" / "model.safetensors").stat().st_mtime_ns + 10**9
    os.utime(folder / "checkpoints" / "step-00000020" / "model.safetensors", ns=(later, later))
    assert session.models.locate(RUN)[0] == folder / "checkpoints" / "step-00000020"


def test_a_checkpoint_that_is_removed_while_it_is_opened_gives_way_to_the_newer_one(
    session: AppState, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run(session, status="training", model=False)
    old = little_folder(folder / "checkpoints" / "step-00000010", seed=1)
    load = models_module._load

    def overtaken(path: Path, most_bytes: int) -> object:
        if path == old and old.is_dir():
            little_folder(folder / "checkpoints" / "step-00000020", seed=2)
            shutil.rmtree(old)
        return load(path, most_bytes)

    monkeypatch.setattr(models_module, "_load", overtaken)
    assert session.models.open(RUN).path == folder / "checkpoints" / "step-00000020"


def test_a_folder_can_be_typed_even_that_of_a_run(session: AppState, tmp_path: Path) -> None:
    elsewhere = little_folder(tmp_path / "elsewhere" / "mine")
    assert session.models.open(str(elsewhere)).name == "mine"
    folder = make_run(session)
    assert session.models.locate(str(folder))[0] == folder / "model"
    assert session.models.locate("  little  ")[1] == "little"


def test_on_a_shared_page_no_folder_of_the_machine_can_be_opened(settings: Settings, tmp_path: Path) -> None:
    elsewhere = little_folder(tmp_path / "elsewhere")
    shared = AppState(replace(settings, limits=Limits.of(shared=True)))
    for typed in (str(elsewhere), "/etc", "~", str(tmp_path / "checkpoints" / "little"), "../.."):
        with pytest.raises(InputError, match="There is no model") as refused:
            shared.models.open(typed)
        assert "folder" not in str(refused.value)


@pytest.mark.parametrize("hub", ["open", "google/*"])
def test_a_shared_page_does_not_reveal_which_folders_and_users_exist(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hub: str
) -> None:
    shared = AppState(replace(settings, limits=Limits.of(shared=True, given={"hub": hub})))
    little_folder(tmp_path / "there")
    monkeypatch.chdir(tmp_path)

    def answer(typed: str) -> str:
        with pytest.raises(InputError) as refused:
            shared.models.open(typed)
        return str(refused.value).replace(typed, "NAME")

    for there, gone in (
        ("~root", "~nobody-at-all"),
        ("there", "gone"),
        ("there/model", "gone/model"),
        ("./there", "./gone"),
    ):
        assert answer(there) == answer(gone)


@pytest.mark.parametrize(
    "typed", ["no-such-model", "nobody/nothing", "x" * 5000, "a\x00b", "<script>alert(1)</script>", "../x", "/no/such"]
)
def test_a_name_that_is_no_model_gets_one_sentence(session: AppState, typed: str) -> None:
    with pytest.raises(InputError, match=r"[Tt]here is no") as refused:
        session.models.open(typed)
    assert len(str(refused.value)) < 400


def test_a_model_too_large_for_the_page_is_refused_before_it_is_read(settings: Settings) -> None:
    small = AppState(replace(settings, limits=Limits(model_bytes=1000)))
    with pytest.raises(InputError, match="too large"):
        small.models.open("little")


def test_the_id_of_a_run_that_is_gone_is_told_to_no_hub(session: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("bertviz_lab.training.checkpoints.checkpoint.hub_folder", lambda name, **_: asked.append(name))
    with pytest.raises(InputError, match="kind-otter is no longer here"):
        session.models.open("kind-otter-9f86d081884c7d65")
    assert asked == []


@pytest.mark.parametrize(
    ("cache", "asked", "made"),
    [
        (LruCache(2), (1, 2, 1, 3, 1, 2), [1, 2, 3, 2]),
        # By weight: 3 drives out 5, which drives out nothing but 3, and 20 all the others.
        (LruCache(10, weigh=int), (4, 5, 4, 3, 4, 5, 20, 20), [4, 5, 3, 5, 20]),
        # Where small ones stay, a large one drives out the large.
        (LruCache(100, weigh=int, small_stay=True), (1, 2, 3, 60, 70, 60, 70, 1, 2, 3), [1, 2, 3, 60, 70, 60, 70]),
    ],
)
def test_a_value_is_made_once_while_it_is_kept(cache: LruCache, asked: tuple[int, ...], made: list[int]) -> None:
    calls: list[int] = []

    def make(n: int) -> int:
        calls.append(n)
        return n

    assert [cache.get(n, lambda n=n: make(n)) for n in asked] == list(asked)
    assert calls == made


def test_of_several_who_ask_at_once_one_makes_it() -> None:
    kept, made, ready = LruCache(2), [], threading.Event()

    def slow() -> str:
        made.append(1)
        ready.wait(5)
        return "it"

    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(kept.get("key", slow))) for _ in range(4)]
    for thread in threads:
        thread.start()
    ready.set()
    for thread in threads:
        thread.join()
    assert (made, found) == ([1], ["it"] * 4)


def test_no_lock_is_left_of_what_was_made_or_failed() -> None:
    kept = LruCache(2)
    for n in range(100):
        kept.get(n, lambda: 1)
        kept.get(n, lambda: 1)
    with pytest.raises(ZeroDivisionError):
        kept.get("key", lambda: 1 // 0)
    assert kept.load[0] == 2
    assert not kept._making


def test_what_nobody_will_ask_for_again_is_forgotten() -> None:
    kept = LruCache(4)
    for n in range(4):
        kept.get(n, lambda: "old")
    kept.discard(lambda n: n < 3)
    assert [kept.get(n, lambda: "new") for n in range(4)] == ["new", "new", "new", "old"]


def test_those_who_wait_for_what_fails_make_it_themselves() -> None:
    kept, made, waiting = LruCache(2), [], threading.Barrier(3)

    def make() -> str:
        made.append(1)
        if len(made) == 1:
            raise InterruptedError("whoever asked has left")
        return "it"

    answers: list[str] = []

    def ask() -> None:
        waiting.wait(5)
        try:
            answers.append(kept.get("key", make))
        except InterruptedError:
            answers.append("")

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sorted(answers), len(made)) == (["", "it", "it"], 2)
