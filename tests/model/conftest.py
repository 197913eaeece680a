"""One thread for models this small: more of them would only wait for each other on a busy machine."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(scope="package", autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def same_random_stream_every_time() -> None:
    torch.manual_seed(0)
