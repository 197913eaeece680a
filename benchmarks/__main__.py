"""`python -m benchmarks` lists the measurements; `python -m benchmarks.NAME` runs one."""

import re
from pathlib import Path


def main() -> None:
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        text = path.read_text(encoding="utf-8")
        if re.search(r'\breport\(\s*"', text) or path.stem == "results_page":  # the others are parts of these
            claim = text.splitlines()[0].strip('"')
            print(f"python -m benchmarks.{path.stem:16} {claim}")


if __name__ == "__main__":
    main()
