"""A transcript as Markdown. What was said stands in fences that nothing in it can close: it is data, not structure."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from session.jsonl import LATEST, Call, Header, Row
from session.models import CallOutcome, Finish, Role

_BACKTICKS = re.compile("`+")
_ACTING = re.compile(r"([\\`*_{}\[\]<>()#|~&!$])")
# What acts on a terminal or turns the direction of a line, and what other programs take for the end of one.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

ENDS = {
    Finish.LENGTH: "The answer reached its greatest length.",
    Finish.CONTENT_FILTER: "The answer was withheld by a content filter.",
    Finish.CUT: "The answer broke off.",
    Finish.ERROR: "The answer ended in an error.",
    Finish.INTERRUPTED: "The answer was interrupted.",
}
OUTCOMES = {
    CallOutcome.OK: "",
    CallOutcome.ERROR: " (failed)",
    CallOutcome.NOT_RUN: " (not run)",
    CallOutcome.INTERRUPTED: " (interrupted)",
}


def markdown_head(header: Header, *, is_redacted: bool) -> str:
    """The title and what the session is. Times are UTC."""
    route = header.route
    facts = [
        ("Session", header.id),
        ("Begun", f"{moment(header.created_at)} UTC"),
        ("Last active", f"{moment(header.last_activity_at)} UTC"),
        ("Model", f"{route.model} ({route.provider})" if route else ""),
        ("Folder", header.cwd),
    ]
    lines = [f"- {name}: {coded(value)}" for name, value in facts if value]
    if is_redacted:
        lines.append("- Known secrets are masked in this file.")
    return "\n".join([f"# {escaped(header.title) or 'Untitled'}", "", *lines, ""])


def markdown_row(row: Row) -> str:
    """One row, with an empty line before it."""
    return "\n" + "\n\n".join([f"## {heading(row)}, {moment(row.created_at)}", *blocks(row)]) + "\n"


def heading(row: Row) -> str:
    match row.role:
        case _ if row.is_summary:
            return "Summary of what was said before"
        case Role.USER:
            return "You"
        case Role.ASSISTANT:
            return "Assistant"
        case Role.TOOL if row.result:
            return f"Tool {coded(row.result.tool)}{OUTCOMES[row.result.outcome]}"
        case Role.TOOL:
            return "Tool"
        case Role.NOTICE:
            return "Notice"


def blocks(row: Row) -> Iterator[str]:
    if row.reasoning:
        yield f"Reasoning:\n\n{fenced(row.reasoning)}"
    if row.content or not (row.refusal or row.calls):
        yield fenced(row.content)
    if row.refusal:
        yield f"Refused:\n\n{fenced(row.refusal)}"
    if row.role is not Role.USER:  # a command of the person's is the text of its row
        yield from map(called, row.calls)
    if row.parts:
        yield "Something other than text came with this."
    if row.finish and row.finish in ENDS:
        yield ENDS[row.finish]


def called(call: Call) -> str:
    return f"Calls {coded(call.name)}:\n\n{fenced(call.arguments)}"


def fenced(text: str) -> str:
    """The text in a fence longer than any run of backticks in it."""
    shown = visible(text.replace("\r\n", "\n"))
    fence = "`" * max(3, longest_run(shown) + 1)
    return f"{fence}\n{shown}{'' if shown.endswith(chr(10)) or not shown else chr(10)}{fence}"


def coded(text: str) -> str:
    """A short text on one line, as code."""
    line = " ".join(visible(text).split()) or " "
    marks = "`" * (longest_run(line) + 1)
    gap = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{marks}{gap}{line}{gap}{marks}"


def escaped(text: str) -> str:
    """A short text on one line, in which nothing is markup."""
    return _ACTING.sub(r"\\\1", " ".join(visible(text).split()))


def visible(text: str) -> str:
    r"""The text with what acts or hides spelled out, such as `\x1b` or `\u202e`."""
    return _HIDDEN.sub(spelled, text)


def spelled(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def longest_run(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)


def moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(min(max(at, 0), LATEST)))
