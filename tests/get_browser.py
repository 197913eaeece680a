"""Find Chromium for the browser tests, or install it where this machine allows; say plainly where it does not."""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


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
            path = playwright.chromium.executable_path
    except Exception:  # no Playwright, or none of its browsers: both mean there is none
        return None
    return path if os.path.exists(path) else None


def install() -> None:
    """Try the system's packages, then Playwright's download; quiet unless both fail."""
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if shutil.which("apt-get") and (not sudo or shutil.which("sudo")):
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run([*sudo, *command], env=environment, capture_output=True, check=False)
    if find() is None:
        command = [sys.executable, "-m", "playwright", "install", "--with-deps", "chromium"]
        subprocess.run(command, capture_output=True, check=False, timeout=600)


def main() -> int:
    if find() is None:
        print("Looking for Chromium: none found, installing ...", flush=True)
        install()
    path = find()
    if path:
        print(f"Browser tests use {path}")
        return 0
    print("No Chromium could be found or installed: the browser tests will be skipped. Set CHROMIUM to its path.")
    return 1 if os.environ.get("CI") == "true" else 0


if __name__ == "__main__":
    sys.exit(main())
