"""A session that works in a folder through the real runtime and the real tools, told by what its prompts made of it."""

from __future__ import annotations

import asyncio
import json
import subprocess
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agent.rewinding import Outcome, Preview, Scope
from agent.runtime import Runtime
from session.models import Approval, CallOutcome, Message, Role


@dataclass
class Work:
    """Prompts whose answers call tools, every call allowed by the person."""

    bench: Any
    served: Any
    _numbers: count[int] = field(default_factory=count)

    @property
    def id(self) -> str:
        return self.bench.session_id

    @property
    def runtime(self) -> Runtime:
        return self.bench.hub.runtime(self.id)

    @property
    def said(self) -> list[str]:
        return [row.content for row in self.bench.rows if row.role in (Role.USER, Role.ASSISTANT) and row.content]

    def prompt(self, text: str) -> Message:
        return next(row for row in self.bench.rows if row.content == text)

    async def does(self, prompt: str, *calls: tuple[str, dict[str, object]]) -> None:
        """One answer a call, then "did <prompt>"."""
        for name, args in calls:
            function = {"name": name, "arguments": json.dumps(args)}
            self.served.reply({"id": f"call{next(self._numbers)}", "type": "function", "function": function})
        self.served.reply(text=f"did {prompt}")
        turn = await self.bench.ask(prompt, Approval.ALLOWED_ONCE)
        outcomes = [result.outcome for result, _ in turn.results]
        assert outcomes == [CallOutcome.OK] * len(calls), turn.results

    async def shell(self, prompt: str, script: str) -> None:
        await self.does(prompt, ("terminal", {"command": script}))

    async def preview(self, prompt: str) -> Preview:
        return await self.bench.hub.rewind_preview(self.id, self.prompt(prompt).id)

    async def rewind(self, prompt: str, scope: Scope = Scope.BOTH, also: tuple[str, ...] = ()) -> Outcome:
        return await self.bench.hub.rewind(self.id, await self.preview(prompt), scope, also)

    async def undo(self) -> Outcome:
        return await self.bench.hub.undo_rewind(self.id)

    async def stored(self) -> list[str]:
        """What the store holds of the conversation."""
        rows = await asyncio.wrap_future(self.bench.hub.profile.db.read(lambda t: t.messages.all(self.id)))
        return [row.content for row in rows if row.role in (Role.USER, Role.ASSISTANT) and row.content]


@pytest.fixture
def work(bench: Any, served: Any) -> Work:
    return Work(bench, served)


@pytest.fixture
def repository(workspace: Path) -> Path:
    """The workspace as a git work tree."""
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    return workspace
