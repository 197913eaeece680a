"""`python -m bertviz_lab` and the command `bertviz-lab`."""

from bertviz_lab.cli.main import main, run_and_exit

__all__ = ["main"]

if __name__ == "__main__":
    run_and_exit()
