"""From a text to the first batch: seconds without and with the cache, tokens per second, memory as the text grows."""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.corpus import find_text
from benchmarks.machine import arguments, in_process, markdown, peak_memory, report, spread

COPIES = (1, 2, 4)  # of the text, one after another


def run(text: str, folder: str) -> dict[str, float]:
    """Prepare a text in this process and make the first batch; seconds of each stage, tokens, megabytes."""
    from bertviz_lab.config import PretrainConfig
    from bertviz_lab.data.batches import BatchStream
    from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
    from bertviz_lab.tokenization import Tokenizer
    from bertviz_lab.training.pretraining.prepare import prepare
    from bertviz_lab.training.pretraining.setup import build_data

    config = PretrainConfig(corpus=(text,))
    imported = peak_memory()
    Path(folder).mkdir(parents=True)
    began = time.perf_counter()
    reached: dict[str, float] = {}
    for event in prepare(config, Path(folder)):
        reached.setdefault(event.message, time.perf_counter() - began)
    reached["The first batch"] = time.perf_counter() - began
    tokenizer = Tokenizer.load(Path(folder) / "tokenizer")
    corpus = TokenizedCorpus.open(Path(folder) / "corpus")
    next(BatchStream(build_data(config, tokenizer, corpus).training))
    seconds = time.perf_counter() - began
    ends = [*list(reached.values())[1:], seconds]
    stages = {name: end - start for (name, start), end in zip(reached.items(), ends, strict=True)}
    run = {"seconds": seconds, "tokens": corpus.tokens, "peak_mb": peak_memory() / 1e6, "imported_mb": imported / 1e6}
    return run | {f"stage: {name}": value for name, value in stages.items()}


def measure(text: Path, folder: Path) -> dict[str, float]:
    """Run it in a process of its own, and add the seconds from the start of the process."""
    began = time.perf_counter()
    environment = {"BERTVIZ_LAB_CACHE": str(folder.parent / "cache")}
    result = in_process("data_path", (str(text), str(folder)), environment)
    return result | {"process_seconds": time.perf_counter() - began}


def measure_size(text: Path, copies: int, rounds: int) -> dict[str, Any]:
    """Prepare `copies` of a text without and from the cache, `rounds` times each."""
    uncached, cached = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            corpus = Path(name) / "text.txt"
            with corpus.open("wb") as file:
                for _ in range(copies):
                    file.write(text.read_bytes())
                    file.write(b"\n\n")
            size = corpus.stat().st_size
            uncached.append(measure(corpus, Path(name) / "one"))
            cached.append(measure(corpus, Path(name) / "two"))
    speeds = [timed["tokens"] / timed["stage: Tokenizing the corpus"] for timed in uncached]
    return {
        "bytes": size,
        "tokens": uncached[0]["tokens"],
        "seconds_uncached": spread([one["seconds"] for one in uncached]),
        "seconds_cached": spread([one["seconds"] for one in cached]),
        "process_seconds_cached": spread([one["process_seconds"] for one in cached]),
        "tokens_per_second": spread(speeds),
        "peak_mb": spread([one["peak_mb"] for one in uncached]),
        "peak_mb_cached": spread([one["peak_mb"] for one in cached]),
        "imported_mb": spread([one["imported_mb"] for one in uncached]),
        "stages": {
            name.removeprefix("stage: "): spread([one[name] for one in uncached])
            for name in uncached[0]
            if name.startswith("stage: ")
        },
    }


def table(body: dict[str, Any]) -> str:
    """What was measured, a line a size; medians."""
    header = (
        "text",
        "uncached, s",
        "cached, s",
        "cached, s from the process's start",
        "tokens/s",
        "peak, MB",
        "cached",
    )
    rows = [
        (
            f"{case['bytes'] / 1e6:.0f} MB, {case['tokens'] / 1e6:.1f}M tokens",
            f"{case['seconds_uncached']['median']:.1f}",
            f"{case['seconds_cached']['median']:.2f}",
            f"{case['process_seconds_cached']['median']:.1f}",
            f"{case['tokens_per_second']['median'] / 1e6:.2f}M",
            f"{case['peak_mb']['median']:.0f}",
            f"{case['peak_mb_cached']['median']:.0f}",
        )
        for case in body["sizes"]
    ]
    first = body["sizes"][0]
    stages = "; ".join(f"{name}: {seconds['median']:.1f} s" for name, seconds in first["stages"].items())
    imports = f"With its libraries loaded a process has {first['imported_mb']['median']:.0f} MB before it begins."
    return "\n\n".join([f"From a text ({body['text']}) to the first batch", markdown(header, rows), stages, imports])


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often the smallest text is measured")
    parser.add_argument("--quick", action="store_true", help="once, and the smallest text only")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        print(json.dumps(run(*json.loads(given.case))))
        return
    text = find_text()
    copies = COPIES[:1] if given.quick else COPIES
    rounds = 1 if given.quick else given.rounds
    sizes = [measure_size(text.train, count, rounds if count == 1 else 1) for count in copies]
    report("data_path", {"text": text.name, "rounds": rounds, "sizes": sizes}, table)


if __name__ == "__main__":
    main()
