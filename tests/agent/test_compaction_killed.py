"""A kill or an interrupt at any point of a compaction leaves the old or the new conversation, whole, and loses no prompt."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import threading
from collections import Counter
from typing import Any

import pytest

from agent.events import CompactionEnded, CompactionStarted, TurnEnded, TurnEvent
from session.invariants import violations
from session.lineage import Lineage, Swapped
from session.models import ApiMode, Finish, Message, Role, Route, Session, TitleSource

SOAK = int(os.environ.get("HERMES_SOAK") or 0)
KILLS = SOAK * 4 or 4
STOPS = SOAK * 20 or 40
LONGEST_S = 0.2  # from the beginning of a compaction to behind its end
STORY = "the quick brown fox jumps over the lazy dog and runs on " * 25
SUMMARY = "## Aim\nTo see it through."

HERMES = """
import asyncio, os, signal, sys, threading
from pathlib import Path
from agent.events import CompactionEnded, CompactionStarted, TurnEnded
from agent.open import open_hub
from agent.profile import Profile

def die():
    os.kill(os.getpid(), signal.SIGKILL)

async def run(home, workspace, manner, delay_s):
    profile = Profile.load({"HERMES_HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin"})
    hub = await open_hub(profile, source="tui", is_attended=True)
    listener = hub.listen()
    hub.submit(hub.create(Path(workspace)).id, "hi")  # the first request of a process builds its client
    while not any(isinstance(event, TurnEnded) for event in listener.drain()):
        await listener.wait()
    await hub.open("long")
    if manner == "asked":
        hub.compact("long")
    else:
        hub.submit("long", "the prompt")
    while True:
        await listener.wait()
        for event in listener.drain():
            if isinstance(event, CompactionStarted):
                threading.Timer(float(delay_s), die).start()
            if isinstance(event, TurnEnded if manner == "turn" else CompactionEnded):
                die()

