"""The disk is full, or the file gone: the turn goes on in memory, later writes catch up, and nothing is lost silently."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.approvals.inbox import Answer
from agent.deciding import UNRECORDED
from agent.events import CallStarted, Notice, RequestOpened, RowStored, TextDelta, TurnEnded
from session.invariants import violations
from session.memory_store import is_temporary
from session.models import Approval, CallOutcome, EndReason, ExitReason, Level, Message, Role, Usage

ROUNDS = int(os.environ.get("HERMES_SOAK", "1"))
LONG = "x" * 20_000  # more than what is free in the pages that a file has


def command(id: str, text: str) -> dict[str, object]:
    return {"id": id, "type": "function", "function": {"name": "terminal", "arguments": json.dumps({"command": text})}}


def stored(bench, session_id: str = "") -> list[Message]:
    session_id = session_id or bench.session_id
    return bench.hub.profile.db.read(lambda tables: tables.messages.all(session_id)).result()


def said(rows: list[Message]) -> list[tuple[Role, str]]:
    return [(row.role, row.content) for row in rows if row.role is not Role.NOTICE]


async def caught_up(bench) -> list[object]:
    return await bench.until(lambda event: isinstance(event, Notice) and event.level is Level.INFO)


async def ended(bench) -> TurnEnded:
    return (await bench.until(lambda event: isinstance(event, TurnEnded)))[-1]


def is_whole(bench) -> bool:
    with closing(sqlite3.connect(bench.hub.profile.db.path)) as other:
        return other.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def assert_caught_up(bench) -> None:
    """Memory and store say the same, the store is whole and legal, and nothing waits any more."""
    assert stored(bench) == bench.rows
    assert not any(is_temporary(row.id) for row in bench.rows)
    assert bench.hub.profile.db.read(lambda tables: violations(tables, bench.session_id)).result() == []
    assert is_whole(bench)
    assert bench.hub.losses == []


@pytest.fixture(autouse=True)
def retry_soon(monkeypatch) -> None:
    monkeypatch.setattr("agent.backlog.RETRY_S", 0.05)


@pytest.fixture(params=["no file may grow", "the store may not grow"])
def full(request, bench, full_disk) -> Callable[[], object]:
    """Two ways in which a disk is full: the system refuses the write, or SQLite finds no page."""

    @contextmanager
    def no_page() -> Iterator[None]:
        db = bench.hub.profile.db
        db.aside(lambda c: c.run(f"PRAGMA max_page_count = {c.value('PRAGMA page_count')}")).result()
        yield
        db.aside(lambda c: c.run("PRAGMA max_page_count = 1000000")).result()

    return full_disk if request.param == "no file may grow" else no_page


async def test_E08_a_disk_that_fills_up_in_mid_stream_is_told_and_caught_up_with(bench, served, full):
    gate = served.hold(f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': LONG}}]})}\n\n")
    bench.hub.submit(bench.session_id, "tell me")
    await bench.until(lambda event: isinstance(event, TextDelta))
    with full():
        gate.set()
        seen = await bench.until(lambda event: isinstance(event, TurnEnded))
        assert seen[-1].reason is ExitReason.COMPLETED
        assert [event.durable for event in seen if isinstance(event, RowStored)] == [False]
        [told] = [event for event in seen if isinstance(event, Notice)]
        assert (told.level, "goes on in memory" in told.text) == (Level.WARNING, True)
        served.reply(text=LONG)
        turn = await bench.ask("and more")
        assert (turn.ended.reason, [type(event) for event in turn.events].count(Notice)) == (ExitReason.COMPLETED, 0)
        assert [m["role"] for m in served.requests[-1]["messages"]] == ["system", "user", "assistant", "user"]
        assert len(said(stored(bench))) == 1
        assert bench.hub.losses[0].startswith("3 messages of session")
    await caught_up(bench)
    assert said(stored(bench)) == [
        (Role.USER, "tell me"),
        (Role.ASSISTANT, f"{LONG} end"),
        (Role.USER, "and more"),
        (Role.ASSISTANT, LONG),
    ]
    assert_caught_up(bench)


async def test_E08_a_new_session_is_stored_with_all_of_it_once_there_is_room(bench, served, full):
    served.reply(text=LONG)
    with full():
        assert (await bench.ask(LONG)).ended.reason is ExitReason.COMPLETED
        assert await bench.hub.catch_up()  # a session that is not stored yet is not a deleted one
        assert not bench.hub.runtime(bench.session_id).is_deleted
        assert bench.session_id not in [line.session.id for line in await bench.hub.listing()]
    await caught_up(bench)
    assert_caught_up(bench)
    read = bench.hub.profile.db.read
    [spent] = read(lambda tables: tables.usage.totals(bench.session_id)).result()
    assert (spent.requests, spent.usage) == (1, Usage(input=10, output=5))
    [line] = await bench.hub.listing()
    assert line.session == replace(
        bench.hub.runtime(bench.session_id).s.session,
        prompt_hash=line.session.prompt_hash,
        last_activity_at=line.session.last_activity_at,
    )
    served.reply(text="Fine.")
    assert (await bench.ask("how are you?")).rows[-1].content == "Fine."
    assert_caught_up(bench)


async def test_E08_an_interrupt_on_a_full_disk_keeps_the_words_and_the_next_prompt_follows_them(
    bench, served, full_disk
):
    served.hold('data: {"choices":[{"index":0,"delta":{"content":"Half"}}]}\n\n')
    bench.hub.submit(bench.session_id, "tell me")
    await bench.until(lambda event: isinstance(event, TextDelta))
    with full_disk():
        bench.hub.interrupt(bench.session_id)
        assert (await ended(bench)).reason is ExitReason.INTERRUPTED
        served.reply(text="Whole.")
        await bench.ask("again")
    await caught_up(bench)
    assert said(stored(bench)) == [
        (Role.USER, "tell me"),
        (Role.ASSISTANT, "Half"),
        (Role.USER, "again"),
        (Role.ASSISTANT, "Whole."),
    ]
    assert_caught_up(bench)


async def test_E08_an_interrupt_in_the_moment_of_catching_up_misses_no_row(bench, served, full_disk, monkeypatch):
    monkeypatch.setattr("agent.backlog.RETRY_S", 0.3)
    served.hold('data: {"choices":[{"index":0,"delta":{"content":"Half"}}]}\n\n')
    with full_disk():
        bench.hub.submit(bench.session_id, "tell me")
        await bench.until(lambda event: isinstance(event, TextDelta))
    db, begun, release = bench.hub.profile.db, threading.Event(), threading.Event()
    db.write(lambda _: (begun.set(), release.wait(10)))
    await asyncio.to_thread(begun.wait, 10)
    async with asyncio.timeout(15):
        while db._writer._jobs.empty():  # the attempt waits behind it
            await asyncio.sleep(0)
    bench.hub.interrupt(bench.session_id)
    for _ in range(10):
        await asyncio.sleep(0)
    release.set()
    assert (await ended(bench)).reason is ExitReason.INTERRUPTED
    assert said(bench.rows) == [(Role.USER, "tell me"), (Role.ASSISTANT, "Half")]
    assert_caught_up(bench)


async def test_E08_a_call_that_ran_on_a_full_disk_has_its_result_in_the_store_afterwards(
    bench, served, full_disk, workspace
):
    served.reply(command("c1", "touch it; until test -e go; do sleep 0.01; done; echo done"))
    served.reply(text="It ran.")
    bench.hub.submit(bench.session_id, "run it")
    opened = (await bench.until(lambda event: isinstance(event, RequestOpened)))[-1]
    bench.hub.answer(opened.request.id, Answer(Approval.ALLOWED_ONCE))
    await bench.until(lambda event: isinstance(event, CallStarted))
    (workspace / "go").touch()
    with full_disk():
        assert (await ended(bench)).reason is ExitReason.COMPLETED
    await caught_up(bench)
    [result] = [row.result for row in stored(bench) if row.result]
    assert (result.outcome, result.approval) == (CallOutcome.OK, Approval.ALLOWED_ONCE)
    assert_caught_up(bench)


async def test_a_call_that_is_in_the_store_does_not_run_while_it_cannot_be_noted_there(
    bench, served, full_disk, workspace
):
    """Else a kill would leave it there as one that never ran, to be asked about and run again."""
    served.reply(command("c1", "cat count; echo ran >> ran"))
    served.reply(command("c2", "echo ran >> ran"))
    served.reply(text="It ran.")
    bench.hub.submit(bench.session_id, "run it")
    opened = (await bench.until(lambda event: isinstance(event, RequestOpened)))[-1]
    with full_disk():
        bench.hub.answer(opened.request.id, Answer(Approval.ALLOWED_ONCE))
        seen = await bench.until(lambda event: isinstance(event, RequestOpened))
        assert not (workspace / "ran").exists()
        assert served.requests[-1]["messages"][-1]["content"] == UNRECORDED
    # With room again, or without: its answer is in memory like the mark, so that a kill would take both.
    bench.hub.answer(seen[-1].request.id, Answer(Approval.ALLOWED_ONCE))
    await bench.until(lambda event: isinstance(event, TurnEnded))
    while bench.hub.runtime(bench.session_id).s.is_behind:
        await asyncio.sleep(0.01)
    assert (workspace / "ran").read_text() == "ran\n"
    assert [row.result.outcome for row in stored(bench) if row.result] == [CallOutcome.NOT_RUN, CallOutcome.OK]
    assert_caught_up(bench)


async def test_a_call_that_only_reads_runs_on_a_full_disk(bench, served, full_disk, workspace):
    (workspace / "a.txt").write_text("what is in it")
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.txt"}'}}
    gate = asyncio.Event()
    served.reply(call)
    served.script[-1].insert(-1, gate)
    served.reply(text="I see.")
    bench.hub.submit(bench.session_id, "read it")
    await asyncio.wait_for(served.waiting.wait(), 5)
    with full_disk():
        gate.set()
        seen = await bench.until(lambda event: isinstance(event, TurnEnded))
    [result] = [event.row for event in seen if isinstance(event, RowStored) and event.row.result]
    assert "what is in it" in result.content
    await caught_up(bench)
    assert_caught_up(bench)


async def test_what_is_queued_while_the_disk_is_full_is_in_the_store_afterwards(bench, served, full_disk):
    gate = served.hold()
    with full_disk():
        bench.hub.submit(bench.session_id, "one")
        await asyncio.wait_for(served.waiting.wait(), 5)
        bench.hub.submit(bench.session_id, "two")
        await bench.until(lambda event: isinstance(event, Notice) and "queued prompt" in event.text)
    await caught_up(bench)
    async with asyncio.timeout(15):
        while not bench.hub.profile.db.read(lambda tables: tables.queued.all(bench.session_id)).result():
            await asyncio.sleep(0.01)
    served.reply(text="Second.")
    gate.set()
    await ended(bench)
    await ended(bench)
    assert bench.rows[-1].content == "Second."
    assert bench.hub.profile.db.read(lambda tables: tables.queued.all(bench.session_id)).result() == []
    assert_caught_up(bench)


async def test_a_turn_that_began_on_a_full_disk_has_its_lease_once_there_is_room(bench, served, full_disk, monkeypatch):
    monkeypatch.setattr("agent.turn_lease.TAKE_AGAIN_S", 0.05)
    gate = served.hold()
    with full_disk():
        bench.hub.submit(bench.session_id, "one")
        await asyncio.wait_for(served.waiting.wait(), 5)

    def lease():
        return bench.hub.profile.db.read(lambda tables: tables.leases.of(bench.session_id)).result()

    async with asyncio.timeout(15):
        while lease() is None:
            await asyncio.sleep(0.01)
    gate.set()
    await ended(bench)
    async with asyncio.timeout(15):
        while lease() is not None:
            await asyncio.sleep(0.01)


async def test_a_session_that_is_deleted_elsewhere_while_the_disk_is_full_stays_deleted(
    bench, served, full_disk, monkeypatch
):
    monkeypatch.setattr("agent.backlog.RETRY_S", 0.3)
    served.reply(text="Hello.")
    served.reply(text="Hello.")
    await bench.ask("hi")
    with full_disk():
        await bench.ask("hi again")
    bench.hub.profile.db.write(lambda tables: tables.sessions.delete(bench.session_id, 1.0)).result()
    await bench.until(lambda event: isinstance(event, Notice) and "was deleted" in event.text)
    assert stored(bench) == [] and bench.hub.losses == []


async def test_a_session_that_is_left_on_a_full_disk_is_ended_once_there_is_room(bench, served, full_disk):
    served.reply(text="Hello.")
    with full_disk():
        await bench.ask("hi")
        await bench.hub.end(bench.session_id, EndReason.NEW)
    await caught_up(bench)
    session = bench.hub.profile.db.read(lambda tables: tables.sessions.get(bench.session_id)).result()
    assert session and session.end_reason is EndReason.NEW
    assert_caught_up(bench)


async def test_a_session_that_is_deleted_while_the_disk_is_full_stays_deleted(bench, served, full_disk):
    served.reply(text="Hello.")
    served.reply(text="Hello.")
    await bench.ask("hi")
    with full_disk():
        await bench.ask("hi again")
        await bench.hub.end(bench.session_id, EndReason.DELETED)
    async with asyncio.timeout(15):
        while bench.hub.runtime(bench.session_id).s.is_behind:
            await asyncio.sleep(0.01)
    assert stored(bench) == [] and bench.hub.losses == []


async def test_leaving_tries_a_last_time(bench, served, full_disk, monkeypatch):
    monkeypatch.setattr("agent.backlog.RETRY_S", 600)
    served.reply(text="Hello.")
    with full_disk():
        await bench.ask("hi")
    await bench.hub.close("hermes was closed")
    assert_caught_up(bench)


async def test_leaving_on_a_full_disk_tells_what_is_lost_of_which_session(bench, served, full_disk):
    served.reply(text="Hello.")
    with full_disk():
        await bench.ask("hi")
        await bench.hub.close("hermes was closed")
        [loss] = bench.hub.losses
    assert loss.startswith(f"2 messages of session {bench.session_id} could not be stored. ")
    assert str(bench.hub.profile.db.path) in loss


async def test_what_does_not_follow_any_more_is_told_and_mixed_with_nothing(bench, served, full_disk, monkeypatch):
    monkeypatch.setattr("agent.backlog.RETRY_S", 0.3)
    served.reply(text="Hello.")
    served.reply(text="Hello again.")
    await bench.ask("hi")
    with full_disk():
        await bench.ask("and you?")
    other = Message(bench.session_id, Role.USER, "said by another hermes", 1.0)
    bench.hub.profile.db.write(lambda tables: tables.messages.append(other)).result()
    told = (await bench.until(lambda event: isinstance(event, Notice) and event.level is Level.ERROR))[-1]
    assert "Another hermes went on with this conversation" in told.text
    assert said(stored(bench))[-1] == (Role.USER, "said by another hermes")
    assert bench.hub.losses[0].startswith("2 messages of session")


async def test_E08_a_file_that_was_moved_away_is_caught_up_with_when_it_is_back_and_no_other(bench, served, home):
    served.reply(text="Hello.")
    await bench.ask("hi")
    path, away = home / "state.db", home / "away.db"
    path.rename(away)
    path.write_bytes(b"")
    served.reply(text="Still here.")
    turn = await bench.ask("are you there?")
    assert turn.ended.reason is ExitReason.COMPLETED
    [told] = [event.text for event in turn.events if isinstance(event, Notice)]
    assert f"{path} was replaced by another file, so this conversation goes on in memory. Put it back" in told
    backlog = bench.hub.runtime(bench.session_id).s.backlog
    refusal = backlog.trouble
    async with asyncio.timeout(15):
        while backlog.trouble is refusal:  # until it was tried again
            await asyncio.sleep(0.01)
    assert path.read_bytes() == b""
    assert bench.hub.losses
    away.rename(path)
    await caught_up(bench)
    assert said(stored(bench))[-1] == (Role.ASSISTANT, "Still here.")
    assert_caught_up(bench)


async def test_a_deleted_file_is_not_made_anew_and_the_loss_is_told(bench, served, home):
    served.reply(text="Hello.")
    await bench.ask("hi")
    for file in home.glob("state.db*"):
        file.unlink()
    served.reply(text="Still here.")
    assert (await bench.ask("are you there?")).ended.reason is ExitReason.COMPLETED
    await bench.hub.close("hermes was closed")
    assert bench.hub.losses[0].startswith(f"2 messages of session {bench.session_id} could not be stored.")
    assert not (home / "state.db").exists()


@pytest.mark.parametrize("more_config", ["approvals: {timeout: 60}"])
@pytest.mark.timeout(60 + 10 * ROUNDS)
async def test_E08_a_disk_full_at_any_points_leaves_the_store_as_if_it_had_never_been(
    bench, served, full_disk, monkeypatch
):
    monkeypatch.setattr("agent.backlog.RETRY_S", 0.0)
    chance = seeded()
    undisturbed = await played(bench, served, Disk(full_disk, chance, []))
    for _ in range(8 * ROUNDS):
        bench.session_id = bench.hub.create(bench.workspace).id
        found = await played(bench, served, Disk(full_disk, chance, points(chance)))
        held = [index for index, row in enumerate(found["rows"]) if row.content == UNRECORDED]
        assert without(found, held) == without(undisturbed, held)
        assert_caught_up(bench)


@pytest.mark.parametrize("more_config", ["approvals: {timeout: 60}"])
@pytest.mark.timeout(60 + 10 * ROUNDS)
async def test_E08_an_interrupt_on_a_disk_that_fills_and_empties_leaves_memory_and_store_equal(
    bench, served, full_disk, monkeypatch
):
    monkeypatch.setattr("agent.backlog.RETRY_S", 0.0)
    chance = seeded()
    served.reply(text="The first request of a process takes longer than all the others.")
    await bench.ask("hi")
    for number in range(12 * ROUNDS):
        if number % 6 == 0:
            bench.session_id = bench.hub.create(bench.workspace).id
        runtime, disk = bench.hub.runtime(bench.session_id), Disk(full_disk, chance, points(chance))
        script(served)
        bench.hub.submit(bench.session_id, "go")
        stop_at = chance.randrange(40)
        while runtime.is_busy:
            await disk.step(bench)
            if disk.events >= stop_at:
                bench.hub.interrupt(bench.session_id)
        await disk.caught_up(bench)
        assert_caught_up(bench)
        while runtime.queue:  # it was interrupted before the prompt was a row
            runtime.take_back()


class Disk:
    """A disk that is full from one point of a conversation to the next; a point is a number of events."""

    def __init__(self, full_disk: Callable[[], AbstractContextManager[None]], chance: random.Random, points: list[int]):
        self._full_disk, self._chance, self._points = full_disk, chance, points
        self._full: AbstractContextManager[None] | None = None
        self.events = 0

    async def step(self, bench) -> None:
        """Let the loop run for a step, answering what is asked."""
        await asyncio.sleep(0)
        for request in bench.hub.pending():
            bench.hub.answer(request.id, Answer(Approval.ALLOWED_ONCE))
        self.events += len(bench.listener.drain())
        if self._points and self.events >= self._points[0]:
            self._points.pop(0)
            for _ in range(self._chance.randrange(6)):
                await asyncio.sleep(0)
            self._turn()

    async def caught_up(self, bench) -> None:
        """Make room, and wait until it is used."""
        if self._full:
            self._turn()
        async with asyncio.timeout(15):
            while bench.hub.runtime(bench.session_id).s.is_behind:
                await asyncio.sleep(0.005)
        bench.listener.drain()

    def _turn(self) -> None:
        if self._full:
            self._full.__exit__(None, None, None)
            self._full = None
        else:
            self._full = self._full_disk()
            self._full.__enter__()


def seeded() -> random.Random:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    return random.Random(seed)


def points(chance: random.Random) -> list[int]:
    return sorted(chance.randrange(50) for _ in range(chance.choice((1, 2, 4, 8))))


async def played(bench, served, disk: Disk) -> dict[str, list[object]]:
    """A scripted conversation of two turns; what is stored of it."""
    script(served)
    for prompt in ("do it", "thanks"):
        bench.hub.submit(bench.session_id, prompt)
        while bench.hub.runtime(bench.session_id).is_busy:
            await disk.step(bench)
    await disk.caught_up(bench)
    return bench.hub.profile.db.read(lambda tables: all_of(tables, bench.session_id)).result()


def script(served) -> None:
    served.script.clear()
    served.reply(command("a", "echo one"), command("b", "echo two"), text="Let me see.")
    served.reply(command("c", "exit 3"))
    served.reply(text="Both came. " * 20)
    served.reply(text="You are welcome.")


def all_of(tables, session_id: str) -> dict[str, list[object]]:
    """A session in the store, without its ids and times."""
    rows = [
        replace(row, id=0, session_id="", created_at=0, result=row.result and replace(row.result, duration_s=0))
        for row in tables.messages.all(session_id)
    ]
    select = tables.connection.rows
    return {
        "rows": rows,
        "turns": select("SELECT exit_reason, ended_at IS NULL FROM turns WHERE session_id = ? ORDER BY id", session_id),
        "started": select("SELECT call_id, approval FROM started_calls WHERE session_id = ?", session_id),
        "asked": select("SELECT call_id, approval, cause FROM approval_requests WHERE session_id = ?", session_id),
        "partials": select("SELECT content FROM partials WHERE session_id = ?", session_id),
        "usage": tables.usage.totals(session_id),
    }


def without(found: dict[str, list[object]], held: list[int]) -> dict[str, object]:
    """What is left when it is not told how the calls ended whose result is one of these rows, and what led there."""
    rows = found["rows"]
    calls = {rows[index].result.call_id for index in held}
    compared: dict[str, object] = {
        name: [row for row in found[name] if row[0] not in calls] for name in ("started", "asked")
    }
    return {
        **found,
        **compared,
        "rows": [replace(row, content="", result=None) if index in held else row for index, row in enumerate(rows)],
    }


FULL_AT = """
import asyncio, resource, sys
from pathlib import Path
from agent.approvals.inbox import Answer
from agent.events import RequestOpened
from agent.open import open_hub
from agent.profile import Profile
from session.models import Approval

