"""What a chart shows, read from its table and its Plotly figure, which are all that the page draws."""

import json
from html import unescape
from typing import Any


def shown(payload: str | dict[str, Any]) -> dict[str, Any]:
    """The payload, and under short names what its table and its figure hold; anything else as it is."""
    body = json.loads(payload) if isinstance(payload, str) else payload
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
