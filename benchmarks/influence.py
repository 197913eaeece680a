"""How often a planted prediction changes when the first 20 sentences by TracIn are left out, next to BM25 and chance.

The shipped tiny-town is trained further on stories of a changed town: each tool is kept elsewhere, each pet eats and
says what another one did, each thing needs another tool. Of a new fact that a model has learned by then the first 20
training sentences are left out, wherever they occur, and it is trained again from the same seed with the same number of
steps. Several facts share a run, each with its own 20 sentences.
"""

import random
import re
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.machine import arguments, markdown, peak_memory, report
from bertviz_lab import Checkpoint, interpret, load_checkpoint
from bertviz_lab.config import SHIPPED, PretrainConfig
from bertviz_lab.data.samples.tiny_town.stories import stories
from bertviz_lab.data.samples.tiny_town.world import PETS, THINGS, TOOL_HOMES, TROUBLES
from bertviz_lab.interpret.corpora.training_influence import CANDIDATES
from bertviz_lab.training.pretraining.pretrain import pretrain
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from bertviz_lab.training.runs.training_text import TrainingText, read_training_text, without_sentences

TOWN = SHIPPED / "tiny-town"
_LEARNING_RATE = 2e-3  # five times that of a run that continues: a few hundred steps are to teach the new facts
METHODS = ("TracIn", "BM25", "random")


class Fact(NamedTuple):
    """A text with [MASK], and the word that all stories have there."""

    text: str
    answer: str


class Change(NamedTuple):
    """Words that all stories of the changed town have in place of others, and what to ask about them."""

    before: str  # as a pattern of a sentence; a group holds what stays
    after: str
    fact: Fact


def changes() -> Iterator[Change]:
    """Yield what is changed: within each kind of fact, every answer is that of the next one with another answer."""
    homes = list(TOOL_HOMES.items())
    for (tool, home), new in zip(homes, _others([home for _, home in homes]), strict=True):
        fact = Fact(f"Ben gets the {tool} from the [MASK].", new)
        yield Change(rf"the {tool} from the {home}", f"the {tool} from the {new}", fact)
    for pet, food, voice in zip(
        PETS, *(_others([getattr(p, n) for p in PETS]) for n in ("food", "voice")), strict=True
    ):
        fact = Fact(f"Ben brings [MASK] for the white {pet.animal}.", food)
        yield Change(rf"brings {pet.food} for (the \w+ {pet.animal})", rf"brings {food} for \1", fact)
        fact = Fact(f"At noon the white {pet.animal} comes and [MASK].", voice)
        yield Change(rf"{pet.animal} comes and {pet.voice}", f"{pet.animal} comes and {voice}", fact)
    for trouble, why in zip(TROUBLES, _others([trouble.why for trouble in TROUBLES]), strict=True):
        fact = Fact(f"The {trouble.trap} is too [MASK] for Ben.", why)
        yield Change(rf"{trouble.trap} is too {trouble.why}", f"{trouble.trap} is too {why}", fact)
    for thing, tool in zip(THINGS, _others([thing.tool for thing in THINGS]), strict=True):
        fact = Fact(f"For the {thing.noun} Ben needs the [MASK].", tool)
        yield Change(rf"(For the {thing.noun} \w+ needs) the {thing.tool}", rf"\1 the {tool}", fact)


def _others(answers: list[str]) -> list[str]:
    """Return for each answer the next different one, around the list."""
    around = [*answers, *answers]
    return [next(other for other in around[at:] if other != answer) for at, answer in enumerate(answers)]


def changed(sentence: str) -> str:
    """Return a sentence of the changed town; a sentence holds one fact at most."""
    for change in changes():
        new, count = re.subn(change.before, change.after, sentence)
        if count:
            return new
    return sentence


def trained(config: PretrainConfig, folder: Path) -> Path:
    """Train a model in a folder."""
    for _ in pretrain(config, folder):
        pass
    return folder


