"""The product as a person meets it: the `hermes` command in a real terminal, against a model server written by others."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pexpect
import pyte
import pytest

HERMES = Path(sys.executable).with_name("hermes")

WAIT_S = 15  # for anything that should be there in a moment; a busy machine may need the rest
AGAIN_S = 3  # within which a key that was taken shows what came of it
KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "page_up": "\x1b[5~",
    "page_down": "\x1b[6~",
    "ctrl+c": "\x03",
    "ctrl+j": "\n",
    "ctrl+q": "\x11",
    "backspace": "\x7f",
}


class Terminal:
    """A program in a pty, and the screen that a terminal would show of it."""

    def __init__(self, arguments: list[str], cols: int, rows: int, environ: dict[str, str], cwd: Path) -> None:
        self._screen = pyte.Screen(cols, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.child = pexpect.spawn(
            arguments[0], arguments[1:], dimensions=(rows, cols), env=environ, cwd=str(cwd), timeout=None
        )
        self.child.delaybeforesend = None
        self._written = b""

    def pump(self, seconds: float = 0.05) -> bool:
        """Show what the program writes within a time. False once it has closed the terminal."""
        try:
            written: bytes = self.child.read_nonblocking(262_144, timeout=seconds)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self._written += written
        self._stream.feed(written)
        return True

    def resize(self, cols: int, rows: int) -> None:
        self._screen.resize(rows, cols)
        self.child.setwinsize(rows, cols)

    def written(self) -> str:
        """All that the program has sent to the terminal, escape sequences included."""
        return self._written.decode(errors="replace")

    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display]

    def screen(self) -> str:
        return "\n".join(self.lines())

    def type(self, text: str) -> None:
        self.child.send(text)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.child.send(KEYS.get(key, key))

    def wait_until(self, holds: Callable[[str], object], what: str, timeout_s: float = WAIT_S) -> str:
        """Pump until the screen satisfies a condition; the screen then. Fails with the screen that is there instead."""
        ends_at = time.monotonic() + timeout_s
        is_open = True
        while is_open and time.monotonic() < ends_at:
            if holds(self.screen()):
                return self.screen()
            is_open = self.pump()
        if holds(self.screen()):
            return self.screen()
        raise AssertionError(f"{what} did not show{'' if is_open else ' before the program ended'}:\n{self.screen()}")

    def wait_for(self, wanted: str | re.Pattern[str], timeout_s: float = WAIT_S) -> str:
        pattern = re.compile(re.escape(wanted)) if isinstance(wanted, str) else wanted
        return self.wait_until(pattern.search, repr(pattern.pattern), timeout_s)

    def wait_gone(self, unwanted: str, timeout_s: float = WAIT_S) -> str:
        return self.wait_until(lambda screen: unwanted not in screen, f"a screen without {unwanted!r}", timeout_s)

    def send(self, prompt: str) -> None:
        """Write a prompt into the composer and press Enter once it is there: keys that come as one burst are a paste."""
        self.type(prompt)
        self.wait_for(prompt)
        self.press("enter")

    def answer(self, command: str, key: str) -> None:
        """Wait for the question about a command until it takes keys, and press one."""

        def is_asked(screen: str) -> bool:
            question = screen.partition("Run this command?")[2]
            return command in question and "enter decides" in question

        self.wait_until(is_asked, f"the armed question about {command!r}")
        self.press(key)

    def choose(self, answer: str) -> None:
        """Wait for a question with this answer, and press its number until the question is gone: keys that come before it
        takes any are dropped, and begin its quiet time anew."""
        numbered = re.compile(rf"(\d)  {re.escape(answer)}")
        found = numbered.search(self.wait_for(numbered))
        assert found
        ends_at = time.monotonic() + WAIT_S
        while numbered.search(self.screen()):
            assert time.monotonic() < ends_at, f"{answer!r} could not be chosen:\n{self.screen()}"
            self.press(found[1])
            again_at = time.monotonic() + AGAIN_S
            while time.monotonic() < again_at and numbered.search(self.screen()):
                self.pump()

    def wait_exit(self, timeout_s: float = WAIT_S) -> int:
        """The exit status, as a shell would give it (128 + n for signal n)."""
        ends_at = time.monotonic() + timeout_s
        while self.child.isalive():
            if time.monotonic() > ends_at:
                raise AssertionError(f"the program did not end:\n{self.screen()}")
            self.pump()
        self._drain()
        status, signal_number = self.child.exitstatus, self.child.signalstatus
        return status if status is not None else 128 + int(signal_number or 0)

    def _drain(self) -> None:
        """Show what was written before the end: a pty gives no more than 4 KB a read."""
        is_open, shown = True, -1
        while is_open and shown != len(self._written):
            shown = len(self._written)
            is_open = self.pump()

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the program alone and, if it was SIGKILL, wait until it is gone."""
        os.kill(self.child.pid, number)
        if number == signal.SIGKILL:
            self.wait_exit()

    def hang_up(self) -> None:
        """Close the terminal under the program."""
        self.child.ptyproc.fileobj.close()
        self.child.ptyproc.closed = self.child.closed = True

    def close(self) -> None:
        """End what is left of the program and all it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        if not self.child.closed:
            self.child.close(force=True)


@dataclass(frozen=True)
class Desk:
    """A person's machine: a home, a workspace, and the command."""

    home: Path
    workspace: Path

    @property
    def environ(self) -> dict[str, str]:
        # The editor ends at once: a stray key must not open one that then gets all others.
        return {**os.environ, "HERMES_HOME": str(self.home), "EDITOR": "true"}

    def configure(self, **settings: Any) -> None:
        """Write config.yaml (JSON is YAML). Nothing on the machine itself is looked for."""
        (self.home / "config.yaml").write_text(json.dumps({"probe_local": False, **settings}))

    def serve_model(self, base_url: str, window: int = 100_000, **settings: Any) -> None:
        """Make a server the configured provider."""
        provider = {"base_url": base_url, "api_mode": "chat_completions", "context_length": window}
        self.configure(
            model={"default": "peer-model", "provider": "peer"},
            providers={"peer": {**provider, "models": {"peer-model": {}}}},
            **settings,
        )

    def run(self, *arguments: str, timeout_s: float = WAIT_S) -> subprocess.CompletedProcess[str]:
        """`hermes` without a screen."""
        return subprocess.run(
            [HERMES, *arguments],
            env=self.environ,
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Rows of the store, read as any other program would."""
        db = sqlite3.connect(f"file:{self.home / 'state.db'}?mode=ro", uri=True, timeout=5)
        try:
            return db.execute(statement).fetchall()
        finally:
            db.close()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    home.mkdir()
    workspace.mkdir()
    desk = Desk(home, workspace)
    desk.configure(model="demo")
    return desk


@pytest.fixture
def terminal(desk: Desk) -> Iterator[Callable[..., Terminal]]:
    """Open `hermes` with arguments in a terminal of a size."""
    opened: list[Terminal] = []

    def open_terminal(
        *arguments: str, cols: int = 100, rows: int = 30, program: Sequence[str] = (str(HERMES),)
    ) -> Terminal:
        opened.append(Terminal([*program, *arguments], cols, rows, desk.environ, desk.workspace))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()


RESET = "reset"
Step = bytes | float | str
"""Bytes to send, seconds to wait, or RESET."""


class Wire:
    """A server of our own that sends exactly the bytes it is told, one list of steps a request; the last one stays."""

    def __init__(self) -> None:
        self.answers: list[Sequence[Step]] = []
        self.keys: list[str] = []  # that came with the requests, "" for none
        self.is_over = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def stream(self, *steps: Step) -> None:
        """An answer in pieces; then the connection is closed, unless the last step resets it."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        self.answers.append([head, *steps])

    def refuse(self, status: str, body: str, kind: str = "application/json") -> None:
        """An answer by status line: "401 Unauthorized"."""
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        self.answers.append([(head + body).encode()])

    @staticmethod
    def chunk(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        return b"data: " + json.dumps({"id": "c1", "choices": choices, **more}).encode() + b"\n\n"

    def say(self, *texts: str) -> None:
        """A whole answer: 10 tokens in, 50 out."""
        usage = {"prompt_tokens": 10, "completion_tokens": 50, "total_tokens": 60}
        words = [self.chunk({"content": text}) for text in texts]
        self.stream(*words, self.chunk({}, "stop"), self.chunk(None, usage=usage), b"data: [DONE]\n\n")

    def call(self, command: str, call_id: str = "call_1") -> None:
        """An answer that asks for a command."""
        function = {"name": "terminal", "arguments": json.dumps({"command": command})}
        call = {"index": 0, "id": call_id, "type": "function", "function": function}
        self.stream(self.chunk({"tool_calls": [call]}), self.chunk({}, "tool_calls"), b"data: [DONE]\n\n")

    def close(self) -> None:
        self.is_over.set()
        self._http.shutdown()
        self._http.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        wire = self

        class Answer(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                wire.keys.append(self.headers.get("authorization", "").removeprefix("Bearer "))
                self.close_connection = True
                steps = wire.answers.pop(0) if len(wire.answers) > 1 else wire.answers[0]
                with suppress(ConnectionError):
                    for step in steps:
                        self._take(step)

            def _take(self, step: Step) -> None:
                if isinstance(step, bytes):
                    self.wfile.write(step)
                elif isinstance(step, float):
                    wire.is_over.wait(step)
                else:
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    os.close(self.connection.detach())
                    raise ConnectionResetError

            def log_message(self, *args: object) -> None: ...

        return Answer


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()
