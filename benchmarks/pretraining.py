"""Tokens a second of a whole training step, beside transformers.BertForPreTraining + torch.optim.AdamW.

The sides take turns (lab, transformers in 32 bits, transformers in bf16, lab ...), each in a process of its own, so
that whatever else the machine does meets all alike; each turn's ratio is one measurement. The lab's step counts
everything: the examples, the masks, forward, backward, clipping, update. `transformers` gets the same kind of batches
(same text, shapes, masks and labels) ready-made, for free: what its collator costs is not held against it.
"""

from contextlib import ExitStack
from itertools import islice
from typing import Any

import numpy as np
import torch

from benchmarks.alternating_processes import SEQ_LEN, SIDES, Case, Turns, batches
from benchmarks.corpus import find_text, learnt_tokenizer, tokenized
from benchmarks.flops import matmul_speed, useful_flops
from benchmarks.machine import arguments, markdown, report, spread
from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.training.loop.hardware import Hardware, choose_hardware

ON_CPU = (
    Case("tiny", 8192, 32, 6.0, 4.0),
    Case("mini", 8192, 32, 4.0, 2.5),
    Case("mini", 30522, 32, 5.0, 3.5),
    Case("small", 8192, 32, 3.0, 2.0),
)
ON_GPU = (Case("mini", 30522, 256), Case("small", 30522, 256), Case("medium", 30522, 256), Case("base", 30522, 256))

#: The share of the matmul peak that a step with AdamW means to reach.
SHARES = {"tiny-8192": 0.35, "mini-8192": 0.55}

#: What is divided by what: name, what is alike on both sides, the lab's side, the other's.
RATIOS = (
    ("fp32", "as they come, over fp32", "lab", "hf fp32"),
    ("bf16", "as they come, over bf16", "lab", "hf bf16"),
    ("fp32 adamw", "both AdamW, over fp32", "lab adamw", "hf fp32"),
    ("bf16 adamw", "both AdamW, over bf16", "lab adamw", "hf bf16"),
    ("fp32 dropout", "both AdamW and dropout 0.1, over fp32", "lab adamw dropout", "hf fp32"),
    ("bf16 dropout", "both AdamW and dropout 0.1, over bf16", "lab adamw dropout", "hf bf16"),
    ("fp32 no dropout", "both AdamW and no dropout, over fp32", "lab adamw", "hf fp32 no dropout"),
    ("bf16 no dropout", "both AdamW and no dropout, over bf16", "lab adamw", "hf bf16 no dropout"),
    ("fp32 memory", "both AdamW, both keep freed memory, over fp32", "lab adamw", "hf fp32 keeps memory"),
    ("bf16 memory", "both AdamW, both keep freed memory, over bf16", "lab adamw", "hf bf16 keeps memory"),
)


def measure(case: Case, hardware: Hardware, rounds: int, seconds: float) -> dict[str, Any]:
    """All sides in turn, `rounds` times, and the matmul peak in each round."""
    text = find_text()
    tokenized(text.train, learnt_tokenizer(text.train, case.vocab_size))  # here, once for all
    speeds: dict[str, list[float]] = {name: [] for name in SIDES}
    peaks: dict[str, list[float]] = {}
    with ExitStack() as stack:
        sides = {name: stack.enter_context(Turns(side, case, hardware)) for name, side in SIDES.items()}
        for side in sides.values():
            side.take(seconds / 4)
        for _ in range(rounds):
            for name, side in sides.items():
                speeds[name].append(side.take(seconds))
            for name, speed in _peaks(case, hardware.device).items():
                peaks.setdefault(name, []).append(speed)
    some = list(islice(batches(case), 64))
    length = float(np.mean([batch.real_tokens / len(batch.input_ids) for batch in some]))
    predictions = float(np.mean([(batch.labels != IGNORE_INDEX).sum() / len(batch.labels) for batch in some]))
    flops = useful_flops(case.config(0.0), length, predictions)
    peak = [max(at) for at in zip(*(v for k, v in peaks.items() if k.startswith(hardware.precision)), strict=True)]
    return {
        "model": case.name,
        "batch_size": case.batch_size,
        "precision": hardware.precision,
        "goals": {"fp32": case.goal_fp32, "bf16": case.goal_bf16},
        "tokens_per_second": {name: spread(values) for name, values in speeds.items()},
        "ratios": {
            name: spread([a / b for a, b in zip(speeds[lab], speeds[hf], strict=True)]) for name, _, lab, hf in RATIOS
        },
        "flops_per_token": {**vars(flops), "forward": flops.forward, "training": flops.training},
        "tokens_per_example": length,
        "predictions_per_example": predictions,
        "matmul_per_second": {name: spread(values) for name, values in peaks.items()},
        "share_of_peak": {
            side: spread([flops.training * speed / most for speed, most in zip(speeds[side], peak, strict=True)])
            for side in ("lab", "lab adamw")
        },
    }


