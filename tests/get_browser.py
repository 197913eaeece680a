"""Find Chromium for the browser tests, or install it where this machine allows; say plainly where it does not.

Its headless shell is preferred: it has no window of its own to draw, which takes as long as the page.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """The browser's path: the environment's CHROMIUM, one on the PATH, or Playwright's own."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named if os.path.exists(named) else None
    for name in NAMES:
        if path := shutil.which(name):
            return path
    return playwrights_own()


def playwrights_own() -> str | None:
    try:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            path = Path(playwright.chromium.executable_path)
    except Exception:  # no Playwright, or none of its browsers: both mean there is none
        return None
    shells = path.parents[2].glob("chromium_headless_shell-*/*/*headless*shell*")
    return next((str(each) for each in [*sorted(shells), path] if each.is_file() and os.access(each, os.X_OK)), None)


def is_wanting() -> bool:
    """Whether there is no browser, or, where all tests are run over and over, not the faster one."""
    return find() is None or (os.environ.get("CI") == "true" and shutil.which(NAMES[0]) is None)


def install() -> None:
    """Try the system's packages, then Playwright's download; quiet unless both fail."""
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if shutil.which("apt-get") and (not sudo or shutil.which("sudo")):
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        install = ["apt-get", "install", "-y", "--no-install-recommends"]
        for command in (["apt-get", "update"], [*install, NAMES[0]]):
            subprocess.run([*sudo, *command], env=environment, capture_output=True, check=False)
        if find() is None:
            subprocess.run([*sudo, *install, "chromium"], env=environment, capture_output=True, check=False)
    if find() is None:
        command = [sys.executable, "-m", "playwright", "install", "--with-deps", "chromium"]
        subprocess.run(command, capture_output=True, check=False, timeout=600)


def main() -> int:
    if is_wanting():
        print("Looking for Chromium: installing its headless shell ...", flush=True)
        install()
    path = find()
    if path:
        print(f"Browser tests use {path}")
        return 0
    print("No Chromium could be found or installed: the browser tests will be skipped. Set CHROMIUM to its path.")
    return 1 if os.environ.get("CI") == "true" else 0


if __name__ == "__main__":
    sys.exit(main())
