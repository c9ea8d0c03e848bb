"""Two homes in one process, and a model server for each that tells which key reached it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from agent.approvals.inbox import Answer
from agent.config.home import launch_home
from agent.config.profiles import create
from agent.events import RequestOpened, TurnEnded
from agent.hub import Hub
from agent.profile import Profile
from agent.profiles import Front, OpenProfiles
from session.models import Approval, Message
from tui.cli.log_file import open_log

WAIT_S = 25  # the first turn of a process imports what it needs, and the machine may be busy
LAUNCH, ROUTED = "default", "work"


def event(delta: dict[str, Any], finish: str | None = None) -> str:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return f"data: {json.dumps({'id': 'c', 'object': 'chat.completion.chunk', 'model': 'm', 'choices': choices})}\n\n"


@dataclass
class ModelServer:
    """Answers a prompt by running `env` into a file first; refuses the prompt "refuse …", quoting it and the key it got."""

    url: str = ""
    keys: list[str] = field(default_factory=list)
    held: asyncio.Event | None = None

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        headers = {key.lower(): value for key, _, value in (line.partition(": ") for line in head.split("\r\n"))}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        self.keys.append(headers.get("authorization", "").removeprefix("Bearer "))
        writer.write((await self._answer(body["messages"][-1])).encode())
        await writer.drain()
        writer.close()

    async def _answer(self, last: dict[str, Any]) -> str:
        if self.held is not None:
            await self.held.wait()
        if last["role"] == "user" and "refuse" in last["content"]:
            error = json.dumps(
                {"error": {"message": f"Bad key {self.keys[-1]} for: {last['content']}", "type": "auth"}}
            )
            return f"HTTP/1.1 401 No\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{error}"
        if last["role"] == "user":
            call = {"id": f"call_{len(self.keys)}", "type": "function"}
            # Into a file: what a model is told of it is masked.
            arguments = json.dumps({"command": f"env > printed-{uuid4().hex}"})
            call["function"] = {"name": "terminal", "arguments": arguments}  # type: ignore[assignment]
            said = event({"tool_calls": [{"index": 0, **call}]}) + event({}, "tool_calls")
        else:
            said = event({"content": "done"}) + event({}, "stop")
        return (
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
            + said
            + "data: [DONE]\n\n"
        )


@pytest.fixture
async def servers() -> AsyncIterator[dict[str, ModelServer]]:
    """One for each profile."""
    made = {LAUNCH: ModelServer(), ROUTED: ModelServer()}
    running: list[asyncio.Server] = []
    for server in made.values():
        running.append(await asyncio.start_server(server.handle, "127.0.0.1", 0))
        server.url = f"http://127.0.0.1:{running[-1].sockets[0].getsockname()[1]}/v1"
    yield made
    for server in running:
        server.close()


@dataclass
class World:
    """A home with two profiles. What is written before `open` is what they find."""

    base: Path
    work: Path
    servers: dict[str, ModelServer]
    environ: dict[str, str]
    profiles: OpenProfiles | None = None
    errors: list[str] = field(default_factory=list)  # what turns told a person of their failures

    def root(self, name: str) -> Path:
        return self.base if name == LAUNCH else self.base / "profiles" / name

    def configure(self, name: str, key_env: str, *passthrough: str) -> None:
        """The profile's server under two names: `own` takes a key, `open` takes none."""
        place = {"base_url": self.servers[name].url, "models": {"m": {}}}
        settings = {
            "model": {"default": "m", "provider": "own"},
            "providers": {"own": place | {"key_env": key_env}, "open": place},
            "terminal": {"env_passthrough": passthrough},
            "agent": {"stream_retries": 0},
            "probe_local": False,
        }
        (self.root(name) / "config.yaml").write_text(json.dumps(settings))

    def keep(self, name: str, **values: str) -> None:
        """Write the .env of a profile."""
        path = self.root(name) / ".env"
        path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        path.chmod(0o600)

    async def open(self, *names: str) -> list[Hub]:
        """In this order, in one process that was started for the home itself."""
        if self.profiles is None:
            first = Profile.load(self.environ, name=names[0])
            self.profiles = OpenProfiles(self.environ, first, Front("tui", is_attended=True))
            open_log(first.home, self.profiles.mask)
        return [await self.profiles.open(name) for name in names]

    async def turn(self, hub: Hub, prompt: str = "look around", model: str = "") -> list[Message]:
        """One turn in a new session, with every call allowed; its rows."""
        listener = hub.listen()
        session = hub.create(self.work)
        if model:
            await session.switch(hub.models.resolve(model, session.s.route))
        hub.submit(session.id, prompt)
        async with asyncio.timeout(WAIT_S):
            while True:
                await listener.wait()
                for happened in listener.drain():
                    if isinstance(happened, RequestOpened):
                        hub.answer(happened.request.id, Answer(Approval.ALLOWED_ONCE))
                    if isinstance(happened, TurnEnded) and happened.at.session == session.id:
                        self.errors.append(happened.error)
                        hub.leave(listener)
                        return session.s.rows

    def child(self, rows: list[Message]) -> dict[str, str]:
        """The environment that the turn's command was run in."""
        (call,) = [call for row in rows for call in row.calls]
        printed = self.work / json.loads(call.arguments)["command"].split()[-1]
        return dict(line.split("=", 1) for line in printed.read_text().splitlines() if "=" in line)

    @property
    def log(self) -> str:
        return "".join(path.read_text() for path in self.base.rglob("hermes.log"))


@pytest.fixture
async def world(tmp_path: Path, servers: dict[str, ModelServer], logging_restored: None) -> AsyncIterator[World]:
    base, work = tmp_path / "home", tmp_path / "work"
    base.mkdir(mode=0o700)
    work.mkdir()
    environ = {
        "HERMES_HOME": str(base),
        "HOME": str(tmp_path),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
    }
    create(launch_home(environ), ROUTED)
    made = World(base, work, servers, environ)
    yield made
    if made.profiles is not None:
        await made.profiles.close("the test ended")


@pytest.fixture
def logging_restored() -> Iterator[None]:
    """open_log takes the process's logging over."""
    import sys
    import threading

    root = logging.getLogger()
    kept = (root.handlers[:], root.level, threading.excepthook, sys.unraisablehook, sys.excepthook)
    yield
    root.handlers[:], level, threading.excepthook, sys.unraisablehook, sys.excepthook = kept
    root.setLevel(level)
    logging.captureWarnings(False)
