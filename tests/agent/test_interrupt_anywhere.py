"""An interrupt or a kill at any point of a turn leaves a legal transcript, equal in memory and store, and no work behind."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
import threading
import time
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.approvals.inbox import Answer
from agent.events import AnswerRestarted, RequestOpened, TextDelta, TurnEnded
from agent.providers.base import ErrorKind, ProviderError
from agent.request import wire_messages
from agent.session_run import Live
from session.models import Approval, ExitReason, Finish, Role

ROUNDS = int(os.environ.get("HERMES_SOAK", "1")) * 60
ANSWERS = ("Let me see.", "Both came. " * 20)


def in_words(text: str) -> list[str]:
    words = [f"{word} " for word in text.split(" ")]
    words[-1] = words[-1][:-1]
    return [f'data: {{"choices":[{{"index":0,"delta":{{"content":"{word}"}}}}]}}\n\n' for word in words]


async def start(bench, served) -> None:
    served.script.clear()
    call = {
        "id": "x",
        "type": "function",
        "function": {"name": "terminal", "arguments": '{"command": "echo a; touch b"}'},
    }
    served.reply(call)
    served.reply()
    for answer, parts in zip(ANSWERS, served.script, strict=True):
        parts[0:1] = in_words(answer)
    bench.hub.submit(bench.session_id, "go")


async def warm(bench, served) -> None:
    """The first request of a process builds its client, which takes longer than all steps of a turn."""
    served.reply(text=ANSWERS[0])
    await bench.ask("hi")


async def play(bench, steps: int) -> None:
    """Let the loop run for some steps, answering what is asked."""
    for _ in range(steps):
        await asyncio.sleep(0)
        for request in bench.hub.pending():
            bench.hub.answer(request.id, Answer(Approval.ALLOWED_ONCE))


@pytest.mark.timeout(60 + ROUNDS)
async def test_an_interrupt_at_any_step_leaves_memory_and_store_equal_and_legal(bench, served):
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    await warm(bench, served)
    for number in range(ROUNDS):
        if number % 60 == 59:
            bench.session_id = bench.hub.create(bench.workspace).id
        await start(bench, served)
        await play(bench, chance.randrange(chance.choice((400, 4_000))))
        runtime = bench.hub.runtime(bench.session_id)
        bench.hub.interrupt(bench.session_id)
        async with asyncio.timeout(15):
            while runtime.is_busy:
                await bench.listener.wait()
                bench.listener.drain()
                await asyncio.sleep(0)
        stored = bench.hub.profile.db.read(lambda tables: tables.messages.all(bench.session_id)).result()
        assert stored == bench.rows
        assert runtime.state in (Live.IDLE, Live.FAILED)
        calls = [call.id for row in stored for call in row.calls]
        assert [row.result.call_id for row in stored if row.result] == calls
        if stored:  # else it was interrupted before the prompt was stored, which goes back to the person
            assert wire_messages(stored, "p")[-1]["role"] in ("assistant", "user", "tool")
        assert bench.hub.pending() == []
        said = [row.content for row in stored if row.role is Role.ASSISTANT]
        assert all(any(answer.startswith(text) for answer in ANSWERS) for text in said)
        partial = bench.hub.profile.db.read(lambda tables: tables.partials.read(bench.session_id)).result()
        assert not partial


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
WAITS = b"HTTP/1.1 429 Slow\r\nRetry-After: 30\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
WORDS = [f"word{number} " for number in range(400)]
POINTS = max(15, int(os.environ.get("HERMES_SOAK", "1")) * 6)  # 300 in a soak of 50
STOP_S = 0.2


@dataclass
class Slow:
    """A server that never comes to an end: it streams on, falls silent, cuts, or asks to wait. Counts its connections."""

    url: str = ""
    manners: tuple[str, ...] = ("streams", "falls silent", "is silent", "waits", "cuts")
    chance: random.Random = field(default_factory=random.Random)
    open_sockets: int = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open_sockets += 1
        speaking = asyncio.create_task(self._speak(reader, writer))
        try:
            await speaking
        finally:
            self.open_sockets -= 1
            writer.close()

    async def _speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(head.split("content-length: ")[1].split("\r\n")[0]))
            manner = self.chance.choice(self.manners)
            writer.write(WAITS if manner == "waits" else b"" if manner == "is silent" else STREAM)
            if manner in ("streams", "falls silent", "cuts"):
                said = len(WORDS) if manner == "streams" else self.chance.randrange(1, 40)
                await self._say(said, reader, writer)
            if manner not in ("cuts", "waits"):
                await reader.read()  # until the other side is gone

    async def _say(self, said: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for word in WORDS[:said]:
            writer.write(b'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' % word.encode())
            await writer.drain()
            if reader.at_eof():
                return
            await asyncio.sleep(0.002)


@pytest.fixture
async def slow() -> AsyncIterator[Slow]:
    slow = Slow()
    server = await asyncio.start_server(slow.handle, "127.0.0.1", 0)
    slow.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    yield slow
    server.close()


@pytest.mark.soak
@pytest.mark.timeout(60 + 2 * POINTS)
async def test_an_interrupt_in_a_stream_or_a_wait_stops_at_once_and_leaves_nothing_behind(slow, home, open_bench):
    """At random moments of real time: the turn ends, no task and no socket is left, what was said is kept and marked."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = slow.chance = random.Random(seed)
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(
        f"model: {{default: m, provider: slow}}\nprobe_local: false\nproviders: {{slow: {{base_url: '{slow.url}'}}}}\n"
    )
    bench = await open_bench()
    slow.manners, manners = ("is silent",), slow.manners
    bench.hub.submit(bench.session_id, "warm up")  # the client is built once, which takes longer than all else
    async with asyncio.timeout(15):
        while not slow.open_sockets:
            await asyncio.sleep(0.01)
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    slow.manners = manners
    before = tasks_of_ours()
    stops = [await stopped_s(bench, slow, chance.random() * chance.choice((0.02, 0.3)), before) for _ in range(POINTS)]
    assert sorted(stops)[int(POINTS * 0.9) - 1] <= STOP_S, stops  # one that met a busy machine proves nothing


