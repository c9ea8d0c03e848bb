"""What the status row says of a wait for the model."""

from __future__ import annotations

import pytest

from agent.context.meter import ContextFigure, FigureSource
from agent.events import (
    AnswerRestarted,
    CallStarted,
    CompactionEnded,
    CompactionStarted,
    Notice,
    RowStored,
    Stamp,
    TextDelta,
    TurnEnded,
    TurnStarted,
    Why,
)
from agent.session_run import Live
from session.models import Approval, CallOutcome, CallResult, ExitReason, Level, Message, Role, ToolCall
from tui.widgets.status_bar import Status, status_line
from tui.widgets.waiting import Waits

AT = Stamp("default", "s", 1)
PROMPT = RowStored(AT, Message("s", Role.USER, "hi", 1.0))
DONE = CallResult("c", "terminal", CallOutcome.OK, Approval.NOT_ASKED)
RESULT = RowStored(AT, Message("s", Role.TOOL, "ok", 1.0, result=DONE))
ANSWER = RowStored(AT, Message("s", Role.ASSISTANT, "Hello.", 1.0))


@pytest.fixture
def clock():
    return [100.0]


@pytest.fixture
def waits(clock):
    waits = Waits(lambda: clock[0])
    waits.hear(TurnStarted(AT))
    waits.hear(PROMPT)
    return waits


def test_A36_a_wait_for_the_first_word_is_told_with_its_time(waits, clock):
    assert waits.told("s") == ""
    clock[0] += 12
    assert waits.told("s") == "no word yet 12s"
    assert waits.told("another") == ""


def test_A32_a_pause_before_the_next_attempt_counts_down_and_says_how_often(waits, clock):
    waits.hear(AnswerRestarted(AT, 2, 4, "slow down", 30.0))
    told = [waits.told("s")]
    for passed_s in (0.5, 20, 9.5, 4):
        clock[0] += passed_s
        told.append(waits.told("s"))
    assert told == [
        "asks again in 30s (2 of 4)",
        "asks again in 30s (2 of 4)",
        "asks again in 10s (2 of 4)",
        "no word yet 0s (2 of 4)",
        "no word yet 4s (2 of 4)",
    ]


@pytest.mark.parametrize(
    "event",
    [TextDelta(AT, "Hel"), ANSWER, CallStarted(AT, ToolCall("c", "t", "{}"), "t"), TurnEnded(AT, ExitReason.CUT)],
)
def test_a_wait_ends_with_what_was_waited_for(waits, clock, event):
    clock[0] += 12
    assert waits.hear(event)
    assert waits.told("s") == ""


def test_what_passes_by_ends_no_wait(waits, clock):
    clock[0] += 12
    assert not waits.hear(Notice(AT, Level.INFO, "The disk is full."))
    assert waits.told("s") == "no word yet 12s"


def test_after_a_tool_the_model_is_waited_for_again(waits, clock):
    waits.hear(TextDelta(AT, "Let me see."))
    waits.hear(RESULT)
    clock[0] += 5
    assert waits.told("s") == "no word yet 5s"


def test_the_status_row_keeps_the_wait_before_the_model():
    figure = ContextFigure(41_200, 128_000, FigureSource.PROVIDER)
    status = Status("gpt-5-mini", Live.WORKING, figure, "project", 31, waiting="asks again in 30s (2 of 4)")
    assert "working 31s · asks again in 30s (2 of 4) · gpt-5-mini" in str(status_line(status, 80))
    assert "(2 of 4)" in str(status_line(status, 44))


def test_while_a_conversation_is_compacted_its_time_is_told_and_no_wait_for_the_model(waits, clock):
    waits.hear(CompactionStarted(AT, Why.FULL, 96_000))
    clock[0] += 12
    assert (waits.compacting_s("s"), waits.compacting_s("another"), waits.told("s")) == (12, None, "")
    waits.hear(CompactionEnded(AT, 96_000, 20_000, 40))
    assert (waits.compacting_s("s"), waits.told("s")) == (None, "")  # only now the model is asked
    clock[0] += 4
    assert waits.told("s") == "no word yet 4s"


def test_a_compaction_that_is_no_part_of_a_turn_leaves_nothing_to_wait_for(clock):
    waits = Waits(lambda: clock[0])
    waits.hear(CompactionStarted(AT, Why.ASKED, 96_000))
    waits.hear(CompactionEnded(AT, 96_000, 96_000, 0, "It was stopped."))
    clock[0] += 12
    assert (waits.compacting_s("s"), waits.told("s")) == (None, "")
