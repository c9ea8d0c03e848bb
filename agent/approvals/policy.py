"""Whether a call may run unasked: the one authority on it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from agent.approvals.paths import is_inside
from agent.tools.base import Touch, Workplace


class Allow(Struct, frozen=True):
    """The call may run without a word."""


class Ask(Struct, frozen=True):
    """A person decides. `why` completes "Asked because it ..."."""

    why: str


Verdict = Allow | Ask

_JUDGED = frozenset({"terminal", "read_file", "write_file"})


def judge(tool_name: str, touch: Touch, place: Workplace) -> Verdict:
    """Only a known tool that does nothing but read inside the workspace runs unasked."""
    if tool_name not in _JUDGED:
        return Ask(f"uses {tool_name}, a tool without a rule")
    outside = [path for path in touch.writes if not is_inside(path, place.root)]
    # What was cut from an output stands in the session's own folder; the model is told to read it there.
    outside += [path for path in touch.reads if not (is_inside(path, place.root) or is_inside(path, place.outputs))]
    deed = _deed(touch)
    if outside:
        return Ask(f"{deed} outside the workspace ({_listed(outside)})")
    if tool_name == "read_file" and touch.reads and not touch.writes and not touch.runs:
        return Allow()
    return Ask(deed)


def _deed(touch: Touch) -> str:
    if touch.runs:
        return "runs a command"
    if touch.writes:
        return "writes a file"
    return "reads a file" if touch.reads else "does what cannot be told beforehand"


def _listed(paths: list[Path]) -> str:
    return ", ".join(str(path) for path in paths)