def _peaks(case: Case, device: torch.device) -> dict[str, float]:
    """Matmul speeds in both formats: at the size of this model's feed-forward, and at one that suits any machine."""
    config, square = case.config(0.0), 8192 if device.type == "cuda" else 2048
    sizes = {
        "feed-forward": (case.batch_size * SEQ_LEN, config.hidden_size, config.intermediate_size),
        f"{square} cubed": (square, square, square),
    }
    formats = {"fp32": torch.float32, "bf16": torch.bfloat16}
    return {f"{f} {s}": matmul_speed(*size, dtype, device) for f, dtype in formats.items() for s, size in sizes.items()}


def table(result: dict[str, Any]) -> str:
    """The ratios beside their goals, the speeds, and the share of the matmul peak."""
    cases = result["models"]

    def ratio(case: dict[str, Any], key: str) -> str:
        at, goal = case["ratios"][key], case["goals"].get(key)
        return f"{at['min']:.2f} / **{at['median']:.2f}** / {at['max']:.2f}" + (f" (goal {goal:g})" if goal else "")

    def peak(case: dict[str, Any], start: str) -> str:
        return " / ".join(
            f"{v['median'] / 1e9:,.0f}" for k, v in case["matmul_per_second"].items() if k.startswith(start)
        )

    ratios = [[title, *(ratio(case, key) for case in cases)] for key, title, *_ in RATIOS]
    sides = list(cases[0]["tokens_per_second"])
    speeds = [[side, *(f"{case['tokens_per_second'][side]['median']:,.0f}" for case in cases)] for side in sides]
    models = [case["model"] for case in cases]
    work = []
    for case in cases:
        flops = case["flops_per_token"]
        parts = (f"{3 * flops[name] / 1e6:.2f}" for name in ("layers", "last_layer", "decoder", "pooler"))
        useful = flops["training"] * case["tokens_per_second"]["lab"]["median"] / 1e9
        shares = [f"{s['min']:.0%} / **{s['median']:.0%}** / {s['max']:.0%}" for s in case["share_of_peak"].values()]
        shares[-1] += f" (goal {SHARES[case['model']]:.0%})" if case["model"] in SHARES else ""
        formats = (peak(case, "fp32"), peak(case, "bf16"))
        work.append([f"{case['model']} ({case['precision']})", *parts, f"{useful:,.0f}", *formats, *shares])
    heading = ["model", "layers", "last layer", "decoder", "pooler", "lab, GFLOP/s", "peak fp32", "peak bf16"]
    heading += ["share of it", "share with AdamW"]
    return "\n\n".join(
        [
            f"Examples of {SEQ_LEN} tokens ({result['text']}), {result['device']}, {result['threads']} threads; "
            f"min / **median** / max of {result['rounds']} turns. As they come: the lab with its optimizer, precision "
            "and no dropout, transformers with AdamW and dropout 0.1. What tensors free is kept for the next "
            "step by the lab (one call to the C library); transformers does so in the rows that say it.",
            markdown(["times faster", *models], ratios),
            "Median speeds, all layers trained; in a `causal warm-up`, an option, every next token is predicted:",
            markdown(["tokens a second", *models], speeds),
            "Useful MFLOP a token (forward and backward), what the lab does of it a second, and the machine's matmul "
            "peak in the same minutes, GFLOP/s at the size of the feed-forward / of large squares; the share is of "
            "the larger one in the lab's number format, and what Muon computes for an update is none of it:",
            markdown(heading, work),
        ]
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="turns of half a second: to see that it runs")
    parser.add_argument("--rounds", type=int, default=5, help="how often each side has its turn")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of a turn")
    parser.add_argument("--only", default="", metavar="NAME", help="models whose name starts so, such as mini-8192")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 takes all cores")
    given = parser.parse_args()
    cases = [c for c in (ON_GPU if torch.cuda.is_available() else ON_CPU) if c.name.startswith(given.only)]
    if not cases:
        parser.error(f"no model's name starts with {given.only}")
    found = []
    for case in cases:
        hardware = choose_hardware("auto", given.threads)
        found.append(measure(case, hardware, given.rounds, 0.5 if given.quick else given.seconds))
    body = {
        "text": find_text().name,
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "threads": torch.get_num_threads(),
        "rounds": given.rounds,
        "models": found,
    }
    report("pretraining", body, table)


if __name__ == "__main__":
    main()
