"""Serve the page of BertViz Lab: `python app.py`, then open the address that it prints."""

import argparse
import contextlib
import os
import sys
from pathlib import Path


def main() -> int:
    """Parse arguments, build, launch. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument(
        "--host", default=os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1"), help="0.0.0.0 lets others in"
    )
    parser.add_argument("--port", type=int, help="by default the first free one from 7860 on")
    parser.add_argument("--auth", metavar="USER:PASSWORD", help="ask visitors for this name and password")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"), help="folder of the training runs")
    parser.add_argument("--max-runs", type=int, help="trainings at a time; by default one for every two cores")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    options = parser.parse_args()

    from bertviz_lab.errors import InputError
    from bertviz_lab.ui.app import serve, wait_for_answers
    from bertviz_lab.ui.settings import Settings

    user, colon, password = (options.auth or "").partition(":")
    try:
        if options.auth and not (user and colon and password):
            raise InputError("--auth must be a name and a password with a colon between them.")
        settings = Settings.for_host(options.host, options.runs_dir, options.max_runs)
        auth = (user, password) if options.auth else None
        page, address = serve(settings, options.host, options.port, auth=auth, open_browser=options.open)
    except InputError as error:
        print(f"app.py: {error}", file=sys.stderr)
        return 2
    print(f"BertViz Lab is open at {address}", flush=True)
    page.block_thread()
    with contextlib.suppress(KeyboardInterrupt):  # pressed again: whoever asks must not wait
        wait_for_answers()
    return 0


if __name__ == "__main__":
    sys.exit(main())
