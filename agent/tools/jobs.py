"""The commands that this hermes started and that have not ended in full, each the affair of one session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.tools.call_record import CallRecord, CallRecords
from agent.tools.command_output import CommandOutput
from agent.tools.process_tree import RunningProcess
from agent.tools.supervised import Supervised

MOST_RUNNING = 64  # in the background of one session
_MOST_ENDED = 32  # that one session can still ask about
_RELEASE_S = 0.15  # how long a cancelled caller waits for an ending, which goes on without it
_BRIEF_S = 0.1  # a command that takes longer has its leader named in its record
_LAST_S = 5.0  # how long the end of hermes waits for what is still under way when all is ended


@dataclass(slots=True, eq=False)
class Job:
    """A command and what is known of it. `outputs` is the folder of its session, by which it is told whose it is."""

    command: str
    outputs: Path
    supervised: Supervised
    output: CommandOutput
    is_background: bool
    began_at: float = field(default_factory=time.monotonic)
    ended_at: float | None = None  # when the command itself did; what it started may go on

    @property
    def pid(self) -> int:
        return self.supervised.pid

    @property
    def exit_code(self) -> int | None:
        """As a shell says it: 128 and the signal that ended it. None while it runs."""
        code = self.supervised.exit_code
        return 128 - code if code is not None and code < 0 else code


_jobs: list[Job] = []
_tasks: dict[asyncio.Task[None], Path] = {}  # what goes on for the jobs of a session, whoever waits


def add(job: Job, records: CallRecords, record: CallRecord) -> None:
    """From now on the job is known, and its record goes when all of it is gone."""
    _jobs.append(job)
    _go_on(_watch(job, records, record), job.outputs)


def under(outputs: Path) -> list[Job]:
    """Of a session, or of all of a profile, oldest first: what runs or was left behind, and what ended lately."""
    return [job for job in _jobs if job.outputs.is_relative_to(outputs)]


def find(among: Sequence[Job], number: int) -> Job | None:
    """By the process that was started, or by one that it started. Blocks."""
    newest = among[::-1]
    if found := next((job for job in newest if job.pid == number), None):
        return found
    return next((job for job in newest if number in {one.pid for one in job.supervised.processes()}), None)


async def end(job: Job) -> list[RunningProcess]:
    """End the whole tree of a job. What could not be ended, usually nothing."""
    survivors = await job.supervised.end()
    await job.output.close()
    return survivors


async def drop(job: Job) -> None:
    """End a job that nobody asks about any more."""
    await end(job)
    _forget(job)


async def end_all(outputs: Path) -> None:
    """End every command, in the background or left behind, of a session or of a profile."""
    await asyncio.gather(*map(drop, under(outputs)))
    if going_on := {task for task, whose in _tasks.items() if whose.is_relative_to(outputs)}:
        await asyncio.wait(going_on, timeout=_LAST_S)


async def release(ending: Coroutine[None, None, None], outputs: Path) -> None:
    """Let a cancelled caller go soon, while the ending goes on to its end."""
    await asyncio.wait({_go_on(ending, outputs)}, timeout=_RELEASE_S)


def drop_soon(job: Job) -> None:
    _go_on(drop(job), job.outputs)


def _go_on(work: Coroutine[None, None, None], outputs: Path) -> asyncio.Task[None]:
    task = asyncio.create_task(work)
    _tasks[task] = outputs
    task.add_done_callback(_tasks.pop)
    return task


async def _watch(job: Job, records: CallRecords, record: CallRecord) -> None:
    try:
        await _until_ended(job, records, record)
        await job.supervised.wait_until_gone()
        if not job.supervised.is_gone:
            await job.supervised.end()  # its supervisor was killed, and the command with it
        if job.supervised.is_gone:
            await asyncio.to_thread(records.remove, record)
    finally:
        if not job.is_background or not job.supervised.is_gone:
            _forget(job)
    _forget_oldest(job.outputs)


async def _until_ended(job: Job, records: CallRecords, record: CallRecord) -> None:
    try:
        async with asyncio.timeout(_BRIEF_S):
            await job.supervised.wait()
    except TimeoutError:
        await asyncio.to_thread(records.name_leader, record, job.pid)
        await job.supervised.wait()
    job.ended_at = time.monotonic()


def _forget(job: Job) -> None:
    if job in _jobs:
        _jobs.remove(job)


def _forget_oldest(outputs: Path) -> None:
    ended = [job for job in under(outputs) if job.is_background and job.supervised.is_gone]
    for job in ended[:-_MOST_ENDED]:
        _forget(job)
