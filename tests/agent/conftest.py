"""A scripted model server on loopback, and a hub that talks to it: the whole runtime with nothing faked but the model."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent.approvals.inbox import Answer
from agent.events import RequestOpened, RowStored, TurnEnded, TurnEvent
from agent.hub import Hub
from agent.open import open_hub
from agent.profile import Profile
from session.models import Approval, CallResult, Message

WAIT_S = 15


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> str:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    body = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}
    return f"data: {json.dumps(body)}\n\n"


UNPAIRED: list[str | asyncio.Event] = [
    "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n",
    """{"error": {"message": "An assistant message with 'tool_calls' must be followed by tool messages"}}""",
]


def is_paired(messages: list[dict[str, Any]]) -> bool:
    """Whether behind each call stands its result, and nothing in between."""
    owed: list[str] = []
    for message in messages:
        is_result = message["role"] == "tool"
        if is_result != bool(owed) or (is_result and message["tool_call_id"] != owed.pop(0)):
            return False
        owed = owed or [call["id"] for call in message.get("tool_calls") or ()]
    return not owed


@dataclass
class Served:
    """A chat-completions server that plays its script, one entry a request, and keeps what it was sent.

    A request in which calls and results do not pair gets a 400, as from every real one, and takes no entry.
    """

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)  # request line and headers of each
    script: list[list[str | asyncio.Event]] = field(default_factory=list)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)

    def reply(
        self,
        *calls: dict[str, Any],
        text: str = "",
        finish: str | None = None,
        usage: tuple[int, int] = (10, 5),
    ) -> None:
        parts: list[str | asyncio.Event] = [chunk({"role": "assistant", "content": text})]
        parts += [chunk({"tool_calls": [one | {"index": i}]}) for i, one in enumerate(calls)]
        parts.append(chunk({}, finish or ("tool_calls" if calls else "stop")))
        counted = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
        self.script.append([*parts, chunk(None, usage=counted), "data: [DONE]\n\n"])

    def hold(self, *before: str) -> asyncio.Event:
        """An answer that stops after `before` until the returned event is set."""
        gate = asyncio.Event()
        self.script.append([*before, gate, chunk({"content": " end"}, "stop"), "data: [DONE]\n\n"])
        return gate

    def cut(self, text: str) -> None:
        self.script.append([chunk({"content": text})])

    def refuse(self, status: str, body: str, kind: str = "application/json") -> None:
        """An answer by status line: "401 Unauthorized"."""
        self.script.append([f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n", body])

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await _head(reader):
                body = await reader.readexactly(_length(head))
                self.heads.append(head)
                self.requests.append(json.loads(body))
                parts = self.script.pop(0) if is_paired(self.requests[-1].get("messages", [])) else UNPAIRED
                if not str(parts[:1]).startswith("['HTTP/"):
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
                for part in parts:
                    if isinstance(part, asyncio.Event):
                        self.waiting.set()
                        await part.wait()
                    else:
                        writer.write(part.encode())
                        await writer.drain()
                        await asyncio.sleep(0)  # the next part comes by itself, as over a network
                break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _head(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return ""


def _length(head: str) -> int:
    return next(int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length"))


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    played = Served()
    server = await asyncio.start_server(played.handle, "127.0.0.1", 0)
    played.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    yield played
    server.close()


@dataclass
class Turn:
    """What a listener saw of one turn."""

    events: list[TurnEvent]

    @property
    def ended(self) -> TurnEnded:
        return next(event for event in reversed(self.events) if isinstance(event, TurnEnded))

    @property
    def rows(self) -> list[Message]:
        return [event.row for event in self.events if isinstance(event, RowStored)]

    @property
    def results(self) -> list[tuple[CallResult, str]]:
        return [(row.result, row.content) for row in self.rows if row.result is not None]


class Bench:
    """A hub with one session, driven as a person would."""

    def __init__(self, hub: Hub, workspace: Path) -> None:
        self.hub = hub
        self.workspace = workspace
        self.session_id = hub.create(workspace).id
        self.listener = hub.listen()

    async def until(self, stop: Callable[[TurnEvent], bool]) -> list[TurnEvent]:
        seen: list[TurnEvent] = []
        async with asyncio.timeout(WAIT_S):
            while not any(stop(event) for event in seen):
                await self.listener.wait()
                seen += self.listener.drain()
        return seen

    async def ask(self, text: str, answer: Approval | None = None) -> Turn:
        """Submit, answer every request the same way, and wait for the end of the turn."""
        self.hub.submit(self.session_id, text)
        events: list[TurnEvent] = []
        while not any(isinstance(event, TurnEnded) for event in events):
            more = await self.until(lambda event: isinstance(event, RequestOpened | TurnEnded))
            for event in more:
                if isinstance(event, RequestOpened) and answer is not None:
                    self.hub.answer(event.request.id, Answer(answer))
            events += more
        return Turn(events)

    @property
    def rows(self) -> list[Message]:
        return self.hub.runtime(self.session_id).s.rows


def write_config(home: Path, url: str, more: str = "") -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.yaml").write_text(
        "model: {default: m, provider: served}\nprobe_local: false\n"
        f"providers: {{served: {{base_url: '{url}'}}}}\n{more}\n"
    )


@contextmanager
def no_room() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def full_disk() -> Callable[[], AbstractContextManager[None]]:
    """While it is entered, the system refuses every write to a file of this process."""
    return no_room


Standing = tuple[str, int, bytes]  # kind, mode, content


def standing(root: Path) -> dict[str, Standing]:
    """All that stands in a workspace, but for git's own."""
    found: dict[str, Standing] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*folders, *files):
            path = Path(folder, name)
            status = path.lstat()
            mode = 0 if path.is_symlink() else stat.S_IMODE(status.st_mode)
            content = os.fsencode(path.readlink()) if path.is_symlink() else b"" if path.is_dir() else path.read_bytes()
            found[os.path.relpath(path, root)] = (stat.filemode(status.st_mode)[0], mode, content)
    return found


@pytest.fixture(scope="session")
def look() -> Callable[[Path], dict[str, Standing]]:
    return standing


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def more_config() -> str:
    """Lines that a test adds to config.yaml."""
    return ""


@pytest.fixture
def is_attended() -> bool:
    return True


@pytest.fixture
def bench_of() -> Callable[[Hub, Path], Bench]:
    """One session of a hub, driven as a person would."""
    return Bench


@pytest.fixture
async def open_bench(home: Path, workspace: Path) -> AsyncIterator[Callable[..., Any]]:
    """Opens a hub over the home as a process of its own would; each has a store of its own."""
    hubs: list[Hub] = []

    async def opened(is_attended: bool = True, home: Path = home) -> Bench:
        profile = Profile.load({"HERMES_HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"})
        hubs.append(await open_hub(profile, source="tui", is_attended=is_attended))
        return Bench(hubs[-1], workspace)

    yield opened
    for hub in hubs:
        await hub.close("the test ended")
        hub.profile.close()


@pytest.fixture
async def bench(
    served: Served, home: Path, more_config: str, is_attended: bool, open_bench: Callable[..., Any]
) -> Bench:
    write_config(home, served.url, more_config)
    return await open_bench(is_attended)
