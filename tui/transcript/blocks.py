"""What a transcript is made of: frozen blocks, in the order a person reads them. No layout, no colour."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from agent.context.summary_text import summary_in
from session.models import OWN_COMMAND, Approval, CallOutcome, Finish, Level, Message, Role, ToolCall

SPOKEN_ARGUMENT = {
    "terminal": "command",
    OWN_COMMAND: "command",
    "read_file": "path",
    "write_file": "path",
    "patch": "path",
    "search_files": "pattern",
    "list_files": "path",
    "web_fetch": "url",
    "session_search": "query",
    "ask_user": "question",
}
"""The argument that says most about a call of a known tool."""

SHOWN_WHOLE = frozenset({"patch", "write_file", "todo"})
"""Tools of whose calls more is shown than that argument."""

YOURS = "your command"
UNFINISHED = frozenset({Finish.LENGTH, Finish.CONTENT_FILTER, Finish.CUT, Finish.ERROR, Finish.INTERRUPTED})


class CardState(StrEnum):
    """Where a tool call stands. The last four are how it ended."""

    WAITING = "waiting"
    ASKING = "asking"
    RUNNING = "running"
    OK = "ok"
    ERROR = "error"
    NOT_RUN = "not_run"
    INTERRUPTED = "interrupted"


ENDED = {
    CallOutcome.OK: CardState.OK,
    CallOutcome.ERROR: CardState.ERROR,
    CallOutcome.NOT_RUN: CardState.NOT_RUN,
    CallOutcome.INTERRUPTED: CardState.INTERRUPTED,
}


class Prompt(Struct, frozen=True):
    """What the person said."""

    text: str


class Reasoning(Struct, frozen=True):
    """What the model thought before its answer."""

    text: str
    is_open: bool = False


class Answer(Struct, frozen=True):
    """Markdown from the model. `finish` tells how it ended; an open one is still being written."""

    source: str
    finish: Finish = Finish.STOP
    is_open: bool = False


class Refusal(Struct, frozen=True):
    """What the model said instead of an answer."""

    text: str


class ToolCard(Struct, frozen=True):
    """A tool call and what became of it. `output` is the result as the model reads it, or the live tail until then;
    `shown` is what a person reads beside the name, and `arguments` is kept where more of them is shown."""

    call_id: str
    name: str
    shown: str
    state: CardState = CardState.WAITING
    approval: Approval = Approval.NOT_ASKED
    cause: str = ""
    exit_code: int | None = None
    duration_s: float = 0.0
    output: str = ""
    arguments: str = ""
    running_s: int = 0  # so far, while it runs

    @property
    def is_ended(self) -> bool:
        return self.state in (CardState.OK, CardState.ERROR, CardState.NOT_RUN, CardState.INTERRUPTED)


class Summary(Struct, frozen=True):
    """What stands in the place of what was said before it."""

    text: str


class NoticeBlock(Struct, frozen=True):
    """Something the person was told, kept with the conversation."""

    level: Level
    text: str


class Activity(Struct, frozen=True):
    """What is being waited for while nothing of the answer has come. Only a working transcript ends in one."""

    text: str


Block = Prompt | Reasoning | Answer | Refusal | ToolCard | Summary | NoticeBlock | Activity


def blocks_of(row: Message) -> list[Block]:
    """The blocks a stored row stands for. A tool row that answers a known call completes its card instead."""
    match row.role:
        case Role.USER if row.is_summary:
            return [Summary(summary_in(row))]
        case Role.USER:
            return [replace(card_of_call(call), name=YOURS) for call in row.calls] or [Prompt(row.content)]
        case Role.NOTICE:
            return [NoticeBlock(row.level, row.content)]
        case Role.TOOL:
            return [card_of_result(row)]
        case Role.ASSISTANT:
            return [*_spoken(row), *(card_of_call(call) for call in row.calls)]


def _spoken(row: Message) -> list[Block]:
    blocks: list[Block] = []
    if row.reasoning:
        blocks.append(Reasoning(row.reasoning))
    if row.content or _must_be_marked(row):
        blocks.append(Answer(row.content, row.finish or Finish.STOP))
    if row.refusal:
        blocks.append(Refusal(row.refusal))
    return blocks


def _must_be_marked(row: Message) -> bool:
    """Whether an answer without text still has to say how it ended. A refusal speaks for itself."""
    return row.finish in UNFINISHED and not (row.refusal and row.finish is Finish.CONTENT_FILTER)


def card_of_call(call: ToolCall) -> ToolCard:
    arguments = call.arguments if call.name in SHOWN_WHOLE else ""
    return ToolCard(call.id, call.name, spoken_arguments(call), arguments=arguments)


def card_of_result(row: Message, card: ToolCard | None = None) -> ToolCard:
    """The card of a tool row; without its call (a damaged transcript) the row itself is shown."""
    result = row.result
    if result is None:
        return ToolCard("", "tool", "", CardState.OK, output=row.content)
    return ToolCard(
        call_id=result.call_id,
        name=card.name if card else result.tool,
        shown=card.shown if card else "",
        state=ENDED[result.outcome],
        approval=result.approval,
        cause=result.cause,
        exit_code=result.exit_code,
        duration_s=result.duration_s,
        output=row.content,
        arguments=card.arguments if card else "",
    )


def spoken_arguments(call: ToolCall) -> str:
    """What a person reads beside a tool's name. Arguments that are not JSON are shown as the model wrote them."""
    try:
        parsed: object = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return call.arguments
    if not isinstance(parsed, dict):
        return call.arguments
    arguments = cast("Mapping[str, object]", parsed)
    spoken = arguments.get(SPOKEN_ARGUMENT.get(call.name, ""))
    if isinstance(spoken, str):
        return spoken
    if call.name == "todo" and isinstance(items := arguments.get("items"), list):
        return f"{len(cast('list[object]', items))} steps"  # which stand beneath
    return ", ".join(f"{name}: {value}" for name, value in arguments.items())
