"""/copy and /history: what of a conversation goes to the clipboard, as its source; the prompts in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent.commands.table import Copied, Effect, PromptsAsked, Said
from agent.hub import Hub
from session.models import Level, Message, Role

_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<info>.*)")


async def copy(hub: Hub, session_id: str, argument: str) -> Effect:
    """The last answer, the n-th last one, or the last block of code."""
    rows = hub.runtime(session_id).s.rows
    answers = [row.content for row in rows if row.role is Role.ASSISTANT and row.content]
    if not answers:
        return Said("There is no answer to copy yet.", Level.WARNING)
    match argument.lower():
        case "code":
            return _last_code(rows)
        case "" | "last":
            return Copied(answers[-1])
        case number if number.isdecimal() and 1 <= int(number) <= len(answers):
            return Copied(answers[-int(number)])
        case number if number.isdecimal():
            return Said(f"There are {len(answers)} answers to copy; 1 is the last one.", Level.WARNING)
        case _:
            return Said(
                "/copy takes a number (1 is the last answer), or code for the last block of code.", Level.WARNING
            )


async def history(hub: Hub, session_id: str, argument: str) -> Effect:
    return PromptsAsked()


def _last_code(rows: Sequence[Message]) -> Effect:
    for row in reversed(rows):
        blocks = list(code_blocks(row.content)) if row.role is Role.ASSISTANT else []
        if blocks:
            return Copied(blocks[-1])
    return Said("There is no block of code in this conversation.", Level.WARNING)


def code_blocks(markdown: str) -> Iterator[str]:
    """What stands between fences, as it was written. A fence that is never closed goes to the end."""
    lines: list[str] | None = None
    marks, indent = "", 0
    for line in markdown.split("\n"):
        fence = _FENCE.match(line)
        if lines is None:
            if fence and not (fence["marks"][0] == "`" and "`" in fence["info"]):
                marks, indent, lines = fence["marks"], fence.start("marks"), []
        elif fence and fence["marks"].startswith(marks) and not fence["info"].strip():
            yield "\n".join(lines)
            lines = None
        else:
            lines.append(line.removeprefix(" " * min(indent, len(line) - len(line.lstrip(" ")))))
    if lines:
        yield "\n".join(lines)
