"""The processes that a call started: found by session and by a mark in their environment, and ended as a whole."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from msgspec import Struct

from agent.literal import visible

MARK_NAME = "HERMES_CALL"
_GRACE_S = 0.8  # between TERM and KILL
_KILL_S = 2.0  # how long a killed process may take to go; longer means that the kernel holds it
_POLL_S = 0.02
_COMMAND_CHARS = 80
_PS_S = 5.0


class RunningProcess(Struct, frozen=True):
    """`started` is a kernel's word for the start; with it a pid names one process for good."""

    pid: int
    started: str
    group: int
    command: str

    def __str__(self) -> str:
        return f"{self.pid} ({self.command})"


class CallProcesses(Struct, frozen=True):
    """What belongs to a call: the mark, the session it led (None when its leader may be long gone), known processes.

    The mark finds those that left the session; one that also emptied its environment is found only while in it.
    """

    mark: str
    session: int | None
    known: frozenset[tuple[int, str]] = frozenset()


def running(call: CallProcesses) -> list[RunningProcess]:
    """Every process of the call that lives now. Blocks for a few milliseconds."""
    return list(_from_proc(call) if sys.platform == "linux" else _from_ps(call))


async def end(find: Callable[[], list[RunningProcess]]) -> list[RunningProcess]:
    """TERM to all that `find` finds, KILL after a short grace. Returns what could not be ended, usually nothing."""
    try:
        if not await _signal_until_gone(find, signal.SIGTERM, _GRACE_S):
            return []
        return await _signal_until_gone(find, signal.SIGKILL, _KILL_S)
    except asyncio.CancelledError:
        _signal_groups({process.group for process in find()}, signal.SIGKILL)
        raise


async def _signal_until_gone(
    find: Callable[[], list[RunningProcess]], number: signal.Signals, bound_s: float
) -> list[RunningProcess]:
    deadline = time.monotonic() + bound_s
    told: set[int] = set()
    while found := await asyncio.to_thread(find):
        groups = {process.group for process in found}
        _signal_groups(groups if number == signal.SIGKILL else groups - told, number)
        told |= groups
        if time.monotonic() > deadline:
            break
        await asyncio.sleep(_POLL_S)
    return found


def _signal_groups(groups: set[int], number: signal.Signals) -> None:
    """A group never spans sessions, so whoever is in the group of a call's process was started by the call."""
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _from_proc(call: CallProcesses) -> Iterator[RunningProcess]:
    entry = f"{MARK_NAME}={call.mark}".encode()
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):  # noqa: PTH208 - a scan of all processes is frequent
        try:
            fields = _read(pid, "stat").rpartition(b")")[2].split()
            state, group, session, started = fields[0], int(fields[2]), int(fields[3]), fields[19].decode()
            is_known = session == call.session or (pid, started) in call.known
            if state in (b"Z", b"X") or not (is_known or entry in _read(pid, "environ")):
                continue
            command = _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it ended while we looked, or is none of ours to read
        yield RunningProcess(pid, started, group, _short(command))


def _read(pid: int, name: str) -> bytes:
    with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123
        return file.read()


def _from_ps(call: CallProcesses) -> Iterator[RunningProcess]:
    """For systems without /proc. The listing holds environments, so it is never shown."""
    entry = f"{MARK_NAME}={call.mark}"
    with_environment = "-axEww" if sys.platform == "darwin" else "axeww"
    for line in _ps(with_environment, "-o", "pid=,pgid=,stat=,lstart=,command="):
        pid, group, state, *rest = line.split(None, 8)
        started = " ".join(rest[:5])
        is_known = int(group) == call.session or (int(pid), started) in call.known
        if not state.startswith("Z") and (is_known or entry in rest[-1]):
            command = " ".join(_ps("-ww", "-o", "command=", "-p", pid))
            yield RunningProcess(int(pid), started, int(group), _short(command))


def _ps(*options: str) -> list[str]:
    try:
        done = subprocess.run(
            ("/bin/ps", *options), capture_output=True, timeout=_PS_S, env={"LC_ALL": "C"}, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.decode(errors="replace").splitlines()


def _short(command: str) -> str:
    command = " ".join(command.split())
    return visible(command if len(command) <= _COMMAND_CHARS else command[: _COMMAND_CHARS - 1] + "…")
