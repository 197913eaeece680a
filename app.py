"""Serve the page of BertViz Lab: `python app.py` is `bertviz-lab app`. A Space starts it by this file."""

import sys

from bertviz_lab.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["app", *sys.argv[1:]]))
