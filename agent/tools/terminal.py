"""`terminal`: run a shell command."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

from msgspec.structs import replace

from agent.approvals.paths import resolve
from agent.tools.arguments import flag, known_only, optional_text, required_text, whole_number
from agent.tools.base import Arguments, BadArguments, CallContext, ToolResult, Touch, Workplace
from agent.tools.sandbox import CannotSandbox, Where, put_away, sign_in, where_to_run
from agent.tools.shell_run import CannotRun, run_in_background
from agent.tools.shell_run import run as run_command
from agent.workspace import MOVED
from session.models import CallOutcome

TIMEOUT_S, LONGEST_TIMEOUT_S = 180, 600

NAME = "terminal"
DESCRIPTION = (
    "Run a command with bash and get its output and exit code. Every call starts anew in the session's folder: a `cd` "
    "or an exported variable does not carry over to the next call (use workdir, or one command). There is no terminal "
    "and no input: whatever asks a question gets end of file, editors and pagers do nothing. Long output is cut in the "
    "middle and kept whole in a file. Run servers and watchers with background, and steer them with the tool process."
)
PROPERTIES: dict[str, object] = {
    "command": {"type": "string", "description": "The bash command."},
    "timeout": {
        "type": "integer",
        "minimum": 1,
        "maximum": LONGEST_TIMEOUT_S,
        "description": f"Seconds until the command is ended. Default {TIMEOUT_S}. Without effect in the background.",
    },
    "workdir": {"type": "string", "description": "Folder to run in. Default: the session's folder."},
    "background": {
        "type": "boolean",
        "description": "Start it, return its process number and log file at once, and end it when hermes quits.",
    },
}
PARAMETERS: dict[str, object] = {
    "type": "object",
    "properties": PROPERTIES,
    "required": ["command"],
    "additionalProperties": False,
}
# What the model is told in addition while a sandbox is on.
IN_SANDBOX = (
    " Commands run in a sandbox: no network, not even to this machine, nothing to write to but the session's workspace "
    "and a /tmp that each command has for itself, and what a command leaves running ends with it."
)
OUTSIDE: dict[str, object] = {
    "type": "boolean",
    "description": "Run it outside of the sandbox. The person is asked each time, so only where it failed inside.",
}
_FIELDS = ("command", "timeout", "workdir", "background", "outside")


def touches(args: Arguments, place: Workplace) -> Touch:
    workdir = optional_text(args, "workdir")
    return Touch(
        reads=(resolve(workdir, place),) if workdir else (),
        runs=(_command(args),),
        is_outside=_is_outside(args, place),
    )


def shown(args: Arguments) -> str:
    workdir = optional_text(args, "workdir")
    return f"cd {shlex.quote(workdir)}\n{_command(args)}" if workdir else _command(args)


async def run(args: Arguments, ctx: CallContext) -> ToolResult:
    command = _command(args)
    timeout_s = whole_number(args, "timeout", default=TIMEOUT_S, least=1, most=LONGEST_TIMEOUT_S)
    workdir = optional_text(args, "workdir")
    cwd = resolve(workdir, ctx.place) if workdir else ctx.place.cwd
    if not await asyncio.to_thread(cwd.is_dir):
        text = f"The folder {cwd} does not exist, so nothing was run."
        return ToolResult(text if workdir else f"{text} {MOVED}", CallOutcome.ERROR)
    notes: list[str] = []
    try:
        where = await _where(args, cwd, ctx.place)
        if flag(args, "background"):
            result = await run_in_background(command, cwd, ctx, where.wrapper)
        else:
            result, made = await _run_inside(command, cwd, ctx, timeout_s, where)
            notes = [made]
    except CannotSandbox as error:
        return ToolResult(f"Not run: terminal.sandbox requires the sandbox, and {error}.", CallOutcome.NOT_RUN)
    except CannotRun as error:
        return ToolResult(str(error), CallOutcome.ERROR)
    notes += (_whereabouts(command, result, where, ctx.place), ctx.place.withheld.note(command))
    return replace(result, text="\n".join(filter(None, (result.text, *notes))))


async def _run_inside(
    command: str, cwd: Path, ctx: CallContext, timeout_s: int, where: Where
) -> tuple[ToolResult, str]:
    """The result, and what was put away behind the command, however it ended."""
    made = ""
    try:
        result = await run_command(command, cwd, ctx, timeout_s, where.wrapper)
    finally:
        if where.missing:
            made = await asyncio.to_thread(put_away, where)
    return result, made


async def _where(args: Arguments, cwd: Path, place: Workplace) -> Where:
    is_outside = _is_outside(args, place)
    return await asyncio.to_thread(where_to_run, place, cwd, is_outside=is_outside) if place.sandbox.is_on else Where()


def _whereabouts(command: str, result: ToolResult, where: Where, place: Workplace) -> str:
    """Where it ran, "" while the sandbox is off; and that it may have failed for that."""
    if not place.sandbox.is_on:
        return ""
    if not where.wrapper:
        return f"Outside of the sandbox: {where.why}."
    sign = sign_in(result.text) if result.exit_code else ""
    if not sign:
        return "In the sandbox."
    place.sandbox.note_failure(command, sign)
    return (
        "In the sandbox, which may be why it failed. Where it needs the network or writes outside of the "
        "workspace, call terminal again with outside set: the person is asked, and told what failed."
    )


def _is_outside(args: Arguments, place: Workplace) -> bool:
    if "outside" in args and not place.sandbox.is_on:
        raise BadArguments('"outside" is taken only while terminal.sandbox is on; all commands run outside of one now.')
    return flag(args, "outside")


def _command(args: Arguments) -> str:
    known_only(args, _FIELDS)
    command = required_text(args, "command")
    if "\0" in command:
        raise BadArguments('"command" holds a NUL character, which no command can.')
    if not command.strip():
        raise BadArguments('"command" is empty.')
    return command
