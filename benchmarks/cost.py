"""What a training costs in time and memory, against length, size, vocabulary, text and processes, with a line each.

Every measurement is a process of its own. A step has 4,096 places for tokens whatever their arrangement: 32 examples
of 128, or 8 of 512. The lines are for reading off what one's own text will cost.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from benchmarks import cost_cases
from benchmarks.alternating_processes import SIDES, environment
from benchmarks.corpus import find_text, learnt_tokenizer, tokenized
from benchmarks.flops import useful_flops
from benchmarks.machine import arguments, in_process, markdown, report, spread
from bertviz_lab.config import BertConfig
from bertviz_lab.config.cores import available_cores
from bertviz_lab.training.runs.run_folder import read_log

#: (preset, vocabulary, tokens in an example): one of the three is changed at a time.
LENGTHS = tuple(("mini", 8192, length) for length in (64, 128, 256, 512))
SIZES = tuple((preset, 8192, 128) for preset in ("tiny", "mini", "small", "medium"))
VOCABULARIES = tuple(("mini", size, 128) for size in (2048, 8192, 30522))
SHAPES = tuple(dict.fromkeys((*LENGTHS, *SIZES, *VOCABULARIES)))
TEXTS = (2, 8, 24, 48)  # megabytes
PROCESSES = ((1, 1), (1, 2), (2, 1))  # processes, threads of each
_COMPARED = ("lab", "hf fp32", "hf bf16")


def steps(rounds: int, seconds: float) -> list[dict[str, Any]]:
    """Each side in turn at each shape: the fastest of the rounds, and the highest peak of memory."""
    shapes = []
    for preset, vocab_size, seq_len in SHAPES:
        tokenized(find_text().train, learnt_tokenizer(find_text().train, vocab_size))  # so that no case remembers it
        tries: dict[str, list[dict[str, Any]]] = {side: [] for side in _COMPARED}
        for _ in range(rounds):
            for side in _COMPARED:
                values = ("training_step", side, preset, vocab_size, seq_len, seconds)
                tries[side].append(in_process("cost", values, environment(SIDES[side])))
        sides = {
            side: {
                "microseconds": min(step["microseconds"] for step in measured),
                "megabytes": max(step["megabytes"] for step in measured),
            }
            for side, measured in tries.items()
        }
        shapes.append({"preset": preset, "vocab_size": vocab_size, "seq_len": seq_len, "sides": sides})
    return shapes


def several_processes(processes: int, threads: int, seconds: float) -> float:
    """Tokens a second of `bertviz-lab pretrain` in so many processes of this machine."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        launcher = ["torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", "-m"]
        command = [sys.executable, "-m", *(launcher if processes > 1 else []), "bertviz_lab", "pretrain"]
        command += ["--corpus", str(find_text().train), "--time-budget", f"{seconds:g}s", "--threads", str(threads)]
        command += ["--out", str(out), "--eval-every", "86400", "--snapshot-room", "0", "--no-probes"]
        surroundings = os.environ | {"OMP_NUM_THREADS": str(threads)}
        subprocess.run(command, capture_output=True, check=True, env=surroundings)
        last = [row for row in read_log(out)[0] if row["event"] == "EvalDone"][-1]
        return last["tokens"] / last["seconds"]


def measure(rounds: int, seconds: float) -> dict[str, Any]:
    """Everything, in rounds, so that a slow minute of the machine falls on all alike."""
    texts = [{"megabytes_of_text": size, **in_process("cost", ("preparation", size))} for size in TEXTS]
    shapes = steps(rounds, seconds)
    speeds: dict[tuple[int, int], list[float]] = {shape: [] for shape in PROCESSES}
    for _ in range(rounds):
        for processes, threads in PROCESSES:
            speeds[processes, threads].append(several_processes(processes, threads, 5 * seconds))
    return {
        "shapes": shapes,
        "texts": texts,
        "processes": [
            {"processes": processes, "threads": threads, "tokens_per_second": spread(values)}
            for (processes, threads), values in speeds.items()
        ],
    }


def table(result: dict[str, Any]) -> str:
    """Steps side by side, the lines, and whole runs."""
    return "\n\n".join([_steps_table(result), _lines_table(result), _processes_table(result)])


