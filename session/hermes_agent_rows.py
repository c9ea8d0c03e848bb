"""A conversation of hermes-agent as rows of ours: nothing said is lost, and a request can be made from what stands.

Rows that stand, rows that were compacted and rows that were taken back are each made legal by themselves: a call has one
result behind it, an answer follows a prompt, and no two calls have one id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from session.json_columns import UnreadableColumn, decode, encode
from session.jsonl import LATEST, Row, row_of
from session.models import Approval, CallOutcome, CallResult, Finish, Message, Role, ToolCall
from session.results import result_row

ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL}
ENDS = {"incomplete": Finish.CUT, "error": Finish.ERROR} | {finish.value: finish for finish in Finish}
# How it marks content that is more than text, and the text of a summary.
PARTS_MARK = "\0json:"
SUMMARY_MARKS = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:")
GIVEN_BACK = ("reasoning_details", "codex_reasoning_items", "codex_message_items")
LOST = "hermes-agent stored no result of it"

Record = Mapping[str, object]


class Placed(Struct, frozen=True):
    """A message and the id of the row that it stands at."""

    at: int
    message: Message


class OpenCall(Struct, frozen=True):
    """A call that waits for its result: the id it came with, and the call under the id it has here."""

    id: str
    own: ToolCall
    at: float
    result: Message | None = None


def rows_of(records: list[Record], session_id: str, started_at: float) -> list[Row]:
    """The rows of one session, in the order of its records."""
    used: set[str] = set()
    placed: list[Placed] = []
    kept = without_copies(records)
    for layer in ((True, False), (False, True), (False, False)):
        is_active, is_compacted = layer
        conversation = Conversation(session_id, used, is_active=is_active)
        for row in conversation.of([record for record in kept if standing(record) == layer], started_at):
            placed.append(Placed(row.at, replace(row.message, is_active=is_active, is_compacted=is_compacted)))
    placed.sort(key=lambda row: row.at)
    return [row_of(row.message, rewound_by=int(was_rewound(row.message))) for row in placed]


def was_rewound(message: Message) -> bool:
    return not (message.is_active or message.is_compacted)


def standing(record: Record) -> tuple[bool, bool]:
    is_active = record.get("active") != 0
    return is_active, not is_active and record.get("compacted") == 1


def without_copies(records: list[Record]) -> list[Record]:
    """A compaction sets all rows aside and stores those that it keeps anew: what came again is left out the first time."""
    last = {moment_and_words(record): record for record in records}
    return [
        record for record in records if standing(record) != (False, True) or last[moment_and_words(record)] is record
    ]


def moment_and_words(record: Record) -> tuple[str, ...]:
    return tuple(str(record.get(name)) for name in ("timestamp", "role", "content", "tool_calls", "tool_call_id"))


class Conversation:
    """Rows of one layer, as they come. `used` are the ids of calls that are taken in the session."""

    def __init__(self, session_id: str, used: set[str], *, is_active: bool) -> None:
        self._session_id = session_id
        self._used = used
        self._is_active = is_active
        self._begins_with_prompt = not is_active  # what was set aside begins anywhere
        self._rows: list[Placed] = []
        self._at = 0  # the last row that was no result
        self._open: list[OpenCall] = []
        self._late: list[Message] = []  # what has to wait until the results are complete

    def of(self, records: list[Record], started_at: float) -> list[Placed]:
        for record in records:
            self._take(record, moment_of(record.get("timestamp"), started_at))
        self._settle()
        return self._rows

    def _take(self, record: Record, at: float) -> None:
        content, parts = content_of(record.get("content"))
        message = Message(self._session_id, ROLES.get(str(record.get("role")), Role.NOTICE), content, at, parts=parts)
        if message.role is Role.TOOL:
            self._answer(record, message)
            return
        self._settle()
        self._at = number(record.get("id"))
        match message.role:
            case Role.USER:
                self._ask(prompt(message, record))
            case Role.ASSISTANT:
                self._say(answer(message, record))
            case _:
                self._rows.append(Placed(self._at, message))

    def _ask(self, message: Message) -> None:
        if self._is_active and self._rows and message.is_summary:
            message = replace(message, is_summary=False)  # what stands before it was not summarised
        self._begins_with_prompt = True
        self._rows.append(Placed(self._at, message))

    def _say(self, message: Message) -> None:
        if message.role is Role.USER:
            self._ask(message)
            return
        if not self._begins_with_prompt:  # no request does that
            self._rows.append(Placed(self._at, replace(unsaid(message), role=Role.NOTICE)))
            return
        calls = tuple(self._with_own_id(call, message.created_at) for call in message.calls)
        message = replace(message, calls=calls)
        index = len(self._rows) - 1
        while index >= 0 and self._rows[index].message.role is Role.NOTICE:
            index -= 1
        before = self._rows[index] if index >= 0 else None
        if before and before.message.role is Role.ASSISTANT and not before.message.calls:
            self._rows[index] = Placed(before.at, joined(before.message, message))
        else:
            self._rows.append(Placed(self._at, message))

    def _with_own_id(self, call: ToolCall, at: float) -> ToolCall:
        own = replace(call, id=free(call.id, self._used))
        self._used.add(own.id)
        self._open.append(OpenCall(call.id, own, at))
        return own

    def _answer(self, record: Record, message: Message) -> None:
        """A result goes to the first call of its id that has none; one without a call becomes a notice."""
        id_ = record.get("tool_call_id")
        index = next((i for i, call in enumerate(self._open) if call.id == id_ and call.result is None), None)
        if index is not None:
            call = self._open[index]
            self._open[index] = replace(
                call, result=replace(message, result=result_of(call.own, record, message.content))
            )
        elif self._open:
            self._late.append(replace(message, role=Role.NOTICE))
        else:
            self._rows.append(Placed(number(record.get("id")), replace(message, role=Role.NOTICE)))

    def _settle(self) -> None:
        """Put the results behind their calls, in the order of the calls, and one that says so where there is none."""
        settled = [call.result or lost_result(self._session_id, call) for call in self._open]
        self._rows += [Placed(self._at, row) for row in (*settled, *self._late)]
        self._open, self._late = [], []


def prompt(message: Message, record: Record) -> Message:
    sent = record.get("api_content")
    is_sent = isinstance(sent, str) and sent != message.content
    return replace(message, sent=str(sent) if is_sent else "", is_summary=is_summary(record, message.content))


def answer(message: Message, record: Record) -> Message:
    """A summary that it stored as an answer becomes a prompt: no conversation begins with an answer."""
    if is_summary(record, message.content):
        return replace(message, role=Role.USER, is_summary=True)
    calls, unread = calls_of(record.get("tool_calls"))
    return replace(
        message,
        content=f"{message.content}\n\n{unread}" if unread and message.content else message.content or unread,
        reasoning=first_text(record.get("reasoning"), record.get("reasoning_content")),
        calls=calls,
        finish=finish_of(record.get("finish_reason"), calls),
        extras=extras_of(record),
    )


def joined(before: Message, message: Message) -> Message:
    """Two answers in a row as one."""
    return replace(
        message,
        content="\n\n".join(filter(None, (before.content, message.content))),
        reasoning="\n\n".join(filter(None, (before.reasoning, message.reasoning))),
        parts=message.parts or before.parts,
        extras=message.extras or before.extras,
        created_at=before.created_at,
    )


def is_summary(record: Record, content: str) -> bool:
    return bool(record.get("_compressed_summary")) or content.startswith(SUMMARY_MARKS)


def content_of(content: object) -> tuple[str, str]:
    """The text, and the parts as JSON where there is more than text."""
    match content:
        case None:
            return "", ""
        case str() if content.startswith(PARTS_MARK):
            return text_and_parts(content.removeprefix(PARTS_MARK))
        case bytes():
            return content.decode("utf-8", "replace"), ""
        case _:
            return str(content), ""


def text_and_parts(column: str) -> tuple[str, str]:
    try:
        value = decode(column)
    except UnreadableColumn:
        return column, ""
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in cast("list[object]", value)):
        return column, ""
    parts = cast("list[dict[str, object]]", value)
    texts = [text for part in parts if isinstance(text := part.get("text"), str)]
    return "\n".join(texts), "" if len(texts) == len(parts) == 1 else encode(parts)


def calls_of(column: object) -> tuple[tuple[ToolCall, ...], str]:
    """The calls; and the column as it stands where they cannot be read."""
    if not isinstance(column, str) or not column:
        return (), ""
    try:
        value = decode(column)
        items = cast("list[object]", value if isinstance(value, list) else [value])
        return tuple(map(call_of, items)), ""
    except UnreadableColumn:
        return (), column


def call_of(value: object) -> ToolCall:
    match value:
        case {"id": str(id_), "function": {"name": str(name), "arguments": str(arguments)}}:
            return ToolCall(id_, name, arguments)
        case {"id": str(id_), "function": {"name": str(name)}}:
            function = cast("dict[str, dict[str, object]]", value)["function"]
            return ToolCall(id_, name, encode(function.get("arguments")))
        case _:
            raise UnreadableColumn("a call lacks a field")


def free(id_: str, used: set[str]) -> str:
    number, own = 1, id_
    while own in used:
        number += 1
        own = f"{id_}-{number}"
    return own


def finish_of(reason: object, calls: tuple[ToolCall, ...]) -> Finish:
    return ENDS.get(str(reason), Finish.TOOL_CALLS if calls else Finish.STOP)


def extras_of(record: Record) -> str:
    """What the model's server wants back, under the names it has there."""
    given: dict[str, object] = {}
    for name in GIVEN_BACK:
        column = record.get(name)
        if isinstance(column, str) and column:
            given |= readable(name, column)
    return encode(given) if given else ""


