"""An exported session as lines of JSON: one that says what it is, then one for each row, in the order they were stored.

Nothing in them depends on the ids of a store: rows are counted from 1 in their session. A field is left out where it
has its default. Which server answered and the name of its key stay at home: a file that somebody else wrote must not
decide where a key is sent.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from session.connection import legal
from session.json_columns import require_extras, require_parts
from session.models import (
    ApiMode,
    CallResult,
    EndReason,
    Finish,
    Kind,
    Level,
    Message,
    Role,
    Route,
    Session,
    TitleSource,
    ToolCall,
    Usage,
)

FORMAT = "hermes-session"
VERSION = 1

LATEST = 253_402_300_799  # the end of the year 9999: no calendar shows a later moment
GREATEST = 2**63 - 1  # that a column holds

Moment = Annotated[float, Meta(ge=0, le=LATEST)]
Count = Annotated[int, Meta(ge=0, le=GREATEST)]
# An id names folders, too.
SessionId = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")]


class Fields(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What all records of a file have in common: no field that this version does not know."""


class Named(Fields, frozen=True):
    """Which model answered, without where: the address and the key are looked up by these names."""

    provider: str
    model: str
    api_mode: ApiMode = ApiMode.CHAT
    window: Count | None = None


class Spending(Fields, frozen=True):
    """What a session took from one model on one day for one task."""

    provider: str
    model: str
    day: Annotated[str, Meta(pattern=r"\A\d{4}-\d\d-\d\d\Z")]
    task: str = ""
    requests: Count = 0
    input: Count = 0
    output: Count = 0
    cache_read: Count = 0
    cache_write: Count = 0
    reasoning: Count = 0


class Header(Fields, frozen=True, kw_only=True):
    """The first line of a session. `messages` rows follow it, and `sessions_left` sessions follow those.

    A parent is named only where it is in the same file; `branched_at` counts its rows.
    """

    format: Literal["hermes-session"]
    version: Literal[1]
    id: SessionId
    messages: Count
    sessions_left: Count
    source: str
    title: str
    title_source: TitleSource
    cwd: str
    workspace: str
    created_at: Moment
    last_activity_at: Moment
    route: Named | None = None
    personality: str = ""
    ended_at: Moment | None = None
    end_reason: EndReason | None = None
    parent_id: str = ""
    kind: Kind = Kind.ROOT
    branched_at: Count = 0
    profile: str = ""
    is_pinned: bool = False
    is_archived: bool = False
    last_read_at: Moment = 0.0
    prompt: str = ""
    rewinds: Count = 0
    revision: Count = 0
    usage: tuple[Spending, ...] = ()


class Call(Fields, frozen=True):
    """A tool call, as in `ToolCall`."""

    id: str
    name: str
    arguments: str
    is_masked: bool = False


class Row(Fields, frozen=True):
    """A row of a transcript, as in `Message`, with what the store alone knows of it.

    It stands at the place of row `position` of its own session or of row `copy_of` of the parent's; 0: at one of its own.
    """

    role: Role
    created_at: Moment
    content: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: tuple[Call, ...] = ()
    finish: Finish | None = None
    usage: Usage | None = None
    result: CallResult | None = None
    level: Level = Level.INFO
    sent: str = ""
    parts: str = ""
    extras: str = ""
    is_active: bool = True
    is_compacted: bool = False
    rewound_by: Count = 0
    is_summary: bool = False
    is_mended: bool = False
    position: Count = 0
    copy_of: Count = 0


decode_header = msgspec.json.Decoder(Header).decode
_rows = msgspec.json.Decoder(Row)


def encode_line(record: Header | Row) -> str:
    """The record as a line with its end."""
    try:
        return msgspec.json.encode(record).decode() + "\n"
    except UnicodeEncodeError:  # JSON in a column can spell out half a surrogate pair
        text = json.dumps(msgspec.to_builtins(record), ensure_ascii=False)
        mended = msgspec.json.decode(legal(text).encode(), type=type(record))
        return msgspec.json.encode(mended).decode() + "\n"


