"""Sentences a second of `evaluate --task minimal-pairs`, beside one masked token at a time with `transformers`.

A pair is a sentence of CoLA's dev sets, which are as long as BLiMP's, and the same with two words in its middle
exchanged. Of the reference, which is slow, only the first sentences are timed. What it prefers is compared.
"""

import time
from typing import Any

import torch

from benchmarks.machine import arguments, markdown, report, spread
from benchmarks.task_datasets import folder
from bertviz_lab import load_checkpoint
from bertviz_lab.config.cores import available_cores
from bertviz_lab.data.probes import MinimalPair
from bertviz_lab.interpret import score_minimal_pairs
from bertviz_lab.training.checkpoints.checkpoint import checkpoint_folder

TURNS = 3
REFERENCE_PAIRS = 20
GOAL = 200


def pairs() -> list[MinimalPair]:
    """CoLA's dev sentences, in and out of domain, each against one that is out of order."""
    files = [folder() / "cola" / f"{name}_dev.tsv" for name in ("in_domain", "out_of_domain")]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    made = []
    for line in lines:
        words = line.split("\t")[3].split()
        middle = len(words) // 2
        bad = [*words[: middle - 1], words[middle], words[middle - 1], *words[middle + 1 :]]
        if bad != words and len(words) > 2:
            made.append(MinimalPair("order", "", " ".join(words), " ".join(bad), middle - 1))
    return made


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

    checkpoint, all_pairs = load_checkpoint(name), pairs()
    texts = [text for pair in all_pairs for text in (pair.good, pair.bad)]
    first = texts[: 2 * REFERENCE_PAIRS]
    path = checkpoint_folder(name)
    reference, tokenizer = AutoModelForMaskedLM.from_pretrained(path).eval(), AutoTokenizer.from_pretrained(path)
    torch.set_num_threads(available_cores())
    score_minimal_pairs(checkpoint, all_pairs[:20])  # kernels and caches
    rates: dict[str, list[float]] = {"lab": [], "transformers": []}
    for _ in range(TURNS):
        began = time.perf_counter()
        report = score_minimal_pairs(checkpoint, all_pairs)
        rates["lab"].append(len(texts) / (time.perf_counter() - began))
        began = time.perf_counter()
        expected = [one_at_a_time(reference, tokenizer, text) for text in first]
        rates["transformers"].append(len(first) / (time.perf_counter() - began))
    preferred = [good > bad for good, bad in zip(expected[::2], expected[1::2], strict=True)]
    exact = score_minimal_pairs(checkpoint, all_pairs, precision="fp32")
    return {
        "model": name,
        "sentences": len(texts),
        "tokens_per_sentence": sum(len(checkpoint.tokenizer.encode(text).ids) for text in texts) / len(texts),
        "threads": torch.get_num_threads(),
        "sentences_per_second": {side: spread(values) for side, values in rates.items()},
        "accuracy": report.accuracy,
        "accuracy_in_32_bits": exact.accuracy,
        "agrees": sum(a == (b.right == 1) for a, b in zip(preferred, report.scores, strict=False)),
    }


def table(result: dict[str, Any]) -> str:
    rows = [
        (side, *(f"{values[name]:,.0f}" for name in ("min", "median", "max")), GOAL if side == "lab" else "")
        for side, values in result["sentences_per_second"].items()
    ]
    about = (
        f"{result['model']}, {result['sentences']:,} sentences of {result['tokens_per_sentence']:.1f} tokens, "
        f"{result['threads']} threads. Accuracy {result['accuracy']:.2%}, all in 32 bits "
        f"{result['accuracy_in_32_bits']:.2%}; the reference prefers the same sentence in {result['agrees']} of "
        f"{REFERENCE_PAIRS} pairs."
    )
    return f"{about}\n\n" + markdown(["sentences a second", "min", "median", "max", "goal"], rows)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--model", default="wiki-mini")
    report("minimal_pairs", measure(parser.parse_args().model), table)
