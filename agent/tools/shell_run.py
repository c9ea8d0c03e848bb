"""How a command is run: by bash alone, in a session of its own, and never outliving what it was started for."""

from __future__ import annotations

import asyncio
import os
import shutil
import uuid
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agent.tools.base import CallContext, ToolResult
from agent.tools.command_output import CommandOutput
from agent.tools.exit_codes import outcome, told
from agent.tools.process_tree import MARK_NAME, CallProcesses, RunningProcess, end, running
from session.models import CallOutcome

_BASH_PLACES = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash")
# Whatever makes bash run or behave other than by the command that was judged.
_UNSAFE = frozenset({"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND"})
# Whatever would wait for a person at a terminal that is not there (T02).
_UNATTENDED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "EDITOR": "true",
    "VISUAL": "true",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "TERM": "dumb",
}
_RELEASE_S = 0.15  # how long a cancelled caller waits for the ending, which goes on without it


class CannotRun(Exception):
    """The command could not be started. The text is a sentence for the model and the person."""


@dataclass(slots=True, eq=False)
class _Job:
    """One started command, and what is known of its processes."""

    mark: str
    process: asyncio.subprocess.Process
    output: CommandOutput
    left: list[RunningProcess] = field(default_factory=list[RunningProcess])

    def processes(self, *, is_fresh: bool = False) -> CallProcesses:
        """A while after its leader is gone, the number of the session may be used again, by strangers."""
        session = self.process.pid if is_fresh or self.process.returncode is None else None
        return CallProcesses(self.mark, session, frozenset((process.pid, process.started) for process in self.left))


_jobs: dict[str, _Job] = {}
_endings: set[asyncio.Task[None]] = set()


async def run(command: str, cwd: Path, ctx: CallContext, timeout_s: int) -> ToolResult:
    """Run a command to its end, its timeout or its cancellation. Raises CannotRun."""
    job = await _start(command, cwd, ctx)
    try:
        try:
            async with asyncio.timeout(timeout_s):
                await job.process.wait()
        except TimeoutError:
            return await _timed_out(job, timeout_s)
        return await _ended(job, command)
    except asyncio.CancelledError:
        await _release(_end(job, is_fresh=True))
        raise


async def run_in_background(command: str, cwd: Path, ctx: CallContext) -> ToolResult:
    """Start a command that outlives the call but not hermes. Raises CannotRun."""
    job = await _start(command, cwd, ctx)
    try:
        await job.output.only_log()
    except asyncio.CancelledError:
        await _release(_end(job))
        raise
    pid = job.process.pid
    return ToolResult(
        f"Started in the background as process {pid}. Its output goes to {job.output.log.path}\n"
        f"It ends when hermes quits, or by: kill -- -{pid}"
    )


async def end_all(outputs: Path | None = None) -> None:
    """End every command, in the background or left behind; of one profile, where the folder of its outputs is named."""
    ending = [job for job in _jobs.values() if outputs is None or job.output.log.path.is_relative_to(outputs)]
    await asyncio.gather(*(_end(job) for job in ending), *_endings)


async def _start(command: str, cwd: Path, ctx: CallContext) -> _Job:
    starting = asyncio.ensure_future(_spawn(command, cwd, ctx))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _release(_end_once_started(starting))
        raise


async def _spawn(command: str, cwd: Path, ctx: CallContext) -> _Job:
    mark = uuid.uuid4().hex
    bash = _bash(ctx.place.environ)
    output = CommandOutput(ctx.place.outputs / f"terminal-{mark[:12]}.log", ctx.emit)
    read_end, write_end = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *(bash, "--noprofile", "--norc", "-c", command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
            cwd=cwd,
            env=_environment(ctx.place.environ, mark),
            start_new_session=True,
        )
    except OSError as error:
        os.close(read_end)
        raise CannotRun(f"The command could not be started in {cwd}: {error.strerror}.") from error
    finally:
        os.close(write_end)
    await output.attach(read_end)
    job = _jobs[mark] = _Job(mark, process, output)
    return job


def find_bash(environ: Mapping[str, str]) -> str | None:
    """The bash that commands run in: the system's, else one on the PATH."""
    found = next((place for place in _BASH_PLACES if os.access(place, os.X_OK)), None)
    return found or shutil.which("bash", path=environ.get("PATH", os.defpath))


def _bash(environ: Mapping[str, str]) -> str:
    found = find_bash(environ)
    if found is None:
        raise CannotRun("There is no bash on this machine. Install bash to let hermes run commands.")
    return found


def _environment(environ: Mapping[str, str], mark: str) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if name not in _UNSAFE and not name.startswith("BASH_FUNC_")}
    return kept | _UNATTENDED | {MARK_NAME: mark}


async def _ended(job: _Job, command: str) -> ToolResult:
    await job.output.settle()
    job.left = await asyncio.to_thread(running, job.processes(is_fresh=True))
    text = await job.output.text()
    code = job.process.returncode or 0
    exit_code = 128 - code if code < 0 else code
    notes = [told(command, exit_code)]
    if job.left or job.output.is_open:
        notes.insert(0, _still_running(job))
    else:
        _jobs.pop(job.mark, None)  # the end of hermes may have ended it in this moment
    return ToolResult(_with_notes(text, notes), outcome(command, exit_code), exit_code)


async def _timed_out(job: _Job, timeout_s: int) -> ToolResult:
    survivors = await end(partial(running, job.processes(is_fresh=True)))
    await job.output.settle()
    text = await job.output.text()
    await _forget(job)
    ended = f"Still there, though killed: {_listed(survivors)}." if survivors else "It and all it started were ended."
    return ToolResult(_with_notes(text, [f"Timed out after {timeout_s} s. {ended}"]), CallOutcome.ERROR)


def _still_running(job: _Job) -> str:
    output = f" Further output goes to {job.output.log.path}" if job.output.is_open else ""
    if not job.left:
        return f"Something it started still holds its output open, but cannot be found.{output}"
    pids = " ".join(str(process.pid) for process in job.left)
    return f"Still running: {_listed(job.left)}. To stop: kill {pids}{output and '.' + output}"


def _listed(processes: list[RunningProcess]) -> str:
    return ", ".join(str(process) for process in processes)


def _with_notes(text: str, notes: list[str]) -> str:
    return "\n".join([text.rstrip("\n") or "(no output)", *notes])


async def _end(job: _Job, *, is_fresh: bool = False) -> None:
    """End the whole tree of a job."""
    await end(partial(running, job.processes(is_fresh=is_fresh)))
    await _forget(job)


async def _end_once_started(starting: asyncio.Future[_Job]) -> None:
    try:
        job = await starting
    except CannotRun:
        return
    await _end(job)


async def _forget(job: _Job) -> None:
    await job.output.close()
    _jobs.pop(job.mark, None)


async def _release(ending: Coroutine[None, None, None]) -> None:
    """Let a cancelled caller go soon, while the ending goes on to its end."""
    task = asyncio.create_task(ending)
    _endings.add(task)
    task.add_done_callback(_endings.discard)
    await asyncio.wait({task}, timeout=_RELEASE_S)
