"""Pictures of the whole app: a real hub over a real store, and a model server on loopback that plays its part.

Nothing in a picture may depend on the day, the machine or the home it is taken in.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import platform
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace
from textual._context import visible_screen_stack
from textual.pilot import Pilot

from agent.hub import Hub
from agent.profile import Profile
from agent.profiles import Front, OpenProfiles
from agent.session_lines import SessionLine
from session.models import Message, Session, TitleSource
from session.tables import Tables
from tui.app import HermesApp

WAIT_S = 15
WORKING_S = 12.5  # a whole number of seconds would be shown as one less where the sum of two floats comes out lower
FOLDER = "/nowhere/atlas"  # only its name is shown, and nothing runs in it
MODEL, WINDOW = "gpt-oss-120b", 131_072


@dataclass(frozen=True)
class Part:
    """What the model does with one prompt. `is_held`: it stops there and does not end.

    `read` is how many tokens the server says that it read, a quarter of them from a cache; 0 where it does not count.
    """

    text: str = ""
    reasoning: str = ""
    command: str = ""
    is_held: bool = False
    status: int = 200
    read: int = 0

    def chunks(self) -> Iterator[dict[str, Any]]:
        if self.reasoning:
            yield chunk({"reasoning_content": self.reasoning})
        for line in self.text.splitlines(keepends=True):
            yield chunk({"content": line})
        if self.command:
            function = {"name": "terminal", "arguments": json.dumps({"command": self.command})}
            yield chunk({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
        if not self.is_held:
            yield chunk({}, "tool_calls" if self.command else "stop")
        if self.read:
            cached = {"prompt_tokens_details": {"cached_tokens": self.read // 4}}
            yield {
                **chunk({}),
                "choices": [],
                "usage": {"prompt_tokens": self.read, "completion_tokens": 160, **cached},
            }


def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"id": "1", "model": MODEL, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


class Model:
    """A server that answers each prompt with its part."""

    def __init__(self) -> None:
        self._parts: dict[str, Part] = {}
        self.is_over = threading.Event()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def does(self, prompt: str, **part: Any) -> None:
        """Settle what comes of a prompt; the fields are those of a part."""
        self._parts[prompt] = Part(**part)

    @property
    def config(self) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self.http.server_port}/v1"
        server = {"base_url": url, "models": {MODEL: {"context_length": WINDOW}}}
        return {"model": {"default": MODEL, "provider": "desk"}, "providers": {"desk": server}}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Answer(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                prompts = [message["content"] for message in asked["messages"] if message["role"] == "user"]
                part = model._parts[prompts[-1]]
                self.send_response(part.status)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                if part.status != 200:
                    return
                for piece in part.chunks():
                    self.wfile.write(f"data: {json.dumps(piece)}\n\n".encode())
                if part.is_held:
                    model.is_over.wait(WAIT_S)

            def log_message(self, *args: object) -> None: ...

        return Answer


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model()
    yield model
    model.is_over.set()
    model.http.shutdown()
    model.http.server_close()


class PicturedApp(HermesApp):
    """Its clock stands still, and it closes its profile on its own loop."""

    CSS_PATH = Path(inspect.getfile(HermesApp)).with_name("hermes.tcss")

    def __init__(self, profiles: OpenProfiles, hub: Hub, session_id: str) -> None:
        super().__init__(profiles, hub, session_id, lambda: (hub.runtime(session_id).working_since or 0) + WORKING_S)
        self.hub, self.profiles = hub, profiles

    async def on_unmount(self) -> None:
        await self.profiles.close("the picture was taken")


class Scene:
    """The running app before its picture is taken."""

    def __init__(self, pilot: Pilot[Any], app: PicturedApp) -> None:
        self.pilot, self.app, self.hub = pilot, app, app.hub

    @property
    def text(self) -> str:
        """What stands on the screen.

        A screen keeps how it was last drawn, for the picture too: without the screens behind it nothing would be there.
        """
        visible_screen_stack.set(self.app._background_screens)
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    def told(self, title: str) -> SessionLine:
        """What the sidebar was told of a session, whether or not there is room for a sidebar."""
        return self.app.main.sessions.line(title)

    @property
    def is_settled(self) -> bool:
        """Whether the status row has heard of all that is stored."""
        status = self.app.main.status_bar._status
        return status is not None and status.context == self.hub.context(self.app.main.runtime.id)

    @property
    def is_at_rest(self) -> bool:
        """Whether nobody has anything to hear, to lay out or to draw."""
        screen = self.app.screen
        nodes = [node for shown in self.app.screen_stack for node in shown.walk_children(with_self=True)]
        is_heard = all(node._message_queue.empty() and not node._next_callbacks for node in [self.app, *nodes])
        waits = screen._layout_required, screen._scroll_required, screen._repaint_required, screen._callbacks
        return is_heard and not any(waits) and not screen._dirty_widgets and self.app._resize_event is None

    async def rest(self) -> None:
        """Until all that was begun is drawn: what one hears another may have to hear next."""
        async with asyncio.timeout(WAIT_S):
            turns = 0
            while turns < 5:
                await self.pilot.pause(0)
                turns = turns + 1 if self.is_at_rest else 0

    async def send(self, text: str) -> None:
        self.app.main.composer.insert(text)
        await self.pilot.press("enter")

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not holds():
                await self.pilot.pause(0.01)


Act = Callable[[Scene], Awaitable[None]]
Stored = dict[str, Sequence[Message]]
"""Sessions as they lie in the store, by title, newest first. The first is the one that is shown."""


def store(tables: Tables, session: Session, rows: Sequence[Message]) -> None:
    tables.sessions.create(session)
    for row in rows:
        tables.messages.append(replace(row, session_id=session.id))


async def open_app(home: Path, stored: Stored) -> PicturedApp:
    environ = {"HOME": str(home)}
    profile = Profile.load(environ)
    profiles = OpenProfiles(environ, profile, Front("tui", is_attended=True))
    hub = await profiles.open(profile.name)
    if not stored:
        return PicturedApp(profiles, hub, hub.create(Path(FOLDER)).id)
    for age, (title, rows) in enumerate(stored.items()):
        at = 1e9 - age
        session = Session(title, "tui", title, TitleSource.PERSON, FOLDER, FOLDER, at, at, hub.choice.route)
        profile.db.write(partial(store, session=session, rows=rows)).result()
    return PicturedApp(profiles, hub, (await hub.open(next(iter(stored)))).id)


@pytest.fixture
def picture(tmp_path: Path, snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """`picture(theme, size, config, stored, act)`: whether the screen looks as it did when it was last accepted."""
    for fact in ("system", "machine"):  # they stand in the system prompt, whose size is shown
        monkeypatch.setattr(platform, fact, lambda fact=fact: fact)
    numbers = count(1)  # a question's id stands under it
    monkeypatch.setattr("agent.deciding.uuid4", lambda: UUID(int=next(numbers) << 80))

    def taken(theme: str, size: tuple[int, int], config: dict[str, Any], stored: Stored, act: Act | None) -> bool:
        folder = tmp_path / ".hermes-tui"
        folder.mkdir(mode=0o700)
        quick = {"arm_ms": 100}  # shorter than a person's: a picture need not wait
        settings = {"probe_local": False, "approvals": quick, "display": {"theme": theme}, **config}
        (folder / "config.yaml").write_text(json.dumps(settings))
        app = asyncio.run(open_app(tmp_path, stored))

        async def prepare(pilot: Pilot[Any]) -> None:
            scene = Scene(pilot, app)
            await scene.until(lambda: app.main.sessions.count == max(1, len(stored)))
            app.main.conversations.view.formatting_ready()
            if act is not None:
                await act(scene)
            await scene.rest()

        try:
            return snap_compare(app, terminal_size=size, run_before=prepare)
        finally:
            app.hub.profile.close()

    return taken
