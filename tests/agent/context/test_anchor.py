"""An anchor holds for the rows and the route that its server counted, and for nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.context.anchor import NO_ANCHORS, decode, encode, route_fingerprint
from agent.context.meter import FigureSource, Meter
from session.models import (
    ApiMode,
    Approval,
    CallOutcome,
    CallResult,
    Message,
    Role,
    Route,
    ToolCall,
    Usage,
)

TALK = settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

words = st.text("ab1:{}漢é\n", max_size=6)
calls = st.builds(ToolCall, words, words, words)
results = st.builds(CallResult, words, words, st.just(CallOutcome.OK), st.just(Approval.NOT_ASKED))
roles = st.sampled_from([Role.USER, Role.ASSISTANT, Role.TOOL])
rows = st.builds(
    Message,
    st.just("s"),
    roles,
    words,
    st.just(0.0),
    refusal=words,
    sent=words,
    calls=st.lists(calls, max_size=2).map(tuple),
    result=st.none() | results,
)
conversations = st.lists(rows, min_size=1, max_size=6)


def visible(row: Message) -> object:
    """What a model can see of a row."""
    result = row.result.call_id if row.result else ""
    said = (row.role, row.content, row.refusal, row.sent, row.parts, result)
    return said, [(call.id, call.name, call.arguments) for call in row.calls]


def spliced(held: list[Message], data: st.DataObject) -> list[Message]:
    """Other rows: some of them changed, moved, left out or put in."""
    first, end = sorted(data.draw(st.tuples(st.integers(0, len(held)), st.integers(0, len(held)))))
    return [*held[:first], *data.draw(st.lists(rows, max_size=2)), *held[end:]]


@TALK
@given(conversations, st.lists(rows, max_size=3), st.data())
def test_any_splice_of_what_was_counted_fails_closed(
    new_talk: Callable[[], Any], counted: list[Message], rest: list[Message], data: st.DataObject
):
    talk = new_talk()
    talk.rows += counted
    talk.answers("Hi", Usage(1_000_000, 5))
    talk.rows += rest
    assert talk.figure.used >= 1_000_000
    other = spliced(counted, data)
    changed = [*other, *talk.rows[len(counted) :]]
    still_holds = list(map(visible, changed[: len(counted)])) == list(map(visible, counted))
    for meter, now in ((talk.meter, list(changed)), (Meter(), list(changed)), (talk.meter, talk.rows)):
        talk.rows[:] = changed  # also where the very list is changed under a meter that knows it
        figure = meter.figure(now, talk.column, talk.terms)
        pressure = meter.pressure(now, talk.column, talk.terms)
        assert (figure.source is not FigureSource.ESTIMATE) == pressure.is_anchored == still_holds or not now


@TALK
@given(st.lists(st.one_of(rows, st.builds(Usage, st.integers(1, 9_999), st.integers(0, 9_999))), max_size=12))
def test_a_figure_is_the_same_live_and_reopened(new_talk: Callable[[], Any], said: list[Message | Usage]):
    """Whatever was said, and however often it was asked meanwhile."""
    talk = new_talk()
    for one in said:
        match one:
            case Usage():
                talk.answers("Hi there", one)
            case row:
                talk.rows.append(row)
        assert talk.figure == talk.reopened()


@pytest.mark.parametrize("field", ["id", "created_at", "reasoning", "usage", "extras", "is_summary"])
def test_what_no_model_sees_of_a_row_changes_nothing(talk, field: str):
    talk.asks("hello")
    talk.answers("Hi", Usage(10, 5))
    other = {"id": 77, "created_at": 9.5, "reasoning": "hm", "usage": Usage(1, 1), "extras": "{}", "is_summary": True}
    talk.rows = [replace(row, **{field: other[field]}) for row in talk.rows]
    assert talk.figure.source is FigureSource.PROVIDER


def test_a_notice_is_no_row_that_was_counted(talk):
    talk.asks("hello")
    talk.answers("Hi", Usage(10, 5))
    talk.rows.insert(0, Message("s", Role.NOTICE, "x" * 400, 0.0))
    assert (talk.figure.used, talk.figure.source) == (15, FigureSource.PROVIDER)


# --- the route


@pytest.mark.parametrize(
    "other",
    [
        Route("q", "m", "http://host/v1", ApiMode.CHAT),
        Route("p", "n", "http://host/v1", ApiMode.CHAT),
        Route("p", "m", "http://other/v1", ApiMode.CHAT),
        Route("p", "m", "http://host/v1", ApiMode.RESPONSES),
    ],
)
def test_another_route_is_another_fingerprint(other: Route):
    assert route_fingerprint(Route("p", "m", "http://host/v1", ApiMode.CHAT)) != route_fingerprint(other)


@pytest.mark.parametrize(
    "same",
    [
        Route("p", "m", "http://me:secret@HOST/v1/?api-version=3#there", ApiMode.CHAT),
        Route("p", "m", "http://host/v1", ApiMode.CHAT, "SOME_KEY", 4096),
    ],
)
def test_neither_who_asks_nor_the_window_is_part_of_a_route(same: Route):
    assert route_fingerprint(Route("p", "m", "http://host/v1", ApiMode.CHAT)) == route_fingerprint(same)


def test_no_credential_of_an_address_is_stored(talk):
    talk.terms = replace(talk.terms, route=Route("p", "m", "http://me:hunter2@host/v1?key=hunter2", ApiMode.CHAT))
    talk.asks("hello")
    talk.answers("Hi", Usage(10, 5))
    assert "hunter2" not in talk.column


# --- the column


@given(st.text(max_size=40) | st.recursive(st.none() | st.integers() | st.text(max_size=3), st.lists).map(json.dumps))
def test_a_column_that_is_none_of_ours_holds_nothing(column: str):
    assert decode(column) == NO_ANCHORS


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prompt", 0),
        ("prompt", -5),
        ("prompt", True),
        ("prompt", "10"),
        ("prompt", 10**400),
        ("base_count", 0),
        ("output", -1),
        ("thinking", 6),
        ("carried", 11),
        ("prefix", ""),
        ("prefix", "x" * 64),
        ("route", None),
        ("at", "now"),
        ("fixed", {"messages": -1}),
        ("fixed", {"messages": 10**400}),
        ("unread", -1),
    ],
)
def test_an_anchor_whose_numbers_can_not_be_is_none(talk, field: str, value: object):
    talk.asks("hello")
    talk.answers("Hi", Usage(10, 5))
    stored = json.loads(talk.column)
    assert encode(decode(talk.column)) == talk.column
    stored["last"][field] = value
    talk.column = json.dumps(stored)
    assert decode(talk.column) == NO_ANCHORS
    assert talk.figure.source is FigureSource.ESTIMATE
