"""A process that ran the hub is killed for real; the next one finds a legal conversation and goes on with it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

import pytest

from agent.approvals.inbox import Answer
from agent.events import RequestOpened, TurnEnded
from agent.session_run import Live
from session.models import Approval, CallOutcome, ExitReason, Finish, Role

HERMES = """
import asyncio, sys
from pathlib import Path
from agent.approvals.inbox import Answer
from agent.events import RequestOpened
from agent.open import open_hub
from agent.profile import Profile
from session.models import Approval

async def run(home, workspace, prompt, allowed):
    profile = Profile.load({"HERMES_HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin"})
    hub = await open_hub(profile, source="tui", is_attended=True)
    listener = hub.listen()
    if prompt:
        hub.submit(hub.create(Path(workspace)).id, prompt)
    else:
        await hub.open(await hub.latest(Path(workspace)))
    while True:
        await listener.wait()
        for event in listener.drain():
            print(type(event).__name__, flush=True)
            if isinstance(event, RequestOpened) and event.request.call_id in allowed.split(","):
                hub.answer(event.request.id, Answer(Approval.ALLOWED_ONCE))

asyncio.run(run(*sys.argv[1:]))
"""


class Process:
    """Another hermes over the same home, which never ends by itself."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def seen(self, event: str, times: int = 1) -> None:
        assert self._process.stdout is not None
        async with asyncio.timeout(20):
            while times:
                line = (await self._process.stdout.readline()).decode()
                assert line, "it ended by itself"
                times -= line.strip() == event

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


@pytest.fixture
async def hermes(bench, home, workspace):
    """Starts processes; `bench` wrote their config and reads the same store."""
    started: list[Process] = []

    async def start(prompt: str = "", allowed: str = "") -> Process:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", HERMES, str(home), str(workspace), prompt, allowed), stdout=asyncio.subprocess.PIPE
        )
        started.append(Process(process))
        return started[-1]

    yield start
    for process in started:
        await process.kill()
    with suppress(FileNotFoundError, ProcessLookupError, ValueError):
        os.kill(int((workspace / "pid").read_text()), signal.SIGKILL)


async def reopen(bench, workspace) -> None:
    bench.session_id = await bench.hub.latest(workspace)
    await bench.hub.open(bench.session_id)


async def until_stored(bench, is_so: Callable[..., bool]) -> None:
    async with asyncio.timeout(15):
        while not await asyncio.wrap_future(bench.hub.profile.db.read(is_so)):
            await asyncio.sleep(0.01)


def command(id: str, text: str) -> dict[str, object]:
    return {"id": id, "type": "function", "function": {"name": "terminal", "arguments": json.dumps({"command": text})}}


def is_legal(messages: list[dict[str, object]]) -> bool:
    """Users take turns, and every call is followed by its result, in order."""
    expected: list[object] = []
    last = None
    for message in messages:
        if message["role"] == "tool":
            if not expected or message["tool_call_id"] != expected.pop(0):
                return False
        elif expected or (message["role"] == "user" and last == "user"):
            return False
        expected = [call["id"] for call in message.get("tool_calls", [])] or expected
        last = message["role"]
    return not expected


async def goes_on(bench, served) -> None:
    served.script.clear()
    served.reply(text="Here I am again.")
    assert (await bench.ask("go on")).ended.reason is ExitReason.COMPLETED
    assert is_legal(served.requests[-1]["messages"])
    stored = bench.hub.profile.db.read(lambda tables: tables.messages.all(bench.session_id)).result()
    assert stored == bench.rows


async def test_E04_a_kill_in_mid_tool_is_settled_once_and_the_next_request_is_legal(bench, served, hermes, workspace):
    served.reply(command("one", "echo $$ > pid; echo begun; exec sleep 60"), command("two", "touch two"))
    process = await hermes("start it", "one,two")
    await process.seen("CallOutput")
    await process.kill()
    await reopen(bench, workspace)
    assert [(row.result.call_id, row.result.outcome) for row in bench.rows if row.result] == [
        ("one", CallOutcome.INTERRUPTED),
        ("two", CallOutcome.NOT_RUN),
    ]
    assert not (workspace / "two").exists()
    await goes_on(bench, served)