async def run(home, workspace, full_at, times):
    hub = await open_hub(Profile.load({"HERMES_HOME": home, "PATH": "/usr/bin:/bin"}), source="tui", is_attended=True)
    listener = hub.listen()
    hub.submit(hub.create(Path(workspace)).id, "do it")
    left = int(times)
    while True:
        await listener.wait()
        for event in listener.drain():
            left -= type(event).__name__ == full_at
            if left <= 0:
                resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            print(type(event).__name__, flush=True)
            if isinstance(event, RequestOpened):
                hub.answer(event.request.id, Answer(Approval.ALLOWED_ONCE))

asyncio.run(run(*sys.argv[1:]))
"""


@pytest.mark.timeout(60 + 20 * ROUNDS)
async def test_E08_a_kill_on_a_full_disk_leaves_a_legal_store_and_runs_nothing_twice(bench, served, home, workspace):
    chance = seeded()
    for _ in range(2 * ROUNDS):
        served.script.clear()
        for call in "abc":
            served.reply(command(call, f"mkdir {call}.$$"), text="Let me see.")
        served.reply(text="So it is.")
        full_at = chance.choice(("TurnStarted", "RowStored", "TextDelta", "RequestOpened", "CallStarted"))
        killed_at = chance.choice(("RowStored", "RequestOpened", "CallStarted", "TurnEnded"))
        await killed(home, workspace, (full_at, chance.randrange(1, 4)), (killed_at, chance.randrange(1, 4)))
        if not (session_id := await bench.hub.latest(workspace)):
            continue  # it died before its prompt was stored
        bench.session_id = session_id
        runtime = await bench.hub.open(session_id)
        served.script[:] = []
        for _ in range(2):
            served.reply(text="Going on.")
        while runtime.is_busy:
            for request in bench.hub.pending():
                bench.hub.answer(request.id, Answer(Approval.ALLOWED_ONCE))
            await asyncio.sleep(0.01)
        bench.listener.drain()
        assert (await bench.ask("go on")).ended.reason is ExitReason.COMPLETED
        ran = [folder.name[0] for folder in workspace.iterdir()]  # a file could not be made
        assert len(set(ran)) == len(ran)
        assert_caught_up(bench)
        await bench.hub.end(session_id, EndReason.DELETED)
        for folder in workspace.iterdir():
            folder.rmdir()


async def killed(home: Path, workspace: Path, full_at: tuple[str, int], killed_at: tuple[str, int]) -> None:
    """Run a turn in a process whose disk is full from one event on, and kill it at another, or at the end of the turn."""
    print(full_at, killed_at)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", FULL_AT, str(home), str(workspace), full_at[0], str(full_at[1])),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    name, left = killed_at
    async with asyncio.timeout(20):
        while left:
            line = (await process.stdout.readline()).decode().strip()
            assert line, "it ended by itself"
            left = 0 if line == "TurnEnded" else left - (line == name)
    process.kill()
    await process.wait()


@pytest.mark.soak
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system")
async def test_E08_a_small_file_system_that_is_full(served, tmp_path, open_bench, bench):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(small)], check=False)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        home = small / "home"
        home.mkdir(mode=0o700)
        (home / "config.yaml").write_bytes((bench.hub.profile.home.config).read_bytes())
        other = await open_bench(home=home)
        served.reply(text="Hello.")
        await other.ask("hi")
        fill(small / "filler")
        served.reply(text=LONG)
        turn = await other.ask(LONG)
        assert turn.ended.reason is ExitReason.COMPLETED
        assert [event for event in turn.events if isinstance(event, Notice)]
        (small / "filler").unlink()
        await caught_up(other)
        assert_caught_up(other)
        await other.hub.close("left")
        other.hub.profile.close()
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        size = 65_536
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2
