"""SST-2's training sentences with some words replaced by what a masked language model would say (Jiao et al. 2020).

Phrases are short and sentences few: only one in ten of the phrases is a whole sentence, which is what is predicted in
use. Each keeps the label of its source; a teacher that is followed beside it says where a new word has changed that.
"""

import csv
import random
from pathlib import Path

import torch

from benchmarks.training_data.held_out_sentences import whole, write_phrases
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint

_VARIANTS = 6  # of each sentence
_REPLACED = 0.2  # of its tokens
_AMONG = 15  # likeliest tokens
_FEWEST = 5  # words of a sentence
_AT_ONCE = 128


@torch.inference_mode()
def write_reworded(path: Path) -> None:
    """Write them with their labels, without those that came out as they were."""
    write_phrases(path)
    with path.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    labels = dict(rows)
    sentences = [text for text in whole(list(labels)) if len(text.split()) >= _FEWEST]
    checkpoint = load_checkpoint("wiki-small")
    tokenizer, rng = checkpoint.tokenizer, random.Random(0)
    generator = torch.Generator().manual_seed(0)
    lines = dict.fromkeys(f"{text}\t{labels[text]}" for text in sentences)  # the sources count once more
    for start in range(0, len(sentences), _AT_ONCE):
        part = sentences[start : start + _AT_ONCE]
        ids = [torch.tensor([tokenizer.cls_id, *row[:126], tokenizer.sep_id]) for row in tokenizer.ids(part)]
        batch = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=tokenizer.pad_id)
        shown = batch != tokenizer.pad_id
        inner = shown & (batch != tokenizer.cls_id) & (batch != tokenizer.sep_id)
        for _ in range(_VARIANTS):
            hidden = inner & (torch.rand(batch.shape, generator=generator) < _REPLACED)
            masked = batch.masked_fill(hidden, tokenizer.mask_id)
            logits = checkpoint.model(masked, shown.long(), torch.zeros_like(masked)).prediction_logits[hidden]
            best = logits.topk(_AMONG)
            drawn = torch.multinomial(best.values.softmax(-1), 1, generator=generator)
            new = batch.clone()
            new[hidden] = best.indices.gather(1, drawn)[:, 0]
            for text, row, keep in zip(part, new, inner, strict=True):
                lines.setdefault(f"{tokenizer.decode(row[keep].tolist())}\t{labels[text]}")
    body = list(lines)
    rng.shuffle(body)
    path.write_text("\n".join(["sentence\tlabel", *body]) + "\n", encoding="utf-8")
