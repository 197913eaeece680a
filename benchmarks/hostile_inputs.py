"""What `hostile.py` sends: texts, values of arguments, names of models, paths, headers and files."""

import gzip
import io
import json
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

SCRIPTS = (
    "<script>window.attacked = 1</script>",
    "<img src=x onerror='window.attacked = 1'>",
    "<svg/onload=window.attacked=1>",
    "</textarea><script>window.attacked = 1</script>",
    "javascript:window.attacked=1",
    "{{constructor.constructor('window.attacked=1')()}}",
    "\"><iframe srcdoc='<script>parent.attacked = 1</script>'>",
    "[a](javascript:window.attacked=1) ![b](x){onerror=window.attacked=1}",
)
TEXTS = (
    "",
    " ",
    "\n" * 5000,
    "\x00",
    "\x00\x01\x02 [MASK] \x7f",
    "\ufeff[MASK]",
    "\ud800 [MASK]",
    "\udfff",
    "\uffff [MASK]",
    "[MASK]",
    "[MASK] " * 600,
    "[CLS] [SEP] [PAD] [UNK] [MASK]",
    "[MASK",
    "[[MASK]]",
    "##[MASK]##",
    "a" * 100_000,
    "a " * 40_000,
    "é" * 9_000,
    "e" + "\u0301" * 5_000,
    "👩‍👩‍👧‍👦" * 500,
    "🏳️‍🌈 [MASK] 👍🏽",
    "\u202e[MASK] drawkcab",
    "\u200b" * 5000,
    "שלום [MASK] עולם",
    "مرحبا [MASK] بالعالم",
    "你好[MASK]世界",
    "ก็" * 2000,
    "𝕳𝖊𝖑𝖑𝖔 [MASK]",
    "\r\n\r\n[MASK]\r",
    "%s%s%s%n [MASK]",
    "{0} {__class__} [MASK]",
    "${jndi:ldap://x/y} [MASK]",
    "'; DROP TABLE runs; -- [MASK]",
    "../../../../etc/passwd [MASK]",
    "/etc/passwd",
    "file:///etc/passwd",
    "http://169.254.169.254/ [MASK]",
    "(" * 5000,
    "((a+)+)+$ " * 500,
    "1e999 NaN [MASK]",
    '=HYPERLINK("x") [MASK]',
    "\\N{DIGIT ONE} \\x00 [MASK]",
    "a\u2028b\u2029[MASK]",
    "İstanbul [MASK] ŉ ﬃ",
    "\U000e0001 [MASK]",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**9,
    10**400,
    -(10**30),
    0.5,
    float("nan"),
    float("inf"),
    "",
    "7",
    "x" * 300,
    "/etc/passwd",
    [],
    [[]],
    {},
    {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}},
    [[0, 0]] * 5000,
    [None],
    {"__class__": "x"},
)
#: view, question, arguments, and which of them are attacked
QUESTIONS: tuple[tuple[str, str, dict[str, Any], tuple[str, ...]], ...] = (
    ("predictions", "mlm", {"text_a": "The [MASK] sat.", "text_b": "", "top_k": 5, "word": ""}, ("top_k", "word")),
    (
        "attribution",
        "intervention",
        {
            "text_a": "The [MASK] sat.",
            "text_b": "",
            "kind": "token",
            "position": 2,
            "choice": "",
            "contrast": "",
            "ablated": [],
            "causal": False,
        },
        ("position", "ablated", "kind"),
    ),
    ("layers", "lens", {"text_a": "The cat sat.", "text_b": "", "position": 1}, ("position",)),
    ("embeddings", "neighbours", {"text_a": "The cat sat.", "text_b": "", "word": "cat"}, ("word",)),
    (
        "dynamics",
        "frame",
        {"run": "tiny-town", "text_a": "a", "text_b": "", "step": 0, "watched": [], "mapped": ""},
        ("run", "step", "watched"),
    ),
    ("run", "curves", {"run_id": "x"}, ("run_id",)),
    ("compare", "comparison", {"names": []}, ("names",)),
)
MODELS = (
    "../../etc",
    "/etc",
    "/etc/passwd",
    "..\\..\\windows",
    "C:\\",
    "~root",
    "file:///etc",
    "http://localhost:1/x",
    "\x00",
    "a" * 500,
    "a/b/c/d",
    "someone/" + "x" * 90,
    "bert-base-uncased",
    "google/../../x",
    "%2e%2e/%2e%2e",
    "wiki-mini/../wiki-tiny",
    "<b>x</b>",
    "-rf",
    "--help",
    ".",
    "..",
    "/",
    "wiki-mini\n",
    "WIKI-MINI",
    "con",
    "nul",
    "𝕨iki",
    "hf.co/x",
    "ssh://x",
    "datasets/x/y",
)
PATHS = (
    "gradio_api/file=/etc/passwd",
    "gradio_api/file=../../etc/passwd",
    "gradio_api/file=%2Fetc%2Fpasswd",
    "file=/etc/passwd",
    "gradio_api/proxy=http://169.254.169.254/",
    "gradio_api/stream/x/y/z",
    "lab-static/../../etc/passwd",
    "lab-static/%2e%2e/%2e%2e/x",
    "lab-static/x.js",
    "lab-downloads/../../x",
    "theme.css/../x",
    "..%2f..%2fetc%2fpasswd",
    "static/../../../../etc/passwd",
    "assets/..%5c..%5cx",
    "gradio_api/info?x=%00",
    "config?__theme=%3Cscript%3E",
    "?" + "a" * 8000,
    "?space=" + quote(SCRIPTS[0]),
    "?model=/etc/passwd",
    "?text_a=" + "%ff" * 100,
    "gradio_api/heartbeat/x",
    "gradio_api/queue/data?session_hash=..%2f..",
    "gradio_api/file/x",
    "custom_component/x/y/z",
    "gradio_api/upload_progress?upload_id=..%2f",
    "login_check",
    "app_id",
    "healthz/../x",
    "monitoring/x/summary",
    "deep_link",
    "robots.txt",
    "docs",
    "openapi.json",
    "gradio_api/download/x",
    "%",
    "%00",
    "//evil.example/",
)
HEADERS: tuple[dict[str, str], ...] = (
    {"Host": "evil.example"},
    {"Host": ""},
    {"Host": "127.0.0.1@evil.example"},
    {"Host": "[::1"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Content-Type": "text/plain"},
    {"Content-Type": "application/xml"},
    {"Content-Type": "multipart/form-data"},
    {"Content-Type": "application/json; charset=utf-7"},
    {"Content-Length": "1000000000000"},
    {"Content-Encoding": "gzip"},
    {"Cookie": "a" * 7000},
    {"Cookie": "visitor=../../x; access-token=x"},
    {"Cookie": ";=;=;;"},
    {"X-Forwarded-For": "1.2.3.4, " * 200},
    {"X-Forwarded-Proto": "javascript"},
    {"X-Forwarded-Host": "evil.example"},
    {"Forwarded": 'for="[::"'},
    {"Accept": "*/*" * 1000},
    {"Range": "bytes=0-,0-,0-,0-"},
    {"If-None-Match": "*" * 5000},
    {"Upgrade": "websocket", "Connection": "Upgrade"},
    {"Expect": "100-continue"},
    {"Authorization": "Basic ====="},
    {"Accept-Encoding": "gzip;q=NaN"},
    {"User-Agent": SCRIPTS[0]},
    {"Referer": "http://evil.example/" + SCRIPTS[0]},
    {"TE": "trailers"},
)


def files(folder: Path) -> Iterator[Path]:
    """What is uploaded: broken, lying, bulky, and named to do harm."""
    rng = random.Random(0)
    nested = "[" * 100_000
    parquet, safetensors = b"PAR1" + rng.randbytes(5000) + b"PAR1", (1 << 60).to_bytes(8, "little") + b"{}"
    contents: dict[str, bytes] = {
        **{
            "empty.txt": b"",
            "zeros.txt": bytes(1 << 20),
            "random.txt": rng.randbytes(1 << 20),
            "bom.txt": b"\xff\xfe\x00",
        },
        **{"line.txt": b"word " * 400_000, "letter.txt": b"a" * 2_000_000, "breaks.txt": b"\n" * 1_000_000},
        **{"latin.txt": bytes(range(128, 256)) * 100, "utf16.txt": "Ein Satz. ".encode("utf-16") * 500},
        **{
            "surrogates.json": b'["\\ud800", {"text": "\\udfff"}]',
            "nested.json": nested.encode(),
            "number.json": b"1e999",
        },
        **{"keys.jsonl": b"".join(b'{"k%d": 1, "text": "a", "label": "b"}\n' % n for n in range(20_000))},
        **{"nan.jsonl": b'{"text": NaN, "label": Infinity}\n' * 50, "list.json": json.dumps([[[[]]]] * 1000).encode()},
        **{"quotes.csv": b'text,label\n"' + b"a,b\n" * 50_000, "wide.csv": b",".join([b"c"] * 200_000) + b"\n"},
        **{"formula.csv": b'text,label\n=cmd|calc,a\n"@SUM(1)",b\n' * 50, "nul.csv": b"text,label\n\x00,\x00\n" * 20},
        **{"labels.csv": b"text,label\n" + b"".join(b"t%d,l%d\n" % (n, n) for n in range(20_000))},
        **{"one.tsv": b"text\tlabel\n", "conll.conll": b"a\tO\n" * 100_000, "broken.parquet": parquet},
        **{
            "model.safetensors": safetensors,
            "pickle.pkl": b"\x80\x04cos\nsystem\n(S'touch attacked'\ntR.",
            "page.html": b"<p>",
        },
        **{
            "script.txt": "\n".join(SCRIPTS * 20).encode(),
            "squad.json": b'{"data": [{"paragraphs": [{"context": 7}]}]}',
        },
        **{"long.gz": gzip.compress(bytes(50_000_000)), "cut.gz": gzip.compress(rng.randbytes(9000))[:4000]},
        **{
            "bomb.zip": _zip({"a.txt": b"the cat. " * 8_000_000}),
            "many.zip": _zip({f"{n}.txt": b"a" for n in range(20_000)}),
        },
        **{
            "slip.zip": _zip({"../../attacked.txt": b"text. " * 99}),
            "zip.zip": _zip({"b.zip": _zip({"c.txt": b"text"})}),
        },
        **{
            "broken.zip": b"PK\x03\x04" + rng.randbytes(3000),
            "book.epub": b"PK\x03\x04",
            "text.docx": _zip({"word/document.xml": b"<"}),
        },
        **{
            "entities.docx": _zip({"word/document.xml": b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}),
            "paper.pdf": b"%PDF-1.7\n%%EOF",
        },
    }
    names = (
        "%2e%2e%2fx.txt",
        "-rf.txt",
        "a b;c|d.txt",
        "😀.txt",
        "con.txt",
        "x" * 200 + ".txt",
        "a.txt.exe",
        ".hidden",
        "שלום.txt",
    )
    contents |= dict.fromkeys(names, b"The cat sat on the mat. It was old.\n" * 20)
    for name, content in contents.items():
        path = folder / name
        path.write_bytes(content)
        yield path


def _zip(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()
