"""A workspace on a real disk, and a session whose calls act in it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from agent.checkpoints.checkpoints import Checkpoints
from agent.checkpoints.limits import LIMITS, Limits
from agent.checkpoints.plan import RestorePlan, Uncovered
from agent.config.home import Home
from agent.tools.base import CallContext, ToolResult, Workplace
from agent.tools.registry import TOOLS


@dataclass
class Deeds:
    """Calls of one session, each with its checkpoint before and after; a call's id says its place."""

    checkpoints: Checkpoints
    place: Workplace
    calls: list[str] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)

    @property
    def root(self) -> Path:
        return self.place.root

    async def begin(self, writes: list[Path] | None = None) -> str:
        call = f"call-{next(self._numbers)}"
        self.calls.append(call)
        await self.checkpoints.before(call, writes)
        return call

    async def shell(self, script: str) -> str:
        """What a command does, in whatever way: here by bash itself."""
        call = await self.begin()
        self.bash(script)
        await self.checkpoints.after(call)
        return call

    async def tool(self, name: str, **args: object) -> ToolResult:
        touch = TOOLS[name].touches(args, self.place)
        call = await self.begin(list(touch.writes) if touch.writes else None)
        result = await TOOLS[name].run(args, CallContext(self.place, call, lambda _: None))
        await self.checkpoints.after(call)
        return result

    async def write(self, path: str, content: str) -> ToolResult:
        """A file is read before it is replaced, as a model has to."""
        if (self.root / path).is_file():
            await TOOLS["read_file"].run({"path": path}, CallContext(self.place, "read", lambda _: None))
        return await self.tool("write_file", path=path, content=content)

    def bash(self, script: str) -> None:
        subprocess.run(["bash", "-c", script], cwd=self.root, check=True, capture_output=True)

    async def plan(self, since: str | None = None) -> RestorePlan:
        """The way back to before a call, by default the first."""
        return await self.checkpoints.changes_since([since or self.calls[0]])

    async def uncovered(self, since: str | None = None) -> dict[str, str]:
        return {one.path: one.why.name for one in (await self.plan(since)).uncovered if isinstance(one, Uncovered)}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home", "~/home")
    home.create()
    return home


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Not git."""
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def repository(workspace: Path) -> Path:
    """The workspace as a git work tree in which `build/` and `*.log` are ignored."""
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    (workspace / ".gitignore").write_text("build/\n*.log\n")
    return workspace


@pytest.fixture
async def session(home: Home, tmp_path: Path) -> AsyncIterator[Callable[..., Deeds]]:
    """Opens a session in a folder, again under the same id as another process would."""
    opened: list[Checkpoints] = []

    def make(root: Path, session_id: str = "s1", limits: Limits = LIMITS) -> Deeds:
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        opened.append(Checkpoints(home, session_id, root, environ, limits))
        return Deeds(opened[-1], Workplace(root, root, environ, tmp_path / "outputs"))

    yield make
    for checkpoints in opened:
        await checkpoints.close()
