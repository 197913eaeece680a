"""Take pictures of a running page, the README's among them.

`python -m tests.e2e.take_pictures ADDRESS FOLDER [light|dark] [WIDTH]`
"""

import sys
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

from tests.browser import FLAGS
from tests.get_browser import find

TEXT = {"text_a": "The river rises in the [MASK].", "text_b": "It flows into the sea near the city."}
#: By name: what the address says, and what is taken: a part, "" for all of the page, "window" for its first sight.
PICTURES = {
    "explore": ({"space": "explore", "model": "wiki-mini", **TEXT}, "window"),
    "tokens": ({"space": "explore", "model": "wiki-mini", "explore.open": "tokens", **TEXT}, "#panel-tokens"),
    "attribution": (
        {"space": "explore", "model": "wiki-mini", "explore.open": "attribution", "attribution.heads": "open", **TEXT},
        "#panel-attribution",
    ),
    "architecture": (
        {"space": "explore", "model": "wiki-mini", "explore.open": "architecture", **TEXT},
        "#panel-architecture",
    ),
    "attention": ({"space": "explore", "model": "wiki-mini", "explore.open": "attention", **TEXT}, "#panel-attention"),
    "embeddings": (
        {"space": "explore", "model": "wiki-mini", "explore.open": "embeddings", **TEXT},
        "#panel-embeddings",
    ),
    "layers": ({"space": "explore", "model": "wiki-mini", "explore.open": "layers", **TEXT}, "#panel-layers"),
    "pretrain": ({"space": "train"}, "window"),
    "fine-tune": ({"space": "train"}, "window"),
    "runs": ({"space": "runs", "run.id": "wiki-mini"}, "window"),
    "dynamics": ({"space": "runs", "runs.open": "dynamics"}, ""),
    "compare": ({"space": "runs", "runs.open": "compare"}, ""),
    "ablation": ({"space": "runs", "runs.open": "ablation"}, ""),
    "learn": ({"space": "learn"}, ""),
}


def take(address: str, folder: Path, scheme: str = "light", width: int = 1280) -> None:
    """One picture of each place."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=list(FLAGS))
        for name, (place, part) in PICTURES.items():
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.goto(f"{address}?{urlencode({'__theme': scheme, **place})}")
            tab = page.get_by_role("tab", name="Explore", exact=True, include_hidden=True)  # a list on a phone
            tab.wait_for(state="attached", timeout=60_000)
            if name == "fine-tune":
                page.get_by_role("tab", name="Fine-tune", exact=True).click()
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(2500)
            path = folder / f"{name}.png"
            if part in ("", "window"):
                page.screenshot(path=path, full_page=not part)
            else:
                page.locator(part).screenshot(path=path)
            page.close()
        browser.close()


if __name__ == "__main__":
    take(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:4], *map(int, sys.argv[4:5]))
