"""Milliseconds that reading a small file takes in a confined process, with one kept ready and without, and here."""

import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.machine import markdown, report
from bertviz_lab.config import SHIPPED, FinetuneConfig
from bertviz_lab.confined import Confinement, Workers, run_confined
from bertviz_lab.data.corpora.health import examine_files
from bertviz_lab.data.corpora.sources import MAX_BYTES
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.finetuning.task_data import examine_labelled
from bertviz_lab.ui.state.file_reading import PRELOAD

TRIES = 15
_SECONDS_BETWEEN = 2.0  # a visitor looks at what was read; meanwhile the next process gets ready
_LIMITS = Confinement(memory_bytes=2_000_000_000, seconds=60.0)


def pieces(folder: Path) -> dict[str, "partial[Any]"]:
    """What the page asks about a small file, by name."""
    corpus, table = folder / "corpus.txt", folder / "table.csv"
    corpus.write_text("\n\n".join(f"The cat sat on mat {n}. It slept for {n} hours." for n in range(300)))
    table.write_text("text,label\n" + "".join(f"the cat number {n} sat,{'ab'[n % 2]}\n" for n in range(300)))
    tokenizer = Tokenizer.load(SHIPPED / "wiki-mini")
    config = FinetuneConfig(train=(str(table),), model="random")
    return {
        "health report of a text": partial(examine_files, [str(corpus)]),
        "report on a labelled table": partial(examine_labelled, config, tokenizer, 512, None, MAX_BYTES),
    }


def milliseconds(read: Callable[[], Any]) -> float:
    gc.collect()
    start = time.perf_counter()
    read()
    return 1000 * (time.perf_counter() - start)


def measure() -> dict[str, dict[str, float]]:
    """The three ways in turns, so that a busy moment of the machine meets all of them."""
    workers = Workers(PRELOAD)
    workers.warm_up()
    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, work in pieces(Path(folder)).items():
            times: dict[str, list[float]] = {"here": [], "ready": [], "new": []}
            work()  # what is imported at the first use is no part of reading
            for _ in range(TRIES):
                times["here"].append(milliseconds(work))
                times["new"].append(milliseconds(partial(run_confined, work, _LIMITS)))
                time.sleep(_SECONDS_BETWEEN)
                times["ready"].append(milliseconds(partial(workers.run, work, _LIMITS)))
            rows[name] = {way: round(statistics.median(tried), 1) for way, tried in times.items()}
            extra = [ready - here for ready, here in zip(times["ready"], times["here"], strict=True)]
            rows[name] |= {"extra": round(statistics.median(extra), 1), "most_extra": round(max(extra), 1)}
    workers.close()
    return rows


def table(result: dict[str, Any]) -> str:
    head = ["median ms", "in this process", "process ready", "new process", "extra when ready", "most extra"]
    return markdown(head, [(name, *row.values()) for name, row in result.items() if "extra" in row])


if __name__ == "__main__":
    report("confined_reading", measure(), table)
