"""Time and memory of a corpus index, and which heads link what is known to depend: Tiny Town's cues and UD English EWT.

As in Clark et al. 2019, section 4.2: a head is right where a word's largest attention is to the word that it depends
on. Head and fixed distance, which it is compared with, are chosen on one half of the data and measured on the other.
Attention to a word of several pieces is summed, from one averaged. Of UD English EWT only these figures are kept.
"""

import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
import torch

from benchmarks.causes import tiny_town
from benchmarks.machine import arguments, markdown, report, spread
from benchmarks.task_datasets import folder as data_folder
from bertviz_lab import Checkpoint, interpret, load_checkpoint
from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.data.samples.corpus_texts import sample_texts
from bertviz_lab.interpret.comparison import merge_attention

_RELATIONS = 12  # of UD, the most frequent
_FARTHEST = 8  # words that a fixed distance is


class Link(NamedTuple):
    """A word that depends on another, by their indices."""

    kind: str
    word: int
    other: int


class Linked(NamedTuple):
    """A text with the words' places in it, and the links among them."""

    text: str
    spans: list[tuple[int, int]]
    links: list[Link]


def ewt(path: Path, count: int) -> Iterator[Linked]:
    """Yield sentences of a file in CoNLL-U; a word's link is from the dependent to its head."""
    for block in islice(path.read_text(encoding="utf-8").split("\n\n"), count):
        rows = [line.split("\t") for line in block.splitlines() if not line.startswith("#")]
        rows = [row for row in rows if row[0].isdecimal()]
        words = [row[1].replace(" ", "") for row in rows]
        ends = np.cumsum([len(word) + 1 for word in words])
        spans = [(int(end) - 1 - len(word), int(end) - 1) for word, end in zip(words, ends, strict=True)]
        links = [Link(row[7].split(":")[0], at, int(row[6]) - 1) for at, row in enumerate(rows) if row[6] != "0"]
        yield Linked(" ".join(words), spans, [link for link in links if link.kind != "punct"])


def town(checkpoint: Checkpoint, count: int) -> Iterator[Linked]:
    """Yield cases of Tiny Town: the masked word depends on the last mention of its cue before it."""
    for case in tiny_town(checkpoint.tokenizer, count):
        spans = [match.span() for match in re.finditer(r"\[MASK\]|\w+|[^\w\s]", case.text)]
        words = [case.text[start:end] for start, end in spans]
        mask = words.index("[MASK]")
        cues = [at for at, word in enumerate(words) if word == case.cue]
        nearest = min(cues, key=lambda at: (at > mask, abs(at - mask)))
        yield Linked(case.text, spans, [Link(case.kind, mask, nearest)])


