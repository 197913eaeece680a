"""A model that cannot learn thirty-two examples by heart is broken, whatever its loss does on a large text."""

import math
from itertools import repeat

import torch

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.batches import BatchStream
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager
from bertviz_lab.training.checkpoints.snapshots import SnapshotWriter
from bertviz_lab.training.loop.loop import LoopConfig, train
from bertviz_lab.training.loop.optim import build_optimizers
from bertviz_lab.training.pretraining.curriculum import Curriculum, Stage
from bertviz_lab.training.pretraining.evaluate import evaluate_pretraining
from bertviz_lab.training.pretraining.objective import PretrainingTask
from bertviz_lab.training.runs.events import EvalDone
from tests.model.support import small_config
from tests.training.support import CPU, small_data


class Unsaved(PretrainingTask):
    """The pretraining task without its checkpoints."""

    def save(self, progress, scores) -> str:
        return ""

    def evaluate(self, model, final=False) -> dict[str, float]:
        return evaluate_pretraining(model, self.held_out, CPU)


def test_thirty_two_examples_can_be_learnt_by_heart(tokenizer, tmp_path):
    data = small_data(tokenizer, batch_size=32)
    batch = next(batch for batch in BatchStream(data) if len(batch.input_ids) == 32)
    config = small_config(hidden_size=32, intermediate_size=64, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    model = BertForPreTraining(config, generator=torch.Generator().manual_seed(0))
    optimizers = build_optimizers(model, PretrainConfig(corpus=("none",)), 5e-3)
    curriculum = Curriculum((Stage(1.0, data),), lambda: 0.0)
    task = Unsaved(
        model,
        config,
        tokenizer,
        curriculum,
        [batch],
        optimizers,
        CPU,
        CheckpointManager(tmp_path),
        SnapshotWriter(tmp_path, 0),
    )
    plan = LoopConfig(learning_rate=5e-3, warmup=0.1, steps=200, seconds=None, eval_every=1e9, checkpoint_every=1e9)

    before = evaluate_pretraining(model, [batch], CPU)
    events = list(train(model, task, repeat(batch), optimizers, plan, CPU))
    (after,) = (event.metrics for event in events if isinstance(event, EvalDone))

    assert before["mlm_loss"] > math.log(40)
    assert after["mlm_accuracy"] > 0.95
    assert after["mlm_loss"] < 0.3
    assert after["nsp_accuracy"] == 1.0
    assert after["nsp_loss"] < 0.05
