"""Paths that a visitor's form names: accepted only where Gradio puts what was uploaded."""

from collections.abc import Sequence
from pathlib import Path

from gradio.utils import get_upload_folder

from bertviz_lab.errors import InputError


def uploaded_paths(files: Sequence[str] | str | None) -> tuple[Path, ...]:
    """The uploaded files that a `gr.File` holds, one or several.

    Whatever handed the value over, a path outside the upload folder is refused: a raw request can name any file of the
    server. Links are followed before the check. Raises `InputError` for such a path and for a file that is gone.
    """
    given = [files] if isinstance(files, str) else files or ()
    root = Path(get_upload_folder()).resolve()
    paths = []
    for value in given:
        path = Path(value).resolve() if isinstance(value, str) and "\0" not in value else root
        if path == root or not path.is_relative_to(root):
            raise InputError("Only files that were uploaded to this page can be read.")
        if not path.is_file():
            raise InputError(f"{path.name} is no longer on this server; please upload it again.")
        paths.append(path)
    return tuple(paths)
