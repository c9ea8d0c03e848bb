"""The reducer: live and reopened transcripts are the same blocks."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.context.summary_text import summary_text
from agent.events import (
    AnswerRestarted,
    CallOutput,
    CallStarted,
    CaughtUp,
    ReasoningDelta,
    RequestOpened,
    RequestSettled,
    RowStored,
    Stamp,
    TextDelta,
    TurnEnded,
    TurnEvent,
    TurnStarted,
)
from session.memory_store import FIRST_TEMPORARY_ID
from session.models import (
    Approval,
    ApprovalRequest,
    CallOutcome,
    CallResult,
    ExitReason,
    Finish,
    Level,
    Message,
    Role,
    ToolCall,
)
from tui.transcript.blocks import (
    Activity,
    Answer,
    CardState,
    NoticeBlock,
    Prompt,
    Reasoning,
    Refusal,
    Summary,
    ToolCard,
)
from tui.transcript.cards import status_of
from tui.transcript.document import Document

AT = Stamp("default", "s", 1)
TEXT = st.text(max_size=30)


@st.composite
def turns(draw: st.DrawFn) -> tuple[list[Message], list[TurnEvent]]:
    """A whole turn: its rows, and the events that told of it live."""
    rows: list[Message] = []
    events: list[TurnEvent] = [TurnStarted(AT)]

    def store(role: Role, content: str, **fields: object) -> None:
        row = Message("s", role, content, 0.0, id=len(rows) + 1, **fields)  # pyright: ignore[reportArgumentType]
        rows.append(row)
        events.append(RowStored(AT, row))

    def stream(text: str, reasoning: str) -> None:
        events.extend(ReasoningDelta(AT, char) for char in reasoning)
        events.extend(TextDelta(AT, char) for char in text)

    store(Role.USER, draw(TEXT))
    for step in range(draw(st.integers(0, 3))):
        text, reasoning = draw(TEXT), draw(TEXT)
        if draw(st.booleans()):
            stream(draw(TEXT), draw(TEXT))
            events.append(AnswerRestarted(AT, 2, 5, "The connection broke.", 0.1))
        stream(text, reasoning)
        if draw(st.booleans()):
            store(Role.NOTICE, draw(TEXT), level=draw(st.sampled_from(Level)))
        calls = tuple(ToolCall(f"{step}-{n}", "terminal", '{"command":"ls"}') for n in range(draw(st.integers(0, 3))))
        store(
            Role.ASSISTANT,
            text,
            reasoning=reasoning,
            refusal=draw(st.sampled_from(("", "No."))),
            calls=calls,
            finish=draw(st.sampled_from(Finish)),
        )
        for call in calls:
            approval = draw(st.sampled_from(Approval))
            request = ApprovalRequest(f"r{call.id}", "s", call.id, "terminal", "ls", "it runs a command", 0.0)
            if approval is not Approval.NOT_ASKED:
                events += [RequestOpened(AT, request), RequestSettled(AT, request, approval, "")]
            if approval.may_run:
                events += [CallStarted(AT, call, "ls"), CallOutput(AT, call.id, draw(TEXT))]
            result = CallResult(call.id, "terminal", draw(st.sampled_from(CallOutcome)), approval, duration_s=1.0)
            store(Role.TOOL, draw(TEXT), result=result)
    stream(draw(TEXT), draw(TEXT))  # never stored: withdrawn when the turn ends
    events.append(TurnEnded(AT, ExitReason.INTERRUPTED))
    return rows, events


@settings(max_examples=150, deadline=None)
@given(turns(), st.data())
def test_live_and_reopened_transcripts_are_equal(turn: tuple[list[Message], list[TurnEvent]], data: st.DataObject):
    rows, events = turn
    reopened = Document()
    reopened.reset(rows)
    live = Document()
    at = 0
    while at < len(events):
        size = data.draw(st.integers(1, 20))
        live.apply(events[at : at + size])
        at += size
    assert live.blocks == reopened.blocks


@settings(max_examples=60, deadline=None)
@given(turns())
def test_what_apply_leaves_alone_is_the_same_object(turn: tuple[list[Message], list[TurnEvent]]):
    _, events = turn
    document = Document()
    for event in events:
        before = list(document.blocks)
        first = document.apply([event])
        unchanged = zip(before[:first], document.blocks[:first], strict=False)
        assert all(old is new for old, new in unchanged)


def test_a_restarted_answer_withdraws_what_it_said(told):
    document = Document()
    document.apply([told.says("half an ans"), AnswerRestarted(AT, 2, 5, "The connection broke.", 0.5)])
    assert document.blocks == [Activity("The connection broke. Asking again (2 of 5)")]
    document.apply([told.says("whole")])
    assert document.blocks == [Answer("whole", is_open=True)]


def test_cards_stand_behind_the_answer_that_called_and_a_result_completes_its_own(told):
    calls = (ToolCall("a", "terminal", '{"command":"ls"}'), ToolCall("b", "read_file", '{"path":"x.py"}'))
    result = CallResult("b", "read_file", CallOutcome.OK, Approval.NOT_ASKED)
    document = Document()
    document.reset([told.answer("Looking.", calls=calls), told.row(Role.TOOL, "import os", result=result)])
    assert document.blocks == [
        Answer("Looking."),
        ToolCard("a", "terminal", "ls"),
        ToolCard("b", "read_file", "x.py", CardState.OK, output="import os"),
    ]


def test_reasoning_comes_before_the_answer_even_when_it_arrives_later(told):
    document = Document()
    document.apply([told.says("Hello"), ReasoningDelta(AT, "hm")])
    assert document.blocks == [Reasoning("hm", is_open=True), Answer("Hello", is_open=True)]


def test_a_row_that_was_read_already_is_not_shown_twice(told):
    row = told.prompt("hi")
    document = Document()
    document.reset([row])
    document.apply([told.stored(row)])
    assert document.blocks == [Prompt("hi")]


def test_a_question_marks_its_card_until_it_is_settled(told):
    request = ApprovalRequest("r", "s", "a", "terminal", "ls", "why", 0.0)
    document = Document()
    document.reset([told.answer("", calls=(ToolCall("a", "terminal", '{"command":"ls"}'),))])
    document.apply([RequestOpened(AT, request)])
    asking = document.blocks[-1]
    document.apply([RequestSettled(AT, request, Approval.ALLOWED_ONCE, "")])
    assert isinstance(asking, ToolCard)
    assert asking.state is CardState.ASKING
    assert document.blocks[-1] == ToolCard("a", "terminal", "ls", approval=Approval.ALLOWED_ONCE)


def test_a_cut_answer_without_text_still_says_so_and_a_refusal_stands_alone(told):
    document = Document()
    document.reset(
        [
            told.answer("", finish=Finish.CUT),
            told.answer("", refusal="No.", finish=Finish.CONTENT_FILTER),
            told.row(Role.NOTICE, "gone", level=Level.ERROR),
        ]
    )
    assert document.blocks == [Answer("", Finish.CUT), Refusal("No."), NoticeBlock(Level.ERROR, "gone")]


def test_arguments_that_are_not_json_are_shown_as_the_model_wrote_them(told):
    document = Document()
    document.reset([told.answer("", calls=(ToolCall("a", "terminal", '{"command": "ec'),))])
    assert document.blocks == [ToolCard("a", "terminal", '{"command": "ec')]


def in_memory(content: str) -> Message:
    return Message("s", Role.USER, content, 0.0, id=FIRST_TEMPORARY_ID)


def test_a_row_that_waited_in_memory_is_shown_once():
    document = Document()
    document.apply([RowStored(AT, in_memory("one"), durable=False), CaughtUp(AT, {FIRST_TEMPORARY_ID: 7})])
    stored = Message("s", Role.USER, "one", 0.0, id=7)
    document.apply([RowStored(AT, stored), RowStored(AT, Message("s", Role.USER, "two", 0.0, id=8))])
    assert document.blocks == [Prompt("one"), Prompt("two")]


def test_an_event_older_than_the_rows_that_were_read_brings_nothing():
    document = Document()
    document.reset([Message("s", Role.USER, "one", 0.0, id=7)], seq=5)
    document.apply([RowStored(Stamp("default", "s", 5), in_memory("one"), durable=False)])
    document.apply([RowStored(Stamp("default", "s", 6), in_memory("two"), durable=False)])
    assert document.blocks == [Prompt("one"), Prompt("two")]


def test_a_summary_stands_between_older_rows_and_none_of_them_is_missing():
    rows = [
        Message("s", Role.USER, "first", 0.0, id=1),
        Message("s", Role.USER, summary_text("## Aim\nIt."), 0.0, id=9, is_summary=True),
        Message("s", Role.USER, "last", 0.0, id=5),
        Message("s", Role.ASSISTANT, "answer", 0.0, id=6, finish=Finish.STOP),
    ]
    document = Document()
    document.reset(rows)
    assert document.blocks == [Prompt("first"), Summary("## Aim\nIt."), Prompt("last"), Answer("answer")]
    document.apply([RowStored(AT, Message("s", Role.USER, "next", 0.0, id=10))])
    assert document.blocks[-1] == Prompt("next")


def test_a_running_call_counts_whole_seconds_from_when_it_was_let_run():
    now_s = [100.0]
    document = Document(lambda: now_s[0])
    call = ToolCall("a", "terminal", '{"command":"make"}')
    request = ApprovalRequest("r", "s", "a", "terminal", "make", "it runs a command", 0.0)
    document.reset([Message("s", Role.ASSISTANT, "", 0.0, id=1, calls=(call,), finish=Finish.TOOL_CALLS)])

    def told() -> str:
        card = document.blocks[0]
        assert isinstance(card, ToolCard)
        return status_of(card)

    document.apply([TurnStarted(AT), RequestOpened(AT, request)])
    now_s[0] += 60  # while the person thinks
    assert document.tick() == len(document.blocks)
    document.apply([RequestSettled(AT, request, Approval.ALLOWED_ONCE, ""), CallStarted(AT, call, "make")])
    now_s[0] += 0.9
    assert (document.tick(), told()) == (len(document.blocks), "running")
    now_s[0] += 1
    assert (document.tick(), told()) == (0, "running · 1 s")
    assert document.tick() == len(document.blocks)  # nothing to paint twice in a second
    now_s[0] += 64
    document.apply([CallOutput(AT, "a", "cc")])
    assert (document.tick(), told()) == (0, "running · 1 min 5 s")
    document.apply([TurnEnded(AT, ExitReason.INTERRUPTED)])
    assert document.tick() == len(document.blocks)
