"""What still runs of the commands of a hermes that died: its supervisors end everything, unless they were killed too."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from agent.literal import visible
from agent.tools.call_record import CallRecord, read_records, remove
from agent.tools.process_tree import GRACE_S, KILL_S, CallProcesses, RunningProcess, end, running, started_of
from session.process import Process, runs, this_process

# A supervisor whose hermes was killed a moment ago is still at work.
SETTLED_S = GRACE_S + KILL_S + 0.5
_POLL_S = 0.25
NOT_FOUND = "One that left its session and emptied its environment can't be found by hermes."


class Leftover(Struct, frozen=True):
    """A command of a hermes that died, and what lives of it."""

    record: CallRecord
    processes: tuple[RunningProcess, ...]

    def __str__(self) -> str:
        what = ", ".join(f"{process.pid} ({visible(process.command)})" for process in self.processes)
        return f"{what}, of: {visible(self.record.command, fold_blanks=True)}"


def leftovers(folder: Path) -> list[Leftover]:
    """Those of which something lives; the records of all others whose hermes is gone are removed. Blocks."""
    here = this_process()
    dead = [record for record in read_records(folder) if runs(record.hermes, here) is False]
    found = [Leftover(record, tuple(running(_call(record)))) for record in dead if _is_same_boot(record.hermes, here)]
    alive = [leftover for leftover in found if leftover.processes]
    kept = {leftover.record.mark for leftover in alive}
    for record in dead:
        if record.mark not in kept:
            remove(folder, record)
    return alive


async def settled_leftovers(folder: Path) -> list[Leftover]:
    """The same, once nobody is ending them any more: some seconds after a kill."""
    found = await asyncio.to_thread(leftovers, folder)
    deadline = time.monotonic() + SETTLED_S
    while found and time.monotonic() < deadline:
        await asyncio.sleep(_POLL_S)
        found = await asyncio.to_thread(leftovers, folder)
    return found


def stop(folder: Path, found: Sequence[Leftover]) -> list[RunningProcess]:
    """End them, TERM first, KILL after a short grace. What could not be ended, usually nothing. Blocks for seconds."""
    survivors: list[RunningProcess] = []
    for leftover in found:
        known = frozenset((process.pid, process.started) for process in leftover.processes)
        survivors += (left := end(partial(running, _call(leftover.record, known))))
        if not left:
            remove(folder, leftover.record)
    return survivors


def notice(found: Sequence[Leftover], how: str) -> str:
    """What a person reads at the next start, "" where nothing was left. `how` is the command that stops them."""
    if not found:
        return ""
    return f"A hermes that was killed left running: {'; '.join(map(str, found))}. To stop them: {how}"


def _call(record: CallRecord, known: frozenset[tuple[int, str]] = frozenset()) -> CallProcesses:
    """The number of its session is used by others once its leader and all its members are gone."""
    is_leader_there = record.pid > 0 and record.started != "" and started_of(record.pid) == record.started
    return CallProcesses(record.mark, record.pid if is_leader_there else None, known)


def _is_same_boot(other: Process, here: Process) -> bool:
    return not (other.boot and here.boot) or other.boot == here.boot
