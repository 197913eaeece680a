"""A run's model on the Hugging Face hub: a preview, then the upload. On a local page only.

The token is this machine's (`hf auth login`, $HF_TOKEN); the page neither asks for it nor shows it.
"""

from typing import TYPE_CHECKING

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import facts_payload
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Word

if TYPE_CHECKING:
    from bertviz_lab.training.checkpoints.hub_upload import Publication


def may_publish(state: AppState) -> bool:
    """Return whether this page sends models to the hub: a local one does, unless `--hub off`."""
    return not state.settings.shared and state.settings.limits.hub != "off"


def hub(state: AppState, visitor: Visitor, run_id: Word, repo: Word, public: bool) -> str:
    """Return the files that `publish` would send to the hub, with their sizes. Raises `InputError` as `publish`."""
    publication = _push(state, visitor, run_id, repo, public, dry_run=True)
    sizes = [(name, f"{size:,} bytes") for name, size in publication.bytes.items()]
    total = sum(publication.bytes.values()) / 1e6
    note = f"{len(sizes)} files, {total:,.1f} MB, would go to {_target(publication)}. Nothing has been sent."
    return facts_payload(sizes, note=note)


def publish(state: AppState, visitor: Visitor, run_id: Word, repo: Word, public: bool) -> str:
    """Send the newest model of a run to the hub; return where it is. Raises `InputError`."""
    publication = _push(state, visitor, run_id, repo, public, dry_run=False)
    return f"Sent to {_target(publication)}: {publication.url}"


def _push(state: AppState, visitor: Visitor, run_id: str, repo: str, public: bool, *, dry_run: bool) -> "Publication":
    from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint  # brings torch
    from bertviz_lab.training.checkpoints.hub_upload import push_to_hub

    state.models.require_owner(visitor, run_id, "can publish its model")
    if not may_publish(state):
        raise InputError("This page sends nothing to the hub: download the model, and use bertviz-lab push.")
    folder, _ = state.models.locate(run_id)
    return push_to_hub(load_checkpoint(folder), repo.strip(), private=not public, dry_run=dry_run)


def _target(publication: "Publication") -> str:
    return f"{publication.repo} ({'private' if publication.private else 'public'} if it is new)"
