"""Names of runs: easy to say, and impossible to guess."""

import re
import secrets
from collections.abc import Container

_ADJECTIVES = """
    amber brave calm clever eager fair gentle happy jolly keen kind lively lucky merry mild neat
    noble plucky proud quick quiet rapid ready sharp shiny silver smart snowy steady sunny swift
    tidy warm wise witty young
""".split()
_ANIMALS = """
    badger beaver bear crane deer dove duck eagle falcon finch fox gull hare hawk heron horse ibis
    koala lark lynx mole moose otter owl panda puffin raven robin seal stork swan tiger trout turtle
    whale wolf wren yak
""".split()


def new_run_id(taken: Container[str] = ()) -> str:
    """For example "kind-otter-9f86d081884c7d65"; the 64 random bits make the id a secret of who started the run.

    The name is none of those `taken`, unless all are.
    """
    names = [f"{adjective}-{animal}" for adjective in _ADJECTIVES for animal in _ANIMALS]
    free = [name for name in names if name not in taken]
    return f"{secrets.choice(free or names)}-{secrets.token_hex(8)}"


def is_run_id(name: str) -> bool:
    """Whether a name has the form of a run's id, whether or not there is such a run."""
    return re.fullmatch(r"[a-z]+-[a-z]+-[0-9a-f]{16}", name) is not None


def short_name(run_id: str) -> str:
    """The part for display: "kind-otter"."""
    return run_id.rsplit("-", 1)[0]
