"""What a session of hermes-agent is here: which ones are conversations of a person, and how they hang together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import cast

from msgspec import Struct

from session.hermes_agent_rows import Record, first_text, moment_of, number
from session.json_columns import UnreadableColumn, decode
from session.jsonl import LATEST, Row, Spending
from session.models import ApiMode, EndReason, Kind, Role, Route, Session, TitleSource
from session.titles import derive_title
from session.usage import day_of

# What ended a session for good: a person's own new beginning. All else is clean-up, and leaves it open here.
BEGUN_ANEW = ("new_session", "session_reset", "user_close")
TITLE_SOURCES = {"derived": TitleSource.DERIVED, "llm": TitleSource.MODEL, "user": TitleSource.PERSON}
API_MODES = {"chat_completions": ApiMode.CHAT, "codex_responses": ApiMode.RESPONSES}
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class Origin(Struct, frozen=True):
    """Where a session comes from. `is_own`: it is a person's conversation, not a run of an agent's helper."""

    record: Record
    parent_id: str = ""
    kind: Kind = Kind.ROOT
    is_own: bool = True

    @property
    def id(self) -> str:
        return str(self.record["id"])


def origins(records: list[Record]) -> list[Origin]:
    """All sessions, each behind the one it comes from."""
    named = {str(record["id"]): record for record in records}
    tips = continuations(records, named)
    found = {id_: origin(record, named, tips) for id_, record in named.items()}
    ordered: dict[str, Origin] = {}
    for id_ in found:
        line = [id_]
        while (parent := found[line[-1]].parent_id) and parent not in ordered and parent not in line:
            line.append(parent)
        ordered |= {ancestor: found[ancestor] for ancestor in reversed(line)}
    return list(ordered.values())


def origin(record: Record, named: Mapping[str, Record], tips: Mapping[str, str]) -> Origin:
    config, parent_id = config_of(record), str(record.get("parent_session_id") or "")
    if record.get("source") == "tool" or config.get("_delegate_from"):
        return Origin(record, is_own=False)
    parent = named.get(parent_id)
    if parent is None or parent is record or config.get("_reset_from"):
        return Origin(record)
    if tips.get(parent_id) == record["id"]:
        return Origin(record, parent_id, Kind.COMPACTION)
    if may_be_branch(record, parent):
        return Origin(record, parent_id, Kind.BRANCH)
    return Origin(record, is_own=False)


def may_be_branch(record: Record, parent: Record) -> bool:
    return bool(config_of(record).get("_branched_from")) or parent.get("end_reason") in ("branched", "compression")


def continuations(records: list[Record], named: Mapping[str, Record]) -> dict[str, str]:
    """The one session in which each compacted one goes on: rather one that goes on itself or is open, the latest of these."""
    best: dict[str, tuple[int, float, str]] = {}
    for record in records:
        parent_id, config = str(record.get("parent_session_id") or ""), config_of(record)
        parent = named.get(parent_id)
        if parent is None or parent.get("end_reason") != "compression":
            continue
        if record.get("source") == "tool" or config.get("_branched_from") or config.get("_delegate_from"):
            continue
        goes_on = 2 if record.get("end_reason") == "compression" else int(record.get("ended_at") is None)
        rank = (goes_on, moment_of(record.get("started_at"), 0), str(record["id"]))
        best[parent_id] = max(best.get(parent_id, rank), rank)
    return {parent_id: id_ for parent_id, (_, _, id_) in best.items()}


def session_from(record: Record, session_id: str, rows: list[Row]) -> Session:
    """The session, without a parent. Its times are those of its rows where they tell more."""
    started_at = moment_of(record.get("started_at"), 0)
    cwd = first_text(record.get("cwd"))
    title, source = title_of(record, rows)
    is_archived = bool(record.get("archived"))
    ended_at = moment_of(record.get("ended_at"), 0)
    is_ended = ended_at > 0 and record.get("end_reason") in BEGUN_ANEW
    rewinds = max((row.rewound_by for row in rows), default=0)
    last_activity_at = max([started_at, *(row.created_at for row in rows)])
    return Session(
        session_id,
        first_text(record.get("source"), "unknown"),
        title,
        source,
        cwd,
        first_text(record.get("git_repo_root"), cwd),
        started_at,
        last_activity_at,
        route=route_of(record),
        ended_at=ended_at if is_ended else None,
        end_reason=EndReason.NEW if is_ended else None,
        is_pinned=bool(record.get("pinned")),
        is_archived=is_archived,
        last_read_at=last_activity_at,
        rewinds=rewinds,
        revision=rewinds,
    )


def title_of(record: Record, rows: list[Row]) -> tuple[str, TitleSource]:
    """One that was stored without its source may be a person's own."""
    title = record.get("title")
    if isinstance(title, str) and title.strip():
        return title, TITLE_SOURCES.get(str(record.get("title_source") or "user"), TitleSource.DERIVED)
    asked = (row.content for row in rows if row.role is Role.USER and not row.is_summary)
    return derive_title(next(asked, "")), TitleSource.DERIVED


def route_of(record: Record) -> Route | None:
    """The model and its provider, where both are told. Where they answer is for the config here to say."""
    config = config_of(record)
    model = first_text(record.get("model"), config.get("model"))
    provider = first_text(config.get("provider"), record.get("billing_provider"))
    return (
        Route(provider, model, "", API_MODES.get(first_text(config.get("api_mode")), ApiMode.CHAT))
        if model and provider
        else None
    )


def spendings_of(record: Record, usage: Iterable[Record]) -> tuple[Spending, ...]:
    """By model and task on the day of the last request; from the session's own numbers where there are no others."""
    day_at = moment_of(record.get("started_at"), 0)
    counted = [
        spending_from(row, first_text(row.get("task")), moment_of(row.get("last_seen"), day_at)) for row in usage
    ]
    if not counted and number(record.get("api_call_count")):
        counted = [spending_from(record, "", day_at)]
    summed: dict[tuple[str, str, str, str], Spending] = {}
    for spent in counted:
        key = (spent.provider, spent.model, spent.day, spent.task)
        summed[key] = added(summed[key], spent) if key in summed else spent
    return tuple(summed.values())


def spending_from(record: Record, task: str, at: float) -> Spending:
    return Spending(
        first_text(record.get("billing_provider")),
        first_text(record.get("model")),
        day_of(at),
        task,
        amount(record.get("api_call_count")),
        amount(record.get("input_tokens")),
        amount(record.get("output_tokens")),
        amount(record.get("cache_read_tokens")),
        amount(record.get("cache_write_tokens")),
        amount(record.get("reasoning_tokens")),
    )


def added(one: Spending, other: Spending) -> Spending:
    return Spending(
        one.provider,
        one.model,
        one.day,
        one.task,
        one.requests + other.requests,
        one.input + other.input,
        one.output + other.output,
        one.cache_read + other.cache_read,
        one.cache_write + other.cache_write,
        one.reasoning + other.reasoning,
    )


def amount(value: object) -> int:
    return min(max(number(value), 0), LATEST)


def config_of(record: Record) -> dict[str, object]:
    """Its settings, {} where they cannot be read."""
    column = record.get("model_config")
    if not isinstance(column, str) or not column:
        return {}
    try:
        value = decode(column)
    except UnreadableColumn:
        return {}
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def own_id(id_: str) -> str:
    """Its id where it can be ours; else one made from it, always the same."""
    if _ID.fullmatch(id_):
        return id_
    return f"hermes-agent-{sha256(id_.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
