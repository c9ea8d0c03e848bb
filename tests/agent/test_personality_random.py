"""Personality and model switched at any moment of sessions that run beside each other."""

from __future__ import annotations

import asyncio
import random
import re

import pytest
from msgspec.structs import replace

from agent.events import TurnEnded
from agent.personality import PERSONALITIES
from session.models import Role

NAMES = list(PERSONALITIES)
SPOKEN = re.compile(r"\n\nHow to speak in this session \(the personality “([\w-]+)”")
MARKER = re.compile(r"\[From here on speak as (?:the personality “([\w-]+)” of|yourself again:)[^\]]*\]\n\n")
SWITCHES, TURNS = 200, 24


@pytest.fixture
def more_config() -> str:
    return "auxiliary: {titles: false}"


class Person:
    """Works in one session, and switches there between personalities and models that no other session has."""

    def __init__(self, bench, session_id: str, tag: str, names: list[str], models: list[str], seed: int) -> None:
        self.bench, self.id, self.tag, self.names, self.models = bench, session_id, tag, names, models
        self.dice = random.Random(seed)
        self.typed: list[str] = []

    @property
    def runtime(self):
        return self.bench.hub.runtime(self.id)

    async def switch(self) -> None:
        await self.runtime.set_personality(self.dice.choice(self.names))
        route = replace(self.runtime.s.route, model=self.dice.choice(self.models))
        if self.runtime.is_busy:
            self.runtime.model.switch_later(route)
        else:
            await self.runtime.switch(route)

    async def work(self) -> None:
        for turn in range(TURNS):
            switches = SWITCHES // (2 * TURNS) + (turn % 2)
            before = self.dice.randrange(switches + 1)
            for _ in range(before):
                await self.switch()
            self.typed.append(f"{self.tag}{turn}")
            self.bench.hub.submit(self.id, self.typed[-1])
            for _ in range(switches - before):
                for _ in range(self.dice.randrange(40)):
                    await asyncio.sleep(0)
                await self.switch()
            async with asyncio.timeout(30):
                while self.runtime.is_busy:
                    await asyncio.sleep(0.001)


def told(messages) -> str:
    """The personality that the markers tell of."""
    found = [MARKER.match(one["content"]) for one in messages if one["role"] == "user"]
    latest = next((match for match in reversed(found) if match), None)
    return (latest[1] or "") if latest else ""


async def test_complaint_68_switched_200_times_at_any_moment_nothing_is_mixed_up(bench, served, open_bench, home):
    config = (home / "config.yaml").read_bytes()
    (bench.workspace / "a.txt").write_text("a")
    calls = ({"id": f"c{n}", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.txt"}'}} for n in range(1000))  # fmt: skip
    for number in range(4 * TURNS):
        served.reply(*([next(calls)] if number % 3 == 0 else []), text=f"Answer {number}.")
    people = [
        Person(bench, bench.session_id, "a", ["", *NAMES[:6]], ["m", "n"], 1),
        Person(bench, bench.hub.create(bench.workspace).id, "b", ["", *NAMES[6:]], ["p", "q"], 2),
    ]
    for person in people:
        await person.runtime.switch(replace(person.runtime.s.route, model=person.models[0]))
    await asyncio.gather(*(person.work() for person in people))

    bases: dict[str, set[str]] = {"a": set(), "b": set()}
    for request in served.requests:
        messages = request["messages"]
        system, asked = messages[0]["content"], [one for one in messages if one["role"] == "user"]
        tag = MARKER.sub("", asked[-1]["content"])[0]
        person = people[tag == "b"]
        spoken = SPOKEN.search(system)
        assert told(messages) == (spoken[1] if spoken else ""), "the prompt and the markers tell the same"
        assert told(messages) in person.names and request["model"] in person.models, "never another session's"
        roles = [one["role"] for one in messages if one["role"] != "tool" and not one.get("tool_calls")]
        assert roles[1::2] == ["user"] * len(roles[1::2]) and set(roles[2::2]) <= {"assistant"}, "turns alternate"
        bases[tag].add(system[: spoken.start()] if spoken else system)
    assert [len(found) for found in bases.values()] == [1, 1], "the kept prompt is the same to the byte"

    other = await open_bench()
    for person in people:
        typed = [row.content for row in person.runtime.s.rows if row.role is Role.USER]
        assert typed == person.typed
        stored = (await other.hub.open(person.id)).s
        live = person.runtime.s
        assert (stored.session.personality, stored.session.route) == (live.session.personality, live.session.route)
        assert stored.route == live.route == live.session.route
        served.script.clear()
        served.reply(text="End.")
        other.hub.submit(person.id, f"{person.tag} end")
        await other.until(lambda event, of=person.id: isinstance(event, TurnEnded) and event.at.session == of)
        sent = served.requests[-1]
        assert sent["model"] == live.route.model and told(sent["messages"]) == live.session.personality
        assert sent["messages"][0]["content"].startswith(bases[person.tag].pop())
    assert (home / "config.yaml").read_bytes() == config
