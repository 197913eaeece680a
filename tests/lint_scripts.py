"""Lint JavaScript with Biome, where Node.js can run it (rules: biome.json), and check that lines are short.

`python -m tests.lint_scripts`
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_FOLDERS = ("bertviz_lab/ui", "bertviz_lab/browser", "benchmarks")
_LONGEST = 120
_COMMAND = ["npx", "--yes", "@biomejs/biome@2.6.8", "lint", "--error-on-warnings", *_FOLDERS]


def long_lines() -> list[str]:
    """Return each line of a module that is too long, as FILE:LINE."""
    scripts = (path for folder in _FOLDERS for path in (ROOT / folder).rglob("*.js"))
    paths = sorted(path for path in scripts if "vendor" not in path.parts)
    return [
        f"{path.relative_to(ROOT)}:{number}: {len(line)} columns, {_LONGEST} at most"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > _LONGEST
    ]


def main() -> int:
    """Run both checks; returns the exit code."""
    problems = long_lines()
    print("\n".join(problems))
    if shutil.which("npx") is None:
        print("Biome: skipped, Node.js is absent.")
        return bool(problems)
    environment = {**os.environ, "npm_config_fetch_retries": "0"}  # without a network it is skipped at once
    probe = subprocess.run([*_COMMAND[:3], "--version"], cwd=ROOT, capture_output=True, env=environment)
    if probe.returncode:
        print("Biome: skipped, it cannot be downloaded.")
        return bool(problems)
    return subprocess.run(_COMMAND, cwd=ROOT, env=environment).returncode or bool(problems)


if __name__ == "__main__":
    sys.exit(main())
