"""Which process this is, on which machine, and whether another one still runs. Nothing here signals a process."""

from __future__ import annotations

import os
import socket
import sys
from functools import lru_cache

from msgspec import Struct

if sys.platform == "darwin":
    from session import process_macos as system
else:
    from session import process_linux as system


class Process(Struct, frozen=True):
    """A process, told apart from every other one by all of its fields together. "" is what could not be found out.

    `boot` is the start of its system, `started` its own; a process without `started` is unverified: its pid alone tells
    of it. `pid` 0 stands for none, and then nothing is said of its start either.
    """

    host: str
    host_name: str  # for a person to read
    boot: str
    pid_namespace: str  # a pid means nothing outside its namespace
    pid: int
    started: str


def this_process() -> Process:
    """The process that asks, which is another one in a forked child."""
    return _of(os.getpid())


@lru_cache(maxsize=1)
def _of(pid: int) -> Process:
    """One value made in one piece: a new pid never stands beside the start of another."""
    started = system.started(pid)
    return Process(
        host=system.host_id(),
        host_name=socket.gethostname(),
        boot=system.boot_id(),
        pid_namespace=system.pid_namespace(),
        pid=pid,
        started=started if isinstance(started, str) else "",
    )


def runs(other: Process, here: Process) -> bool | None:
    """Whether `other` still runs, as seen from `here`; None where that can't be seen: on another machine, say.

    What can't be found out about a process that can be seen counts as running.
    """
    is_near = other.host == here.host and other.pid_namespace == here.pid_namespace
    if not (is_near and here.host and here.pid_namespace and other.pid > 0):
        return None
    if other.boot != here.boot and other.boot and here.boot:
        return False
    if not is_taken(other.pid):
        return False
    started = system.started(other.pid)
    if started is None:
        return False
    return not (started and other.started) or started == other.started


def is_taken(pid: int) -> bool:
    """Whether some process has this number now."""
    try:
        os.kill(pid, 0)  # signal 0 is none: the system only looks
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