async def test_E04_a_kill_in_mid_stream_keeps_the_words_and_the_next_request_is_legal(bench, served, hermes, workspace):
    served.hold('data: {"choices":[{"index":0,"delta":{"content":"Half an"}}]}\n\n')
    process = await hermes("tell me")
    await process.seen("TextDelta")
    await until_stored(bench, lambda tables: tables.partials.read(tables.sessions.latest(None).id).content != "")
    await process.kill()
    await reopen(bench, workspace)
    assert (bench.rows[-1].content, bench.rows[-1].finish) == ("Half an", Finish.CUT)
    await goes_on(bench, served)


async def test_A34_a_kill_before_the_second_attempt_leaves_nothing_of_the_first(bench, served, hermes, workspace):
    served.cut("part")
    process = await hermes("tell me")
    await process.seen("AnswerRestarted")
    await until_stored(bench, lambda tables: not tables.partials.read(tables.sessions.latest(None).id))
    await process.kill()
    await reopen(bench, workspace)
    assert [row.role for row in bench.rows if row.role is not Role.NOTICE] == [Role.USER]
    await goes_on(bench, served)


async def test_a_kill_while_a_question_waits_and_another_in_the_resumed_call_run_nothing_twice(
    bench, served, hermes, workspace
):
    served.reply(command("one", "echo $$ > pid; echo ran >> ran; exec sleep 60"), command("two", "touch two"))
    first = await hermes("do both")
    await first.seen("RequestOpened")
    await first.kill()
    second = await hermes("", "one")
    await second.seen("CallStarted")
    async with asyncio.timeout(15):
        while not (workspace / "ran").exists():
            await asyncio.sleep(0.01)
    await second.kill()
    await reopen(bench, workspace)
    assert bench.hub.runtime(bench.session_id).state is Live.IDLE
    assert [(row.result.outcome, row.result.approval) for row in bench.rows if row.result] == [
        (CallOutcome.INTERRUPTED, Approval.ALLOWED_ONCE),
        (CallOutcome.NOT_RUN, Approval.NOT_ASKED),
    ]
    assert (workspace / "ran").read_text() == "ran\n"
    await goes_on(bench, served)


async def test_a_kill_between_two_calls_asks_for_the_second_only(bench, served, hermes, workspace):
    served.reply(command("one", "echo one >> ran"), command("two", "echo two >> ran"))
    first = await hermes("do both", "one")
    await first.seen("RequestOpened", times=2)
    await first.kill()
    served.reply(text="Both ran.")
    await reopen(bench, workspace)
    opened = (await bench.until(lambda event: isinstance(event, RequestOpened)))[-1]
    assert opened.request.call_id == "two"
    bench.hub.answer(opened.request.id, Answer(Approval.ALLOWED_ONCE))
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert (workspace / "ran").read_text() == "one\ntwo\n"
    await goes_on(bench, served)


async def test_E04_a_question_to_the_person_is_put_again_under_its_id_and_answered_once(
    bench, served, hermes, workspace
):
    arguments = json.dumps({"question": "Which colour?", "choices": ["red", "blue"]})
    served.reply({"id": "one", "type": "function", "function": {"name": "ask_user", "arguments": arguments}})
    process = await hermes("ask me")
    await process.seen("RequestOpened")
    await process.kill()
    served.reply(text="Blue, then.")
    await reopen(bench, workspace)
    opened = (await bench.until(lambda event: isinstance(event, RequestOpened)))[-1].request
    assert "red" in opened.shown
    assert bench.hub.answer(opened.id, Answer(Approval.ANSWERED, "blue"))
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert [(row.content, row.result.approval) for row in bench.rows if row.result] == [
        ("The person answered:\nblue", Approval.ANSWERED)
    ]


async def test_E04_a_question_that_is_left_without_an_answer_is_withdrawn(bench, served, hermes, workspace):
    served.reply(
        {"id": "one", "type": "function", "function": {"name": "ask_user", "arguments": '{"question": "Hm?"}'}}
    )
    process = await hermes("ask me")
    await process.seen("RequestOpened")
    await process.kill()
    await reopen(bench, workspace)
    await bench.until(lambda event: isinstance(event, RequestOpened))
    served.script.clear()
    served.reply(text="Something else.")
    bench.hub.submit(bench.session_id, "never mind")
    await bench.until(lambda event: isinstance(event, TurnEnded) and event.reason is ExitReason.COMPLETED)
    assert [(row.result.approval, row.result.cause) for row in bench.rows if row.result] == [
        (Approval.CANCELLED, "hermes ended before this was answered")
    ]
