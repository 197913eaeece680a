"""How near a tuned lens comes to a model's own output at each layer, next to the logit lens, and what its fit takes.

With `--save` the lens is kept with the model in checkpoints/. The models of Wikipedia are fitted on articles of their
corpus, those of Tiny Town on its training stories; masked tokens of other sentences are measured.
"""

import time
from typing import Any

import torch

from benchmarks.machine import arguments, markdown, peak_memory, report
from benchmarks.task_datasets import folder
from bertviz_lab import Checkpoint, InputError, interpret, load_checkpoint
from bertviz_lab.config import SHIPPED
from bertviz_lab.training.runs.training_text import read_training_text

MODELS = ("tiny-town", "tiny-town-mask-only", "wiki-tiny", "wiki-mini", "wiki-small")
_CHARACTERS = 5_000_000  # of Wikipedia, more than a lens is fitted on


def sentences_for(checkpoint: Checkpoint) -> Any:
    """Return sentences of the text that a model was trained on, as token ids."""
    try:
        return read_training_text(SHIPPED / checkpoint.name, checkpoint.tokenizer).sentences
    except InputError:
        lines = (folder() / "wiki_en" / "train.txt").open(encoding="utf-8").read(_CHARACTERS).splitlines()
        return checkpoint.tokenizer.ids([line for line in lines if line])


def measure(name: str, save: bool) -> dict[str, Any]:
    """Fit a lens, save it if wanted, and return its fit with the time of the processor."""
    checkpoint = load_checkpoint(SHIPPED / name)
    sentences = sentences_for(checkpoint)
    before = peak_memory()
    began = time.process_time()
    lens = interpret.fit_tuned_lens(checkpoint, sentences)
    assert lens.fit is not None
    processor = time.process_time() - began
    memory = peak_memory() - before
    if save:
        lens.save(SHIPPED / name)
    fit = {"logit_lens": lens.fit.logit_lens, "tuned_lens": lens.fit.tuned_lens, "seconds": lens.fit.seconds}
    return {"model": name, "processor": round(processor, 1), "memory": memory} | fit


def table(result: dict[str, Any]) -> str:
    rows = []
    for of_model in result["models"]:
        layers = zip(of_model["logit_lens"], of_model["tuned_lens"], strict=True)
        cells = [f"{logit:.2f} → {tuned:.2f}" for logit, tuned in layers]
        cells += ["–"] * (4 - len(cells))
        rows.append(
            (
                of_model["model"],
                *cells,
                f"{of_model['seconds']:.0f}",
                f"{of_model['processor']:.0f}",
                f"{of_model['memory'] / 1e6:,.0f}",
            )
        )
    header = ["KL divergence, logit lens → tuned lens", "embeddings", "layer 1", "layer 2", "layer 3"]
    header += ["seconds", "processor seconds", "MB more"]
    about = (
        f"KL(model || lens) in nats at 2,000 held-out masked tokens, after a fit on 16,000; {result['threads']} "
        "thread(s). The last layer is the model's own output. A trained map can find what later layers do not read"
    )
    return f"{about}.\n\n{markdown(header, rows)}"


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--save", action="store_true", help="keep each lens with its model")
    given = parser.parse_args()
    models = [measure(name, given.save) for name in given.models]
    report("tuned_lens", {"threads": torch.get_num_threads(), "models": models}, table)
