"""A workplace on a real disk, and calls of real tools in it."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from agent.tools import jobs
from agent.tools.base import CallContext, ToolResult, Workplace
from agent.tools.registry import TOOLS


@dataclass
class Desk:
    """Calls tools in one workplace and keeps what they emitted."""

    place: Workplace
    pieces: list[str] = field(default_factory=list)

    async def call(self, name: str, **args: object) -> ToolResult:
        return await TOOLS[name].run(args, CallContext(self.place, "call-1", self.pieces.append))

    async def shell(self, command: str, **args: object) -> ToolResult:
        return await self.call("terminal", command=command, **args)

    @property
    def live(self) -> str:
        return "".join(self.pieces)

    @property
    def logs(self) -> list[Path]:
        return sorted(self.place.outputs.glob("*"))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    workspace = tmp_path / "ws"
    home = tmp_path / "home"
    workspace.mkdir()
    home.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    yield Desk(Workplace(workspace, workspace, environ, tmp_path / "outputs"))
    await jobs.end_all(tmp_path)


@pytest.fixture
def write(desk: Desk) -> Callable[..., Path]:
    """Put a file into the workspace."""

    def make(content: bytes | str, name: str = "f") -> Path:
        path = desk.place.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


class Trail:
    """Finds the processes of one test by a word in their command line."""

    def __init__(self) -> None:
        self.seconds = f"300.{uuid.uuid4().int % 10**12:012d}"

    def alive(self) -> list[int]:
        return [process.pid for process in psutil.process_iter() if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return self.seconds in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return False


@pytest.fixture
def trail() -> Trail:
    return Trail()


@pytest.fixture
def eventually() -> Callable[..., object]:
    async def wait(holds: Callable[[], object], bound_s: float = 15.0) -> None:
        deadline = time.monotonic() + bound_s
        while not holds():
            assert time.monotonic() < deadline, "did not come true in time"
            await asyncio.sleep(0.01)

    return wait
