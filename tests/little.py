"""A little text, and a little model of it, for tests that need any model rather than a good one."""

import functools
from pathlib import Path

import torch

from bertviz_lab import BertConfig, BertForPreTraining, Checkpoint, Tokenizer, save_checkpoint

SENTENCES = (
    "the red cat sat on the mat",
    "a small dog ran to the house",
    "the old man reads a book near the river",
    "she gave him the red book",
    "they walk to the river in the morning",
    "rivers run and dogs sleep, unbelievably",
)


def little_text(documents: int = 40) -> str:
    """Documents of five sentences with a blank line between them; no two documents are the same."""
    return "\n\n".join(
        "\n".join(f"{SENTENCES[(d + s) % len(SENTENCES)]} on day {d}." for s in range(5)) for d in range(documents)
    )


@functools.cache  # hundreds of tests have a little model, and training its tokenizer is most of the time that it takes
def little_tokenizer() -> Tokenizer:
    """At most 200 tokens, learnt from the little text."""
    return Tokenizer.train(little_text().splitlines(), vocab_size=200)


def little_checkpoint(
    seed: int = 0, kind: type = BertForPreTraining, *, tokenizer: Tokenizer | None = None, **shape: object
) -> Checkpoint:
    """Two layers of two heads with random weights, and a tokenizer, by default one that knows the little text."""
    tokenizer = tokenizer or little_tokenizer()
    config = BertConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.2,  # so that random weights have opinions
    ).replace(**shape)
    model = kind(config, generator=torch.Generator().manual_seed(seed)).eval()
    return Checkpoint(model, tokenizer, config, name="little")


def little_folder(folder: Path, **options: object) -> Path:
    """The little model as a Hugging Face folder."""
    return save_checkpoint(little_checkpoint(**options), folder)  # type: ignore[arg-type]
