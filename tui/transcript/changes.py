"""What a call makes of a file or of the list of steps, as lines: from its result once it ran, from its arguments before."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import cast

from tui.transcript.blocks import CardState, ToolCard

MARKS = {"done": "☑ ", "in_progress": "▸ ", "pending": "☐ "}

_PATCHED = re.compile(r"^(?:Changed|Created) .*: (\+[\d,]+) (-[\d,]+) lines\.$", re.MULTILINE)
_WRITTEN = re.compile(r"^(Created|Replaced) .*: ([\d,]+ lines?), [\d,]+ bytes\.", re.MULTILINE)


def change_of(card: ToolCard) -> list[str] | None:
    """The lines of a change, each behind its sign: + came, - went, a blank stayed, @@ tells the place.

    None where the call changes no file, or did not and never will.
    """
    if card.state is CardState.ERROR:
        return None
    match card.name:
        case "patch" if card.state is CardState.OK:
            return _told(card.output)
        case "patch":
            return _asked(arguments_of(card))
        case "write_file":
            return _written(arguments_of(card), card.output)
        case _:
            return None


def outcome_of(card: ToolCard) -> str:
    """What came of a call that changed a file or the list of steps, in few words."""
    match card.name:
        case "patch":
            found = _PATCHED.search(card.output)
            return f"{found[1]} {found[2]} lines" if found else ""
        case "write_file":
            found = _WRITTEN.search(card.output)
            return f"{found[1].lower()}, {found[2]}" if found else ""
        case "todo":
            steps = steps_of(card)
            return f"{sum(status == 'done' for status, _ in steps)} of {len(steps)} done" if steps else ""
        case _:
            return ""


def steps_of(card: ToolCard) -> list[tuple[str, str]]:
    """The status and the words of each step that a call of `todo` sets."""
    if card.name != "todo" or card.state is CardState.ERROR:
        return []
    items = arguments_of(card).get("items")
    found = [_step(item) for item in cast("list[object]", items)] if isinstance(items, list) else []
    return [step for step in found if step[0] in MARKS]


def arguments_of(card: ToolCard) -> Mapping[str, object]:
    """What a call was given; nothing where that is not an object of JSON."""
    try:
        parsed: object = json.loads(card.arguments)
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, object]", parsed) if isinstance(parsed, dict) else {}


def _told(output: str) -> list[str] | None:
    """The change as the tool told it, behind its own sentences."""
    _, place, rest = output.partition("\n@@ ")
    return f"@@ {rest}".split("\n") if place else None


def _asked(arguments: Mapping[str, object]) -> list[str] | None:
    edits = arguments.get("edits")
    several = cast("list[object]", edits) if isinstance(edits, list) else [arguments]
    lines: list[str] = []
    for number, edit in enumerate(several, 1):
        if len(several) > 1:
            lines.append(f"@@ edit {number} of {len(several)}")
        lines += [*_signed("-", _text(edit, "old")), *_signed("+", _text(edit, "new"))]
    return lines or None


def _written(arguments: Mapping[str, object], output: str) -> list[str] | None:
    """A whole file. What it replaced is not known here, so that only a new one is told to have come."""
    content = _text(arguments, "content")
    return _signed(" " if output.startswith("Replaced ") else "+", content) or None


def _signed(sign: str, text: str) -> list[str]:
    return [f"{sign}{line}" for line in text.removesuffix("\n").split("\n")] if text else []


def _text(fields: object, name: str) -> str:
    value = cast("Mapping[str, object]", fields).get(name) if isinstance(fields, dict) else None
    return value if isinstance(value, str) else ""


def _step(item: object) -> tuple[str, str]:
    return _text(item, "status"), _text(item, "content")
