"""What won, what lost, and what is within the noise of the seeds."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from scipy import stats

from benchmarks.machine import markdown, spread
from benchmarks.recipes.variants import BASE, suited

CONFIDENCE = 0.95
#: The scores that decide nothing by themselves, as the table names them.
_FURTHER = {"sentiment": "SST-2, probe", "blimp": "BLiMP", "sst2": "SST-2", "stsb": "STS-B"}


def summarised(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Each variant beside the base: means over seeds, the difference, and how large one is that chance would make.

    The noise is the standard deviation over seeds, pooled over all variants with several; a difference counts from
    the 95% quantile of Student's t on. Another seed is given to those that lead with seed 0, which for these does not
    count any more: those that lead are partly those that had luck.
    """
    variants: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for run in runs:
        variants[run["variant"]["name"]].append(run)
    if BASE.name not in variants:
        raise SystemExit("There is no run of the base yet to compare with.")
    noise, freedom = _noise(variants, "bits_per_character")
    base = variants[BASE.name]
    rows = []
    for name, runs_of_it in variants.items():
        later = [run for run in runs_of_it if run["seed"]]
        group = later if later and runs_of_it is not base else runs_of_it
        difference = _mean(group, "bits_per_character") - _mean(base, "bits_per_character")
        band = None
        if noise is not None and name != BASE.name:
            quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom))
            band = quantile * noise * math.sqrt(1 / len(group) + 1 / len(base))
        rows.append(
            {
                "name": name,
                "question": group[0]["variant"]["question"],
                "seeds": sorted(run["seed"] for run in group),
                "steps": round(_mean(group, "steps")),
                "tokens": round(_mean(group, "tokens")),
                "parameters": group[0]["parameters"],
                "bits_per_character": None if math.isnan(difference) else _mean(group, "bits_per_character"),
                "difference": None if math.isnan(difference) else difference,
                "band": band,
                "verdict": _verdict(difference, band) if name != BASE.name else "",
                # Of all seeds, since none is chosen by these.
                **{key: None if math.isnan(mean := _mean(runs_of_it, key)) else mean for key in _FURTHER},
            }
        )
    rows.sort(key=lambda row: (row["difference"] is None, row["difference"]))
    first = runs[0]
    return {
        "setting": first["setting"],
        "noise": noise,
        "degrees_of_freedom": freedom,
        "noise_of": {key: _noise(variants, key)[0] for key in _FURTHER},
        "cpu_seconds": spread([run["cpu_seconds"] for run in runs]),
        "reference_seconds": spread([run["reference_seconds"] for run in runs]),
        "loads": spread([run["machine"]["load_before"] for run in runs]),
        "planned": len(suited(first["setting"]["preset"])),
        "processors": dict(Counter(run["machine"]["processor"] for run in runs)),
        "commits": sorted({run["machine"]["commit"] for run in runs}),
        "variants": rows,
    }


def table(result: dict[str, Any]) -> str:
    """How recipes are compared, then each comparison."""
    about = (
        "Each recipe differs from the lab's in one thing, and nothing is tuned again for it, not even the learning "
        "rate. Unless it says otherwise, it masks 15% of the tokens and trains all layers throughout. With few layers, "
        "a quarter of them trained for half of that time; since 2026-11-30 the lab's recipe has three quarters. "
        "Seconds are CPU seconds, so waiting for a busy core does not count, and are weighed by a fixed training step "
        "that is timed every second of a run."
    )
    scored = (
        "Bits per character are what 15% of the words of held-out passages cost, masked together, a word's tokens "
        "predicted from left to right: comparable across vocabularies, and less is better. The verdict is theirs. "
        f"Token frequencies alone cost {result['unigram_baseline']:.3f} bits per character."
    )
    judged = (
        "The other columns are accuracies, of STS-B Spearman's correlation, in hundredths. BLiMP is every fifth pair "
        "of each of its paradigms; the others decide nothing. SST-2 and STS-B are fine-tuned for three epochs and "
        "scored on examples that are held out of their training sets: 2,000 long phrases that contain none of the "
        "8,000 trained on, and every fifth pair. Of GLUE's small tasks these two tell models apart: wiki-mini was "
        "about 22 and 40 standard errors above a guess on their dev sets, and at most 2 on CoLA, MRPC and RTE, which "
        "cost as much. *SST-2, probe* is a logistic regression on mean vectors. Runs before 2026-11-28 have it alone."
    )
    limits = (
        "What a short budget decides: how soon a recipe leaves the plateau of token frequencies. What is best there "
        "need not be best in an hour: averaged weights, larger vocabularies, deeper models and everything that helps "
        "late have no time to. Nor can BLiMP or a fine-tuned score decide between models that are hardly off the "
        "plateau: as long as models are near chance there, such columns show that nothing broke."
    )
    from_babylm = (
        "These recipes include parts of strong entries to the BabyLM challenges. LTG-BERT (Samuel et al. 2023), on "
        "which the winner of 2023 was built: disentangled attention, pre-norm with GeGLU, span masking, weight decay"
        " 0.1, no sentence pairs. GPT-BERT (Charpentier and Samuel 2024): next-token beside "
        "masked-token prediction, in a causal warm-up or throughout, a masking rate that falls, batches that grow. "
        "ELC-BERT (Charpentier and Samuel 2023): weighted layers. "
        "BabyLlama (Timiryasov and Tastet 2023): distillation, here from one teacher. Not tried: GPT-BERT's "
        "attention gates and shifted masks, ensembles of teachers, and Sophia, whose estimate of the Hessian needs"
        " a second kind of backward pass."
    )
    return "\n\n".join([about, scored, judged, limits, from_babylm, *map(_comparison, result["sweeps"])])


