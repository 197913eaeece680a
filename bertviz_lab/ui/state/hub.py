"""Models of the Hugging Face hub on a page: which may be asked for, which are on disk, and one download at a time.

A model is downloaded by the press of a button, never because somebody names it: links name models. Its revision is the
one whose size was checked, and stays; a repository that grows later changes nothing here.
"""

import contextlib
import shutil
import threading
from fnmatch import fnmatch, fnmatchcase
from pathlib import Path

from bertviz_lab.config.limits import Limits, hub_names, words_of
from bertviz_lab.errors import InputError
from bertviz_lab.ui.lazy import checkpoints

_MARK = "bertviz-lab-download"  # in the folder of a cached model that a page has brought there: its bytes


class NotDownloadedError(InputError):
    """A model of the hub that may be used here, once it is downloaded."""


class Hub:
    """The hub within the limits of a page."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        # The owner's own Hugging Face token is never sent for what a visitor asks for.
        self._token: bool | None = False if limits.shared else None
        self._lock = threading.Lock()
        self._busy_with = ""

    def folder(self, model: str) -> Path:
        """Return the folder of a model on disk; the hub is not asked. Raises `NotDownloadedError` or `InputError`."""
        self.check_allowed(model)
        try:
            return checkpoints.hub_folder(model, download=False)
        except InputError:
            raise NotDownloadedError(
                f"There is no model {model} on this machine yet: press Download below the input to fetch it from the "
                "Hugging Face hub."
            ) from None

    def check_allowed(self, model: str) -> None:
        """Raise `InputError` where this page may not use a model of that id."""
        if self._limits.hub == "off":
            raise InputError("This page uses no models of the Hugging Face hub: choose one from the list.")
        allowed = hub_names(self._limits.hub)
        if self._limits.hub != "open" and not any(_matches(model, name) for name in allowed):
            raise InputError(
                f"This page uses these models of the Hugging Face hub only: {', '.join(allowed)} (* is any text)."
            )

    def download(self, model: str) -> None:
        """Download a model, unless it is there. Raises `InputError`."""
        with contextlib.suppress(NotDownloadedError):
            self.folder(model)
            return
        if not self._lock.acquire(blocking=False):
            raise InputError(
                f"{self._busy_with} is being downloaded; models come one at a time, try again in a minute."
            )
        try:
            self._busy_with = model
            self._fetch(model)
        finally:
            self._lock.release()

    def _fetch(self, model: str) -> None:
        from huggingface_hub.file_download import repo_folder_name

        revision, size = self._revision_and_size(model)
        refuse_large(model, size, self._limits.model_bytes)
        self._make_room(size)
        place = _cache() / repo_folder_name(repo_id=model, repo_type="model")
        mark = place / _MARK
        is_ours = mark.is_file() or not place.exists()
        try:
            if is_ours:  # counted before it is there: what is interrupted takes space, too
                place.mkdir(parents=True, exist_ok=True)
                mark.write_text(f"{size}", encoding="ascii")
        except OSError as error:
            raise InputError(f"The model could not be saved: {error.strerror or error}.") from error
        folder = checkpoints.hub_folder(model, token=self._token, revision=revision)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        try:
            refuse_large(model, size, self._limits.model_bytes)  # whatever the hub had said
        except InputError:
            if is_ours:
                shutil.rmtree(place, ignore_errors=True)
            raise
        if is_ours:
            mark.write_text(f"{size}", encoding="ascii")
        reference = place / "refs" / "main"  # last: what was interrupted is not there
        reference.parent.mkdir(parents=True, exist_ok=True)
        reference.write_text(revision, encoding="utf-8")

    def _revision_and_size(self, model: str) -> tuple[str, int]:
        """Return the newest commit of a repository, and the bytes of its files that a model is read from."""
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

        try:
            info = HfApi(token=self._token).model_info(model, files_metadata=True, timeout=10)
        except (HfHubHTTPError, HFValidationError, OfflineModeIsEnabled, OSError) as error:
            raise InputError(
                f"{model} could not be fetched from the Hugging Face hub: there is no such public model, or the hub "
                "cannot be reached."
            ) from error
        sizes = {file.rfilename: file.size or 0 for file in info.siblings or []}
        weights = _sizes_of(sizes, checkpoints.SAFETENSORS) or _sizes_of(sizes, checkpoints.PICKLES)
        return str(info.sha), sum((weights | _sizes_of(sizes, checkpoints.HUB_FILES)).values())

    def _make_room(self, size: int) -> None:
        """Remove the oldest models that pages have downloaded, until one more fits; never what others have."""
        refuse_large("This model", size, self._limits.hub_space)
        marks = sorted(_cache().glob(f"*/{_MARK}"), key=lambda mark: mark.stat().st_mtime)
        sizes = [int(mark.read_text(encoding="ascii") or 0) for mark in marks]
        for at, mark in enumerate(marks):
            if sum(sizes[at:]) + size > self._limits.hub_space:
                shutil.rmtree(mark.parent, ignore_errors=True)


def refuse_large(name: str, size: int, most: int) -> None:
    """Raise `InputError` for a model of more bytes than are allowed."""
    if size > most:
        has, allowed = words_of("bytes", size), words_of("bytes", most)
        raise InputError(f"{name[:80]} is too large for this page: it has {has}, and {allowed} are allowed.")


def _matches(model: str, pattern: str) -> bool:
    """Match part by part: a * matches no slash, or anybody could register an organization that fits."""
    parts, patterns = model.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def _sizes_of(sizes: dict[str, int], patterns: list[str]) -> dict[str, int]:
    return {name: size for name, size in sizes.items() if any(fnmatch(name, pattern) for pattern in patterns)}


def _cache() -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)