def hits(checkpoint: Checkpoint, texts: list[Linked]) -> dict[str, dict[Any, list[bool]]]:
    """Return kind -> head or distance -> whether it names the other word, link by link."""
    right: dict[str, dict[Any, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for text, spans, links in texts:
        trace = interpret.trace_text(checkpoint, text)
        starts = [start for start, _ in spans]
        inner = [at for at, special in enumerate(trace.encoding.special_tokens_mask) if not special]
        words = [int(np.searchsorted(starts, trace.encoding.offsets[at][0], "right")) - 1 for at in inner]
        if len(set(words)) < len(spans):  # cut off, or a word without a token
            continue
        attention = merge_attention(trace.attentions[..., inner, :][..., inner], words)
        attention[..., range(len(spans)), range(len(spans))] = -1  # a word does not depend on itself
        largest = attention.argmax(-1)
        for kind, word, other in links:
            for place in np.ndindex(largest.shape[:2]):
                right[kind][place].append(bool(largest[place][word] == other))
            for distance in range(-_FARTHEST, _FARTHEST + 1):
                right[kind][distance].append(word + distance == other)
    return right


def patterns(name: str, choosing: list[Linked], measuring: list[Linked]) -> dict[str, Any]:
    """Return for each kind the head and the distance that were best on `choosing`, with accuracies on `measuring`."""
    trained = load_checkpoint(name)
    models = {"trained": trained, "random weights": interpret.untrained(trained)}
    of_models = {model: (hits(each, choosing), hits(each, measuring)) for model, each in models.items()}
    links = Counter(link.kind for text in choosing for link in text.links)
    body: dict[str, Any] = {"model": name, "kinds": {}}
    for kind, _ in links.most_common(_RELATIONS):
        row: dict[str, Any] = {"links": len(of_models["trained"][1][kind][0])}
        for model, (chosen, measured) in of_models.items():
            best = max(
                (key for key in chosen[kind] if isinstance(key, tuple)), key=lambda key: np.mean(chosen[kind][key])
            )
            row[model] = {"head": [at + 1 for at in best], "accuracy": float(np.mean(measured[kind][best]))}
        chosen, measured = of_models["trained"]
        distance = max(
            (key for key in chosen[kind] if isinstance(key, int)), key=lambda key: np.mean(chosen[kind][key])
        )
        row["distance"] = {"distance": distance, "accuracy": float(np.mean(measured[kind][distance]))}
        body["kinds"][kind] = row
    return body


def by_example(name: str, texts: list[Linked], kinds: dict[str, Any]) -> None:
    """Add to each kind the head that a search by one example finds: the first text of the kind."""
    checkpoint = load_checkpoint(name)
    index = interpret.index_corpus(checkpoint, sample_texts("tiny-town", interpret.MOST_TEXTS), neurons=False)
    for kind, row in kinds.items():
        text, spans, (link, *_) = next(text for text in texts if text.links[0].kind == kind)
        encoding = interpret.encode_inputs(checkpoint, text).encoding
        query, key = (
            next(at for at, (start, _) in enumerate(encoding.offsets[1:], 1) if start == spans[word][0])
            for word in (link.word, link.other)
        )
        search = interpret.find_heads(checkpoint, index, text, query=query, key=key)
        layer, head = np.unravel_index(search.lift.argmax(), search.lift.shape)
        row["search"] = {
            "head": [int(layer) + 1, int(head) + 1],
            "lift": float(search.lift.max()),
            "pairs": search.pairs,
        }


def cost(name: str, texts: list[str], turns: int) -> dict[str, Any]:
    """Return the time of an index of heads and neurons, and the memory that it takes at the most."""
    checkpoint, process = load_checkpoint(name), psutil.Process()
    interpret.index_corpus(checkpoint, texts[:200])
    before = peak = process.memory_info().rss
    ended = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.02):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    seconds, processor = [], []
    for _ in range(turns):
        began = time.perf_counter(), time.process_time()
        index = interpret.index_corpus(checkpoint, texts)
        seconds.append(time.perf_counter() - began[0])
        processor.append(time.process_time() - began[1])
    ended.set()
    watcher.join()
    body = {
        "texts": len(index.texts),
        "tokens": index.tokens,
        "seconds": spread(seconds),
        "processor": spread(processor),
    }
    return body | {"more_bytes": peak - before, "threads": torch.get_num_threads()}


def table(result: dict[str, Any]) -> str:
    def of(cell: dict[str, Any]) -> str:
        return f"{cell['accuracy']:.0%} ({cell['head'][0]}.{cell['head'][1]})"

    parts = []
    for about, section in (("Tiny Town, held-out stories", result["town"]), ("UD English EWT", result["ewt"])):
        rows = [
            (
                kind,
                row["links"],
                of(row["trained"]),
                f"{row['distance']['accuracy']:.0%} ({row['distance']['distance']:+d})",
                of(row["random weights"]),
                *([".".join(map(str, row["search"]["head"]))] if "search" in row else []),
            )
            for kind, row in section["kinds"].items()
        ]
        header = [f"{about}, {section['model']}", "links", "best head", "fixed distance", "random weights"]
        header += ["found by an example"] * any(len(row) > 5 for row in rows)
        parts.append(markdown(header, rows))
    costs = [
        (
            name,
            f"{c['texts']:,}",
            f"{c['tokens']:,}",
            *(f"{c[clock][end]:.1f}" for clock in ("seconds", "processor") for end in ("min", "median")),
            f"{c['more_bytes'] / 1e6:.0f}",
        )
        for name, c in result["cost"].items()
    ]
    threads = next(iter(result["cost"].values()))["threads"]
    header = [f"index of heads and neurons, {threads} threads", "texts", "tokens", "seconds, least", "median"]
    header += ["of the processor, least", "median", "MB more"]
    return "\n\n".join([markdown(header, costs), *parts])


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--count", type=int, default=40, help="Tiny Town cases of each kind, and turns of UD by 15")
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    wiki = read_documents([data_folder() / "wiki_en" / "valid.txt"])
    sentences = list(islice((sentence for document in wiki for sentence in document.sentences), 5000))
    costs = {name: cost(name, sentences, options.turns) for name in ("wiki-tiny", "wiki-mini")}
    cases = list(town(load_checkpoint("tiny-town"), options.count))
    town_found = patterns("tiny-town", cases[::2], cases[1::2])
    by_example("tiny-town", cases, town_found["kinds"])
    dev, test = (
        list(ewt(data_folder() / "ud_ewt" / f"en_ewt-ud-{part}.conllu", 15 * options.count)) for part in ("dev", "test")
    )
    report("corpus_search", {"cost": costs, "town": town_found, "ewt": patterns("wiki-mini", dev, test)}, table)
