"""A session with a run that was fine-tuned on little reviews, with random weights beside."""

from pathlib import Path

import pytest

from bertviz_lab import FinetuneConfig
from bertviz_lab.training.finetuning.finetune import finetune
from bertviz_lab.training.runs.run_folder import record
from bertviz_lab.ui.state.app_state import AppState
from tests.ui.pages import OWNER, little_settings

RUN = "sharp-otter-0123456789abcdef"


def write_reviews(path: Path, count: int = 60) -> Path:
    """Red cats are good and small dogs are bad."""
    lines = [f"the {('red cat', 'small dog')[n % 2]} sat on day {n},{('good', 'bad')[n % 2]}" for n in range(count)]
    path.write_text("text,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> AppState:
    """The session; its run is `RUN`."""
    folder = tmp_path_factory.mktemp("tuned")
    session = AppState(little_settings(folder))
    config = FinetuneConfig(
        train=(str(write_reviews(folder / "reviews.csv")),), model=str(folder / "checkpoints" / "little"),
        random_baseline=True, epochs=2, batch_size=8, eval_share=0.3, threads=1, precision="fp32",
    )  # fmt: skip
    run = folder / "runs" / RUN
    run.mkdir(parents=True)
    (run / "owner").write_text(OWNER.owner)
    for _ in record(finetune(config, run), run):
        pass
    return session
