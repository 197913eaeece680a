"""Where the shipped models are: inside the installed package, or in `checkpoints/` of a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = _PACKAGE / "checkpoints"  # setup.py maps the checkout's folder here

#: Holds a Hugging Face folder for every shipped model.
SHIPPED = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent / "checkpoints"