def decode_row(line: bytes) -> Row:
    """Raises ValueError where the line is no row that can be stored."""
    row = _rows.decode(line)
    require_parts(row.parts)
    require_extras(row.extras)
    if row.result and abs(row.result.exit_code or 0) > GREATEST:
        raise ValueError("the exit code is no number that can be stored")
    if (row.is_active, row.is_compacted, row.rewound_by > 0).count(True) != 1:
        raise ValueError("a row must be active, compacted or rewound, and only one of these")
    return row


def row_of(message: Message, *, rewound_by: int = 0, position: int = 0, copy_of: int = 0) -> Row:
    return Row(
        role=message.role,
        created_at=message.created_at,
        content=message.content,
        reasoning=message.reasoning,
        refusal=message.refusal,
        calls=tuple(Call(call.id, call.name, call.arguments, call.is_masked) for call in message.calls),
        finish=message.finish,
        usage=message.usage,
        result=message.result,
        level=message.level,
        sent=message.sent,
        parts=message.parts,
        extras=message.extras,
        is_active=message.is_active,
        is_compacted=message.is_compacted,
        rewound_by=rewound_by,
        is_summary=message.is_summary,
        is_mended=message.is_mended,
        position=position,
        copy_of=copy_of,
    )


def message_of(row: Row, session_id: str) -> Message:
    return Message(
        session_id,
        row.role,
        row.content,
        row.created_at,
        reasoning=row.reasoning,
        refusal=row.refusal,
        calls=tuple(ToolCall(call.id, call.name, call.arguments, call.is_masked) for call in row.calls),
        finish=row.finish,
        usage=row.usage,
        result=row.result,
        level=row.level,
        sent=row.sent,
        parts=row.parts,
        extras=row.extras,
        is_active=row.is_active,
        is_compacted=row.is_compacted,
        is_summary=row.is_summary,
        is_mended=row.is_mended,
    )


def header_of(
    session: Session, *, messages: int, sessions_left: int, prompt: str, usage: tuple[Spending, ...]
) -> Header:
    """The header of a session that stands alone in its file; see `joined` for one with its parent in it."""
    route = session.route
    return Header(
        format=FORMAT,
        version=VERSION,
        id=session.id,
        messages=messages,
        sessions_left=sessions_left,
        source=session.source,
        title=session.title,
        title_source=session.title_source,
        cwd=session.cwd,
        workspace=session.workspace,
        created_at=session.created_at,
        last_activity_at=session.last_activity_at,
        route=Named(route.provider, route.model, route.api_mode, route.window) if route else None,
        personality=session.personality,
        ended_at=session.ended_at,
        end_reason=session.end_reason,
        profile=session.profile,
        is_pinned=session.is_pinned,
        is_archived=session.is_archived,
        last_read_at=session.last_read_at,
        prompt=prompt,
        rewinds=session.rewinds,
        revision=session.revision,
        usage=usage,
    )


def session_of(header: Header, session_id: str, prompt_hash: str) -> Session:
    """The session of a header under an id, without a parent."""
    named = header.route
    return Session(
        session_id,
        header.source,
        header.title,
        header.title_source,
        header.cwd,
        header.workspace,
        header.created_at,
        header.last_activity_at,
        route=Route(named.provider, named.model, "", named.api_mode, window=named.window) if named else None,
        personality=header.personality,
        ended_at=header.ended_at,
        end_reason=header.end_reason,
        profile=header.profile,
        is_pinned=header.is_pinned,
        is_archived=header.is_archived,
        last_read_at=header.last_read_at,
        prompt_hash=prompt_hash,
        rewinds=header.rewinds,
        revision=header.revision,
    )


def what_was_said(row: Row) -> Row:
    """The row without what happens to rows later: by this a row that was compacted since is still known."""
    return replace(row, is_active=True, is_compacted=False, rewound_by=0, is_mended=False, position=0, copy_of=0)


def spending_of(provider: str, model: str, day: str, task: str, requests: int, usage: Usage) -> Spending:
    return Spending(provider, model, day, task, requests, **asdict(usage))
