"""A hermes that works without an end: turns with calls, texts queued behind them, rewinds and summaries, at random.

`python busy_hermes.py HOME WORKSPACE SEED`. What the store has acknowledged is printed, a line each: `row ID`,
`queued TEXT`, `taken TEXT`. It is there to be killed.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from msgspec.structs import replace

from agent.approvals.inbox import Answer
from agent.events import QueueChanged, RequestOpened, RowStored, TurnEnded
from agent.hub import Hub
from agent.open import open_hub
from agent.profile import Profile
from agent.providers.base import Delta, ModelRequest, Reply, TextPart
from session.errors import UserError
from session.models import Approval, Finish, Message, Role, ToolCall, Usage
from session.tables import Tables


class Chance:
    """A model that says something and sometimes calls, as the dice fall."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        words = [f"word{number} " for number in range(self._dice.randrange(1, 12))]
        for word in words:
            yield TextPart(word)
            await asyncio.sleep(self._dice.choice((0, 0, 0.002, 0.01)))
        may_call = request.messages[-1]["role"] == "user"
        count = self._dice.randrange(4) if may_call else 0
        calls = tuple(ToolCall(f"c{number}", "terminal", '{"command": "touch ran"}') for number in range(count))
        finish = Finish.TOOL_CALLS if calls else Finish.STOP
        yield Reply("".join(words), "", "", calls, finish, Usage(10, 10))

    async def aclose(self) -> None:
        pass


class Busy:
    def __init__(self, hub: Hub, session_id: str, dice: random.Random) -> None:
        self.hub, self.dice = hub, dice
        self.runtime = hub.runtime(session_id)
        self.told: set[str] = set()

    async def work(self) -> None:
        listening = asyncio.create_task(self.listen())
        while not listening.done():
            for _ in range(self.dice.randrange(1, 4)):
                self.runtime.submit(f"prompt {time.time_ns()}")
                await asyncio.sleep(self.dice.choice((0, 0.005, 0.05)))
            if self.dice.random() < 0.2 and (taken := self.runtime.take_back()):
                say(f"taken {taken.text}")
            if self.dice.random() < 0.3:
                self.runtime.interrupt()
            while self.runtime.is_busy or self.runtime.queue:
                self.runtime.release_queue()
                await asyncio.sleep(0.005)
            self.change_rows()

    def change_rows(self) -> None:
        """A rewind or a summary, beside the hub as another process would do it."""
        id_, revision = self.runtime.id, self.runtime.s.session.revision

        def change(tables: Tables) -> None:
            prompts = [row for row in tables.messages.all(id_) if row.role is Role.USER and not row.is_summary]
            if len(prompts) > 2 and self.dice.random() < 0.3:
                tables.lineage.rewind(id_, prompts[-1].id, time.time())
            elif len(prompts) > 3 and self.dice.random() < 0.5:
                summary, first = Message(id_, Role.USER, "so far", time.time()), tables.messages.all(id_)[0]
                tables.lineage.swap(id_, first.id, prompts[-2].id, summary, revision)

        try:
            self.hub.profile.db.write(change).result()
        except UserError as error:
            print(error, file=sys.stderr, flush=True)

    async def listen(self) -> None:
        listener = self.hub.listen()
        while True:
            await listener.wait()
            for event in listener.drain():
                match event:
                    case RowStored(row=row):
                        say(f"row {row.id}")
                    case QueueChanged():
                        for text in self.runtime.queue:
                            say(f"queued {text}")
                    case RequestOpened(request=request):
                        await asyncio.sleep(self.dice.choice((0, 0.02)))
                        self.hub.answer(request.id, Answer(Approval.ALLOWED_ONCE))
                    case TurnEnded(error=error) if error:
                        print(error, file=sys.stderr, flush=True)
                    case _:
                        pass


def say(line: str) -> None:
    print(line, flush=True)


async def main(home: str, workspace: str, seed: str) -> None:
    dice = random.Random(int(seed))
    profile = Profile.load({"HERMES_HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin"})
    hub = await open_hub(profile, source="tui", is_attended=True)
    hub._parts = replace(hub._parts, provider_for=lambda route: Chance(dice))
    latest = await hub.latest(Path(workspace)) if dice.random() < 0.7 else None
    runtime = await hub.open(latest) if latest else hub.create(Path(workspace))
    say("begun")
    await Busy(hub, runtime.id, dice).work()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
