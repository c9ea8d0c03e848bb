"""`todo`: the list of steps that a model keeps of a longer task. It stands in the conversation and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import cast

from msgspec import Struct

from agent.tools.arguments import known_only, required_text
from agent.tools.base import Arguments, BadArguments, CallContext, ToolResult, Touch, Workplace
from session.models import CallOutcome, Message, ToolCall

MOST_ITEMS = 256
MOST_CHARS = 4_000  # of one item


class Status(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    DONE = "done"


MARKS = {Status.PENDING: "[ ]", Status.IN_PROGRESS: "[>]", Status.DONE: "[x]"}

NAME = "todo"
DESCRIPTION = (
    "Keep the list of steps of a task that takes several. Each call takes the whole list and puts it in the place of the "
    "last one; an empty list ends it. Have one step in_progress at a time, and mark each done as soon as it is. Not for "
    "what takes a step or two."
)
PARAMETERS: dict[str, object] = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "maxItems": MOST_ITEMS,
            "description": "All steps, in their order.",
            "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string", "description": "What is to be done."},
                    "status": {"type": "string", "enum": [status.value for status in Status]},
                },
                "required": ["content", "status"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["items"],
    "additionalProperties": False,
}
_FIELDS = ("items",)
_ITEM_FIELDS = ("content", "status")


class Item(Struct, frozen=True):
    content: str
    status: Status


def touches(args: Arguments, place: Workplace) -> Touch:
    _items(args)
    return Touch()


def shown(args: Arguments) -> str:
    return _text(_items(args))


async def run(args: Arguments, ctx: CallContext) -> ToolResult:
    items = _items(args)
    done = sum(item.status is Status.DONE for item in items)
    return ToolResult(f"{done} of {len(items)} done\n{_text(items)}" if items else "The list is empty.")


def todo_of(rows: Sequence[Message]) -> str:
    """The latest list of a conversation while something in it is still to be done, "" else.

    It is in the arguments of a call that ran: one that was refused changed nothing.
    """
    taken = {row.result.call_id for row in rows if row.result and row.result.outcome is CallOutcome.OK}
    calls = (call for row in reversed(rows) for call in reversed(row.calls))
    latest = next((call for call in calls if call.name == NAME and call.id in taken), None)
    items = _items_of(latest) if latest else []
    return _text(items) if any(item.status is not Status.DONE for item in items) else ""


def _text(items: Sequence[Item]) -> str:
    return "\n".join(f"{MARKS[item.status]} {item.content}" for item in items)


def _items_of(call: ToolCall) -> list[Item]:
    try:
        args: object = json.loads(call.arguments)
        return _items(cast("Arguments", args)) if isinstance(args, dict) else []
    except (ValueError, RecursionError, BadArguments):  # another program's, perhaps, from where it was imported
        return []


def _items(args: Arguments) -> list[Item]:
    known_only(args, _FIELDS)
    items = args.get("items")
    if not isinstance(items, list):
        raise BadArguments('"items" takes a list: all steps, each with content and status.')
    if len(items := cast("list[object]", items)) > MOST_ITEMS:
        raise BadArguments(f'"items" takes at most {MOST_ITEMS} steps, not {len(items)}.')
    return [_item(item, number) for number, item in enumerate(items, start=1)]


def _item(item: object, number: int) -> Item:
    if not isinstance(item, dict):
        raise BadArguments(f"Step {number} takes an object with content and status.")
    fields = cast("Mapping[str, object]", item)
    try:
        known_only(fields, _ITEM_FIELDS)
        content, status = required_text(fields, "content"), required_text(fields, "status")
    except BadArguments as error:
        raise BadArguments(f"Step {number}: {error}") from error
    if not 0 < len(content.strip()) <= MOST_CHARS:
        raise BadArguments(f'Step {number}: "content" takes 1 to {MOST_CHARS:,} characters.')
    if status not in list(Status):
        raise BadArguments(f'Step {number}: "status" takes {", ".join(Status)}, not {status!r}.')
    # One line each, so that no step can pass for two.
    return Item(" ".join(content.split()), Status(status))
