"""A run of either kind: what its settings say, it does."""

from collections.abc import Callable, Iterator
from pathlib import Path

from bertviz_lab.config import FinetuneConfig, RunConfig
from bertviz_lab.training.runs.events import Event


def run(
    config: RunConfig, folder: Path, *, resume: bool = False, should_stop: Callable[[], bool] = lambda: False
) -> Iterator[Event]:
    """Train as `config` says in `folder`, or go on there. Raises as `pretrain` and `finetune` do."""
    if isinstance(config, FinetuneConfig):
        from bertviz_lab.training.finetuning.finetune import finetune

        return finetune(config, folder, resume=resume, should_stop=should_stop)
    from bertviz_lab.training.pretraining.pretrain import pretrain

    return pretrain(config, folder, resume=resume, should_stop=should_stop)
