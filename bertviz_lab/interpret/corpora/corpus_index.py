"""An index of a corpus: what every attention head and feed-forward neuron does on average, and where it does it most.

All texts take one forward pass, in batches of one length, which needs no padding. Of each layer only sums and the
strongest examples so far are kept, never the attention of the corpus. Metrics of heads: Clark et al. 2019, section 3;
Kovaleva et al. 2019. Neurons by their most activating examples: Geva et al. 2021.
"""

import io
import json
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.data.batches import same_length
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import OnProgress, analysis, backbone, forward_operations, nothing
from bertviz_lab.model import LayerTrace
from bertviz_lab.model.attention import extended_attention_mask
from bertviz_lab.training.checkpoints.atomic_io import atomic_file
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.loop.hardware import cpu_multiplies_bf16

#: Raised whenever an index is computed or kept differently.
FORMAT = 3
#: Texts that an index is of, at most; longer texts are cut to so many tokens.
MOST_TEXTS, LONGEST = 5_000, 128
#: Distances are counted one by one up to here, in tokens; what is further away is counted with the last.
REACH = 16
#: Of each token's largest attention weight, from low to high: where examples are drawn from.
INTERVALS = ((0.1, 0.3), (0.3, 0.6), (0.6, 0.9), (0.9, 1.01))
_KEPT = 6  # examples of a head in each interval, and strongest ones; and of a neuron
TOKENS_PER_BATCH = 4096
_WIDE = 256  # hidden size from which products in bf16 are faster than in fp32, casts included

#: A pair of tokens by their positions in a text of the index, and its attention weight; text -1 is no example.
HEAD_EXAMPLE = np.dtype([("text", "<i4"), ("query", "<i2"), ("key", "<i2"), ("weight", "<f4")])
#: A token by its position in a text of the index, and the neuron's activation there.
NEURON_EXAMPLE = np.dtype([("text", "<i4"), ("position", "<i2"), ("activation", "<f4")])


@dataclass(frozen=True, eq=False)
class CorpusIndex:
    """What heads and neurons do on a corpus. Shares are means over all tokens of the corpus, as in `head_metrics`.

    `metrics`, (layers, heads) each:

    - "entropy" in nats and "distance" in tokens; the shares of attention to the "previous" token, the "next" one, the
      "same" token itself, "cls", and "separator".
    - "same_word": the share to other places with the same token, of tokens that have one.
    - "position" and "content": the sum of a token's squared weights to tokens of the text, mean over tokens, in two
      parts: what the mean weight at each distance gives, and the rest. A head that puts all its weight at one distance
      has 1 and 0, one that finds a token wherever it is 0 and nearly 1, and uniform attention nearly 0 in both.
    """

    name: str  # of the corpus, in words
    texts: tuple[str, ...]
    tokens: int  # without special ones
    metrics: dict[str, NDArray[np.float64]]
    profile: NDArray[np.float64]  # (layers, heads, 2 REACH + 1): mean weight by distance, to tokens before first
    histogram: NDArray[np.int64]  # (layers, heads, 10): tokens by their largest weight to another token of the text
    #: (layers, heads, 1 + intervals, examples) of `HEAD_EXAMPLE`: the strongest, one a text, then random ones of each
    #: interval of a token's largest weight
    heads: NDArray[np.void]
    neurons: NDArray[np.void]  # (layers, neurons, examples) of `NEURON_EXAMPLE`, one a text; no layers if not asked for
    active: NDArray[np.float64]  # (layers, neurons): share of tokens with an activation above 0

    def save(self, path: Path) -> None:
        """Write the index to a file, whole or not at all."""
        arrays: dict[str, Any] = {f"metric {name}": values for name, values in self.metrics.items()}
        arrays |= {name: getattr(self, name) for name in _ARRAYS}
        head = {"format": FORMAT, "name": self.name, "texts": self.texts, "tokens": self.tokens}
        arrays["head"] = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # a person's texts are their own
        with atomic_file(path, durable=False) as fresh, fresh.open("wb") as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path: Path) -> "CorpusIndex | None":
        """Return the index in a file; None where there is none that can be read."""
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
                head = json.loads(arrays["head"].tobytes())
                if head.pop("format") != FORMAT:
                    return None
                metrics = {name[7:]: arrays[name] for name in arrays if name.startswith("metric ")}
                head["texts"] = tuple(head["texts"])
                return cls(**head, metrics=metrics, **{name: arrays[name] for name in _ARRAYS})
        except (OSError, ValueError, KeyError, TypeError, EOFError, AttributeError, zipfile.BadZipFile, zlib.error):
            return None


