"""What another process stores is heard of within a second, and nothing is read when nobody looks or nothing changed."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

import pytest

from agent.elsewhere import Seen, look_at
from agent.events import QueueChanged, RowsReplaced, RowStored, TurnEnded
from agent.runtime import Runtime
from agent.session_lines import SessionLine
from agent.watcher import Watcher
from session.errors import BusyDatabase
from session.models import Role, TitleSource


class Window:
    """A hermes that watches, as its screen does."""

    def __init__(self, bench) -> None:
        self.bench = bench
        self.is_showing = True
        self.told: list[list[SessionLine]] = []
        self.seconds = 0.0
        self.watcher = Watcher(bench.hub, lambda: self.is_showing, self.told.append, lambda: self.seconds)

    @property
    def titles(self) -> list[str]:
        return [line.session.title for line in self.told[-1]]

    async def open(self, session_id: str):
        self.bench.session_id = session_id
        await self.bench.hub.open(session_id)
        await self.watcher.look()
        self.bench.listener.drain()


@pytest.fixture
async def window(bench, open_bench):
    """A second hermes on the store of `bench`."""
    return Window(await open_bench())


async def test_a_session_that_another_process_began_is_listed_in_a_second(bench, served, window):
    task = asyncio.create_task(window.watcher.run())
    async with asyncio.timeout(15):
        while not window.told:
            await asyncio.sleep(0.01)
    served.reply(text="Hello.")
    await bench.ask("a new one")
    began = time.monotonic()
    async with asyncio.timeout(15):
        while "a new one" not in window.titles:
            await asyncio.sleep(0.01)
    assert time.monotonic() - began < 4  # a second by the rule, and room for a machine that is busy
    task.cancel()


async def test_rows_of_a_turn_elsewhere_come_into_the_open_transcript(bench, served, window):
    served.reply(text="one")
    await bench.ask("first")
    await window.open(bench.session_id)
    gate = served.hold()
    served.waiting.clear()
    bench.hub.submit(bench.session_id, "second")
    await asyncio.wait_for(served.waiting.wait(), 5)
    assert await window.watcher.look()
    assert [event.row.content for event in window.bench.listener.drain() if isinstance(event, RowStored)] == ["second"]
    gate.set()
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert await window.watcher.look()
    assert window.bench.rows == bench.rows


async def test_a_rewind_elsewhere_is_seen_and_the_rows_are_those_that_are_left(bench, served, window):
    for text in ("one", "two"):
        served.reply(text=text)
        await bench.ask(text)
    await window.open(bench.session_id)
    prompt = [row for row in bench.rows if row.role is Role.USER][-1]
    bench.hub.profile.db.write(lambda tables: tables.lineage.rewind(bench.session_id, prompt.id, 2.0)).result()
    assert await window.watcher.look()
    assert [type(event) for event in window.bench.listener.drain()] == [RowsReplaced]
    assert [row.content for row in window.bench.rows if row.role is Role.USER] == ["one"]


async def test_a_name_and_a_model_given_elsewhere_are_those_of_the_open_session(bench, served, window):
    served.reply(text="one")
    await bench.ask("first")
    await window.open(bench.session_id)
    runtime = bench.hub.runtime(bench.session_id)
    await runtime.switch(bench.hub.models.resolve("served:big", runtime.s.route))
    bench.hub.profile.db.write(
        lambda tables: tables.sessions.set_title(bench.session_id, "Renamed", TitleSource.PERSON)
    ).result()
    assert await window.watcher.look()
    assert (window.titles[-1], window.bench.hub.line(bench.session_id).session.title) == ("Renamed", "Renamed")
    assert window.bench.hub.runtime(bench.session_id).s.route.model == "big"


async def test_what_was_queued_here_and_sent_elsewhere_waits_here_no_more(bench, served, window):
    served.hold()
    bench.hub.submit(bench.session_id, "first")
    await asyncio.wait_for(served.waiting.wait(), 5)
    bench.hub.submit(bench.session_id, "second")
    await bench.until(lambda event: isinstance(event, QueueChanged))
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    await window.open(bench.session_id)
    assert window.bench.hub.runtime(bench.session_id).queue == ("second",)
    bench.hub.runtime(bench.session_id).take_back()
    await bench.hub.runtime(bench.session_id).close("the test wants it stored")
    assert await window.watcher.look()
    assert window.bench.hub.runtime(bench.session_id).queue == ()


@pytest.fixture
def slow_look(monkeypatch):
    """Every look at the store is held once it has seen what it sees; set to let it go on."""
    has_seen, may_go_on = threading.Event(), threading.Event()

    def look(*arguments: object) -> Seen:
        seen = look_at(*arguments)
        has_seen.set()
        may_go_on.wait(10)
        return seen

    monkeypatch.setattr("agent.hub.look_at", look)
    yield has_seen, may_go_on
    may_go_on.set()


async def test_what_is_queued_during_a_look_at_the_store_is_not_taken_for_sent_elsewhere(bench, served, slow_look):
    has_seen, may_go_on = slow_look
    served.hold()
    bench.hub.submit(bench.session_id, "first")
    await asyncio.wait_for(served.waiting.wait(), 5)
    looking = asyncio.create_task(bench.hub.catch_up())
    assert await asyncio.to_thread(has_seen.wait, 5)
    bench.hub.submit(bench.session_id, "second")
    await bench.until(lambda event: isinstance(event, QueueChanged))
    may_go_on.set()
    await looking
    assert bench.hub.runtime(bench.session_id).queue == ("second",)


async def test_a_session_whose_opening_failed_during_a_look_is_passed_over(
    bench, served, window, slow_look, monkeypatch
):
    has_seen, may_go_on = slow_look
    gave_up = asyncio.Event()

    async def recover(_: Runtime) -> None:
        await gave_up.wait()
        raise BusyDatabase(path="state.db", waited_s=60)

    served.reply(text="one")
    await bench.ask("first")
    monkeypatch.setattr(Runtime, "recover", recover)
    opening = asyncio.create_task(window.bench.hub.open(bench.session_id))
    async with asyncio.timeout(15):
        while not window.bench.hub.is_open(bench.session_id):
            await asyncio.sleep(0)
    looking = asyncio.create_task(window.bench.hub.catch_up())
    assert await asyncio.to_thread(has_seen.wait, 5)
    gave_up.set()
    with pytest.raises(BusyDatabase):
        await opening
    may_go_on.set()
    assert bench.session_id in [line.session.id for line in await looking]


async def test_what_this_process_writes_is_not_read_again(bench, served, window):
    bench.hub.profile.db.close()  # nobody else is there, not even to bring the search index up to date
    await window.watcher.look()
    told = len(window.told)
    served.reply(text="Hello.")
    await window.bench.ask("hi")
    assert await window.watcher.look()
    assert len(window.told) == told


async def test_nothing_is_asked_while_unfocused_or_nothing_could_be_seen(window, monkeypatch):
    asked = asyncio.Event()
    real = window.bench.hub.data_version

    async def counted() -> int:
        asked.set()
        return await real()

    monkeypatch.setattr(window.bench.hub, "data_version", counted)
    monkeypatch.setattr("agent.watcher.LOOK_S", 0.01)
    window.watcher.focus(False)
    task = asyncio.create_task(window.watcher.run())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asked.wait(), 0.1)
    window.watcher.focus(True)
    await asyncio.wait_for(asked.wait(), 5)
    window.is_showing = False
    await asyncio.sleep(0.05)  # a pass under way ends
    asked.clear()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asked.wait(), 0.1)
    task.cancel()


async def test_a_failing_pass_warns_once_a_minute_and_says_how_often_it_did_not(window, caplog):
    window.bench.hub.profile.db.close()
    with caplog.at_level(logging.WARNING, "agent.watcher"):
        for window.seconds in (0.0, 5.0, 59.0, 61.0):
            assert not await window.watcher.look()
    assert [record.message.count("(2 times more") for record in caplog.records] == [0, 1]