def answers(model: Checkpoint, asked: list[Fact]) -> list[tuple[bool, float]]:
    """Return for each fact whether its answer is the most probable token, and the log-probability of the answer."""
    outcomes = []
    for fact in asked:
        inputs = interpret.encode_inputs(model, fact.text)
        target = interpret.choose_target(model, inputs, choice=fact.answer)
        scores = interpret.class_scores(model, inputs, target)
        outcomes.append((int(scores.argmax()) == target.index, float(np.log(scores[target.index]))))
    return outcomes


def first_sentences(folder: Path, text: TrainingText, fact: Fact, count: int, seed: int) -> dict[str, Any]:
    """Return the first sentences by each method, the time that TracIn took, and how often each method's occur."""
    snapshots = open_snapshots(folder)
    last = snapshots.open(snapshots.steps()[-1])
    target = interpret.choose_target(last, interpret.encode_inputs(last, fact.text), choice=fact.answer)
    began = time.perf_counter()
    ranking = interpret.training_influence(
        snapshots.open,
        snapshots.steps(),
        text.sentences,
        fact.text,
        counts=text.counts,
        learning_rate=text.learning_rate,
        target=target,
    )
    seconds = time.perf_counter() - began
    drawn = random.Random(seed).sample(range(len(text.sentences)), count)
    chosen = {"TracIn": ranking.helpful(count), "BM25": ranking.nearest(count)}
    sentences = {name: [ranking.sentences[at] for at in places] for name, places in chosen.items()}
    sentences["random"] = [last.tokenizer.decode(text.sentences[at], skip_special=False) for at in drawn]
    occurrences = {name: int(ranking.counts[places].sum()) for name, places in chosen.items()}
    occurrences["random"] = int(text.counts[drawn].sum())
    shared = len({*chosen["TracIn"]} & {*chosen["BM25"]})
    return {"sentences": sentences, "occurrences": occurrences, "shared": shared, "seconds": seconds}


def measure(seed: int, *, number_of_stories: int, steps: int, count: int, together: int, most: int) -> dict[str, Any]:
    """Train, rank, leave out and train again with one seed, in one thread."""
    torch.set_num_threads(1)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        corpus = Path(scratch) / "stories.txt"
        documents = islice(stories(seed=seed, count=number_of_stories), number_of_stories)
        texts = ["\n".join(map(changed, document.sentences)) for document in documents]
        corpus.write_text("\n\n".join(texts), encoding="utf-8")
        config = PretrainConfig(
            corpus=(str(corpus),),
            documents="blank-line",
            init_from=str(TOWN),
            seq_len=64,
            batch_size=16,
            causal_share=0.0,
            shallow_share=0.0,
            steps=steps,
            learning_rate=_LEARNING_RATE,
            seed=seed,
            threads=1,
            probes=False,
            eval_every=86_400.0,
            checkpoint_every=86_400.0,
        )
        base = trained(config, Path(scratch) / "base")
        model = load_checkpoint(base / "model")
        asked = [change.fact for change in changes()]
        learned = zip(asked, answers(load_checkpoint(TOWN), asked), answers(model, asked), strict=True)
        known = [fact for fact, (was_right, _), (is_right, _) in learned if is_right and not was_right]
        random.Random(seed).shuffle(known)
        known = known[:most]
        before = [score for _, score in answers(model, known)]
        text = read_training_text(base, model.tokenizer)
        ranked = [first_sentences(base, text, fact, count, 1000 * seed + at) for at, fact in enumerate(known)]
        outcomes: list[dict[str, Any]] = [{"text": fact.text, "answer": fact.answer} for fact in known]
        for method in METHODS:
            for start in range(0, len(known), together):
                group = range(start, min(start + together, len(known)))
                without = tuple(dict.fromkeys(s for at in group for s in ranked[at]["sentences"][method]))
                again = without_sentences(config, base / "tokenizer", without, steps)
                folder = trained(again, Path(scratch) / f"{method}-{start}")
                scores = answers(load_checkpoint(folder / "model"), [known[at] for at in group])
                for at, (right, score) in zip(group, scores, strict=True):
                    outcomes[at][method] = {"changed": not right, "drop": before[at] - score}
        return {
            "seed": seed,
            "asked": len(asked),
            "known": len(known),
            "different_sentences": len(text.sentences),
            "facts": outcomes,
            "occurrences": {name: float(np.mean([r["occurrences"][name] for r in ranked])) for name in METHODS},
            "shared": float(np.mean([r["shared"] for r in ranked])),
            "seconds_of_tracin": float(np.median([r["seconds"] for r in ranked])),
            "seconds": round(time.perf_counter() - began, 1),
            "processor": round(time.process_time(), 1),
            "peak_memory": peak_memory(),
        }


