"""A Hugging Face hub on this machine: repositories in memory, and what was asked of it."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class FakeHub:
    """`repositories` has the files of each model and Space by name; `sent` the Authorization header of each request."""

    address: str = ""
    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    created: list[dict[str, object]] = field(default_factory=list)  # what was asked to be made
    refuses: str = ""  # the sentence with which it refuses uploads
    claimed: int | None = None  # the size that it says each file has, where that is a lie

    def add(self, model: str, folder: Path, **more: bytes) -> None:
        """A repository with the files of a folder."""
        files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        self.repositories[model] = files | {name.replace("__", "."): body for name, body in more.items()}

    def forget(self) -> None:
        """Become as it was when it was started."""
        for kept in (self.repositories, self.sent, self.asked, self.created):
            kept.clear()
        self.refuses, self.claimed = "", None

    def revision(self, model: str) -> str:
        """The commit of a repository: another one whenever its files are."""
        return f"{sum(map(len, self.repositories[model].values())):040x}"


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    """The hub, while it runs."""
    hub = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            hub.sent.append(self.headers.get("Authorization") or "")
            hub.asked.append(self.path)
            path = self.path.split("?")[0].strip("/")
            for model, files in hub.repositories.items():
                if path.startswith(f"api/models/{model}"):
                    body = self._tree(model) if "/tree/" in path else self._info(model)
                    self._answer(json.dumps(body).encode(), "application/json")
                    return
                if path.startswith(f"{model}/resolve/"):
                    name = path.split("/resolve/")[1].split("/", 1)[1]
                    if name in files:
                        self._answer(files[name], "application/octet-stream", hub.revision(model), name)
                        return
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_GET

        def do_POST(self) -> None:
            hub.sent.append(self.headers.get("Authorization") or "")
            hub.asked.append(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if hub.refuses:
                self._answer(json.dumps({"error": hub.refuses}).encode(), "application/json", status=403)
            elif self.path == "/api/repos/create":
                made = json.loads(body)
                hub.created.append(made)
                url = f"{hub.address}/{made['organization']}/{made['name']}"
                self._answer(json.dumps({"url": url}).encode(), "application/json")
            elif "/preupload/" in self.path:
                paths = [file["path"] for file in json.loads(body)["files"]]
                modes = [{"path": path, "uploadMode": "regular", "shouldIgnore": False} for path in paths]
                self._answer(json.dumps({"files": modes}).encode(), "application/json")
            elif "/commit/" in self.path:
                model = self.path.split("/commit/")[0].split("/", 3)[3]  # /api/models/, /api/spaces/
                lines = [json.loads(line)["value"] for line in body.splitlines() if b'"file"' in line]
                files = {line["path"]: base64.b64decode(line["content"]) for line in lines}
                hub.repositories[model] = hub.repositories.get(model, {}) | files
                commit = {"commitUrl": f"{hub.address}/{model}/commit/1", "commitOid": "1" * 40, "success": True}
                self._answer(json.dumps(commit).encode(), "application/json")
            else:
                self._answer(b"{}", "application/json")

        def _info(self, model: str) -> dict[str, object]:
            siblings = [{"rfilename": name, "size": size} for name, size in self._sizes(model).items()]
            return {"id": model, "modelId": model, "sha": hub.revision(model), "siblings": siblings}

        def _tree(self, model: str) -> list[dict[str, object]]:
            sizes = {name: len(body) for name, body in hub.repositories[model].items()}
            return [{"type": "file", "path": name, "size": size, "oid": f"{size:040x}"} for name, size in sizes.items()]

        def _sizes(self, model: str) -> dict[str, int]:
            return {name: hub.claimed or len(body) for name, body in hub.repositories[model].items()}

        def _answer(self, body: bytes, media: str, commit: str = "", name: str = "", status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", media)
            self.send_header("Content-Length", str(len(body)))
            if commit:
                self.send_header("X-Repo-Commit", commit)
                self.send_header("ETag", f'"{commit[:20]}{name.encode().hex()}{len(body)}"')
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        hub.address = f"http://127.0.0.1:{server.server_address[1]}"
        yield hub
        server.shutdown()
