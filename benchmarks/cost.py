"""Time and memory of a training step against sequence length, model size and vocabulary, beside transformers.

Every measurement is a process of its own, so that its peak of memory is its own. A step has 4,096 places for
tokens whatever their arrangement: 32 examples of 128, or 8 of 512.
"""

import json
import os
import subprocess
import sys
from typing import Any

import torch

from benchmarks.alternating_processes import SIDES, Case, environment, stepper, turn
from benchmarks.corpus import find_text, learnt_tokenizer, tokenized
from benchmarks.machine import arguments, markdown, peak_memory, report
from bertviz_lab.training.loop.hardware import available_cores

_PLACES = 4096
#: (preset, vocabulary, tokens in an example): one of the three is changed at a time.
SHAPES = tuple(
    dict.fromkeys(
        [
            *(("mini", 8192, length) for length in (64, 128, 256, 512)),
            *((preset, 8192, 128) for preset in ("tiny", "mini", "small", "medium")),
            *(("mini", size, 128) for size in (2048, 8192, 30522)),
        ]
    )
)
_COMPARED = ("lab", "hf fp32", "hf bf16")


def run(side: str, preset: str, vocab_size: int, seq_len: int, seconds: float, threads: int) -> dict[str, Any]:
    """Train for about `seconds` in this process."""
    case = Case(preset, vocab_size, _PLACES // seq_len)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    step = stepper(SIDES[side], case, device, threads or available_cores(), "auto", seq_len)
    turn(step, device, seconds / 4)
    speed = turn(step, device, seconds)
    peak = peak_memory()
    if device.type == "cuda":
        peak = torch.cuda.max_memory_allocated()
    return {"microseconds": round(1e6 / speed, 2), "megabytes": round(peak / 1e6)}


def measure(shape: tuple[str, int, int], rounds: int, seconds: float, threads: int) -> dict[str, Any]:
    """Each side in turn, in processes of their own; the fastest of the rounds, and the highest peak."""
    preset, vocab_size, seq_len = shape
    text = find_text()
    tokenized(text.train, learnt_tokenizer(text.train, vocab_size))  # here, so that no measurement remembers it
    found: dict[str, list[dict[str, Any]]] = {side: [] for side in _COMPARED}
    for _ in range(rounds):
        for side in _COMPARED:
            case = json.dumps([side, *shape, seconds, threads])
            command = [sys.executable, "-m", "benchmarks.cost", "--case", case]
            surroundings = os.environ | environment(SIDES[side])
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=surroundings)
            found[side].append(json.loads(done.stdout))
    sides = {
        side: {
            "microseconds": min(one["microseconds"] for one in tries),
            "megabytes": max(one["megabytes"] for one in tries),
        }
        for side, tries in found.items()
    }
    return {"preset": preset, "vocab_size": vocab_size, "seq_len": seq_len, "sides": sides}


def table(result: dict[str, Any]) -> str:
    """Cost of a token and peak memory of each shape, side by side."""
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
        "and the most memory that the process held, libraries and all. The lab trains as it does by default, "
        "transformers with dropout 0.1 on ready-made batches."
    )
    return f"{note}\n\n{markdown(header, rows)}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--case", help="one measurement in this process, as JSON")
    parser.add_argument("--quick", action="store_true", help="half a second each: to see that it runs")
    parser.add_argument("--rounds", type=int, default=3, help="how often each shape is tried")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a try")
    parser.add_argument("--only", default="", metavar="PRESET", help="shapes of this size of model only")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 takes all cores")
    given = parser.parse_args()
    if given.case:
        print(json.dumps(run(*json.loads(given.case))))
        return
    shapes = [shape for shape in SHAPES if shape[0].startswith(given.only)]
    if not shapes:
        parser.error(f"no shape is of size {given.only}")
    seconds = 0.5 if given.quick else given.seconds
    found = [measure(shape, given.rounds, seconds, given.threads) for shape in shapes]
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    threads = given.threads or available_cores()
    body = {"text": find_text().name, "device": device, "threads": threads, "rounds": given.rounds}
    report("cost", {**body, "shapes": found}, table)


if __name__ == "__main__":
    main()