def _comparison(sweep: dict[str, Any]) -> str:
    """The variants of one setting, from the best to the worst."""
    setting, noise = sweep["setting"], sweep["noise"]
    reference, loads, cpu = sweep["reference_seconds"], sweep["loads"], sweep["cpu_seconds"]
    about = (
        f"**{setting['preset']} models** on {setting['text']}, {setting['seconds']:g} s each on one thread, in "
        f"{setting['precision']}; {len(sweep['variants'])} of {sweep['planned']} recipes have been run. The fixed step "
        f"took {1e3 * reference['min']:.0f} / **{1e3 * reference['median']:.0f}** / {1e3 * reference['max']:.0f} ms "
        f"(min / median / max over runs), so that the runs had {cpu['min']:.0f} / **{cpu['median']:.0f}** / "
        f"{cpu['max']:.0f} plain CPU seconds, at loads of {loads['min']:g} to {loads['max']:g}, on "
        f"{' and '.join(f'{name} (runs: {runs})' for name, runs in sweep['processors'].items())}; commits "
        f"{', '.join(sweep['commits'])}. "
    )
    if noise is None:
        about += "No recipe has a second seed yet, so nothing is known of the noise."
    else:
        about += (
            f"Over seeds bits per character vary by a standard deviation of {noise:.4f} "
            f"({sweep['degrees_of_freedom']} degrees of freedom): a difference smaller than the one beside it is a "
            "tie (95%; of twenty recipes that change nothing, one would be called otherwise). Recipes with "
            "other seeds than 0, most because they led with it, are judged by the others alone."
        )
    spreads = [f"{_FURTHER[key]} {100 * of:.1f}" for key, of in sweep["noise_of"].items() if of is not None]
    if spreads:
        about += (
            f" Standard deviations of the other columns over seeds: {', '.join(spreads)}; two single runs that differ "
            "by less than three of these are a tie."
        )
    rows = [
        [
            f"{row['question']}: {row['name']}" if row["verdict"] else f"**{row['name']}, the base**",
            ", ".join(map(str, row["seeds"])),
            f"{row['steps']:,}",
            f"{row['tokens'] / 1e6:.2f}M",
            f"{row['parameters'] / 1e6:.2f}M",
            "" if row["bits_per_character"] is None else f"{row['bits_per_character']:.3f}",
            "" if not row["verdict"] or row["difference"] is None else f"{row['difference']:+.3f}",
            "" if row["band"] is None or row["difference"] is None else f"{row['band']:.3f}",
            row["verdict"],
            *("" if row[key] is None else f"{100 * row[key]:.1f}" for key in _FURTHER),
        ]
        for row in sweep["variants"]
    ]
    heading = ["recipe", "seeds", "steps", "tokens", "parameters", "bits per character", "difference", "tie below"]
    return f"{about}\n\n{markdown([*heading, 'verdict', *_FURTHER.values()], rows)}"


def _verdict(difference: float, band: float | None) -> str:
    if math.isnan(difference):
        return "no MLM"
    if band is None:
        return "one seed"
    return "tie" if abs(difference) < band else "better" if difference < 0 else "worse"


def _noise(variants: Mapping[str, Sequence[dict[str, Any]]], key: str) -> tuple[float | None, int]:
    """The standard deviation of a score over seeds, pooled over the variants with several, and degrees of freedom."""
    several = [[run[key] for run in group if run.get(key) is not None] for group in variants.values()]
    several = [values for values in several if len(values) > 1]
    freedom = sum(len(values) - 1 for values in several)
    squares = sum((len(values) - 1) * statistics.variance(values) for values in several)
    return (math.sqrt(squares / freedom) if freedom else None), freedom


def _mean(runs: Sequence[dict[str, Any]], key: str) -> float:
    """The mean over seeds, NaN where there is no such score."""
    values = [run[key] for run in runs if run.get(key) is not None]
    return statistics.fmean(values) if values else math.nan
