"""What the page forecasts of a run before it starts, beside what the run then does: speed, and the peak of memory."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.corpus import find_text, learnt_tokenizer
from benchmarks.machine import arguments, in_process, markdown, report, run_and_watch, spread
from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.config.cores import available_cores
from bertviz_lab.config.limits import Limits
from bertviz_lab.training.loop.hardware import choose_hardware
from bertviz_lab.training.runs.run_folder import read_log
from bertviz_lab.ui.state.forecast import Forecaster

RUNS = (("tiny", 16), ("mini", 16), ("mini", 64), ("small", 16))  # preset, batch size
_AGREES = 0.2  # of a forecast with its run


def forecast_and_run(preset: str, batch_size: int, seconds: float) -> dict[str, float]:
    """Tokens a second: the page's forecast before a run, the run's own, and the forecast after it.

    The run is `bertviz-lab pretrain` in a process of its own, whose memory is not that of the measurement.
    """
    text = find_text()
    with tempfile.TemporaryDirectory() as folder:
        learnt_tokenizer(text.train, 8192).save(Path(folder) / "tokenizer")
        config = PretrainConfig(corpus=(str(text.train),), preset=preset, batch_size=batch_size)
        model = BertConfig.preset(preset, vocab_size=8192)
        choose_hardware("auto", available_cores())  # threads and memory as of any run
        before = Forecaster(Limits.of(shared=False)).forecast(config, model)
        command = [sys.executable, "-m", "bertviz_lab", "pretrain", "--corpus", str(text.train), "--preset", preset]
        command += ["--batch-size", str(batch_size), "--tokenizer", f"{folder}/tokenizer", "--eval-every", "86400"]
        peak = run_and_watch([*command, "--time-budget", f"{seconds:g}s", "--out", f"{folder}/run"])
        last = [row for row in read_log(Path(folder) / "run")[0] if row["event"] == "StepDone"][-1]
        after = Forecaster(Limits.of(shared=False)).forecast(config, model)
    return {
        "before": round(before.tokens_per_second),
        "run": round(last["tokens"] / last["seconds"]),
        "after": round(after.tokens_per_second),
        "forecast_megabytes": round(before.memory_bytes / 1e6),
        "megabytes": round(peak / 1e6),
    }


def measure(rounds: int, seconds: float) -> dict[str, Any]:
    """Each run in turn, in rounds, so that a slow minute of the machine falls on all alike."""
    tries: dict[tuple[str, int], list[dict[str, Any]]] = {run: [] for run in RUNS}
    for _ in range(rounds):
        for run in RUNS:
            tries[run].append(in_process("forecast", (*run, seconds)))
    return {"forecasts": [{"preset": preset, "batch_size": size, "tries": of} for (preset, size), of in tries.items()]}


def table(result: dict[str, Any]) -> str:
    rows, agree, tries = [], 0, 0
    for shape in result["forecasts"]:
        ratios = [(one["before"] + one["after"]) / 2 / one["run"] for one in shape["tries"]]
        agree += sum(abs(ratio - 1) <= _AGREES for ratio in ratios)
        tries += len(ratios)
        low, middle, high = spread(ratios).values()
        memory = max(one["forecast_megabytes"] / one["megabytes"] for one in shape["tries"])
        rows.append(
            (
                f"{shape['preset']}, batch size {shape['batch_size']}",
                f"{spread([one['run'] for one in shape['tries']])['median']:,.0f}",
                f"{low:.2f} / **{middle:.2f}** / {high:.2f}",
                f"{memory:.2f}",
            )
        )
    note = (
        "The page's forecast over what the run then did (min / median / max), taken before and after it, since a "
        f"shared machine varies: within {_AGREES:.0%} in {agree} of {tries} runs."
    )
    header = ["run", "tokens a second", "forecast / run, speed", "forecast / run, memory"]
    return f"{note}\n\n{markdown(header, rows)}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--case", help="preset, batch size and seconds of a run, as JSON")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is tried")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of a run")
    given = parser.parse_args()
    if given.case:
        print(json.dumps(forecast_and_run(*json.loads(given.case))))
        return
    report("forecast", measure(given.rounds, given.seconds), table)


if __name__ == "__main__":
    main()