asyncio.run(run(*sys.argv[1:]))
"""


def story(workspace: str, url: str, session_id: str = "long", turns: int = 64) -> tuple[Session, list[Message]]:
    """A session that, with so many turns, is larger than the window of its model."""
    route = Route("served", "m", url, ApiMode.CHAT, window=20_000)
    session = Session(session_id, "tui", "Long", TitleSource.PERSON, workspace, workspace, 1.0, 1.0, route=route)
    rows: list[Message] = []
    for number in range(turns):
        rows.append(Message(session_id, Role.USER, f"question {number}", 2.0 + number))
        rows.append(Message(session_id, Role.ASSISTANT, f"{number} {STORY}", 2.5 + number, finish=Finish.STOP))
    return session, rows


@pytest.fixture
def write_config(served: Any, home: Any) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.yaml").write_text(
        "model: {default: m, provider: served}\nprobe_local: false\nauxiliary: {titles: false}\n"
        "agent: {api_max_retries: 0, stream_retries: 0}\n"
        f"providers: {{served: {{base_url: '{served.url}', context_length: 20000}}}}\n"
    )


def store(bench: Any, session: Session, rows: list[Message]) -> None:
    def write(tables: Any) -> None:
        tables.sessions.create(session)
        for row in rows:
            tables.messages.append(row)

    bench.hub.profile.db.write(write).result()


def is_whole(rows: list[Message], told: list[Message]) -> bool:
    """Whether the conversation is the old one, or a head of it, a summary, and a tail of it; more may stand behind."""
    said = [row.content for row in rows if row.role is not Role.NOTICE]
    old = [row.content for row in told]
    places = [place for place, row in enumerate(row for row in rows if row.role is not Role.NOTICE) if row.is_summary]
    if not places:
        return said[: len(old)] == old
    (place,) = places
    tail = [text for text in said[place + 1 :] if text in old]
    return bool(SUMMARY in said[place] and said[:place] == old[:place] and tail and old[-len(tail) :] == tail)


def stored(bench: Any, session_id: str = "long") -> list[Message]:
    read = bench.hub.profile.db.read
    assert read(lambda tables: violations(tables, session_id)).result() == []
    return read(lambda tables: tables.messages.all(session_id)).result()


def answer_all(served: Any) -> None:
    """Whatever is asked."""
    served.script.clear()
    for _ in range(6):
        served.reply(text=SUMMARY, usage=(3_000, 5))


@pytest.mark.soak
@pytest.mark.timeout(60 + 20 * KILLS)
@pytest.mark.parametrize("manner", ["asked", "turn"])
async def test_a_kill_at_any_point_leaves_the_old_or_the_new_conversation(
    served, home, workspace, tmp_path, open_bench, write_config, manner
):
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    came_to: Counter[tuple[str, bool]] = Counter()
    for number in range(KILLS // 2):
        folder = tmp_path / f"home{number}"
        folder.mkdir(mode=0o700)
        (folder / "config.yaml").write_text((home / "config.yaml").read_text())
        first = await open_bench(home=folder)
        session, told = story(str(workspace), served.url)
        store(first, session, told)
        await first.hub.close("another process goes on")
        first.hub.profile.close()
        answer_all(served)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", HERMES, str(folder), str(workspace), manner, str(chance.uniform(0, LONGEST_S)))
        )
        assert await asyncio.wait_for(process.wait(), 30) == -9
        bench = await open_bench(home=folder)
        await bench.hub.open("long")
        bench.session_id = "long"
        came_to[manner, any(row.is_summary for row in bench.rows)] += 1
        assert is_whole(stored(bench), told)
        assert stored(bench) == bench.rows
        prompts = [row.content for row in bench.rows if row.role is Role.USER]
        assert manner == "asked" or "the prompt" in prompts
        answer_all(served)
        await bench.ask("go on")
        assert is_whole(stored(bench), told) and stored(bench) == bench.rows
    print(came_to)


async def play(steps: int) -> None:
    for _ in range(steps):
        await asyncio.sleep(0)


@pytest.mark.soak
@pytest.mark.timeout(60 + STOPS)
async def test_an_interrupt_at_any_step_leaves_the_old_or_the_new_conversation_and_every_prompt(
    served, workspace, open_bench, write_config
):
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    bench = await open_bench()
    answer_all(served)
    await bench.ask("hi")
    came_to: Counter[tuple[str, bool]] = Counter()
    for number in range(STOPS):
        manner, id_ = chance.choice(("asked", "turn")), f"s{number}"
        session, told = story(str(workspace), served.url, id_)
        store(bench, session, told)
        runtime = await bench.hub.open(id_)
        answer_all(served)
        bench.listener.drain()
        if manner == "asked":
            bench.hub.compact(id_)
        else:
            bench.hub.submit(id_, "the prompt")
        await play(chance.randrange(chance.choice((100, 1_000, 6_000))))
        bench.hub.submit(id_, "another")
        await play(chance.randrange(30))
        bench.hub.interrupt(id_)
        seen = await ended(bench, runtime)
        starts, ends = (sum(isinstance(event, kind) for event in seen) for kind in (CompactionStarted, CompactionEnded))
        assert starts <= ends, "an end is told of each that began"
        rows = stored(bench, id_)
        assert rows == runtime.s.rows and is_whole(rows, told)
        kept = [*(row.content for row in rows if row.role is Role.USER), *runtime.queue]
        assert kept.count("another") == 1 and kept.count("the prompt") == (manner == "turn")
        came_to[manner, any(row.is_summary for row in rows)] += 1
    print(came_to)


async def ended(bench: Any, runtime: Any) -> list[TurnEvent]:
    """What happened until nothing runs any more and nothing is on its way into the queue."""
    seen: list[TurnEvent] = []
    async with asyncio.timeout(15):
        while runtime.is_busy:
            await bench.listener.wait()
            seen += bench.listener.drain()
            await asyncio.sleep(0)
        await runtime._queue.settled()
        while runtime.is_busy:
            await asyncio.sleep(0.001)
    return [*seen, *bench.listener.drain()]


async def test_an_interrupt_while_the_rows_change_stops_the_turn_behind_the_change(
    served, workspace, open_bench, write_config, monkeypatch
):
    """The step was begun, so it is made; then the turn is stopped, with its prompt in the conversation."""
    bench = await open_bench()
    session, told = story(str(workspace), served.url, turns=30)
    store(bench, session, told)
    runtime = await bench.hub.open("long")
    bench.session_id = "long"
    served.reply(text="Nearly.", usage=(18_000, 5))
    await bench.ask("is it full?")
    told = list(runtime.s.rows)
    summary = json.dumps({"choices": [{"index": 0, "delta": {"content": SUMMARY}}]})
    gate = served.hold(f"data: {summary}\n\n")
    bench.hub.submit("long", "the prompt")
    await asyncio.wait_for(served.waiting.wait(), 10)
    begun, release, swap = threading.Event(), threading.Event(), Lineage.swap

    def held(lineage: Lineage, *change: Any) -> Swapped:
        begun.set()
        release.wait(10)
        return swap(lineage, *change)

    monkeypatch.setattr(Lineage, "swap", held)
    gate.set()
    await asyncio.to_thread(begun.wait, 10)
    bench.hub.interrupt("long")
    await play(3)
    release.set()
    events = await bench.until(lambda event: isinstance(event, TurnEnded))
    (end,) = (event for event in events if isinstance(event, CompactionEnded))
    assert end.error == "" and any(row.is_summary for row in runtime.s.rows)
    assert stored(bench) == runtime.s.rows and is_whole(runtime.s.rows, told)
    assert [row.content for row in runtime.s.rows if row.role is Role.USER][-1] == "the prompt"
    assert len(served.requests) == 2
