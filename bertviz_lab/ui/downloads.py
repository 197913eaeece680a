"""Files that are made for a visitor to download: Gradio copies each at once, so its original may go soon after."""

import tempfile
import time
from pathlib import Path

_PREFIX, _KEPT_SECONDS = "bertviz-lab-download-", 600


def download_folder() -> Path:
    """A new folder for one file; those of earlier downloads are removed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if time.time() - folder.stat().st_mtime > _KEPT_SECONDS:
                for path in folder.iterdir():
                    path.unlink()
                folder.rmdir()
        except OSError:
            continue  # another visitor's download is removing it too
    return Path(tempfile.mkdtemp(prefix=_PREFIX))
