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

_MODULES = (
    "components/figures/index.js", "views/dynamics/snapshot_charts.js", "components/charts/curve_figure.js"
)  # fmt: skip
_NODE = Path(playwright.__file__).parent / "driver" / "node"  # which the browser's driver brings
_SCRIPT = """
import { createInterface } from 'node:readline';
globalThis.document = globalThis.window = new EventTarget(); // some modules listen to them
const of = (name) => import(`${process.argv[1]}/${name}`);
const [{ figureOf }, { lossChart, snapshotCharts }, { curveFigure }, { makeLog }] = await Promise.all(
  ['components/figures/index.js', 'views/dynamics/snapshot_charts.js', 'components/charts/curve_figure.js',
    'components/runs/run_log.js'].map(of));
const curve = ({ panel, logs, payload }) => curveFigure(panel, logs.map((rows) => {
  const log = makeLog();
  rows.forEach(log.fold);
  return log;
}), { axis: 'step', smoothing: 0.6 }, payload, () => null);
const calls = { figureOf, lossChart, snapshotCharts, curve };
for await (const line of createInterface({ input: process.stdin })) {
  const [name, given] = JSON.parse(line);
  console.log(JSON.stringify(calls[name](given) ?? null));
}
"""


@cache
def _maker() -> "subprocess.Popen[str]":
    """A process that calls functions of the page's modules, a line each."""
    folder = Path(tempfile.mkdtemp())
    for name in with_imports(_MODULES):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source(name).replace("from 'lab/", f"from '{folder.as_uri()}/"), encoding="utf-8")
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    command = [_NODE, "--input-type=module", "-e", _SCRIPT, folder.as_uri()]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    atexit.register(process.kill)
    return process


def _called(name: str, given: Any) -> Any:
    """What a function of the page's modules returns."""
    maker = _maker()
    assert maker.stdin is not None
    assert maker.stdout is not None
    maker.stdin.write(json.dumps([name, given]) + "\n")
    maker.stdin.flush()
    return json.loads(maker.stdout.readline())


def figure_of(payload: Any) -> Any:
    """What a drawing is given of a payload."""
    return _called("figureOf", payload)


def curve_figure(panel: Any, logs: Any, payload: Any) -> Any:
    """The Plotly figure of a panel of learning curves with the logs of one run or several."""
    return _called("curve", {"panel": panel, "logs": logs, "payload": payload})


def loss_chart(opening: Any) -> Any:
    """The axis of a training's snapshots, and the curve of its loss on it."""
    return _called("lossChart", opening)


def snapshot_charts(opening: Any) -> Any:
    """The charts over the snapshots of a training, of the payload that the scrubber begins with."""
    return _called("snapshotCharts", opening) | loss_chart(opening)


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
