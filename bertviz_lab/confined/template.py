"""The process that is copied: `python -m bertviz_lab.confined.template DESCRIPTOR [MODULE...]`, on Linux.

It imports the modules and then waits at the socket for the pipes of one worker after another. Each worker is a copy of
it, and has a second copy for company that waits for its end and reports the status.
"""

import importlib
import os
import signal
import socket
import sys

from bertviz_lab.confined.worker import work_once


def main(descriptor: int, preload: list[str]) -> None:
    """Make a copy for each message until the side that asks is gone."""
    for name in preload:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # copies that have ended leave nothing behind
    with socket.socket(fileno=descriptor) as control:
        while True:
            message, pipes, _, _ = socket.recv_fds(control, 1, 3)
            if not message:
                return
            if os.fork() == 0:
                _accompany(control, *pipes)
            for pipe in pipes:
                os.close(pipe)


def _accompany(control: socket.socket, request: int, answer: int, status: int) -> None:
    """Start the worker, and write its process id and, when it has ended, its exit status."""
    control.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(status)
        os.dup2(request, 0)
        os.dup2(answer, 1)
        os.close(request)
        os.close(answer)
        work_once()
    os.close(request)
    os.close(answer)
    os.write(status, b"%d\n" % pid)
    _, ended = os.waitpid(pid, 0)
    os.write(status, b"%d\n" % os.waitstatus_to_exitcode(ended))
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
