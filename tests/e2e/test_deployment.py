"""docs/deployment.md holds as written: its proxy, its service, its container."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, expect

from bertviz_lab.cli.app import app_command
from bertviz_lab.cli.main import command_parser
from tests.processes import free_port

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
NAME = "lab.example.org"


def block(language: str) -> str:
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", GUIDE, flags=re.M | re.S)
    return text


@pytest.fixture(scope="module")
def behind_nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """The documented command behind the documented nginx: the port of nginx, and that of the page."""
    if not (shutil.which("nginx") and shutil.which("openssl")):
        pytest.skip("nginx or openssl is not installed")
    folder = tmp_path_factory.mktemp("nginx")
    front, port = free_port(), free_port()
    key = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
    subprocess.run([*key, "-keyout", folder / "key", "-out", folder / "pem"], check=True, capture_output=True)
    server = block("nginx").replace("listen 443", f"listen 127.0.0.1:{front}").replace(":7860", f":{port}")
    server = re.sub(r"(ssl_certificate) .*;", rf"\1 {folder}/pem;", server)
    server = re.sub(r"(ssl_certificate_key) .*;", rf"\1 {folder}/key;", server)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; {temporary}\n{server}\n}}\n"
    )
    (line,) = [line for line in block_lines("console") if "--allowed-hosts" in line]
    arguments = [*shlex.split(line.replace("7860", str(port)))[1:], "--runs-dir", str(folder / "runs")]
    environment = os.environ | {"GRADIO_ROOT_PATH": "/lab", "PYTHONPATH": str(ROOT)}
    with (
        (folder / "page.log").open("wb") as log,
        subprocess.Popen(
            [sys.executable, "-m", "bertviz_lab", *arguments], env=environment, stdout=log, stderr=log
        ) as page,
        subprocess.Popen(["nginx", "-c", folder / "nginx.conf"], stderr=subprocess.DEVNULL) as nginx,
    ):
        try:
            wait_until_it_answers(port)
            yield front, port
        finally:
            nginx.terminate()
            page.send_signal(signal.SIGTERM)


def block_lines(language: str) -> list[str]:
    return [
        line
        for text in re.findall(rf"^```{language}\n(.*?)^```", GUIDE, flags=re.M | re.S)
        for line in text.splitlines()
    ]


def wait_until_it_answers(port: int) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the page did not come up")


def is_ours(message: ConsoleMessage) -> bool:
    """The icon of the site itself lies outside the prefix."""
    return message.type == "error" and "favicon" not in message.location["url"]


def test_the_page_works_behind_the_documented_proxy(behind_nginx: tuple[int, int], browser: Browser) -> None:
    """With TLS and a prefix: scripts, questions, events and the attention route find their way."""
    front, _ = behind_nginx
    context = browser.new_context(ignore_https_errors=True)
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if is_ours(message) else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"https://{NAME}:{front}/lab/")
    expect(page.locator("#explore .lab-view-predictions")).to_contain_text("%", timeout=60_000)
    expect(page.locator("#explore .lab-view-attention canvas").first).to_be_visible()
    page.get_by_role("tab", name="Runs").click()
    expect(page.locator("#runs")).to_contain_text("wiki-mini")
    assert errors == []
    context.close()


def test_a_page_that_was_not_told_of_its_proxy_refuses_to_answer_it(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "bertviz_lab", "app", "--port", str(port), "--runs-dir", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as page:
        try:
            wait_until_it_answers(port)
            request = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"X-Forwarded-For": "192.0.2.7"})
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, timeout=10)
            assert refused.value.code == 403
            assert "--shared" in refused.value.read().decode()
        finally:
            page.terminate()


def test_systemd_accepts_the_service(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not installed")
    unit = tmp_path / "bertviz-lab.service"
    (line,) = [line for line in block("ini").splitlines() if line.startswith("ExecStart=")]
    unit.write_text(block("ini").replace(line.split()[0], f"ExecStart={sys.executable}"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    assert not [line for line in done.stderr.splitlines() if unit.name in line], done.stderr
    assert command_parser().parse_args(shlex.split(line)[1:]).run is app_command


def test_the_container_copies_what_there_is_and_starts_the_page() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for source in (line.split()[1] for line in lines if line.startswith("COPY ")):
        assert (ROOT / source).exists()
        assert source in allowed
    (entry,) = [line for line in lines if line.startswith("ENTRYPOINT ")]
    _, _, *arguments = eval(entry.removeprefix("ENTRYPOINT "))
    assert command_parser().parse_args(["app", *arguments]).run is app_command
    assert "USER lab" in lines