_ARRAYS = [field.name for field in fields(CorpusIndex) if field.name not in ("name", "texts", "tokens", "metrics")]


@analysis
def index_corpus(
    checkpoint: Checkpoint,
    texts: Sequence[str],
    *,
    name: str = "",
    neurons: bool = True,
    operations: float | None = None,
    on_progress: OnProgress = nothing,
) -> CorpusIndex:
    """Index up to `MOST_TEXTS` texts: every head and, with `neurons`, every feed-forward neuron.

    Of more texts, or of more than `operations` (multiplications and additions, at most the checkpoint's limit) allow,
    evenly spread ones are taken. From a hidden size of 256 on the pass is in bf16 where the processor multiplies it,
    which halves the time: shares then differ from those of fp32 by up to 0.002, and the weights of examples by 0.02.
    `on_progress` is called with the share that is done. Raises `InputError` where no text has two tokens.
    """
    config = checkpoint.config
    texts = texts[:: max(1, -(-len(texts) // MOST_TEXTS))]
    rows = corpus_rows(checkpoint, texts)
    usable = [at for at, row in enumerate(rows) if len(row) > 3]
    cost = sum(forward_operations(config, len(rows[at])) for at in usable)
    usable = usable[:: max(1, int(np.ceil(cost / min(operations or np.inf, checkpoint.limits.operations))))]
    if not usable:
        raise InputError("The corpus needs a text of at least two tokens.")
    rows = [rows[at] for at in usable]
    batches = same_length([*map(len, rows)], TOKENS_PER_BATCH)
    layers = [_Layer(config.num_attention_heads, neurons) for _ in range(config.num_hidden_layers)]
    half = config.hidden_size >= _WIDE and cpu_multiplies_bf16()
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        for done, batch in enumerate(batches):
            ids_BL = torch.tensor([rows[at] for at in batch])
            for layer, trace in zip(layers, traces(checkpoint, ids_BL), strict=True):
                layer.add(torch.tensor(batch), ids_BL, trace)
            on_progress((done + 1) / len(batches))
    columns = [layer.results() for layer in layers]
    metrics = {metric: np.stack([column[0][metric] for column in columns]) for metric in columns[0][0]}
    arrays = {key: np.stack([column[1][key] for column in columns]) for key in columns[0][1]}
    tokens = sum(len(row) - 2 for row in rows)
    return CorpusIndex(name, tuple(texts[at] for at in usable), tokens, metrics, **arrays)


def traces(checkpoint: Checkpoint, ids_BL: Tensor) -> Iterator[LayerTrace]:
    """Yield the trace of each layer for texts of one length, (texts, tokens); it is let go before the next one."""
    model = backbone(checkpoint)
    attn_mask = extended_attention_mask(None, ids_BL.shape[1], checkpoint.config.is_decoder, ids_BL.device)
    for _, trace in model.encoder(model.embeddings(ids_BL), attn_mask, output_trace=True):
        assert trace is not None
        yield trace


def corpus_rows(checkpoint: Checkpoint, texts: Sequence[str]) -> list[list[int]]:
    """Return the ids of texts between their special tokens; "[MASK]" in a corpus is a word like any other."""
    tokenizer, longest = checkpoint.tokenizer, min(LONGEST, checkpoint.max_length)
    return [[tokenizer.cls_id, *ids[: longest - 2], tokenizer.sep_id] for ids in tokenizer.ids(texts)]


class _Largest:
    """The examples with the largest keys so far, in each row; fields of an example are columns of numbers."""

    def __init__(self, *rows: int, columns: int) -> None:
        self.keys = torch.full((*rows, _KEPT), -torch.inf)
        self.examples = torch.full((*rows, _KEPT, columns), -1.0)

    def add(self, keys_RN: Tensor, *columns_RN: Tensor, rows: Tensor | slice = slice(None)) -> None:
        """Take over what is larger, in some rows; each column broadcasts to the keys. Keys of -inf are no examples."""
        keys, at = keys_RN.topk(min(_KEPT, keys_RN.shape[-1]))
        examples = torch.stack([column.expand_as(keys_RN).gather(-1, at).float() for column in columns_RN], -1)
        keys, examples = torch.cat([self.keys[rows], keys], -1), torch.cat([self.examples[rows], examples], -2)
        self.keys[rows], at = keys.topk(_KEPT)
        self.examples[rows] = examples.gather(-2, at[..., None].expand(*at.shape, examples.shape[-1]))

    def as_array(self, dtype: np.dtype) -> NDArray[np.void]:
        array = np.empty(self.keys.shape, dtype)
        for column, name in enumerate(dtype.names or ()):
            array[name] = self.examples[..., column].numpy()
        array["text"][np.isneginf(self.keys.numpy())] = -1
        return array


class _Layer:
    """Sums and strongest examples of one layer."""

    def __init__(self, heads: int, neurons: bool) -> None:
        self.heads, self.has_neurons = heads, neurons
        self.sums: dict[str, Tensor] = {}
        self.counts: dict[str, float] = defaultdict(float)
        self.histogram = torch.zeros(heads, 10, dtype=torch.long)
        self.strongest = _Largest(heads, columns=4)
        self.of_intervals = _Largest(heads, len(INTERVALS), columns=4)
        self.neurons: _Largest | None = None
        self.active: Tensor | float = 0.0
        self.random = torch.Generator().manual_seed(0)

    def add(self, batch: Tensor, ids_BL: Tensor, trace: LayerTrace) -> None:
        """Take in a batch of texts of one length, by their indices and ids."""
        probs_BHLL = trace.attention_probs.float()
        self._add_sums(ids_BL, probs_BHLL)
        self._add_examples(batch, probs_BHLL[:, :, 1:-1, 1:-1])
        if self.has_neurons:
            self._add_neurons(batch, trace.intermediate_output[:, 1:-1])

    def _sum(self, name: str, values: Tensor, count: float) -> None:
        self.sums[name] = self.sums.get(name, 0) + values.double()
        self.counts[name] += count

    def _add_sums(self, ids_BL: Tensor, probs_BHLL: Tensor) -> None:
        batch, length = ids_BL.shape
        mean_HLL, tokens = probs_BHLL.sum(0), batch * length
        positions = torch.arange(length)
        offsets_LL = positions - positions[:, None]
        self._sum("entropy", torch.special.entr(probs_BHLL).sum((0, 2, 3)), tokens)
        self._sum("distance", (mean_HLL * offsets_LL.abs()).sum((1, 2)), tokens)
        for name, offset in (("previous", -1), ("next", 1), ("same", 0)):
            diagonal = mean_HLL.diagonal(offset, 1, 2)
            self._sum(name, diagonal.sum(-1), batch * diagonal.shape[-1])
        self._sum("cls", mean_HLL[:, :, 0].sum(-1), tokens)
        self._sum("separator", mean_HLL[:, :, -1].sum(-1), tokens)

        text_BL = ids_BL[:, 1:-1]
        same_BLL = (text_BL[:, :, None] == text_BL[:, None]) & ~torch.eye(length - 2, dtype=torch.bool)
        text, query, key = same_BLL.nonzero(as_tuple=True)
        self._sum("same_word", probs_BHLL[text, :, query + 1, key + 1].sum(0), float(same_BLL.any(-1).sum()))

        places = (offsets_LL[1:-1, 1:-1].clamp(-REACH, REACH) + REACH).flatten()
        for name, values_HLL in (("weight", mean_HLL), ("square", probs_BHLL.square().sum(0))):
            by_offset = torch.zeros(self.heads, 2 * REACH + 1, dtype=torch.double)
            by_offset.index_add_(1, places, values_HLL[:, 1:-1, 1:-1].flatten(1).double())
            self._sum(name, by_offset, 0)
        self._sum("pairs", batch * torch.bincount(places, minlength=2 * REACH + 1), batch * (length - 2))

    def _add_examples(self, batch: Tensor, probs_BHLL: Tensor) -> None:
        """Keep examples of each token's largest weight to another token of the text; special tokens are left out."""
        itself = torch.eye(probs_BHLL.shape[-1], dtype=torch.bool)
        probs_BHLL = probs_BHLL.masked_fill(itself, 0.0)
        largest_HBL, keys_HBL = (values.transpose(0, 1) for values in probs_BHLL.max(-1))
        texts = batch[None, :, None].expand_as(keys_HBL)
        queries = torch.arange(keys_HBL.shape[-1]).expand_as(keys_HBL)
        bins = (10 * largest_HBL.flatten(1)).long().clamp(max=9) + 10 * torch.arange(self.heads)[:, None]
        self.histogram += torch.bincount(bins.flatten(), minlength=10 * self.heads).view(self.heads, 10)
        columns = [texts, queries + 1, keys_HBL + 1, largest_HBL]
        best_HB1 = largest_HBL.argmax(-1, keepdim=True)
        of_text = [column.gather(-1, best_HB1)[..., 0] for column in columns]
        self.strongest.add(of_text[-1], *of_text)
        flat = [column.flatten(1)[:, None] for column in columns]  # the same for all intervals
        drawn = torch.rand(flat[-1].shape[-1], generator=self.random)
        low, high = torch.tensor(INTERVALS).T[..., None]
        is_inside = (flat[-1] >= low) & (flat[-1] < high)
        self.of_intervals.add(torch.where(is_inside, drawn, -torch.inf), *flat)

    def _add_neurons(self, batch: Tensor, activations_BLF: Tensor) -> None:
        if self.neurons is None:
            self.neurons = _Largest(activations_BLF.shape[-1], columns=3)
        # As floats: a sum of booleans makes integers of them first, which takes four times as long.
        self.active += activations_BLF.clone().gt_(0).sum(1).float().sum(0)
        largest_BF = activations_BLF.amax(1).float()
        # Few texts of a corpus come among a neuron's largest: only of these is looked up where in the text it is.
        rows = (largest_BF.amax(0) > self.neurons.keys[:, -1]).nonzero()[:, 0]
        largest_RB = largest_BF.T[rows]
        largest_RK, at_RK = largest_RB.topk(min(_KEPT, len(batch)))
        positions_RK = activations_BLF[at_RK, :, rows[:, None]].argmax(-1) + 1
        self.neurons.add(largest_RK, batch[at_RK], positions_RK, largest_RK, rows=rows)

    def results(self) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray]]:
        """Return the metrics of the heads, (heads,) each, and the arrays of a `CorpusIndex` without layers."""
        sums = {name: values.numpy() for name, values in self.sums.items()}
        weight, square, pairs = (sums.pop(name) for name in ("weight", "square", "pairs"))
        profile, queries = weight / np.maximum(pairs, 1), self.counts["pairs"]
        metrics = {name: values / max(self.counts[name], 1) for name, values in sums.items()}
        metrics["position"] = (pairs * profile**2).sum(-1) / queries
        metrics["content"] = square.sum(-1) / queries - metrics["position"]
        strongest, of_intervals = (largest.as_array(HEAD_EXAMPLE) for largest in (self.strongest, self.of_intervals))
        neurons, active = np.empty((0, _KEPT), NEURON_EXAMPLE), np.empty(0)
        if self.neurons is not None:
            neurons = self.neurons.as_array(NEURON_EXAMPLE)
            active = torch.as_tensor(self.active).numpy() / queries
        arrays = {
            "profile": profile,
            "histogram": self.histogram.numpy(),
            "heads": np.concatenate([strongest[:, None], of_intervals], 1),
        }
        return metrics, arrays | {"neurons": neurons, "active": active}
