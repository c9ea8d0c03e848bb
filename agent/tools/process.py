"""`process`: what the commands of this session do that run in the background or were left behind."""

from __future__ import annotations

import asyncio
import codecs
import os
import time
from pathlib import Path

from agent.literal import plain_output, visible
from agent.tools import jobs
from agent.tools.arguments import known_only, required_text, whole_number
from agent.tools.base import Arguments, BadArguments, CallContext, ToolResult, Touch, Workplace
from agent.tools.exit_codes import outcome, told
from agent.tools.jobs import Job
from agent.tools.process_tree import short
from agent.tools.shell_run import listed
from session.models import CallOutcome

WAIT_S, LONGEST_WAIT_S = 60, 600
TAIL_BYTES = 16_384
_LARGEST_LOG = 2**40
_WITHIN_A_CHARACTER = bytes(range(0x80, 0xC0))

NAME = "process"
DESCRIPTION = (
    "See and steer the commands of this session that terminal started in the background or that a command left running. "
    "`list` names them all. `tail` reads the output of one: its end, or what follows `offset`, which the last answer "
    "told. `wait` waits until one ends, then gives its exit code and the end of its output. `stop` ends one with all it "
    "started. `process` is the number that terminal or list gave. Nothing here can be typed into a process."
)
PARAMETERS: dict[str, object] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": ["list", "tail", "wait", "stop"]},
        "process": {"type": "integer", "minimum": 1, "description": "Which one. Not for list."},
        "offset": {
            "type": "integer",
            "minimum": 0,
            "description": f"For tail: the byte of the output to go on from. At most {TAIL_BYTES:,} bytes are given at once.",
        },
        "timeout": {
            "type": "integer",
            "minimum": 1,
            "maximum": LONGEST_WAIT_S,
            "description": f"For wait: seconds after which it goes on without us. Default {WAIT_S}.",
        },
    },
    "required": ["action"],
    "additionalProperties": False,
}
_FIELDS = ("action", "process", "offset", "timeout")
_ACTIONS = ("list", "tail", "wait", "stop")


def touches(args: Arguments, place: Workplace) -> Touch:
    _action(args)
    return Touch()


def shown(args: Arguments) -> str:
    action = _action(args)
    return action if action == "list" else f"{action} {_number(args)}"


async def run(args: Arguments, ctx: CallContext) -> ToolResult:
    action = _action(args)
    ours = jobs.under(ctx.place.outputs)
    if action == "list":
        return await _list(ours)
    job = await asyncio.to_thread(jobs.find, ours, _number(args))
    if job is None:
        there = ", ".join(str(one.pid) for one in ours) or "none"
        text = f"There is no process {_number(args)} among those of this session. There are: {there}."
        return ToolResult(text, CallOutcome.ERROR)
    match action:
        case "tail":
            offset = whole_number(args, "offset", default=-1, least=0, most=_LARGEST_LOG)
            return ToolResult(f"{_state(job)} {await _tail(job, offset)}")
        case "wait":
            return await _wait(job, whole_number(args, "timeout", default=WAIT_S, least=1, most=LONGEST_WAIT_S))
        case _:
            return await _stop(job)


async def _list(ours: list[Job]) -> ToolResult:
    told = await asyncio.to_thread(lambda: [described(job) for job in ours if _is_worth_telling(job)])
    return ToolResult("\n".join(told) or "No command of this session runs in the background, and none was left behind.")


def _is_worth_telling(job: Job) -> bool:
    """Not one that ended with its call and left nothing, and is about to be forgotten. Blocks."""
    return job.is_background or bool(job.supervised.processes())


def described(job: Job) -> str:
    """What a job does, in two lines. Blocks."""
    started = [process for process in job.supervised.processes() if process.pid != job.pid]
    more = f" Of it run: {listed(started)}." if started else ""
    log = f" Output: {job.output.log.path}" if job.output.log.path.exists() else ""
    return f"{_state(job)}{more}{log}\n    {visible(short(job.command))}"


async def _wait(job: Job, timeout_s: int) -> ToolResult:
    try:
        async with asyncio.timeout(timeout_s):
            await job.supervised.wait()
    except TimeoutError:
        return ToolResult(f"{_state(job)} {await _tail(job)}")
    return await _told_end(job, _state(job))


async def _stop(job: Job) -> ToolResult:
    if job.supervised.is_gone:
        return await _told_end(job, f"{_state(job)} There was nothing to stop.")
    survivors = await jobs.end(job)
    if survivors:
        text = f"Process {job.pid} could not be ended whole. Still there, though killed: {listed(survivors)}."
        return ToolResult(text, CallOutcome.ERROR)
    return ToolResult(f"Process {job.pid} and all it started were ended. {await _tail(job)}", exit_code=job.exit_code)


async def _told_end(job: Job, said: str) -> ToolResult:
    await job.output.settle()
    exit_code = job.exit_code or 0
    return ToolResult(f"{said} {await _tail(job)}", outcome(job.command, exit_code), exit_code)


def _state(job: Job) -> str:
    """One sentence, or two."""
    now = time.monotonic()
    if job.exit_code is None:
        return f"Process {job.pid} has been running for {now - job.began_at:.0f} s."
    ended_at = job.ended_at or now
    return f"Process {job.pid} ended after {ended_at - job.began_at:.0f} s. {told(job.command, job.exit_code)}."


async def _tail(job: Job, offset: int = -1) -> str:
    try:
        return await asyncio.to_thread(_read, job.output.log.path, offset)
    except FileNotFoundError:
        return "Its output is not kept."
    except OSError as error:
        return f"Its output can't be read: {error.strerror}."


def _read(path: Path, offset: int) -> str:
    """What stands in the log from a byte on, or at its end where the offset is negative: whole lines where there are."""
    with path.open("rb") as log:
        size = log.seek(0, os.SEEK_END)
        begin = max(0, size - TAIL_BYTES) if offset < 0 else min(offset, size)
        log.seek(begin)
        raw = log.read(TAIL_BYTES)
    if offset < 0 and begin:
        cut = raw.find(b"\n") + 1 or len(raw) - len(raw.lstrip(_WITHIN_A_CHARACTER))
        begin, raw = begin + cut, raw[cut:]
    if begin + len(raw) < size:
        raw = raw[: raw.rfind(b"\n") + 1] or raw
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = plain_output(decoder.decode(raw)).rstrip("\n")
    end = begin + len(raw) - len(decoder.getstate()[0])  # half of a character comes with its other half
    more = f"go on with offset {end}" if end < size else f"what comes later has offset {end}"
    return f"Output, bytes {begin} to {end} of {size}; {more}:\n{text or '(nothing)'}"


def _action(args: Arguments) -> str:
    known_only(args, _FIELDS)
    action = required_text(args, "action")
    if action not in _ACTIONS:
        raise BadArguments(f'"action" takes {", ".join(_ACTIONS)}, not {action!r}.')
    if action != "list":
        _number(args)
    return action


def _number(args: Arguments) -> int:
    if args.get("process") is None:
        raise BadArguments('"process" is missing: it takes the number of a process.')
    return whole_number(args, "process", default=0, least=1, most=2**31)
