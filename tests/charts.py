"""What a figure shows, made of a payload by the page's own modules (`ui/components/figures`) in Node.js.

Of a chart it is read from its table and its Plotly figure, which are all that the page draws.
"""

import atexit
import json
import subprocess
import tempfile
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import playwright

from bertviz_lab.ui.components.standalone import source, with_imports

_FIGURES = "components/figures/index.js"
_NODE = Path(playwright.__file__).parent / "driver" / "node"  # which the browser's driver brings
_SCRIPT = """
import { createInterface } from 'node:readline';
const { figureOf } = await import(`${process.argv[1]}`);
for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(figureOf(JSON.parse(line)) ?? null));
"""


@cache
def _maker() -> "subprocess.Popen[str]":
    """A process that makes the figure of each payload that is written to it, a line each."""
    folder = Path(tempfile.mkdtemp())
    for name in with_imports([_FIGURES]):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source(name).replace("from 'lab/", f"from '{folder.as_uri()}/"), encoding="utf-8")
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    command = [_NODE, "--input-type=module", "-e", _SCRIPT, (folder / _FIGURES).as_uri()]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    atexit.register(process.kill)
    return process


def figure_of(payload: Any) -> Any:
    """What a drawing is given of a payload."""
    maker = _maker()
    assert maker.stdin is not None
    assert maker.stdout is not None
    maker.stdin.write(json.dumps(payload) + "\n")
    maker.stdin.flush()
    return json.loads(maker.stdout.readline())


def shown(payload: str | dict[str, Any]) -> dict[str, Any]:
    """The figure of a payload, and under short names what its table and its Plotly figure hold; anything else as it
    is.
    """
    body = json.loads(payload) if isinstance(payload, str) else payload
    if isinstance(body, dict) and "picture" in body:
        arrays = {name: value for name, value in body.items() if isinstance(value, np.ndarray)}
        body = figure_of({name: value for name, value in body.items() if name not in arrays}) | arrays
    if not isinstance(body, dict) or "figure" not in body or "table" not in body:
        return body
    data, layout = body["figure"]["data"], body["figure"]["layout"]
    header, rows = body["table"]["header"], body["table"]["rows"]
    names = [row[0] for row in rows]
    bars_or_lines = [trace for trace in data if trace["type"] in ("bar", "scatter")]
    told = {
        "names": [unescape(trace.get("name") or "") for trace in bars_or_lines],
        "groups": names,
        "places": names,
        "rows": names,
        "columns": header[1:],
        "series": [
            {"name": unescape(trace.get("name") or ""), "values": [row[at + 1] for row in rows],
             "texts": body.get("texts", [None] * (at + 1))[at], "details": list(map(unescape, trace["customdata"])),
             "dashed": trace.get("line", {}).get("dash") == "dash"}
            for at, trace in enumerate(bars_or_lines) if "customdata" in trace and at + 1 < len(header)
        ],
    }  # fmt: skip
    if data and data[0]["type"] == "heatmap":
        told |= {"values": [row[1:] for row in rows], "texts": data[0]["text"], "peak": data[0]["zmax"],
                 "details": [list(map(unescape, line)) for line in data[0]["customdata"]]}  # fmt: skip
    elif data and data[0]["type"] == "bar" and "texts" not in body:
        told |= {"values": data[0]["y"], "words": list(map(unescape, data[0]["customdata"])),
                 "marked": [opacity < 0.5 for opacity in data[0]["marker"]["opacity"]]}  # fmt: skip
    return told | {key: value for key, value in body.items() if key not in told or key == "texts"} | {"layout": layout}
