"""The card of a fine-tuned model: its examples, its training and its scores, from measured values only."""

from collections.abc import Mapping, Sequence

from bertviz_lab.config.finetune import RANDOM
from bertviz_lab.metrics.names import NAMES
from bertviz_lab.training.checkpoints import model_card
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.finetuning.setup import Setup, Trial

_TEST_SCORES = "## Test scores"


def finetuning_card(setup: Setup, trial: Trial, checkpoint: Checkpoint, scores: Mapping[str, float]) -> str:
    """Return a Hugging Face model card in Markdown for the best model of a trial."""
    config, data, task = setup.config, setup.data, setup.task
    origin = "random weights" if trial.random or config.model == RANDOM else model_card.source_name(config.model)
    if config.teacher:
        origin += f", distilled from {model_card.source_name(config.teacher)}"
    validation = model_card.file_names(config.eval) or f"{len(data.held_out):,} examples held out of it"
    labels = ", ".join(model_card.plain_text(label) for label in data.labels)
    output = f"Labels: {labels}" if labels else f"Answers: {task.pipeline}"
    if thresholds := checkpoint.config.decision_thresholds:
        output += f"\n- A label applies from a probability of {', '.join(map('{:.2f}'.format, thresholds))} on"
    if threshold := checkpoint.config.null_score_diff_threshold:
        output += f"\n- No answer is predicted where its score is more than {threshold:.2f} nats above the best span's"
    return model_card.CARD.format(
        pipeline=task.pipeline,
        use=model_card.use_section(task.pipeline),
        title=f"A small BERT fine-tuned for {task.title} (from {origin})",
        about=model_card.size_of(checkpoint, "tokens"),
        training=f"- Text: {model_card.file_names(config.train)} ({len(data.train):,} examples)\n"
        f"- {output}\n"
        f"- Settings: {trial.epochs} epochs, {trial.batch_size} examples a step, peak rate "
        f"{trial.learning_rate:.2g}, seed {trial.seed}; the best of its models by {NAMES[setup.metric]}",
        command=model_card.run_command("finetune", config),
        scored=f"Validation scores on {validation}\n\n"
        "The checkpoint and the trial were chosen by these scores, which are therefore optimistic.",
        scores=model_card.score_table(scores),
    )


def with_test_scores(card: str, files: Sequence[str], scores: Mapping[str, float]) -> str:
    """Return a card with the scores on a test set, by which nothing was chosen."""
    title = f"{_TEST_SCORES} on {model_card.file_names(files)}"
    return f"{card.split(_TEST_SCORES)[0].rstrip()}\n\n{title}\n\n{model_card.score_table(scores)}\n"
