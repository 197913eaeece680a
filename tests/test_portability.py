"""The package imports where the modules of Unix are missing, as on Windows."""

import subprocess
import sys

_SCRIPT = """
import builtins, importlib, os, pkgutil, sys

original = builtins.__import__

def without_unix(name, globals=None, *rest, **options):
    if name in {"fcntl", "resource", "pwd", "grp", "termios"}:
        if (globals or {}).get("__name__", "").startswith("bertviz_lab"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return original(name, globals, *rest, **options)

builtins.__import__ = without_unix
for name in ("nice", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
import bertviz_lab
failed = []
for module in pkgutil.walk_packages(bertviz_lab.__path__, "bertviz_lab."):
    if module.name.endswith("__main__") and module.name != "bertviz_lab.__main__":
        continue
    try:
        importlib.import_module(module.name)
    except Exception as error:
        failed.append(f"{module.name}: {type(error).__name__}: {error}")
print("\\n".join(failed))
"""


def test_every_module_imports_without_the_modules_of_unix() -> None:
    command = [sys.executable, "-W", "ignore", "-c", _SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "", done.stdout