def readable(name: str, column: str) -> dict[str, object]:
    try:
        return {name: decode(column)}
    except UnreadableColumn:
        return {}


def result_of(call: ToolCall, record: Record, content: str) -> CallResult:
    tool = first_text(record.get("tool_name"), call.name)
    outcome = outcome_of(record.get("effect_disposition"), content)
    return CallResult(call.id, tool, outcome, Approval.NOT_ASKED, exit_code_of(content))


def lost_result(session_id: str, call: OpenCall) -> Message:
    lost = CallResult(call.own.id, call.own.name, CallOutcome.INTERRUPTED, Approval.NOT_ASKED, cause=LOST)
    return result_row(session_id, lost, call.at)


def unsaid(message: Message) -> Message:
    """Its words alone."""
    return Message(message.session_id, message.role, message.content, message.created_at, parts=message.parts)


def moment_of(value: object, otherwise: float) -> float:
    """Seconds since the epoch, where the value can be that."""
    return float(value) if isinstance(value, int | float) and 0 <= value <= LATEST else otherwise


def outcome_of(disposition: object, content: str) -> CallOutcome:
    """What became of a call. It keeps no word on success: a result that names an error has failed."""
    match disposition, told_in(content):
        case "none", _:
            return CallOutcome.NOT_RUN
        case "unknown", _:
            return CallOutcome.INTERRUPTED
        case _, {"error": error} if error:
            return CallOutcome.ERROR
        case _:
            return CallOutcome.OK


def exit_code_of(content: str) -> int | None:
    match told_in(content):
        case {"exit_code": int(code)} if abs(code) < 2**31:
            return int(code)
        case _:
            return None


def told_in(content: str) -> Mapping[str, object]:
    """What a result in JSON says, {} for any other."""
    if not content.startswith("{"):
        return {}
    try:
        return cast("dict[str, object]", decode(content))
    except UnreadableColumn:
        return {}


def first_text(*values: object) -> str:
    return next((value for value in values if isinstance(value, str) and value), "")


def number(value: object) -> int:
    return value if isinstance(value, int) else 0
