"""`hermes processes`: what a hermes that was killed left running, and stopping it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from agent.config.home import find_home
from agent.tools.leftovers import NOT_FOUND, Leftover, leftovers, stop
from tui.cli.console import answer, data, remark
from tui.cli.options import ProcessesOptions


def run_processes(options: ProcessesOptions, environ: Mapping[str, str]) -> int:
    """1 where something could not be stopped. With --json an array is printed. Raises UserError."""
    folder = find_home(environ, options.profile).running
    found = leftovers(folder)
    is_stopping = options.verb == "stop"
    survivors = {process.pid for process in stop(folder, found)} if is_stopping else set[int]()
    if options.as_json:
        data(json.dumps([_record(leftover, survivors, is_stopping=is_stopping) for leftover in found]))
    elif not found:
        remark(f"Nothing runs that a hermes left behind when it was killed. {NOT_FOUND}")
    elif survivors:
        remark(f"Still there, though killed: {', '.join(map(str, sorted(survivors)))}.")
    elif is_stopping:
        remark(f"Stopped: {'; '.join(map(str, found))}.")
    else:
        answer(_described(found))
    return 1 if survivors else 0


def _described(found: Sequence[Leftover]) -> str:
    return "\n".join([*map(str, found), "", f"To stop them: hermes processes stop. {NOT_FOUND}"])


def _record(leftover: Leftover, survivors: set[int], *, is_stopping: bool) -> dict[str, object]:
    record = leftover.record
    return {
        "session": record.session_id,
        "command": record.command,
        "started_at": record.at,
        "processes": [
            {"pid": process.pid, "command": process.command, "stopped": is_stopping and process.pid not in survivors}
            for process in leftover.processes
        ],
    }
