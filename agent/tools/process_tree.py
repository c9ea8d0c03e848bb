"""The processes that a call started: found by descent, by session and by a mark in their environment; ended as a whole.

The supervisor works with this module too, and must start in milliseconds: nothing but the standard library is imported.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

MARK_NAME = "HERMES_CALL"
GRACE_S = 0.8  # between TERM and KILL
KILL_S = 2.0  # how long a killed process may take to go; longer means that the kernel holds it
_POLL_S = 0.02
_COMMAND_CHARS = 80
_PS_S = 5.0


class RunningProcess(NamedTuple):
    """`started` is the system's word for the start; with it a pid names one process for good. `command` is raw text."""

    pid: int
    started: str
    group: int
    command: str


class CallProcesses(NamedTuple):
    """What belongs to a call: what descends from its supervisor, what is in the session it led (None when its leader may
    be long gone), what has its mark ("" where descent finds all), and what is known already.

    Where nothing adopts orphans, one that left the session and emptied its environment is not found.
    """

    mark: str
    session: int | None
    known: frozenset[tuple[int, str]] = frozenset()
    supervisor: int | None = None


class _Stat(NamedTuple):
    parent: int
    group: int
    session: int
    started: str
    is_dead: bool


def running(call: CallProcesses) -> list[RunningProcess]:
    """Every process of the call that lives now. Blocks for a few milliseconds."""
    return list(_from_proc(call) if sys.platform == "linux" else _from_ps(call))


def end(find: Callable[[], list[RunningProcess]], spared: int | None = None) -> list[RunningProcess]:
    """TERM to all that `find` finds but `spared`, KILL to all after a short grace. What could not be ended, usually
    nothing. Blocks."""
    if not _signal_until_gone(find, signal.SIGTERM, GRACE_S, spared):
        return []
    return _signal_until_gone(find, signal.SIGKILL, KILL_S)


def started_of(pid: int) -> str:
    """When a process began, as `running` says it; "" where there is none."""
    if sys.platform != "linux":
        return " ".join(next(iter(_ps("-o", "lstart=", "-p", str(pid))), "").split())
    try:
        return _stat(pid).started
    except (OSError, IndexError, ValueError):
        return ""


def _signal_until_gone(
    find: Callable[[], list[RunningProcess]], number: signal.Signals, bound_s: float, spared: int | None = None
) -> list[RunningProcess]:
    deadline = time.monotonic() + bound_s
    told: set[tuple[int, str]] = set()
    while found := find():
        for process in found:
            if process.pid != spared and (number == signal.SIGKILL or (process.pid, process.started) not in told):
                _signal(process, number)
        told |= {(process.pid, process.started) for process in found}
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_S)
    return found


def _signal(process: RunningProcess, number: signal.Signals) -> None:
    """To this process only while it is the one that was found.

    KILL goes to its group as well, which is what stops one that forks faster than anybody looks. A group never spans
    sessions, so whoever is in the group of a call's process was started by the call.
    """
    with suppress(ProcessLookupError, PermissionError), _held(process.pid) as handle:
        if started_of(process.pid) != process.started:
            return
        if number == signal.SIGKILL and os.getpgid(process.pid) == process.group != os.getpgrp():
            os.killpg(process.group, number)
        elif handle is None:
            os.kill(process.pid, number)
        else:
            signal.pidfd_send_signal(handle, number)


@contextmanager
def _held(pid: int) -> Generator[int | None, None, None]:
    """A handle that stands for this process even when its number is used again; None where the system has none."""
    handle = None
    if sys.platform == "linux" and hasattr(os, "pidfd_open"):
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            raise
        except OSError:
            handle = None  # an old kernel, or a filter over its calls
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


def _from_proc(call: CallProcesses) -> Iterator[RunningProcess]:
    entry = f"{MARK_NAME}={call.mark}".encode() if call.mark else b""
    stats = _all_stats()
    below = _below(call.supervisor, {pid: stat.parent for pid, stat in stats.items()})
    for pid, stat in stats.items():
        is_known = pid in below or stat.session == call.session or (pid, stat.started) in call.known
        if stat.is_dead or pid == call.supervisor or not (is_known or entry):
            continue
        try:
            if is_known or entry in _read(pid, "environ").split(b"\0"):
                command = _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace")
                yield RunningProcess(pid, stat.started, stat.group, short(command))
        except OSError:
            continue  # it ended while we looked, or is none of ours to read


def _all_stats() -> dict[int, _Stat]:
    stats: dict[int, _Stat] = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):  # noqa: PTH208 - a scan of all processes is frequent
        with suppress(OSError, IndexError, ValueError):
            stats[pid] = _stat(pid)
    return stats


def _stat(pid: int) -> _Stat:
    # The name in parentheses may hold anything, parentheses and spaces too.
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return _Stat(int(fields[1]), int(fields[2]), int(fields[3]), fields[19].decode(), fields[0] in (b"Z", b"X"))


def _below(root: int | None, parents: dict[int, int]) -> set[int]:
    """All that descend from a process."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = [root] if root else []
    while waiting:
        fresh = set(children.get(waiting.pop(), ())) - found
        found |= fresh
        waiting += fresh
    return found


def _read(pid: int, name: str) -> bytes:
    with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123
        return file.read()


def _from_ps(call: CallProcesses) -> Iterator[RunningProcess]:
    """For systems without /proc. The listing holds environments, so it is never shown."""
    entry = f"{MARK_NAME}={call.mark}"
    with_environment = "-axEww" if sys.platform == "darwin" else "axeww"
    lines = [line.split(None, 9) for line in _ps(with_environment, "-o", "pid=,ppid=,pgid=,stat=,lstart=,command=")]
    below = _below(call.supervisor, {int(pid): int(parent) for pid, parent, *_ in lines})
    found: dict[int, tuple[str, int]] = {}
    for pid, _, group, state, *rest in lines:
        number, started = int(pid), " ".join(rest[:5])
        is_known = number in below or int(group) == call.session or (number, started) in call.known
        if state.startswith("Z") or number == call.supervisor:
            continue
        if is_known or (call.mark and entry in rest[-1].split()):
            found[number] = started, int(group)
    named = _ps("-ww", "-o", "pid=,command=", "-p", ",".join(map(str, found))) if found else []
    commands = {int(pid): command for pid, command in (line.split(None, 1) for line in named)}
    for pid, (started, group) in found.items():
        yield RunningProcess(pid, started, group, short(commands.get(pid, "")))


def _ps(*options: str) -> list[str]:
    import subprocess  # a supervisor on Linux need not load it

    try:
        done = subprocess.run(
            ("/bin/ps", *options), capture_output=True, timeout=_PS_S, env={"LC_ALL": "C"}, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.decode(errors="replace").splitlines()


def short(command: str) -> str:
    """A command in one line, raw, to name it by."""
    command = " ".join(command.split())
    return command if len(command) <= _COMMAND_CHARS else command[: _COMMAND_CHARS - 1] + "…"
