"""A key goes to its own server and nowhere else: not to a command, not into a result, an error, a row or the log.

The three places where a key may lie are tried against the four ways out.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agent.events import CallOutput, TurnEvent
from agent.hub import Hub
from agent.open import open_hub
from agent.profile import Profile
from session.models import Approval, ExitReason
from tui.cli.log_file import open_log

KEY, NEW_KEY = "sk-test-0123456789-abcdef", "sk-next-9876543210-fedcba"
NAME = "WORK_KEY"
WAIT_S = 10


class Server:
    """Answers as it is told, and keeps the Authorization header of each request."""

    def __init__(self) -> None:
        self.url = ""
        self.keys: list[str] = []
        self.script: list[Callable[[], tuple[str, str]]] = []
        self.gate = asyncio.Event()  # answers wait for it
        self.gate.set()

    def says(self, text: str) -> None:
        delta = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
        self.script.append(lambda: ("200 OK", f"data: {json.dumps(delta)}\n\ndata: [DONE]\n\n"))

    def calls(self, command: str) -> None:
        function = {"name": "terminal", "arguments": json.dumps({"command": command})}
        delta = {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]}
        body = {"choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]}
        self.script.append(lambda: ("200 OK", f"data: {json.dumps(body)}\n\ndata: [DONE]\n\n"))

    def refuses(self, quoting: str) -> None:
        self.script.append(
            lambda: ("401 Unauthorized", json.dumps({"error": {"message": f"bad key {quoting} of {self.keys[-1]}"}}))
        )

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        await reader.readexactly(int(fields["content-length"]))
        self.keys.append(fields["authorization"].removeprefix("bearer "))
        status, body = self.script.pop(0)()
        await self.gate.wait()
        kind = "text/event-stream" if status.startswith("200") else "application/json"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n{body}".encode())
        await writer.drain()
        writer.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    listening = await asyncio.start_server(made.handle, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    yield made
    listening.close()


Open = Callable[..., Awaitable[Any]]


@pytest.fixture
async def opened(
    server: Server, home: Path, workspace: Path, bench_of: Callable[[Hub, Path], Any]
) -> AsyncIterator[Open]:
    """Opens a hub whose provider takes WORK_KEY; `more` goes into that provider, `config` below it."""
    root = logging.getLogger()
    handlers = root.handlers[:]
    hubs: list[Hub] = []

    async def open_with(
        environ: dict[str, str] | None = None, env: str = "", more: str = "", config: str = "", is_attended: bool = True
    ) -> Any:
        home.mkdir(mode=0o700, exist_ok=True)
        (home / "config.yaml").write_text(
            "model: {default: m, provider: work}\nprobe_local: false\nagent: {stream_retries: 0}\n"
            f"providers:\n  work:\n    base_url: {server.url}\n    key_env: {NAME}\n{more}\n{config}\n"
        )
        if env:
            (home / ".env").write_text(env)
            (home / ".env").chmod(0o600)
        path = "/usr/local/bin:/usr/bin:/bin"
        profile = Profile.load({"HERMES_HOME": str(home), "PATH": path, "EDITOR": "vi", **(environ or {})})
        open_log(profile.home, profile.secrets.mask)
        hubs.append(await open_hub(profile, source="tui", is_attended=is_attended))
        return bench_of(hubs[-1], workspace)

    yield open_with
    for hub in hubs:
        await hub.close("the test ended")
        hub.profile.close()
    root.handlers[:] = handlers


PLACES = {
    "scope": {"env": f"{NAME}={KEY}\n"},
    "ambient": {"environ": {NAME: KEY}},
    "command": {"more": f"    key_cmd: echo {KEY}"},
}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> dict[str, Any]:
    return PLACES[request.param]


def told(events: list[TurnEvent], home: Path) -> str:
    """All that a turn came to, on the screen, in the store and in the log."""
    stored = b"".join(path.read_bytes() for path in home.glob("state.db*"))
    return repr(events) + stored.decode("utf-8", "replace") + (home / "logs" / "hermes.log").read_text()


async def test_a_request_carries_the_key(opened: Open, server: Server, place: dict[str, Any]):
    bench = await opened(**place)
    server.says("hello")
    turn = await bench.ask("hi")
    assert turn.ended.reason is ExitReason.COMPLETED
    assert server.keys == [KEY]


async def test_without_a_key_nothing_is_sent(opened: Open, server: Server):
    bench = await opened()
    assert NAME in bench.hub.choice.problem
    assert server.keys == []


async def test_a_child_does_not_get_the_key_and_gets_all_else(opened: Open, server: Server, place: dict[str, Any]):
    bench = await opened(**place)
    server.calls(f'echo "[$EDITOR:${NAME}:$HERMES_HOME]"; env')
    server.says("done")
    turn = await bench.ask("run it", Approval.ALLOWED_ONCE)
    ((_, text),) = turn.results
    assert f"[true::{bench.hub.profile.home.root}]" in text
    assert KEY not in text


async def test_a_child_gets_what_the_setting_passes_through(opened: Open, server: Server):
    bench = await opened(
        env=f"{NAME}={KEY}\nOTHER_KEY=sk-other-0123456789\n", config=f"terminal: {{env_passthrough: [{NAME}]}}"
    )
    server.calls(f"echo ${{#{NAME}}} ${{#OTHER_KEY}}")
    server.says("done")
    turn = await bench.ask("run it", Approval.ALLOWED_ONCE)
    assert turn.results[0][1].startswith(f"{len(KEY)} 0\n")


async def test_the_first_command_that_wants_a_key_is_told_that_it_did_not_get_it(opened: Open, server: Server):
    bench = await opened(environ={NAME: KEY})
    for command in ("true", f"curl -H ${NAME} || true", f"echo ${NAME}", "env"):
        server.calls(command)
    server.says("done")
    turn = await bench.ask("run it", Approval.ALLOWED_ONCE)
    notes = [text.splitlines()[-1] if "env_passthrough" in text else "" for _, text in turn.results]
    assert notes == [
        "",
        f"{NAME} is kept from commands, because a key may be in it. "
        "The setting terminal.env_passthrough lists the names that commands get all the same.",
        "",
        "",
    ]


async def test_a_key_that_a_command_prints_is_masked_live_and_in_its_result(
    opened: Open, server: Server, home: Path, workspace: Path
):
    bench = await opened(env=f"{NAME}={KEY}\n")
    half = KEY[:9]
    server.calls(f"printf %s {half}; sleep 0.3; printf '%s\\n' {KEY[9:]}; cat {home}/.env")
    server.says("done")
    turn = await bench.ask("run it", Approval.ALLOWED_ONCE)
    live = "".join(event.text for event in turn.events if isinstance(event, CallOutput))
    ((_, text),) = turn.results
    assert KEY not in live + text
    assert text.startswith(f"[{NAME}]\n{NAME}=[{NAME}]\n")


async def test_an_error_that_quotes_the_key_does_not_show_it(
    opened: Open, server: Server, home: Path, place: dict[str, Any]
):
    bench = await opened(**place)
    server.refuses(KEY)
    turn = await bench.ask("hi")
    assert turn.ended.reason is ExitReason.ERROR
    assert NAME in turn.ended.error
    assert KEY not in told(turn.events, home)


async def test_an_error_that_quotes_another_key_does_not_show_it(opened: Open, server: Server, home: Path):
    """A proxy in front of several servers may name the key of another one."""
    bench = await opened(environ={NAME: KEY, "OPENAI_API_KEY": NEW_KEY})
    server.refuses(NEW_KEY)
    turn = await bench.ask("hi")
    assert "[OPENAI_API_KEY]" in turn.ended.error
    assert NEW_KEY not in told(turn.events, home)


async def test_a_key_saved_in_the_app_holds_for_the_next_request(opened: Open, server: Server, home: Path):
    bench = await opened(env=f"# mine\n{NAME}={KEY}\n")
    for text in ("one", "two"):
        server.says(text)
    await bench.ask("1")
    await bench.hub.profile.secrets.save(NAME, NEW_KEY)
    await bench.ask("2")
    assert await bench.hub.profile.secrets.remove(NAME)
    turn = await bench.ask("3")
    assert server.keys == [KEY, NEW_KEY]
    assert f"The provider work needs a key. Give it with /key {NAME} " in turn.ended.error
    assert (home / ".env").read_text() == "# mine\n"
    assert bench.hub.profile.secrets.mask(f"{KEY} {NEW_KEY}") == f"[{NAME}] [{NAME}]"


async def test_a_key_saved_during_a_request_does_not_cut_it(opened: Open, server: Server):
    bench = await opened(env=f"{NAME}={KEY}\n")
    server.says("one")
    server.says("two")
    server.gate.clear()
    asking = asyncio.create_task(bench.ask("1"))
    async with asyncio.timeout(WAIT_S):
        while not server.keys:
            await asyncio.sleep(0.01)
    await bench.hub.profile.secrets.save(NAME, NEW_KEY)
    other = bench.hub.create(bench.workspace)
    bench.hub.submit(other.id, "2")
    async with asyncio.timeout(WAIT_S):
        while len(server.keys) < 2:
            await asyncio.sleep(0.01)
    server.gate.set()
    assert (await asking).ended.reason is ExitReason.COMPLETED
    assert server.keys == [KEY, NEW_KEY]


async def test_a_key_from_a_command_is_asked_for_anew_once_it_is_refused(opened: Open, server: Server, home: Path):
    (home.parent / "key").write_text(KEY)
    bench = await opened(more=f"    key_cmd: cat {home.parent / 'key'}")
    server.says("one")
    server.refuses("")
    server.says("two")
    await bench.ask("1")
    (home.parent / "key").write_text(NEW_KEY)
    await bench.ask("2")
    turn = await bench.ask("3")
    assert turn.ended.reason is ExitReason.COMPLETED
    assert server.keys == [KEY, KEY, NEW_KEY]


async def test_a_command_that_fails_ends_the_turn_with_one_sentence(opened: Open, server: Server, home: Path):
    bench = await opened(more=f"    key_cmd: 'echo {KEY}; exit 4'")
    turn = await bench.ask("hi")
    assert turn.ended.error == (
        "No key came from providers.work.key_cmd: the command ended with exit code 4. Run it in a shell to see why."
    )
    assert server.keys == []
    assert KEY not in told(turn.events, home)
