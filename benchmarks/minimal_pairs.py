"""Sentences a second of `evaluate --task minimal-pairs`, beside one masked token at a time with `transformers`.

The sentences are those of CoLA's dev sets, which are as long as BLiMP's, two of them a pair. Of the reference, which is
slow, only the first ones are timed, and every score is compared.
"""

import time
from typing import Any

import torch

from benchmarks.machine import arguments, markdown, report, spread
from benchmarks.task_datasets import folder
from bertviz_lab import load_checkpoint
from bertviz_lab.data.probes import MinimalPair
from bertviz_lab.interpret import score_minimal_pairs
from bertviz_lab.training.checkpoints.checkpoint import checkpoint_folder
from bertviz_lab.training.loop.hardware import available_cores

TURNS = 5
REFERENCE_SENTENCES = 40
GOAL = 200


def sentences() -> list[str]:
    """CoLA's dev sentences, in and out of domain."""
    files = [folder() / "cola" / f"{name}_dev.tsv" for name in ("in_domain", "out_of_domain")]
    return [line.split("\t")[3] for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def one_at_a_time(model: Any, tokenizer: Any, sentence: str) -> float:
    """Salazar et al. 2020 as it is usually written: a forward pass for each masked token."""
    ids = tokenizer(sentence, return_tensors="pt")["input_ids"]
    total = 0.0
    with torch.inference_mode():
        for position in range(1, ids.shape[1] - 1):
            masked = ids.clone()
            masked[0, position] = tokenizer.mask_token_id
            total += float(model(input_ids=masked).logits[0, position].log_softmax(-1)[ids[0, position]])
    return total


def measure(name: str) -> dict[str, Any]:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    checkpoint, texts = load_checkpoint(name), sentences()
    pairs = [MinimalPair("cola", "", good, bad, 0) for good, bad in zip(texts[::2], texts[1::2], strict=False)]
    path = checkpoint_folder(name)
    reference, tokenizer = AutoModelForMaskedLM.from_pretrained(path).eval(), AutoTokenizer.from_pretrained(path)
    torch.set_num_threads(available_cores())
    score_minimal_pairs(checkpoint, pairs[:20])  # kernels and caches
    rates: dict[str, list[float]] = {"lab": [], "transformers": []}
    for _ in range(TURNS):
        began = time.perf_counter()
        scores = score_minimal_pairs(checkpoint, pairs).scores
        rates["lab"].append(2 * len(pairs) / (time.perf_counter() - began))
        began = time.perf_counter()
        expected = [one_at_a_time(reference, tokenizer, text) for text in texts[:REFERENCE_SENTENCES]]
        rates["transformers"].append(REFERENCE_SENTENCES / (time.perf_counter() - began))
    found = [value for score in scores for value in (score.good, score.bad)]
    return {
        "model": name,
        "sentences": 2 * len(pairs),
        "tokens_per_sentence": sum(len(checkpoint.tokenizer.encode(text).ids) for text in texts) / len(texts),
        "threads": torch.get_num_threads(),
        "sentences_per_second": {side: spread(values) for side, values in rates.items()},
        "largest_difference": max(abs(a - b) for a, b in zip(found, expected, strict=False)),
    }


def table(result: dict[str, Any]) -> str:
    rows = [
        (side, *(f"{values[name]:,.0f}" for name in ("min", "median", "max")), GOAL if side == "lab" else "")
        for side, values in result["sentences_per_second"].items()
    ]
    about = (
        f"{result['model']}, {result['sentences']:,} sentences of {result['tokens_per_sentence']:.1f} tokens, "
        f"{result['threads']} threads, fp32; scores differ by {result['largest_difference']:.0e} nats at most."
    )
    return f"{about}\n\n" + markdown(["sentences a second", "min", "median", "max", "goal"], rows)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--model", default="wiki-mini")
    report("minimal_pairs", measure(parser.parse_args().model), table)
