"""Settings of a page: its folders, who reaches it, and how much it may be used for."""

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertviz_lab.config import SHIPPED
from bertviz_lab.config.cores import available_cores
from bertviz_lab.config.limits import Limits
from bertviz_lab.errors import InputError
from bertviz_lab.ui.languages import ENGLISH, languages

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
#: On a shared page, on every page, or on none.
ENGINES = ("auto", "on", "off")
_LONGEST_NAME = 80
#: What a room that trains a lot is better off with, unless its owner says otherwise.
_WORKSHOP_LIMITS = {"BERTVIZ_LAB_RUN_SECONDS": "3m", "BERTVIZ_LAB_RUNS_PER_VISITOR": "1"}


@dataclass(frozen=True)
class Settings:
    """Settings of one page. Raises `InputError` for numbers that cannot work."""

    runs_dir: Path = Path("runs")  # a folder for every training run
    checkpoints: Path = SHIPPED  # a folder for every model that comes with the lab
    max_runs: int = 1  # trainings at a time; others wait for their turn
    threads: int = 1  # CPU threads of one training
    limits: Limits = field(default_factory=Limits)  # what visitors may use, and with it the mode
    allowed_hosts: tuple[str, ...] = ()  # further names of this server; * stands for any text
    trusted_proxies: tuple[str, ...] = LOCAL_HOSTS  # whose forwarding headers are believed; "*" is all
    space: bool = False  # the page runs as a Space, in a frame of the Hugging Face hub
    users: Mapping[str, str] = field(default_factory=dict, repr=False)  # hashes of passwords; {} asks for none
    metrics: bool = False  # /metrics is served to programs on this machine, or to those that know the token
    metrics_token: str = field(default="", repr=False)
    workshop: str = ""  # the name of a workshop on this page
    leader_key: str = field(default="", repr=False)  # opens the page of its leader
    loopback: bool = False  # the page listens at this machine's own address: no other machine reaches it directly
    public_url: str = ""  # where participants find the page, with a slash at its end; "" where this machine's is right
    language: str = ENGLISH.code  # of the course, unless a visitor asks for another one
    browser_engine: str = "auto"  # whether shipped models are offered to visitors' own browsers: one of ENGINES

    def __post_init__(self) -> None:
        if not 1 <= self.max_runs <= 64:
            raise InputError(f"--max-runs must lie between 1 and 64, not {self.max_runs}.")
        if len(self.workshop) > _LONGEST_NAME or (self.workshop and not self.shared):
            raise InputError(f"--workshop must be a name of at most {_LONGEST_NAME} characters, on a shared page.")
        if self.language not in languages():
            raise InputError(f"--language must be one of {', '.join(languages())}, not {self.language!r}.")
        if self.browser_engine not in ENGINES:
            raise InputError(f"--browser-engine must be one of {', '.join(ENGINES)}, not {self.browser_engine!r}.")
        for proxy in self.trusted_proxies:
            try:
                if proxy not in ("*", "localhost"):
                    ipaddress.ip_network(proxy)
            except ValueError:
                raise InputError(
                    f"--trusted-proxies must be addresses or networks such as 10.0.0.0/8, not {proxy!r}."
                ) from None

    @property
    def shared(self) -> bool:
        """Return whether strangers reach the page: a visitor sees their own browser's runs only, and no folders."""
        return self.limits.shared

    @classmethod
    def for_host(
        cls,
        host: str,
        runs_dir: Path,
        max_runs: int | None,
        environment: Mapping[str, str] = os.environ,
        *,
        shared: bool = False,
        limits: Mapping[str, str] | None = None,
        allowed_hosts: str | None = None,
        trusted_proxies: str | None = None,
        metrics: bool = False,
        workshop: str = "",
        language: str = "",
        browser_engine: str = "",
        **more: Any,
    ) -> "Settings":
        """Return settings for a page at an address: open to the person at this machine, careful with everybody else.

        `limits` are those that the owner gave as options, by name and as text; `allowed_hosts` and `trusted_proxies`
        are lists with commas. These, `language` and `browser_engine` have an environment variable each. A page with a
        proxy or a workshop is shared; a workshop's runs are short unless its owner says otherwise.
        """
        space = "SPACE_ID" in environment
        hosts = _names(allowed_hosts or environment.get("BERTVIZ_LAB_ALLOWED_HOSTS"))
        proxies = _names(trusted_proxies or environment.get("BERTVIZ_LAB_TRUSTED_PROXIES"))
        shared = shared or host not in LOCAL_HOSTS or space or bool(proxies or workshop)
        environment = {**(_WORKSHOP_LIMITS if workshop else {}), **environment}
        cores = available_cores()
        if max_runs is None:
            max_runs = max(1, min(cores // 2, 64))
        # Trainings run at low priority, so one person's may take every core; strangers get equal parts.
        threads = max(1, cores // max_runs) if shared else min(cores, 8)
        return cls(
            runs_dir=runs_dir,
            max_runs=max_runs,
            threads=threads,
            limits=Limits.of(shared=shared, given=limits, environment=environment),
            allowed_hosts=hosts + _names(environment.get("SPACE_HOST")),
            # A Space is reached through the hub's proxy only, whose addresses change.
            trusted_proxies=proxies or (("*",) if space else LOCAL_HOSTS),
            space=space,
            loopback=host in LOCAL_HOSTS,
            metrics=metrics or bool(environment.get("BERTVIZ_LAB_METRICS_TOKEN")),
            metrics_token=environment.get("BERTVIZ_LAB_METRICS_TOKEN", ""),
            workshop=workshop,
            language=language or environment.get("BERTVIZ_LAB_LANGUAGE") or ENGLISH.code,
            browser_engine=browser_engine or environment.get("BERTVIZ_LAB_BROWSER_ENGINE") or "auto",
            **more,
        )


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(re.split(r"[\s,]+", text.strip().lower())) if text and text.strip() else ()
