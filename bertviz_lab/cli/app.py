"""The commands that serve the page, `app`, and check a machine for a workshop, `doctor`."""

import argparse
import dataclasses
import getpass
import os
import signal
import sys
from pathlib import Path
from urllib.parse import quote

from bertviz_lab.cli.options import AddCommand, add_notify_options
from bertviz_lab.cli.result import Result, notice
from bertviz_lab.config.limits import limit_fields, read_limits_file
from bertviz_lab.config.options import flag_of


def add_commands(command: AddCommand) -> None:
    """Add `app` and `doctor`."""
    app = command("app", app_command, json=False, model=False)
    host = "Address to listen at; 0.0.0.0 admits other machines (default: 127.0.0.1)"
    app.add_argument("--host", default=os.environ.get("GRADIO_SERVER_NAME"), help=host)
    app.add_argument("--port", type=int, help="Port (default: the first free one from 7860)")
    app.add_argument("--open", action="store_true", help="Open the page in a browser")
    app.add_argument("--language", metavar="CODE", default="", help="Language of the lessons: en or de (default: en)")
    app.add_argument("--runs-dir", type=Path, default=Path("runs"), help="Folder of the runs (default: runs)")
    app.add_argument("--max-runs", type=int, help="Concurrent training runs (default: one per two cores)")
    engine = "Compute shipped models in visitors' browsers: auto (on a shared page), on or off (default: auto)"
    app.add_argument("--browser-engine", metavar="WHEN", default="", help=engine)
    app.add_argument("--log", choices=("json", "plain", "off"), default="off", help="Events on stderr (default: off)")
    app.add_argument("--metrics", action="store_true", help="Serve /metrics for Prometheus to this machine")

    add_notify_options(app)

    shared = app.add_argument_group("a page that others reach (docs/deployment.md)")
    shared.add_argument("--shared", action="store_true", help="Trust nobody; implied by another host and by a Space")
    shared.add_argument("--allowed-hosts", metavar="NAMES", help="Further names of this server, separated by commas")
    shared.add_argument("--trusted-proxies", metavar="NETWORKS", help="Proxies whose forwarding headers are believed")
    shared.add_argument("--auth", metavar="USER:PASSWORD", help="Ask visitors for this name and password")
    shared.add_argument("--auth-file", type=Path, metavar="FILE", help="Who may log in: a line USER:HASH for each")
    shared.add_argument("--hash-password", metavar="USER", help="Read a password, print its line, and end")

    workshop = app.add_argument_group("workshop (docs/workshop.md)")
    workshop.add_argument("--workshop", metavar="NAME", default="", help="Give a workshop of this name, shared")
    key = os.environ.get("BERTVIZ_LAB_LEADER_KEY", "")
    workshop.add_argument("--leader-key", metavar="KEY", default=key, help="Opens the leader's page (default: random)")
    workshop.add_argument("--public-url", metavar="URL", default="", help="Where participants find the page")

    limits = app.add_argument_group("limits of what visitors may use; the others: docs/deployment.md")
    limits.add_argument("--limits", type=Path, metavar="FILE", help="Any of the limits, in TOML")
    for field in limit_fields():
        if field.metadata["option"]:
            help = field.metadata["help"]
            limits.add_argument(flag_of(field.name), metavar="LIMIT", help=help[0].upper() + help[1:])

    doctor = command("doctor", doctor_command, model=False)
    doctor.add_argument("--visitors", type=int, default=30, help="People who will use the page at a time (default: 30)")
    doctor.add_argument("--host", default="0.0.0.0", help="Address that the page will listen at (default: 0.0.0.0)")
    doctor.add_argument("--port", type=int, default=7860, help="Port of the page (default: 7860)")
    runs_dir = "Folder that will hold the runs (default: runs)"
    doctor.add_argument("--runs-dir", type=Path, default=Path("runs"), help=runs_dir)


def app_command(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C, and print its address."""
    from bertviz_lab.browser.lab_engine import engine_of
    from bertviz_lab.training.runs.notifier import Notifier
    from bertviz_lab.ui.app import serve_until_stopped
    from bertviz_lab.ui.guard.passwords import hash_password, users_of
    from bertviz_lab.ui.operations.event_log import start_log
    from bertviz_lab.ui.settings import Settings
    from bertviz_lab.ui.workshop.access import checked_address, new_key, participants_address

    if options.hash_password:
        is_terminal = sys.stdin.isatty()
        password = getpass.getpass("Password: ") if is_terminal else sys.stdin.readline().rstrip("\r\n")
        print(f"{options.hash_password}:{hash_password(password)}")
        return 0
    seen = "Note: Everybody on this machine sees {} in the list of processes; {} is safer."
    if options.auth:
        notice(seen.format("--auth", "--auth-file"))
    if options.leader_key and options.leader_key != os.environ.get("BERTVIZ_LAB_LEADER_KEY"):
        notice(seen.format("--leader-key", "BERTVIZ_LAB_LEADER_KEY"))
    limits = read_limits_file(options.limits) if options.limits else {}
    limits |= {field.name: text for field in limit_fields() if (text := getattr(options, field.name, None))}
    same = ("shared", "allowed_hosts", "trusted_proxies", "metrics", "language", "browser_engine")
    given = {name: getattr(options, name) for name in same}
    users = users_of(options.auth, options.auth_file, os.environ)
    given |= {"workshop": options.workshop.strip(), "public_url": checked_address(options.public_url)}
    given |= {"leader_key": new_key(options.leader_key)} if given["workshop"] else {}
    behind_proxy = options.shared or options.trusted_proxies
    host = options.host or ("0.0.0.0" if given["workshop"] and not behind_proxy else "127.0.0.1")
    settings = Settings.for_host(host, options.runs_dir, options.max_runs, limits=limits, users=users, **given)
    os.environ |= Notifier(options.notify, options.notify_command).environment  # of the processes of runs
    start_log(options.log)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    served = serve_until_stopped(settings, host, options.port, open_browser=options.open, engine_of=engine_of)
    for address in served:
        print(f"BertViz Lab is open at {address}", flush=True)
        if settings.workshop:
            room = participants_address(settings, address)
            print(f"Participants open {room}")
            print(f"The leader opens {room}leader?key={quote(settings.leader_key)}", flush=True)
    return 0


def doctor_command(options: argparse.Namespace) -> Result:
    """Check before a workshop whether this machine can carry the page."""
    from bertviz_lab.ui.workshop.machine import examine_machine, summary_of

    checks = []
    for check in examine_machine(options.host, options.port, options.runs_dir, visitors=options.visitors):
        checks.append(check)
        print(f"{check.outcome:8} {check.name:16} {check.sentence}", file=sys.stderr if options.json else sys.stdout)
    ready, text = summary_of(checks)
    return Result({"ready": ready, "checks": [dataclasses.asdict(check) for check in checks]}, text, int(not ready))