async def stopped_s(bench, slow: Slow, after_s: float, before: set[str]) -> float:
    """Interrupts a new turn after some time; how long until it had ended, in seconds, with nothing left of it."""
    known = len(bench.rows)
    bench.hub.submit(bench.session_id, "go")
    await asyncio.sleep(after_s)
    events = bench.listener.drain()
    began = time.monotonic()
    assert bench.hub.interrupt(bench.session_id)
    events += await bench.until(lambda event: isinstance(event, TurnEnded))
    took_s = time.monotonic() - began
    async with asyncio.timeout(15):
        while slow.open_sockets or tasks_of_ours() - before:
            await asyncio.sleep(0.005)
    said = [row for row in bench.rows[known:] if row.role is Role.ASSISTANT]
    assert [row.finish for row in said] == [Finish.INTERRUPTED] * len(said)
    assert "".join(row.content for row in said) == shown_last(events)
    stored = bench.hub.profile.db.read(lambda tables: tables.messages.all(bench.session_id)).result()
    assert stored == bench.rows
    assert wire_messages(stored, "p")[-1]["role"] in ("assistant", "user")
    return took_s


def shown_last(events) -> str:
    """What stood on the screen at the end: what a restart had withdrawn is no part of it (A34)."""
    shown = ""
    for event in events:
        match event:
            case AnswerRestarted():
                shown = ""
            case TextDelta(text=more):
                shown += more
            case _:
                pass
    return shown


def tasks_of_ours() -> set[str]:
    """What runs on the loop beside the server of the test, by name."""
    return {task.get_name() for task in asyncio.all_tasks() if "Slow." not in repr(task.get_coro())}


