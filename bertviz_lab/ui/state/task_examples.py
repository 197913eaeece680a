"""Texts to try a fine-tuned model on."""

import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from bertviz_lab.data.samples.task_samples import sample_path
from bertviz_lab.errors import InputError

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

#: The sample for a model of no run; the models that come with the lab were not trained on these.
_SAMPLES = {
    "classification": "sentiment",
    "multilabel": "guest-book",
    "regression": "paraphrases",
    "tokens": "entities:held-out",
    "qa": "questions",
    "embeddings": "same-event",
}
#: Those of Tiny Town for a model whose vocabulary is so small that it can only know the words of Tiny Town.
_TOWN_SAMPLE, _TOWN_VOCABULARY = "town-questions:held-out", 1_000
_LOOKED_AT = 2_000  # examples of a run
_MARK = re.compile(r" (?=[.,;:!?](?: |$))")
_LONGEST = {"qa": 1200}  # characters; others are short enough to be read at a glance


def task_examples(checkpoint: "Checkpoint", run_folder: Path | None) -> list[tuple[str, str]]:
    """(text, second text) of a few examples that the model was not trained on; none for a model without a task.

    They are of those that its run held out, or of a sample of its task where it is of no run.
    """
    from bertviz_lab.data.examples import read_examples
    from bertviz_lab.data.formats.read import read_task
    from bertviz_lab.interpret import texts_of_example
    from bertviz_lab.training.finetuning.predict import task_of

    try:
        task = task_of(checkpoint)
    except InputError:
        return []
    if run_folder is not None:
        examples = read_examples(run_folder / "examples" / "held_out.jsonl", most=_LOOKED_AT)
    else:
        of_town = task == "qa" and checkpoint.config.vocab_size <= _TOWN_VOCABULARY
        examples = read_task([sample_path(_TOWN_SAMPLE if of_town else _SAMPLES[task])], task).examples
    texts = [texts_of_example(example) for example in examples]
    if task == "tokens":  # words that were set apart, as a person would write them
        texts = [(_MARK.sub("", a), b) for a, b in texts]
    short = [(a, b or "") for a, b in texts if len(a) + len(b or "") <= _LONGEST.get(task, 160)] or [
        (a, b or "") for a, b in texts
    ]
    first = min(2, len(short) - 1)  # the larger samples begin with the hardest
    return list(islice(short[first :: max(1, len(short) // 5)], 5))
