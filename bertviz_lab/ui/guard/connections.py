"""Limit the connections that are open at a time, and the bytes of answers that nobody reads.

A connection is a file of the process even where nothing is sent through it. A process that may open no more files
accepts nobody, and asyncio logs a thousand tracebacks a second.
"""

import asyncio
import contextlib
import time
from collections import Counter
from typing import Any

import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from bertviz_lab.ui.server.visitors import network_of
from bertviz_lab.ui.settings import Settings

_OF_A_BROWSER = 10  # it opens six for requests, and some for streams
_OTHER_FILES = 200  # of the process: models, runs, pipes to its workers
_FILES = 10_000  # that a process may open, where its system lets it
_MOST_UNREAD = 300_000_000  # bytes of answers in memory: those with attention weights have some million
_SLOWEST, _PAUSE = 20_000, 10.0  # bytes a second that a client takes in, once so many seconds have passed


def limit_connections(server: uvicorn.Server, settings: Settings) -> None:
    """Let a running server close new connections beyond those of all visitors, and those whose answers are not read.

    On a shared page one network address holds half of them at most, unless it is that of a proxy. Answers are given up
    where all that are unread take too much memory, and a client takes in next to nothing.
    """
    most = min(_OF_A_BROWSER * settings.limits.visitors, _raise_file_limit() - _OTHER_FILES)
    of_one = most // 2 if settings.shared else most
    proxies = ProxyHeadersMiddleware(server.config.loaded_app, list(settings.trusted_proxies)).trusted_hosts
    protocol: Any = server.config.http_protocol_class
    networks: Counter[str] = Counter()  # open connections
    unread: dict[Any, tuple[float, int]] = {}  # connections that send: since when, and how many bytes then

    class LimitedProtocol(protocol):
        network: str | None = None  # where it counts; None of one that is closed at once

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            address = self.client[0] if self.client else ""
            network = network_of(address)
            if networks.total() >= most or (networks[network] >= of_one and address not in proxies):
                transport.abort()
            else:
                self.network = network
                networks[network] += 1

        def pause_writing(self) -> None:
            super().pause_writing()
            now = time.monotonic()
            unread[self] = now, self.transport.get_write_buffer_size()
            left = {waiting: waiting.transport.get_write_buffer_size() for waiting in unread}
            if sum(left.values()) > _MOST_UNREAD:
                for waiting, (since, size) in unread.items():
                    if size - left[waiting] < _SLOWEST * (now - since - _PAUSE):
                        waiting.transport.abort()

        def resume_writing(self) -> None:
            super().resume_writing()
            unread.pop(self, None)

        def connection_lost(self, error: Exception | None) -> None:
            unread.pop(self, None)
            if self.network is not None:
                networks[self.network] -= 1
                if not networks[self.network]:
                    del networks[self.network]
            super().connection_lost(error)

    server.config.http_protocol_class = LimitedProtocol  # uvicorn asks for it at each connection


def _raise_file_limit() -> int:
    """Let this process open up to `_FILES` and return how many it may: shells start it with 256 on macOS, or 1,024."""
    with contextlib.suppress(ImportError):  # Windows has no such limit
        import resource

        allowed, possible = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = _FILES if possible == resource.RLIM_INFINITY else min(_FILES, possible)
        if allowed != resource.RLIM_INFINITY and allowed < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, possible))
        return most
    return _FILES
