"""A model, or the server before it, may repeat a key. On the screen, in the store and in what is sent its name stands for it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agent.approvals.inbox import Answer
from agent.events import CallStarted, ReasoningDelta, RequestOpened, TextDelta, TurnEvent
from agent.providers.base import Restarting, TextPart
from session.models import Approval, ApprovalRequest, CallOutcome, ExitReason, Finish, Message, Role, ToolCall
from session.tables import Tables

KEY = "sk-test-0123456789-abcdef"
PIECES = ("It is ", KEY[:3], KEY[3:11], f"{KEY[11:]}, as it ends in ", "sk-te")
MASKED = "It is [WORK_KEY], as it ends in sk-te"

pytestmark = pytest.mark.usefixtures("keys")


@pytest.fixture
def keys(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / ".env").write_text(f"WORK_KEY={KEY}\n")
    (home / ".env").chmod(0o600)


def delta(kind: str, text: str, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": {kind: text}, "finish_reason": finish}
    return f"data: {json.dumps({'id': 'c', 'object': 'chat.completion.chunk', 'model': 'm', 'choices': [choice]})}\n\n"


def call(tool: str, **arguments: str) -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}


def streamed(events: list[TurnEvent], kind: type[TextDelta | ReasoningDelta] = TextDelta) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))


def told(events: list[TurnEvent], home: Path) -> str:
    """All that a turn came to, on the screen and on the disk."""
    return repr(events) + b"".join(path.read_bytes() for path in home.glob("state.db*")).decode("utf-8", "replace")


def answer_of(rows: list[Message]) -> Message:
    return next(row for row in reversed(rows) if row.role is Role.ASSISTANT)


# --- what is said


@pytest.mark.parametrize(
    ("kind", "field"), [("content", "content"), ("reasoning_content", "reasoning"), ("refusal", "refusal")]
)
async def test_a_key_in_an_answer_is_masked_live_and_in_its_row(bench, served, home: Path, kind: str, field: str):
    served.script.append(
        [*(delta(kind, piece) for piece in PIECES), delta("content", "", "length"), "data: [DONE]\n\n"]
    )
    turn = await bench.ask("what is it?")
    event = ReasoningDelta if field == "reasoning" else TextDelta
    assert streamed(turn.events, event) == getattr(answer_of(turn.rows), field) == MASKED
    assert KEY not in told(turn.events, home)


async def test_kinds_of_text_in_turn_do_not_bring_a_key_together(bench, served, home: Path):
    kinds = ("content", "reasoning_content") * 2
    halves = [delta(kind, half) for kind, half in zip(kinds, [KEY[:9]] * 2 + [KEY[9:]] * 2, strict=True)]
    served.script.append([*halves, delta("content", "", "stop"), "data: [DONE]\n\n"])
    turn = await bench.ask("what is it?")
    row = answer_of(turn.rows)
    assert (streamed(turn.events), row.content, row.reasoning) == ("[WORK_KEY]",) * 3
    assert KEY not in told(turn.events, home)


@pytest.mark.parametrize("more_config", ["agent: {stream_retries: 0}"])
async def test_of_an_answer_that_broke_off_all_is_kept_but_the_key(bench, served, home: Path, more_config: str):
    served.script.append([delta("content", piece) for piece in PIECES])
    turn = await bench.ask("what is it?")
    assert turn.ended.reason is ExitReason.CUT
    assert streamed(turn.events) == answer_of(turn.rows).content == MASKED
    assert KEY not in told(turn.events, home)


async def test_of_an_answer_that_is_interrupted_all_is_kept_but_the_key(bench, served, home: Path):
    served.hold(*(delta("content", piece) for piece in PIECES))
    bench.hub.submit(bench.session_id, "what is it?")
    events = await bench.until(lambda event: isinstance(event, TextDelta) and "ends in" in event.text)
    bench.hub.interrupt(bench.session_id)
    events += await bench.until(lambda event: type(event).__name__ == "TurnEnded")
    row = answer_of(bench.rows)
    assert row.finish is Finish.INTERRUPTED
    assert streamed(events) == row.content
    assert row.content in (MASKED, MASKED.removesuffix("sk-te"))  # the last piece may not have arrived yet
    assert KEY not in told(events, home)


async def test_what_was_held_back_is_void_when_the_answer_is_asked_for_again(bench):
    s = bench.hub.runtime(bench.session_id).s
    assert streamed(s.live(TextPart(f"It is {KEY[:9]}"))) == "It is "
    s.live(Restarting(2, 3, f"{KEY} was refused", 0.0))
    assert streamed(s.live(TextPart(KEY[9:]))) == KEY[9:]


# --- what is called


async def test_a_call_with_a_key_runs_as_it_was_written_and_is_kept_without_it(
    bench, served, home: Path, workspace: Path
):
    served.reply(call("write_file", path="keys.txt", content=f"the key: {KEY}\n"))
    served.reply(text="Written.")
    turn = await bench.ask("write it down", Approval.ALLOWED_ONCE)
    assert (workspace / "keys.txt").read_text() == f"the key: {KEY}\n"
    request = next(event.request for event in turn.events if isinstance(event, RequestOpened))
    started = next(event for event in turn.events if isinstance(event, CallStarted))
    assert request.shown.endswith("the key: [WORK_KEY]\n")
    assert request.why == "writes a file, with a secret in it that is shown by its name"
    assert (started.shown, started.call.is_masked) == (request.shown, True)
    assert [call.is_masked for row in turn.rows for call in row.calls] == [True]
    assert KEY not in told(turn.events, home)
    assert KEY not in json.dumps(served.requests)


@pytest.mark.parametrize(
    "wrong",
    [
        call(KEY),
        call("terminal", **{KEY: "x"}),
        call("read_file", path=f"file://{KEY}/x"),
        call("terminal", command=KEY),
    ],
)
async def test_a_call_that_fails_does_not_tell_the_key(bench, served, home: Path, wrong: dict[str, Any]):
    served.reply(wrong)
    served.reply(text="I see.")
    turn = await bench.ask("try it", Approval.ALLOWED_ONCE)
    assert turn.results[0][0].outcome is not CallOutcome.OK
    assert KEY not in told(turn.events, home)


async def test_a_denial_that_quotes_the_key_does_not_tell_it(bench, served, home: Path):
    served.reply(call("terminal", command="touch it"))
    served.reply(text="I see.")
    bench.hub.submit(bench.session_id, "try it")
    events = await bench.until(lambda event: isinstance(event, RequestOpened))
    bench.hub.answer(events[-1].request.id, Answer(Approval.DENIED, f"{KEY} is not for this"))
    events += await bench.until(lambda event: type(event).__name__ == "TurnEnded")
    assert "[WORK_KEY] is not for this" in repr(events)
    assert KEY not in told(events, home)


async def test_a_call_whose_key_went_with_its_process_is_not_asked_about_again(
    bench, served, workspace: Path, open_bench: Callable[..., Awaitable[Any]]
):
    """What is stored of it is not what the person was to allow."""
    served.reply(text="Hello.")
    await bench.ask("hi")
    db, session_id = bench.hub.profile.db, bench.session_id
    call = ToolCall("a", "terminal", '{"command": "echo [WORK_KEY] > ran"}', is_masked=True)
    asked = Message(session_id, Role.USER, "run it", 1.0)
    called = Message(session_id, Role.ASSISTANT, "", 1.0, calls=(call,), finish=Finish.TOOL_CALLS)

    def leave(tables: Tables) -> None:
        tables.turns.begin(session_id, 1.0)
        for row in (asked, called):
            tables.messages.append(row)
        tables.approvals.open(ApprovalRequest("ask", session_id, "a", "terminal", "echo", "runs a command", 1.0))

    db.write(leave).result()
    runtime = await (await open_bench()).hub.open(session_id)
    assert not runtime.is_busy
    assert runtime.s.rows[-1].content == "Not run: hermes ended before this was answered."
    assert not (workspace / "ran").exists()


# --- what a person types, and what was stored before


async def test_a_prompt_with_a_key_reaches_the_model_as_typed_and_is_kept_without_it(bench, served, home: Path):
    for _ in range(2):
        served.reply(text="Yes.")
    turn = await bench.ask(f"is {KEY} well-formed?")
    await bench.ask("sure?")
    assert [request["messages"][1]["content"] for request in served.requests] == [f"is {KEY} well-formed?"] * 2
    assert turn.rows[-2].content == "is [WORK_KEY] well-formed?"
    assert bench.hub.line(bench.session_id).session.title == "is [WORK_KEY] well-formed?"
    assert KEY not in told(turn.events, home)


async def test_a_key_that_is_known_only_since_is_masked_in_a_conversation_that_is_opened_again(
    bench, served, home: Path, open_bench: Callable[..., Awaitable[Any]]
):
    later = "sk-later-0123456789"
    served.reply(text=f"Save {later} as LATER_KEY.")
    await bench.ask(f"what now, with {later}?")
    (home / ".env").write_text(f"LATER_KEY={later}\n")
    again = await open_bench()
    runtime = await again.hub.open(bench.session_id)
    shown = [row.content for row in runtime.s.rows if row.role is not Role.NOTICE]
    assert shown == ["what now, with [LATER_KEY]?", "Save [LATER_KEY] as LATER_KEY."]
    assert later not in repr([await again.hub.listing(), runtime.s.session])
