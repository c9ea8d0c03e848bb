"""`terminal`: run a shell command."""

from __future__ import annotations

import asyncio
import shlex

from msgspec.structs import replace

from agent.approvals.paths import resolve
from agent.tools.arguments import flag, known_only, optional_text, required_text, whole_number
from agent.tools.base import Arguments, BadArguments, CallContext, ToolResult, Touch, Workplace
from agent.tools.shell_run import CannotRun, run_in_background
from agent.tools.shell_run import run as run_command
from session.models import CallOutcome

TIMEOUT_S, LONGEST_TIMEOUT_S = 180, 600

NAME = "terminal"
DESCRIPTION = (
    "Run a command with bash and get its output and exit code. Every call starts anew in the session's folder: a `cd` "
    "or an exported variable does not carry over to the next call (use workdir, or one command). There is no terminal "
    "and no input: whatever asks a question gets end of file, editors and pagers do nothing. Long output is cut in the "
    "middle and kept whole in a file. Run servers and watchers with background."
)
PARAMETERS: dict[str, object] = {
    "type": "object",
    "properties": {
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
            "description": "Start it, return its process id and log file at once, and end it when hermes quits.",
        },
    },
    "required": ["command"],
    "additionalProperties": False,
}
_FIELDS = ("command", "timeout", "workdir", "background")


def touches(args: Arguments, place: Workplace) -> Touch:
    workdir = optional_text(args, "workdir")
    return Touch(reads=(resolve(workdir, place),) if workdir else (), runs=(_command(args),))


def shown(args: Arguments) -> str:
    workdir = optional_text(args, "workdir")
    return f"cd {shlex.quote(workdir)}\n{_command(args)}" if workdir else _command(args)


async def run(args: Arguments, ctx: CallContext) -> ToolResult:
    command = _command(args)
    timeout_s = whole_number(args, "timeout", default=TIMEOUT_S, least=1, most=LONGEST_TIMEOUT_S)
    workdir = optional_text(args, "workdir")
    cwd = resolve(workdir, ctx.place) if workdir else ctx.place.cwd
    if not await asyncio.to_thread(cwd.is_dir):
        return ToolResult(f"The folder {cwd} does not exist, so nothing was run.", CallOutcome.ERROR)
    try:
        if flag(args, "background"):
            result = await run_in_background(command, cwd, ctx)
        else:
            result = await run_command(command, cwd, ctx, timeout_s)
    except CannotRun as error:
        return ToolResult(str(error), CallOutcome.ERROR)
    note = ctx.place.withheld.note(command)
    return replace(result, text=f"{result.text}\n{note}") if note else result


def _command(args: Arguments) -> str:
    known_only(args, _FIELDS)
    command = required_text(args, "command")
    if "\0" in command:
        raise BadArguments('"command" holds a NUL character, which no command can.')
    if not command.strip():
        raise BadArguments('"command" is empty.')
    return command
