"""Lint the page's scripts with Biome, where Node.js is there to run it; its rules are in biome.json.

`python -m tests.lint_scripts`

The chapters of an island share their names once they are joined, so the whole bundle is linted and a finding is led
back to its file. A name that an island does not need may be needed by another one that has the same chapter: it is
unused only where no island uses it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from bertviz_lab.ui.server import bundle

ROOT = Path(__file__).parents[1]
_VERSION = "2.6.8"
_ENVIRONMENT = {**os.environ, "npm_config_fetch_retries": "0"}  # without a network it is skipped at once
_DECLARED = re.compile(r"(?:async )?(?:function\*?|const|let|class) (.*)")


def lint() -> list[str]:
    """What Biome finds in the bundle, a line each. Raises `OSError` where it cannot be run."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "lab.js"
        script.write_text(bundle.script(), encoding="utf-8")
        shutil.copy(ROOT / "biome.json", folder)
        command = ["npx", "--yes", f"@biomejs/biome@{_VERSION}", "lint", "--max-diagnostics=none", "--reporter=json"]
        done = subprocess.run(
            [*command, script.name], cwd=folder, capture_output=True, text=True, timeout=120, env=_ENVIRONMENT
        )
    try:
        findings = json.loads(done.stdout)["diagnostics"]
    except (ValueError, KeyError) as error:
        raise OSError(done.stderr.strip() or "it said nothing") from error
    lines = bundle.script().splitlines()
    unused = Counter(lines[_line(found)] for found in findings if _is_shared(found, lines))
    told = [f for f in findings if not _is_shared(f, lines) or unused[lines[_line(f)]] == lines.count(lines[_line(f)])]
    return sorted({f"{_file_of(lines[_line(found)])}: {found['message']} ({found['category']})" for found in told})


def _line(found: dict[str, Any]) -> int:
    return int(found["location"]["start"]["line"]) - 1


def _is_shared(found: dict[str, Any], lines: list[str]) -> bool:
    """Whether an unused name is declared at the top of a chapter, where another island may use it."""
    return found["category"].endswith("noUnusedVariables") and bool(_DECLARED.match(lines[_line(found)]))


def _file_of(line: str) -> str:
    """The first file that has this line, and where."""
    for path in sorted((ROOT / "bertviz_lab" / "ui").rglob("*.js")):
        if "vendor" not in path.parts and line in (texts := path.read_text(encoding="utf-8").splitlines()):
            return f"{path.relative_to(ROOT)}:{texts.index(line) + 1}"
    return f"the bundle, {line.strip()[:60]!r}"


def main() -> int:
    if shutil.which("npx") is None:
        print("Lint of the scripts: skipped, Node.js is absent.")
        return 0
    try:
        findings = lint()
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"Lint of the scripts: skipped, Biome cannot be run ({str(error).splitlines()[-1]}).")
        return 0
    print("\n".join(findings) or "Lint of the scripts: all is well.")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
