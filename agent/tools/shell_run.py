"""How a command is run: by bash alone, in a session of its own, and never outliving what it was started for."""

from __future__ import annotations

import asyncio
import os
import shutil
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from agent.literal import visible
from agent.tools import jobs
from agent.tools.base import CallContext, ToolResult
from agent.tools.command_output import CommandOutput
from agent.tools.exit_codes import outcome, told
from agent.tools.jobs import Job
from agent.tools.process_tree import KILL_S, MARK_NAME, RunningProcess
from agent.tools.sandbox import ENVIRON
from agent.tools.supervised import NotStarted, Supervised
from agent.tools.supervisor import Order
from session.models import CallOutcome

_BASH_PLACES = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash")
# Whatever makes bash run or behave other than by the command that was judged; and a helper that asks in a window.
_UNSAFE = frozenset(
    (
        *("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS4", "BASH_XTRACEFD", "SUDO_ASKPASS"),
        *("BASH_COMPAT", "POSIXLY_CORRECT", "POSIX_PEDANTIC", "CDPATH", "GLOBIGNORE", "EXECIGNORE", "FUNCNEST"),
        *("TMOUT", "BASH_ARGV0"),
    )
)
# Whatever would wait for a person at a terminal that is not there (T02), or in a window (T16).
_UNATTENDED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "EDITOR": "true",
    "VISUAL": "true",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "TERM": "dumb",
}


class CannotRun(Exception):
    """The command could not be started. The text is a sentence for the model and the person."""


Wrapper = tuple[str, ...]  # the words of a sandbox that go before a command


class _Command(Struct, frozen=True):
    text: str
    cwd: Path
    wrapper: Wrapper


async def run(command: str, cwd: Path, ctx: CallContext, timeout_s: int, wrapper: Wrapper = ()) -> ToolResult:
    """Run a command to its end, its timeout or its cancellation. Raises CannotRun."""
    job = await _start(_Command(command, cwd, wrapper), ctx)
    try:
        try:
            async with asyncio.timeout(timeout_s):
                await job.supervised.wait()
        except TimeoutError:
            return await _timed_out(job, timeout_s)
        if wrapper:
            await _until_gone(job)
        return await _ended(job)
    except asyncio.CancelledError:
        await jobs.release(jobs.drop(job), job.outputs)
        raise


async def run_in_background(command: str, cwd: Path, ctx: CallContext, wrapper: Wrapper = ()) -> ToolResult:
    """Start a command that outlives the call but not hermes. Raises CannotRun."""
    going_on = [job for job in jobs.under(ctx.place.outputs) if job.is_background and job.ended_at is None]
    if len(going_on) >= jobs.MOST_RUNNING:
        raise CannotRun(
            f"Not run: {len(going_on)} commands run in the background already. Stop one with process first."
        )
    job = await _start(_Command(command, cwd, wrapper), ctx, is_background=True)
    try:
        await job.output.only_log()
    except asyncio.CancelledError:
        await jobs.release(jobs.drop(job), job.outputs)
        raise
    return ToolResult(
        f"Started in the background as process {job.pid}. Its output goes to {job.output.log.path}\n"
        f"The tool process tells what it does, reads its output, waits for it and stops it. It ends when hermes quits."
    )


async def _start(command: _Command, ctx: CallContext, *, is_background: bool = False) -> Job:
    starting = asyncio.ensure_future(_spawn(command, ctx, is_background))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await jobs.release(_drop_once_started(starting), ctx.place.outputs)
        raise


async def _spawn(command: _Command, ctx: CallContext, is_background: bool) -> Job:
    mark = uuid.uuid4().hex
    order = _order(command, ctx.place.environ, mark)
    output = CommandOutput(ctx.place.outputs / f"terminal-{mark[:12]}.log", ctx.emit)
    record = await asyncio.to_thread(ctx.place.records.begin, mark, command.text)
    read_end, write_end = os.pipe()
    try:
        supervised = await Supervised.start(order, write_end)
    except NotStarted as error:
        os.close(read_end)
        await asyncio.to_thread(ctx.place.records.remove, record)
        raise CannotRun(f"The command could not be started in {command.cwd}: {error}.") from error
    finally:
        os.close(write_end)
    job = Job(command.text, ctx.place.outputs, supervised, output, is_background)
    jobs.add(job, ctx.place.records, record)
    await output.attach(read_end)
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


def _order(command: _Command, environ: Mapping[str, str], mark: str) -> Order:
    wrapper = tuple(os.fsencode(word) for word in command.wrapper)
    bash, cwd = os.fsencode(_bash(environ)), os.fsencode(command.cwd)
    here = {**environ, **ENVIRON} if wrapper else environ
    return Order(mark, bash, command.text.encode(), cwd, _environment(here, mark), wrapper)


def _environment(environ: Mapping[str, str], mark: str) -> list[bytes]:
    kept = {name: value for name, value in environ.items() if name not in _UNSAFE and not name.startswith("BASH_FUNC_")}
    return [os.fsencode(f"{name}={value}") for name, value in {**kept, **_UNATTENDED, MARK_NAME: mark}.items()]


async def _until_gone(job: Job) -> None:
    """A sandbox takes with it all that its command left running, a moment after the command has ended."""
    with suppress(TimeoutError):
        async with asyncio.timeout(KILL_S):
            await job.supervised.wait_until_gone()


async def _ended(job: Job) -> ToolResult:
    await job.output.settle()
    left = [] if job.supervised.is_gone else await asyncio.to_thread(job.supervised.processes)
    text = await job.output.text()
    exit_code = job.exit_code or 0
    notes = [told(job.command, exit_code)]
    if left or job.output.is_open:
        notes.insert(0, _still_running(job, left))
    elif not job.supervised.is_gone:
        jobs.drop_soon(job)
    return ToolResult(_with_notes(text, notes), outcome(job.command, exit_code), exit_code)


async def _timed_out(job: Job, timeout_s: int) -> ToolResult:
    survivors = await job.supervised.end()
    await job.output.settle()
    text = await job.output.text()
    await job.output.close()
    ended = f"Still there, though killed: {listed(survivors)}." if survivors else "It and all it started were ended."
    return ToolResult(_with_notes(text, [f"Timed out after {timeout_s} s. {ended}"]), CallOutcome.ERROR)


def _still_running(job: Job, left: list[RunningProcess]) -> str:
    output = f" Further output goes to {job.output.log.path}" if job.output.is_open else ""
    if not left:
        return f"Something it started still holds its output open, but cannot be found.{output}"
    pids = " ".join(str(process.pid) for process in left)
    stop = f"To stop: the tool process, with the number {job.pid}; or kill {pids}"
    return f"Still running: {listed(left)}. {stop}{output and '.' + output}"


def listed(processes: list[RunningProcess]) -> str:
    return ", ".join(f"{process.pid} ({visible(process.command)})" for process in processes)


def _with_notes(text: str, notes: list[str]) -> str:
    return "\n".join([text.rstrip("\n") or "(no output)", *notes])


async def _drop_once_started(starting: asyncio.Future[Job]) -> None:
    try:
        job = await starting
    except CannotRun:
        return
    await jobs.drop(job)
