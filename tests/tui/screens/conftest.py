"""The whole screen over a real hub and a real store; only the model is played, one script entry a request."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import force_setattr, replace
from textual import _wait as waiting
from textual.pilot import Pilot

from agent.approvals.details import NO_DETAILS, Details, encoded
from agent.approvals.inbox import Answer
from agent.hub import Hub
from agent.profile import Profile
from agent.profiles import Front, OpenProfiles
from agent.providers.base import Delta, ErrorKind, ModelRequest, ProviderError, Reply, TextPart
from session.models import ApprovalRequest, Finish, ToolCall, Usage
from tui.app import HermesApp

WAIT_S = 15
# After each key a test waits until the app rests. Textual looks every 20 ms, twice for a key: half the time of all tests.
LOOK_S, RESTS_S = 0.005, 0.0005
QUIET_MS = 150  # shorter than a person's, so that the tests are quick; the rule is the same

waiting.SLEEP_GRANULARITY, waiting.SLEEP_IDLE = LOOK_S, RESTS_S


class Script:
    """A model that plays its answers in order."""

    def __init__(self) -> None:
        self.answers: list[Reply | Exception | tuple[str, asyncio.Event]] = []
        self.requests: list[ModelRequest] = []

    def says(self, text: str, *commands: str) -> None:
        """An answer that also calls the terminal once for each command."""
        calls = tuple(
            ToolCall(f"call_{len(self.answers)}_{number}", "terminal", json.dumps({"command": command}))
            for number, command in enumerate(commands)
        )
        finish = Finish.TOOL_CALLS if calls else Finish.STOP
        self.answers.append(Reply(text, "", "", calls, finish, Usage(input=900, output=100)))

    def holds(self, text: str) -> asyncio.Event:
        """An answer that stops after `text` until the returned event is set."""
        gate = asyncio.Event()
        self.answers.append((text, gate))
        return gate

    def fails(self, sentence: str) -> None:
        self.answers.append(ProviderError(ErrorKind.AUTH, sentence))

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Reply):
            yield TextPart(answer.content)
            yield answer
            return
        text, gate = answer
        yield TextPart(text)
        await gate.wait()
        yield Reply(f"{text} end", "", "", (), Finish.STOP, None)

    async def aclose(self) -> None:
        pass

    @property
    def prompts(self) -> list[str]:
        """What the person said last in each request."""
        said = [[one for one in request.messages if one["role"] == "user"] for request in self.requests]
        return [str(messages[-1]["content"]) for messages in said]


class Desk:
    """The running app, as a person meets it."""

    def __init__(self, app: HermesApp, pilot: Pilot[None], hub: Hub, script: Script) -> None:
        self.app, self.pilot, self.hub, self.script = app, pilot, hub, script

    @property
    def main(self):
        return self.app.main

    @property
    def draft(self) -> str:
        return self.main.composer.text

    @property
    def shown(self) -> str:
        return self.main.runtime.id

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    @property
    def toasts(self) -> list[str]:
        return [notification.message for notification in self.app._notifications]

    async def write(self, text: str) -> None:
        """Put text into the draft as a paste does, in one piece."""
        composer = self.main.composer
        composer.insert(text)
        await self.pilot.pause()

    async def send(self, text: str) -> None:
        await self.write(text)
        await self.press("enter")

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def resize(self, width: int, height: int) -> None:
        """Another size of the terminal, which the screen has taken in."""
        await self.pilot.resize_terminal(width, height)
        await self.until(lambda: self.app.screen.size == (width, height))
        await self.pilot.pause()

    @property
    def state(self) -> str:
        """Where the app is, and what it waits for, when a test has waited in vain."""
        told = []
        for node in (self.app, *self.app.screen_stack):
            coroutine, at = node._task and node._task.get_coro(), []
            while (frame := getattr(coroutine, "cr_frame", None)) is not None:
                at.append(f"{frame.f_code.co_qualname}:{frame.f_lineno}")
                coroutine = coroutine.cr_await
            told.append(f"{node} of {node.size}, {node._message_queue.qsize()} to hear, at {' > '.join(at)}")
        return "\n".join(told)

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait for it; where it does not come, say what the screen was."""
        started_s = time.monotonic()
        while not holds():
            if time.monotonic() - started_s > WAIT_S:
                raise TimeoutError(f"after {WAIT_S} s, {self.state}:\n{self.text}")
            await self.pilot.pause(0.01)
        if self.app.is_running and self.app.screen_stack:
            await self.pilot.pause(0)  # what follows from it is drawn

    async def idle(self) -> None:
        await self.until(lambda: not self.main.runtime.is_busy)

    async def asked(self):
        """The modal, armed."""
        await self.until(lambda: getattr(self.app.screen, "is_armed", False))
        return self.app.screen

    def arm_late(self) -> None:
        """From now on no quiet time ends, however slow the machine: for what must not decide before it has."""
        force_setattr(self.hub.profile.settings.approvals, "arm_ms", 60_000)
        self.app.screen._quiet_s = 60.0

    def asks(self, shown: str, details: Details = NO_DETAILS, tool: str = "terminal", **fields) -> asyncio.Task[Answer]:
        """Put a question about a call into the inbox, as a turn does; the task gives the answer."""
        facts = {"id": f"ask_{len(self.hub.pending()) + 1}", "call_id": "call_1", "why": "runs a command", **fields}
        request = ApprovalRequest(
            session_id=self.shown, tool=tool, shown=shown, opened_at=1.0, details=encoded(details), **facts
        )

        async def wait() -> Answer:
            try:
                return await self.hub._parts.inbox.wait(request, 0)
            finally:
                if self.app.is_running:
                    self.main._ask()

        task = asyncio.create_task(wait())
        asyncio.get_running_loop().call_soon(self.main._ask)
        return task


Open = Callable[..., AbstractAsyncContextManager[Desk]]


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def desk(tmp_path: Path, script: Script) -> Open:
    """`async with desk() as d`: a screen on a new session. `env` adds to the environment, `config` to config.yaml;
    `asks`: as at a start, what has to be settled first is asked by itself."""

    @asynccontextmanager
    async def opened(
        size: tuple[int, int] = (110, 32),
        env: dict[str, str] | None = None,
        theme: str = "dark",
        clock: Callable[[], float] = time.monotonic,
        arm_ms: int = QUIET_MS,
        timeout_s: int = 0,
        config: str = "",
        asks: bool = False,
        probes: bool = False,
    ):
        home, work = tmp_path / "home", tmp_path / "work"
        home.mkdir(mode=0o700, exist_ok=True)
        work.mkdir(exist_ok=True)
        (home / "config.yaml").write_text(
            f"probe_local: {probes}\napprovals: {{arm_ms: {arm_ms}, timeout: {timeout_s}}}\ndisplay: {{theme: {theme}}}\n{config}"
        )
        environ = {"HERMES_HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", **(env or {})}
        profile = Profile.load(environ)
        profiles = OpenProfiles(environ, profile, Front("tui", is_attended=True))
        hub = await profiles.open(profile.name)
        hub._parts = replace(hub._parts, provider_for=lambda _: script)
        app = HermesApp(profiles, hub, hub.create(work).id, clock, asks=asks)
        try:
            async with app.run_test(size=size, notifications=True) as pilot:
                await pilot.pause()
                yield Desk(app, pilot, hub, script)
        finally:
            await profiles.close("the test ended")

    return opened