def kill(home: Path, into: Path) -> None:
    """What is left of a process that is killed now: its files as the store has committed them."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(mode=0o700)
    shutil.copy(home / "config.yaml", into)
    with closing(sqlite3.connect(home / "state.db")) as store, closing(sqlite3.connect(into / "state.db")) as copy:
        store.backup(copy)


@pytest.mark.timeout(60 + ROUNDS)
async def test_E04_a_kill_at_any_step_is_settled_at_the_next_opening_and_the_session_goes_on(
    bench, served, home, tmp_path, open_bench
):
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    await warm(bench, served)
    for _ in range(ROUNDS // 4):
        bench.session_id = bench.hub.create(bench.workspace).id
        await start(bench, served)
        await play(bench, chance.randrange(chance.choice((400, 4_000))))
        kill(home, tmp_path / "next")
        await bench.hub.runtime(bench.session_id).close("it was killed")
        next_one = await open_bench(home=tmp_path / "next")
        if bench.session_id not in [line.session.id for line in await next_one.hub.listing()]:
            continue  # it died before the prompt was stored
        next_one.session_id = bench.session_id
        served.script.clear()
        served.reply(text="So it is.")
        served.reply(text="So it is.")
        runtime = await next_one.hub.open(bench.session_id)
        async with asyncio.timeout(15):
            while runtime.is_busy:
                await play(next_one, 1)
        if len(served.script) == 2:
            served.script.pop()
        next_one.listener.drain()
        await next_one.ask("go on")
        messages = served.requests[-1]["messages"]
        calls = [call["id"] for message in messages for call in message.get("tool_calls", ())]
        assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == calls
        assert messages[-1]["role"] == "user"
        said = [row.content for row in next_one.rows if row.role is Role.ASSISTANT]
        assert all(any(answer.startswith(text) for answer in (*ANSWERS, "So it is.")) for text in said)
        read = next_one.hub.profile.db.read
        assert read(lambda tables: tables.messages.all(bench.session_id)).result() == next_one.rows
        assert read(lambda tables: tables.approvals.waiting(bench.session_id)).result() == []
        await next_one.hub.close("the round is over")
        next_one.hub.profile.close()


async def test_an_interrupt_right_after_the_submit_ends_the_turn_and_keeps_the_prompt(bench, served):
    served.reply(text="never asked for")
    bench.hub.submit(bench.session_id, "go")
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    prompts = [row.content for row in bench.rows if row.role is Role.USER]
    assert [*prompts, *bench.hub.runtime(bench.session_id).queue] == ["go"]


async def test_two_interrupts_settle_once(bench, served):
    await start(bench, served)
    await bench.until(lambda event: isinstance(event, RequestOpened))
    assert bench.hub.interrupt(bench.session_id) and bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert len([row for row in bench.rows if row.result]) == 1


async def test_an_interrupt_while_the_answer_is_stored_does_not_say_its_end_twice(bench, served):
    gate, begun, release = asyncio.Event(), threading.Event(), threading.Event()
    served.reply()
    served.script[0][0:1] = [*in_words("one two"), gate]
    bench.hub.submit(bench.session_id, "count")
    await bench.until(lambda event: isinstance(event, TextDelta) and event.text.endswith("two"))
    db = bench.hub.profile.db
    await bench.hub.runtime(bench.session_id).s.write(lambda _: None)  # what was said so far is saved by then
    db.write(lambda _: (begun.set(), release.wait(10)))
    await asyncio.to_thread(begun.wait, 10)
    gate.set()
    async with asyncio.timeout(15):
        while db._writer._jobs.empty():  # the answer waits for the writer
            await asyncio.sleep(0)
    bench.hub.interrupt(bench.session_id)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    release.set()
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert [row.content for row in bench.rows if row.role is Role.ASSISTANT] == ["one two"]


class Failing:
    """A provider that fails when it is told to."""

    def __init__(self) -> None:
        self.asked, self.told = asyncio.Event(), asyncio.Event()

    async def stream(self, request):
        self.asked.set()
        await self.told.wait()
        raise ProviderError(ErrorKind.AUTH, "No.")
        yield

    async def aclose(self) -> None:
        pass


async def test_an_interrupt_in_the_moment_of_a_failure_still_ends_the_turn(bench):
    provider, runtime = Failing(), bench.hub.runtime(bench.session_id)
    runtime.s.parts = replace(runtime.s.parts, provider_for=lambda route: provider)
    bench.hub.submit(bench.session_id, "go")
    await asyncio.wait_for(provider.asked.wait(), 5)
    provider.told.set()
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert not runtime.is_busy


@pytest.mark.parametrize("more_config", ["approvals: {timeout: 60}"])
async def test_an_interrupt_in_the_moment_of_a_yes_wins(bench, served, workspace):
    call = {"id": "x", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "touch made"}'}}
    served.reply(call)
    bench.hub.submit(bench.session_id, "go")
    opened = (await bench.until(lambda event: isinstance(event, RequestOpened)))[-1]
    bench.hub.answer(opened.request.id, Answer(Approval.ALLOWED_ONCE))
    bench.hub.interrupt(bench.session_id)
    ended = (await bench.until(lambda event: isinstance(event, TurnEnded)))[-1]
    assert ended.reason is ExitReason.INTERRUPTED
    assert not (workspace / "made").exists()


async def test_what_is_queued_after_an_interrupt_starts_by_itself(bench, served):
    served.hold()
    bench.hub.submit(bench.session_id, "one")
    await asyncio.wait_for(served.waiting.wait(), 5)
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    served.waiting.clear()
    gate = served.hold()
    served.reply(text="third")
    bench.hub.submit(bench.session_id, "two")
    await asyncio.wait_for(served.waiting.wait(), 5)
    bench.hub.submit(bench.session_id, "three")
    gate.set()
    for _ in range(2):
        await bench.until(lambda event: isinstance(event, TurnEnded))
    assert bench.rows[-1].content == "third"


async def test_nothing_queued_starts_behind_the_end_of_the_process(bench, served):
    served.hold()
    bench.hub.submit(bench.session_id, "one")
    await asyncio.wait_for(served.waiting.wait(), 5)
    runtime = bench.hub.runtime(bench.session_id)
    bench.hub.interrupt(bench.session_id)
    bench.hub.submit(bench.session_id, "two")
    await runtime.close("hermes was closed")
    assert (list(runtime.queue), runtime.is_busy) == (["two"], False)


async def test_an_interrupt_before_the_first_word_leaves_a_mark(bench, served):
    served.hold()
    bench.hub.submit(bench.session_id, "go")
    await asyncio.wait_for(served.waiting.wait(), 5)
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert (bench.rows[-1].role, bench.rows[-1].content) == (Role.NOTICE, "Interrupted before an answer came.")
