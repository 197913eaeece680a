"""A tokenizer of few tokens, and one thread for models so small that more would only wait for each other."""

from collections.abc import Iterator

import pytest
import torch

from bertviz_lab.tokenization import Tokenizer


@pytest.fixture(scope="package", autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def _same_random_stream_every_time() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="package")
def tokenizer() -> Tokenizer:
    """At most 53 tokens, as many as the small models of the tests have."""
    return Tokenizer.train(["one two three four five six seven eight nine ten"] * 3, vocab_size=53)