def _steps_table(result: dict[str, Any]) -> str:
    rows = [
        [
            f"{shape['preset']}, V {shape['vocab_size']:,}, {shape['seq_len']} tokens",
            *(f"{shape['sides'][side]['microseconds']:,.1f}" for side in _COMPARED),
            *(f"{shape['sides'][side]['megabytes']:,}" for side in _COMPARED),
        ]
        for shape in result["shapes"]
    ]
    header = ["shape", *(f"{side}, µs a token" for side in _COMPARED), *(f"{side}, MB" for side in _COMPARED)]
    note = (
        f"Fastest of {result['rounds']} tries ({result['text']}, {result['device']}, {result['threads']} threads), "
        "and the most memory that the process held, libraries and all. The lab trains as it does by default once all "
        "layers have joined, transformers with dropout 0.1 on ready-made batches."
    )
    return f"{note}\n\n{markdown(header, rows)}"


def _lines_table(result: dict[str, Any]) -> str:
    """The lab's time and memory as straight lines of what changes, and how far the points lie from them."""
    measured = {(s["preset"], s["vocab_size"], s["seq_len"]): s["sides"]["lab"] for s in result["shapes"]}

    def mflop(shape: tuple[str, int, int]) -> float:
        config = BertConfig.preset(shape[0], vocab_size=shape[1])
        return useful_flops(config, shape[2], 0.15 * shape[2]).training / 1e6

    groups: list[tuple[str, Sequence[Any], Callable[[Any], float], str]] = [
        ("length S, mini", LENGTHS, lambda shape: shape[2], "S"),
        ("size: MFLOP a token, 128 tokens", SIZES, mflop, "MFLOP"),
        ("vocabulary V, mini, 128 tokens", VOCABULARIES, lambda shape: shape[1] / 1000, "V / 1,000"),
    ]
    rows = []
    for name, shapes, x_of, unit in groups:
        x = [x_of(shape) for shape in shapes]
        for quantity, word in (("microseconds", "µs a token"), ("megabytes", "MB")):
            rows.append(_line_row(name, x, [measured[shape][quantity] for shape in shapes], unit, word))
    x = [text["megabytes_of_text"] for text in result["texts"]]
    for quantity, word in (("seconds", "s"), ("megabytes", "MB")):
        rows.append(_line_row("preparing a text", x, [text[quantity] for text in result["texts"]], "MB of text", word))
    note = "The lab's figures as lines, to read off one's own case; the last column is the largest error of a point."
    return f"{note}\n\n{markdown(['against', 'line', 'R²', 'largest error'], rows)}"


def _line_row(name: str, x: Sequence[float], y: Sequence[float], unit: str, quantity: str) -> list[str]:
    """Fit a line by relative errors: measured times vary by a share of themselves."""
    places, values = np.array(x, dtype=float)[:, None], np.array(y, dtype=float)
    line = LinearRegression().fit(places, values, values**-2)
    equation = f"{line.intercept_:,.3g} + {line.coef_[0]:,.3g} x {unit} {quantity}"
    largest = (abs(line.predict(places) - values) / values).max()
    return [name, equation, f"{line.score(places, values, values**-2):.3f}", f"{largest:.0%}"]


def _processes_table(result: dict[str, Any]) -> str:
    rows = [
        (
            f"{shape['processes']} of {shape['threads']} thread{'s' if shape['threads'] > 1 else ''}",
            *(f"{shape['tokens_per_second'][name]:,.0f}" for name in ("min", "median", "max")),
        )
        for shape in result["processes"]
    ]
    return "Whole runs of mini under `torchrun`, tokens a second:\n\n" + markdown(
        ["processes", "min", "median", "max"], rows
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--case", help="a function of cost_cases.py to call in this process, and its arguments, as JSON"
    )
    parser.add_argument("--quick", action="store_true", help="half a second each: to see that it runs")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is tried")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a try; a whole run takes five times that")
    given = parser.parse_args()
    if given.case:
        name, *values = json.loads(given.case)
        print(json.dumps(getattr(cost_cases, name)(*values)))
        return
    rounds, seconds = (1, 0.5) if given.quick else (given.rounds, given.seconds)
    import torch

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    body = {"text": find_text().name, "device": device, "threads": available_cores(), "rounds": rounds}
    report("cost", {**body, **measure(rounds, seconds)}, table)


if __name__ == "__main__":
    main()
