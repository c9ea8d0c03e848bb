"""SIGKILL at any moment of busy turns: nothing that was acknowledged is lost, and every conversation can go on."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.events import TurnEnded
from agent.request import wire_messages
from session.invariants import violations
from session.models import ExitReason
from session.tables import Tables

ROUNDS = int(os.environ.get("HERMES_SOAK") or 8)
SEED = 20_261_130
BUSY = Path(__file__).with_name("busy_hermes.py")
TWICE = "SELECT call_id FROM messages WHERE role = 'tool' GROUP BY session_id, call_id HAVING count(*) > 1"


@dataclass
class Promises:
    """What the killed process was told of as stored."""

    rows: set[int] = field(default_factory=set[int])
    queued: set[str] = field(default_factory=set[str])

    def take(self, line: str) -> None:
        match line.split(" ", 1):
            case ["row", number]:
                self.rows.add(int(number))
            case ["queued", text]:
                self.queued.add(text)
            case ["taken", text]:
                self.queued.discard(text)
            case _:
                pass

    def broken(self, tables: Tables) -> list[object]:
        stored = {number for (number,) in tables.connection.rows("SELECT id FROM messages")}
        said = {text for (text,) in tables.connection.rows("SELECT content FROM messages WHERE role = 'user'")}
        waiting = {text for (text,) in tables.connection.rows("SELECT content FROM queued")}
        return [*(self.rows - stored), *(self.queued - said - waiting)]


async def killed(home: Path, workspace: Path, dice: random.Random) -> Promises:
    """A busy process, killed at a random moment of its work."""
    arguments = (str(home), str(workspace), str(dice.randrange(10**6)))
    process = await asyncio.create_subprocess_exec(sys.executable, BUSY, *arguments, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(20):
        assert await process.stdout.readline() == b"begun\n"
    await asyncio.sleep(dice.uniform(0, 1.0))
    process.kill()
    promises = Promises()
    for line in (await process.stdout.read()).decode().splitlines():
        promises.take(line)
    assert await process.wait() == -9, "it ended by itself"
    return promises


def everything_wrong(tables: Tables, promises: Promises) -> list[object]:
    ids = [session.id for session in tables.sessions.listing(1_000)]
    check = tables.connection.rows("PRAGMA integrity_check")
    return [
        *(row for row in check if row != ("ok",)),
        *promises.broken(tables),
        *tables.connection.rows(TWICE),
        *(wrong for id_ in ids for wrong in violations(tables, id_)),
    ]


def illegal(messages: list[dict[str, object]]) -> list[object]:
    """What no server would take: calls without their results behind them, and two of one role in a row."""
    wrong, owed, before = list[object](), list[object](), "system"
    for message in messages[1:]:
        role = str(message["role"])
        if role == "tool":
            wrong += [] if owed and message["tool_call_id"] == owed.pop(0) else [message]
        else:
            wrong += [*owed, *([message] if role == before else [])]
            owed = [call["id"] for call in message.get("tool_calls", ())]  # type: ignore[attr-defined]
        before = role
    return [*wrong, *owed]


@pytest.mark.soak
@pytest.mark.timeout(60 + 10 * ROUNDS)
async def test_complaint_13_a_kill_at_any_moment_loses_nothing_and_every_session_goes_on(
    bench, served, home, workspace, open_bench
):
    dice = random.Random(SEED + ROUNDS)
    for number in range(ROUNDS):
        promises = await killed(home, workspace, dice)
        read = bench.hub.profile.db.read
        assert read(lambda tables, p=promises: everything_wrong(tables, p)).result() == [], f"round {number}"
        latest = await bench.hub.latest(workspace)
        if latest is None:
            continue  # it was killed before its first prompt was stored
        opened = await open_bench()
        opened.session_id = latest
        runtime = await opened.hub.open(latest)
        if opened.hub.interrupt(latest):  # it was left waiting for an answer
            await opened.until(lambda event: isinstance(event, TurnEnded))
        assert runtime.queue_is_held or not runtime.queue
        assert illegal(wire_messages(runtime.s.rows, "p")) == []
        assert read(lambda tables, p=promises: everything_wrong(tables, p)).result() == [], f"round {number}, settled"
        served.reply(text="Here I am again.")
        assert (await opened.ask("go on")).ended.reason is ExitReason.COMPLETED
        await opened.hub.close("the round is over")
        opened.hub.profile.close()
