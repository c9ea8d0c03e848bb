"""A process died in a turn. What it left in the store is reopened here as that process would have left it."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from msgspec.structs import replace

from agent.approvals.inbox import Answer
from agent.events import RequestOpened, TurnEnded
from agent.open import open_hub
from agent.profile import Profile
from session.models import (
    Approval,
    ApprovalRequest,
    CallOutcome,
    ExitReason,
    Finish,
    Message,
    Partial,
    Role,
    ToolCall,
)


@pytest.fixture
async def died(bench, served):
    """A session with one good turn, then a prompt whose answer calls two tools; nothing after that is stored."""
    served.reply(text="Hello.")
    await bench.ask("hi")
    db, session_id = bench.hub.profile.db, bench.session_id
    calls = tuple(ToolCall(name, "terminal", f'{{"command": "echo {name} >> ran"}}') for name in ("one", "two"))

    def leave(tables) -> None:
        tables.turns.begin(session_id, time.time())
        row = Message(session_id=session_id, role=Role.USER, content="run both", created_at=time.time())
        tables.messages.append(row)
        tables.messages.append(replace(row, role=Role.ASSISTANT, content="", calls=calls, finish=Finish.TOOL_CALLS))

    db.write(leave).result()
    return bench


@pytest.fixture
async def reopened(died, home):
    """A second hub over the same home, as the next process would have it."""
    hub = await open_hub(
        Profile.load({"HERMES_HOME": str(home), "PATH": "/usr/bin:/bin"}), source="tui", is_attended=True
    )
    died.hub._listeners.clear()
    died.hub, died.listener = hub, hub.listen()
    yield died
    await hub.close("the test ended")
    hub.profile.close()


def ask(call_id: str, session_id: str) -> ApprovalRequest:
    return ApprovalRequest(f"ask-{call_id}", session_id, call_id, "terminal", "echo", "runs a command", time.time())


async def results(bench):
    return [(row.result.call_id, row.result.outcome, row.result.approval) for row in bench.rows if row.result]


async def test_E04_a_call_that_had_started_is_settled_once_as_interrupted(reopened, served):
    bench = reopened
    started = bench.hub.profile.db.write(
        lambda tables: tables.calls.mark_started(bench.session_id, "one", Approval.ALLOWED_ONCE, time.time())
    )
    started.result()
    await bench.hub.open(bench.session_id)
    assert await results(bench) == [
        ("one", CallOutcome.INTERRUPTED, Approval.ALLOWED_ONCE),
        ("two", CallOutcome.NOT_RUN, Approval.NOT_ASKED),
    ]
    served.reply(text="Going on.")
    turn = await bench.ask("go on")
    assert turn.ended.reason is ExitReason.COMPLETED
    answered = [m["tool_call_id"] for m in served.requests[-1]["messages"] if m["role"] == "tool"]
    assert answered == ["one", "two"]


async def test_a_call_that_waited_is_asked_again_and_nothing_has_run(reopened, served, workspace):
    bench = reopened
    bench.hub.profile.db.write(lambda tables: tables.approvals.open(ask("one", bench.session_id))).result()
    served.reply(text="Both ran.")
    await bench.hub.open(bench.session_id)
    assert not (workspace / "ran").exists()
    for _ in range(2):
        events = await bench.until(lambda event: isinstance(event, RequestOpened))
        bench.hub.answer(events[-1].request.id, Answer(Approval.ALLOWED_ONCE))
    ended = await bench.until(lambda event: isinstance(event, TurnEnded))
    assert ended[-1].reason is ExitReason.COMPLETED
    assert (workspace / "ran").read_text() == "one\ntwo\n"
    assert bench.rows[-1].content == "Both ran."


async def test_going_on_without_an_answer_cancels_what_waited_and_names_the_cause(reopened, served, workspace):
    bench = reopened
    bench.hub.profile.db.write(lambda tables: tables.approvals.open(ask("one", bench.session_id))).result()
    await bench.hub.open(bench.session_id)
    await bench.until(lambda event: isinstance(event, RequestOpened))
    served.reply(text="Something else, then.")
    bench.hub.submit(bench.session_id, "never mind")
    await bench.until(lambda event: isinstance(event, TurnEnded) and event.reason is ExitReason.COMPLETED)
    assert [(outcome, approval) for _, outcome, approval in await results(bench)] == [
        (CallOutcome.NOT_RUN, Approval.CANCELLED),
        (CallOutcome.NOT_RUN, Approval.NOT_ASKED),
    ]
    assert "hermes ended before this was answered" in next(row for row in bench.rows if row.result).content
    assert not (workspace / "ran").exists()


async def test_words_of_a_cut_answer_are_kept_and_marked(bench, served, home):
    served.reply(text="Hello.")
    await bench.ask("hi")
    session_id = bench.session_id

    def leave(tables) -> None:
        tables.turns.begin(session_id, time.time())
        tables.messages.append(Message(session_id=session_id, role=Role.USER, content="more", created_at=time.time()))
        tables.partials.append(session_id, Partial(content="Half an"), time.time())

    bench.hub.profile.db.write(leave).result()
    profile = Profile.load({"HERMES_HOME": str(home), "PATH": "/usr/bin:/bin"})
    hub = await open_hub(profile, source="tui", is_attended=True)
    runtime = await hub.open(session_id)
    assert (runtime.s.rows[-1].content, runtime.s.rows[-1].finish) == ("Half an", Finish.CUT)
    await hub.close("the test ended")
    profile.close()


async def test_a_question_is_asked_again_under_its_own_id_and_not_left_open(reopened, served):
    bench = reopened
    read = bench.hub.profile.db.read
    bench.hub.profile.db.write(lambda tables: tables.approvals.open(ask("one", bench.session_id))).result()
    served.reply(text="All right.")
    await bench.hub.open(bench.session_id)
    asked = []
    for _ in range(2):
        events = await bench.until(lambda event: isinstance(event, RequestOpened))
        asked.append(events[-1].request)
        bench.hub.answer(events[-1].request.id, Answer(Approval.DENIED))
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert asked[0].id == "ask-one"
    assert read(lambda tables: tables.approvals.waiting(bench.session_id)).result() == []


async def test_once_the_old_question_is_answered_a_new_prompt_waits_like_any_other(reopened, served):
    bench = reopened
    bench.hub.profile.db.write(lambda tables: tables.approvals.open(ask("one", bench.session_id))).result()
    await bench.hub.open(bench.session_id)
    opened = (await bench.until(lambda event: isinstance(event, RequestOpened)))[-1]
    bench.hub.answer(opened.request.id, Answer(Approval.DENIED))
    opened = (await bench.until(lambda event: isinstance(event, RequestOpened)))[-1]
    bench.hub.submit(bench.session_id, "and then")
    await asyncio.sleep(0)
    served.reply(text="Neither, then.")
    served.reply(text="Then this.")
    bench.hub.answer(opened.request.id, Answer(Approval.DENIED))
    await bench.until(lambda event: isinstance(event, TurnEnded) and bench.rows[-1].content == "Then this.")
    assert [approval for _, _, approval in await results(bench)] == [Approval.DENIED, Approval.DENIED]


async def test_two_prompts_in_the_place_of_an_answer_are_sent_in_their_order(reopened, served):
    bench = reopened
    bench.hub.profile.db.write(lambda tables: tables.approvals.open(ask("one", bench.session_id))).result()
    await bench.hub.open(bench.session_id)
    await bench.until(lambda event: isinstance(event, RequestOpened))
    for text in ("first", "second"):
        served.reply(text=f"to the {text}")
        bench.hub.submit(bench.session_id, text)
    await bench.until(lambda event: isinstance(event, TurnEnded) and bench.rows[-1].content == "to the second")
    assert [row.content for row in bench.rows if row.role is Role.USER][-2:] == ["first", "second"]


async def test_an_opening_that_was_given_up_is_begun_anew_and_asks_what_waits(reopened, served):
    bench = reopened
    bench.hub.profile.db.write(lambda tables: tables.approvals.open(ask("one", bench.session_id))).result()
    begun, release = threading.Event(), threading.Event()
    bench.hub.profile.db.write(lambda _: (begun.set(), release.wait(10)))
    await asyncio.to_thread(begun.wait, 10)
    opening = asyncio.create_task(bench.hub.open(bench.session_id))
    async with asyncio.timeout(15):
        while bench.hub.profile.db._writer._jobs.empty():  # its settling waits for the writer
            await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait([opening])
    release.set()
    await bench.hub.open(bench.session_id)
    opened = (await bench.until(lambda event: isinstance(event, RequestOpened)))[-1]
    assert opened.request.id == "ask-one"
