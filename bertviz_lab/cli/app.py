"""The command that serves the page: `app`."""

import argparse
import os
import signal
from pathlib import Path
from urllib.parse import quote

from bertviz_lab.cli.options import AddCommand
from bertviz_lab.cli.result import notice
from bertviz_lab.config.limits import flag_of, limit_fields, words_of


def add_commands(command: AddCommand) -> None:
    """Add `app`."""
    app = command("app", app_command, json=False, model=False)
    app.add_argument(
        "--host",
        default=os.environ.get("GRADIO_SERVER_NAME"),
        help="Address to listen at; 0.0.0.0 admits other machines (default: 127.0.0.1, with --workshop 0.0.0.0)",
    )
    app.add_argument("--port", type=int, help="Default: the first free port from 7860")
    app.add_argument("--auth", metavar="USER:PASSWORD", help="Ask visitors for this name and password")
    app.add_argument("--auth-file", type=Path, metavar="FILE", help="Who may log in, with a line USER:HASH for each")
    app.add_argument("--hash-password", metavar="USER", help="Read a password, print the line for --auth-file, and end")
    app.add_argument("--runs-dir", type=Path, default=Path("runs"), help="Folder that holds the runs (default: runs)")
    app.add_argument("--max-runs", type=int, help="Concurrent training runs; default: one per two cores")
    app.add_argument(
        "--metrics",
        action="store_true",
        help="Serve /metrics for Prometheus to this machine, or with BERTVIZ_LAB_METRICS_TOKEN to who sends that token",
    )
    app.add_argument(
        "--log", choices=("json", "plain", "off"), default="off", help="How events are logged (default: off)"
    )
    app.add_argument("--open", action="store_true", help="Open the page in a browser")
    app.add_argument(
        "--shared",
        action="store_true",
        help="Strangers reach this page, for example through a proxy; implied by any other host and by a Space",
    )
    app.add_argument(
        "--language",
        metavar="CODE",
        default="",
        help="Language of lessons, handouts and workshop: en or de; also BERTVIZ_LAB_LANGUAGE (default: en)",
    )
    app.add_argument("--allowed-hosts", metavar="NAMES", help="Further names of this server, with commas between them")
    app.add_argument(
        "--trusted-proxies",
        metavar="ADDRESSES",
        help="Proxies whose forwarding headers are believed, as addresses or networks; default: this machine",
    )
    workshop = app.add_argument_group(
        "workshop", "A leader's page at /leader, and a room that predicts (docs/workshop.md)."
    )
    workshop.add_argument(
        "--workshop", metavar="NAME", default="", help="Give a workshop of this name; implies --shared"
    )
    workshop.add_argument(
        "--leader-key",
        metavar="KEY",
        default=os.environ.get("BERTVIZ_LAB_LEADER_KEY", ""),
        help="What opens the leader's page, also BERTVIZ_LAB_LEADER_KEY; default: a random one, printed at the start",
    )
    workshop.add_argument(
        "--public-url",
        metavar="URL",
        default="",
        help="Where participants find the page, for links and QR codes; default: this machine's address",
    )
    limits = app.add_argument_group(
        "limits", "What visitors may use. Each can also be set by an environment variable, BERTVIZ_LAB_ and its name."
    )
    for field in limit_fields():
        local, shared = (words_of(field.metadata["kind"], field.metadata[mode]) for mode in ("local", "shared"))
        default = local if local == shared else f"{local}, shared page {shared}"
        limits.add_argument(flag_of(field.name), metavar="LIMIT", help=f"{field.metadata['help']} (default: {default})")


def app_command(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C, and print its address."""
    from bertviz_lab.ui.app import serve_until_stopped
    from bertviz_lab.ui.guard.passwords import hash_password, read_password, users_of
    from bertviz_lab.ui.operations.event_log import start_log
    from bertviz_lab.ui.settings import Settings
    from bertviz_lab.ui.workshop.address import checked_address, participants_address
    from bertviz_lab.ui.workshop.leader_key import new_key

    if options.hash_password:
        print(f"{options.hash_password}:{hash_password(read_password())}")
        return 0
    seen = "Note: Everybody on this machine sees {} in the list of processes; {} is safer."
    if options.auth:
        notice(seen.format("--auth", "--auth-file"))
    if options.leader_key and options.leader_key != os.environ.get("BERTVIZ_LAB_LEADER_KEY"):
        notice(seen.format("--leader-key", "BERTVIZ_LAB_LEADER_KEY"))
    limits = {field.name: text for field in limit_fields() if (text := getattr(options, field.name))}
    given = {
        name: getattr(options, name) for name in ("shared", "allowed_hosts", "trusted_proxies", "metrics", "language")
    }
    users = users_of(options.auth, options.auth_file, os.environ)
    given |= {"workshop": options.workshop.strip(), "public_url": checked_address(options.public_url)}
    given |= {"leader_key": new_key(options.leader_key)} if given["workshop"] else {}
    behind_proxy = options.shared or options.trusted_proxies
    host = options.host or ("0.0.0.0" if given["workshop"] and not behind_proxy else "127.0.0.1")
    settings = Settings.for_host(host, options.runs_dir, options.max_runs, limits=limits, users=users, **given)
    start_log(options.log)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    for address in serve_until_stopped(settings, host, options.port, open_browser=options.open):
        print(f"BertViz Lab is open at {address}", flush=True)
        if settings.workshop:
            room = participants_address(settings.public_url, address)
            print(f"Participants open {room}")
            print(f"The leader opens {room}leader?key={quote(settings.leader_key)}", flush=True)
    return 0
