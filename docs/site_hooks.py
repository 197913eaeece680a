"""Hooks of the documentation site: make the repository's pages readable outside the repository."""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_PICTURES = Path("tests/e2e/pictures")
_OUTSIDE = re.compile(r"\]\(\.\./(?!tests/e2e/pictures/)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pictures, which lie with the tests that take them, and make the tour the first page."""
    root = Path(config.config_file_path).parent
    for picture in sorted((root / _PICTURES).glob("*.png")):
        files.append(File.generated(config, f"pictures/{picture.name}", content=picture.read_bytes()))
    tour = (root / "docs" / "tour.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "index.md", content=tour))
    return files


def on_page_markdown(markdown: str, *, config: MkDocsConfig, **_: Any) -> str:
    """Point links that leave `docs/` at the repository, and pictures at their copies."""
    markdown = markdown.replace("](../tests/e2e/pictures/", "](pictures/")
    return _OUTSIDE.sub(f"]({config.repo_url.rstrip('/')}/blob/main/", markdown)
