"""Models and personalities that change again and again under running sessions: each session keeps to its own."""

from __future__ import annotations

import asyncio
import json
import random
from itertools import pairwise
from typing import Any

import pytest

from agent.commands.model import Decision, switch, switch_or_ask
from agent.commands.table import SwitchAsked
from agent.hub import Hub
from agent.personality import PERSONALITIES
from session.models import Route

STEPS = 200
CONFIG = """\
model: {{default: m1, provider: first}}
probe_local: false
auxiliary: {{titles: false}}
agent: {{max_turns: 12}}
compression: {{enabled: false}}
providers:
  first: {{base_url: "{url}/first", key_env: FIRST_KEY, context_length: 1000000}}
  second: {{base_url: "{url}/second", key_env: SECOND_KEY, context_length: 1000000}}
"""
KEYS = {"first": "sk-first-0123456789", "second": "sk-second-0123456789"}
MODELS = ("first:m1", "first:m2", "second:m1", "second:m3")


class Endless(list[Any]):
    """A script of which there is always one entry more: an answer, or a call that needs no leave."""

    def __init__(self, served: Any, chance: random.Random) -> None:
        super().__init__()
        self._served, self._chance = served, chance

    def pop(self, index: Any = 0) -> Any:
        if not self:
            items = {"items": [{"content": "look", "status": "pending"}]}
            call = {"name": "todo", "arguments": json.dumps(items)}
            is_call = self._chance.random() < 0.4
            self._served.reply(*([{"id": "c", "type": "function", "function": call}] if is_call else []), text="so")
        return super().pop(index)


class Seen(list[Any]):
    """The requests in their order, each with the row of its session at that moment."""

    def __init__(self, hub: Hub, sessions: list[str]) -> None:
        super().__init__()
        self._hub, self._sessions = hub, sessions
        self.by_session: dict[str, list[dict[str, Any]]] = {one: [] for one in sessions}
        self.rows: list[Route | None] = []

    def append(self, request: Any) -> None:
        super().append(request)
        session_id = next(one for one in self._sessions if one in str(request["messages"]))
        row = self._hub.profile.db.read(lambda tables: tables.sessions.get(session_id)).result(15)
        self.rows.append(row.route if row else None)
        self.by_session[session_id].append(request)


@pytest.mark.parametrize("seed", [7])
async def test_whatever_is_switched_each_session_keeps_its_route_its_turns_and_its_prefix(
    served, home, workspace, open_bench, seed
):
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(CONFIG.format(url=served.url.removesuffix("/v1")))
    (home / ".env").write_text("".join(f"{name.upper()}_KEY={key}\n" for name, key in KEYS.items()))
    (home / ".env").chmod(0o600)
    bench = await open_bench()
    hub, chance = bench.hub, random.Random(seed)
    sessions = [hub.create(workspace).id for _ in range(3)]
    served.script, served.requests = Endless(served, chance), Seen(hub, sessions)
    wanted = {one: hub.runtime(one).s.route for one in sessions}
    spoken = dict.fromkeys(sessions, "")
    for number in range(STEPS):
        one = chance.choice(sessions)
        runtime = hub.runtime(one)
        if chance.random() < 0.6:
            wanted[one] = hub.models.resolve(chance.choice(MODELS), wanted[one])
            asked = await switch_or_ask(hub, one, wanted[one])
            if isinstance(asked, SwitchAsked):
                await switch(
                    hub, one, asked.route, asked.holds, chance.choice([Decision.SWITCH] * 4 + [Decision.INTERRUPT])
                )
        elif chance.random() < 0.5:
            spoken[one] = chance.choice([*PERSONALITIES, ""])
            await runtime.set_personality(spoken[one])
        if not runtime.is_busy:
            runtime.release_queue()
            runtime.submit(f"prompt {number} of {one}")
        for _ in range(chance.randrange(12)):
            await asyncio.sleep(0.001)
    async with asyncio.timeout(30):
        while any(hub.runtime(one).is_busy or hub.runtime(one).model.coming for one in sessions):
            await asyncio.sleep(0.01)

    for one in sessions:
        stored = hub.profile.db.read(lambda tables, one=one: tables.sessions.get(one)).result()
        assert (stored.route, hub.runtime(one).s.route, stored.personality) == (wanted[one], wanted[one], spoken[one])
        assert len(served.requests.by_session[one]) > 5
        others = [other for other in sessions if other != one]
        assert_one_conversation(served.requests.by_session[one], hub.runtime(one).s.speech.base, others)
    for head, request, row in zip(served.heads, served.requests, served.requests.rows, strict=True):
        assert row is not None
        place, key = (
            head.split("/")[1],
            next(line for line in head.splitlines() if line.lower().startswith("authorization")),
        )
        assert (place, request["model"]) == (row.provider, row.model)
        assert row.base_url.endswith(f"/{place}") and key.endswith(KEYS[place])


def assert_one_conversation(requests: list[dict[str, Any]], base: str, others: list[str]) -> None:
    """Turns alternate, nothing of another session is in it, and what was sent once is sent again as it was."""
    for request in requests:
        roles = [message["role"] for message in request["messages"]]
        assert roles[0] == "system" and "system" not in roles[1:]
        assert ("user", "user") not in pairwise(roles)
        assert not any(other in str(request["messages"]) for other in others)
        assert request["messages"][0]["content"].startswith(base)
    for before, after in pairwise(requests):
        said, again = before["messages"][1:], after["messages"][1:]
        assert again[: len(said) - 1] == said[:-1]
        # A prompt whose answer was interrupted before it began is one with the next prompt.
        assert again[len(said) - 1]["content"].startswith(said[-1]["content"])
