"""Take pictures of a running page, the README's among them.

`python -m tests.e2e.take_pictures ADDRESS FOLDER [light|dark] [WIDTH]`
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser import FLAGS
from tests.get_browser import find

TABS = (
    "Learn",
    "Fill-mask",
    "Next sentence",
    "Attention",
    "Attribution",
    "Embeddings",
    "Tokens",
    "Masking",
    "Pretrain",
    "Training dynamics",
    "Compare",
    "Fine-tune",
    "Inference",
)


def take(address: str, folder: Path, scheme: str = "light", width: int = 1280) -> None:
    """One picture of each tab, as long as the tab is."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=list(FLAGS))
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(f"{address}?__theme={scheme}")
        page.get_by_text("Predictions").first.wait_for(timeout=60_000)
        for name in TABS:
            page.get_by_role("tab", name=name, exact=True).click()
            if name == "Attribution":
                page.get_by_role("button", name="Head ablation").click()
            page.wait_for_timeout(3000 if name in ("Pretrain", "Training dynamics", "Fine-tune") else 1200)
            page.mouse.move(0, 0)
            page.screenshot(path=folder / f"{name.lower().replace(' ', '-')}.png", full_page=True)
        browser.close()


if __name__ == "__main__":
    take(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:4], *map(int, sys.argv[4:5]))