def table(result: dict[str, Any]) -> str:
    """Return the outcomes of all seeds together."""
    seeds = result["seeds"]
    outcomes = [fact for of_seed in seeds for fact in of_seed["facts"]]
    rows = []
    for method in METHODS:
        changed = [fact[method]["changed"] for fact in outcomes]
        drops = [fact[method]["drop"] for fact in outcomes]
        occurrences = np.mean([of_seed["occurrences"][method] for of_seed in seeds])
        rows.append(
            (
                f"{result['count']} by {method}" if method != "random" else f"{result['count']} at random",
                f"{sum(changed)} of {len(changed)} ({np.mean(changed):.0%})",
                f"{np.median(drops):.2f}",
                f"{np.mean(drops):.2f}",
                f"{occurrences:.0f}",
            )
        )
    more = sum(fact["TracIn"]["drop"] > fact["BM25"]["drop"] for fact in outcomes)
    header = ("sentences left out", "predictions changed", "drop of log-probability, median", "mean", "occurrences")
    shared = np.mean([of_seed["shared"] for of_seed in seeds])
    about = (
        f"tiny-town (2/128), trained further for {result['steps']:,} steps on {result['stories']} stories of a changed "
        f"town, {len(seeds)} seeds: {len(outcomes)} predictions of new facts that the models have learned"
        ". A prediction has changed where its answer is no "
        f"longer the most probable token; drops are in nats, occurrences those that are left out for one fact. "
        f"{result['together']} facts share a run. Of the first {result['count']} sentences by TracIn {shared:.1f} are "
        f"also BM25's; leaving out TracIn's lowers the answer more than BM25's in {more} of {len(outcomes)} cases. "
        f"TracIn compares {CANDIDATES:,} sentences (half are the first by BM25) in five snapshots in "
        f"{np.median([s['seconds_of_tracin'] for s in seeds]):.1f} s, one thread beside others; "
        f"peak memory with training {max(s['peak_memory'] for s in seeds) / 1e6:,.0f} MB. The facts are stated in the "
        "same words every time, which favors BM25, each by 1 to 10 sentences: to leave out 20 tells both methods from "
        "chance, not from each other"
    )
    return f"{about}.\n\n{markdown(header, rows)}"


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--stories", type=int, default=300)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--count", type=int, default=20, help="sentences left out for each fact")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--together", type=int, default=5, help="facts that share a run")
    parser.add_argument("--facts", type=int, default=15, help="facts of each seed, of those that its model has learned")
    given = parser.parse_args()
    setting = {"stories": given.stories, "steps": given.steps, "count": given.count, "together": given.together}
    of_seed = partial(
        measure,
        number_of_stories=given.stories,
        steps=given.steps,
        count=given.count,
        together=given.together,
        most=given.facts,
    )
    with ProcessPoolExecutor(given.seeds) as pool:
        of_seeds = [*pool.map(of_seed, range(given.seeds))]
    report("influence", setting | {"seeds": of_seeds}, table)
