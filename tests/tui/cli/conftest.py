"""The `hermes` command as a process of its own."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import socketserver
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from session.db import SessionDB
from session.models import Finish, Message, Role, Session, TitleSource

WAIT_S = 45  # half of a start is work, and the machine may be busy


class Forks:
    """Runs `hermes` as forks of a process that has imported it: real processes, without most of the work of a start."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._runs = folder, itertools.count(1)
        self._environ = dict(os.environ)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / "forks"))
        self._listening.listen()
        place = self._listening.fileno()
        command = [sys.executable, "-P", str(Path(__file__).with_name("forked_hermes.py")), str(place)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[place], cwd=folder)

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._listening.close()

    def may_run(self, environ: Mapping[str, str]) -> bool:
        """Whether nothing differs that Python itself reads as it starts."""
        changed = {name for name, _ in environ.items() ^ self._environ.items()}
        return not any(name.startswith(("PYTHON", "LANG", "LC_")) for name in changed)

    def run(
        self, arguments: Sequence[object], environ: Mapping[str, str], cwd: Path
    ) -> subprocess.CompletedProcess[bytes]:
        number = next(self._runs)
        out, err = self._folder / f"out-{number}", self._folder / f"err-{number}"
        files = {"out": str(out), "err": str(err), "cwd": str(cwd)}
        run = {"arguments": [str(one) for one in arguments], "environ": dict(environ), **files}
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(WAIT_S)
            connection.connect(str(self._folder / "forks"))
            connection.sendall(json.dumps(run).encode() + b"\n")
            with connection.makefile() as told:
                pid = int(told.readline())
                try:
                    code = int(told.readline())
                except TimeoutError:
                    os.kill(pid, signal.SIGKILL)
                    raise
        return subprocess.CompletedProcess(run["arguments"], code, out.read_bytes(), err.read_bytes())


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    forks = Forks(tmp_path_factory.mktemp("forks"))
    yield forks
    forks.close()


class Command:
    """`hermes` with a home of its own. `environ` may be changed before a run."""

    path = Path(sys.executable).with_name("hermes")

    def __init__(self, home: Path, cwd: Path, forks: Forks) -> None:
        self.home, self.cwd, self._forks = home, cwd, forks
        self.environ = {**os.environ, "HERMES_HOME": str(home)}
        self.configure()

    def configure(self, **settings: Any) -> None:
        (self.home / "config.yaml").write_text(json.dumps({"probe_local": False, **settings}))

    def serve_model(self, base_url: str) -> None:
        server = {"base_url": base_url, "models": {"m": {"context_length": 8000}}}
        self.configure(
            model={"default": "m", "provider": "here"}, providers={"here": server}, agent={"stream_retries": 0}
        )

    def run(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        if not options.keys() - {"cwd"} and self._forks.may_run(self.environ):
            return self._forks.run(arguments, self.environ, options.get("cwd", self.cwd))
        options = {"stdin": subprocess.DEVNULL, "env": self.environ, "cwd": self.cwd, **options}
        if "input" in options:
            del options["stdin"]
        return subprocess.run(
            [self.path, *arguments],
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            timeout=WAIT_S,
            check=False,
            **options,
        )

    def shell(self, line: str) -> subprocess.CompletedProcess[bytes]:
        """A shell line in which $HERMES is the command."""
        environ = {**self.environ, "HERMES": str(self.path)}
        return subprocess.run(
            ["/bin/sh", "-c", line], env=environ, cwd=self.cwd, capture_output=True, timeout=WAIT_S, check=False
        )

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        options = {"stdin": subprocess.DEVNULL, **options}
        return subprocess.Popen(
            [self.path, *arguments],
            env=self.environ,
            cwd=self.cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        db = sqlite3.connect(f"file:{self.home / 'state.db'}?mode=ro", uri=True, timeout=5)
        try:
            return db.execute(statement).fetchall()
        finally:
            db.close()


@pytest.fixture
def hermes(hermes_home: Path, tmp_path: Path, forks: Forks) -> Command:
    cwd = tmp_path / "work"
    cwd.mkdir()
    return Command(hermes_home, cwd, forks)


class Done(NamedTuple):
    """What a command came to. A mistake in the command line counts as a 2, too."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def sessions(
    hermes: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Done]:
    """Run `hermes sessions …` in this process, with the home and the folder of `hermes`."""
    from tui.cli.dispatch import dispatch

    for name, value in hermes.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(hermes.cwd)

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        code = dispatch(["sessions", *arguments])
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def conversation(hermes: Command) -> Callable[..., str]:
    """Store a conversation: each text by the person and the assistant in turn; its id. Keywords replace fields."""
    numbers = itertools.count(1)

    def create(*said: str, **fields: Any) -> str:
        number = next(numbers)
        values = {
            "id": f"2026010{number}-000000-aaaa",
            "source": "chat",
            "title": f"talk {number}",
            "title_source": TitleSource.DERIVED,
            "cwd": str(hermes.cwd),
            "workspace": str(hermes.cwd),
            "created_at": float(number),
            "last_activity_at": float(number),
        }
        session = Session(**(values | fields))
        db = SessionDB.open(hermes.home / "state.db")
        db.write(lambda tables: tables.sessions.create(session)).result()
        for place, text in enumerate(said):
            role, finish = (Role.ASSISTANT, Finish.STOP) if place % 2 else (Role.USER, None)
            row = Message(session.id, role, text, session.created_at, finish=finish)
            db.write(lambda tables, row=row: tables.messages.append(row)).result()
        db.close()
        return session.id

    return create


@pytest.fixture
def model_says() -> Iterator[Callable[..., str]]:
    """Start a server whose every answer is the given text or status, after some failures; its base URL."""
    running: list[ThreadingHTTPServer] = []

    def serve(text: str = "", status: int = 200, failures: int = 0) -> str:
        statuses = [503] * failures

        class Answer(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                now = statuses.pop() if statuses else status
                self.send_response(now)
                self.send_header("content-type", "text/event-stream" if now == 200 else "application/json")
                self.end_headers()
                if now != 200:
                    self.wfile.write(json.dumps({"error": {"message": "no", "type": "x"}}).encode())
                    return
                for choice in ({"delta": {"content": text}}, {"delta": {}, "finish_reason": "stop"}):
                    chunk = {"id": "1", "model": "m", "choices": [{"index": 0, "finish_reason": None, **choice}]}
                    self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                self.wfile.write(b"data: [DONE]\n\n")

            def log_message(self, *args: object) -> None: ...

        running.append(ThreadingHTTPServer(("127.0.0.1", 0), Answer))
        threading.Thread(target=running[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{running[-1].server_port}/v1"

    yield serve
    for server in running:
        server.shutdown()
        server.server_close()


Rule = Callable[[str, dict[str, Any]], "tuple[int, object] | None"]


class RawServer:
    """A model server over raw sockets, which answers as its rule says; else with "ready", or a call of the first tool.

    The rule gets the path and the JSON of each request, and gives a status and a body, or None.
    """

    def __init__(self, rule: Rule) -> None:
        self.heads: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        server = self

        class Connection(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    if not (line := self.rfile.readline()):
                        return
                    head += line
                size = next(
                    (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
                )
                self.wfile.write(server.answer(head.decode(), self.rfile.read(size), rule))

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Connection)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, head: str, raw: bytes, rule: Rule) -> bytes:
        path = head.split(" ")[1]
        body: dict[str, Any] = json.loads(raw or b"{}")
        self.heads.append(head)
        self.bodies.append(body)
        status, said = rule(path, body) or (200, _answered(body))
        text = said if isinstance(said, str) else json.dumps(said)
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(text.encode())}", "Connection: close", "", text]
        return "\r\n".join(lines).encode()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _answered(body: dict[str, Any]) -> str:
    is_over = body["messages"][-1]["role"] == "tool" or "tools" not in body
    function = {"name": "note", "arguments": '{"word": "ready"}'}
    call = {"index": 0, "id": "c1", "type": "function", "function": function}
    delta = {"content": "ready"} if is_over else {"tool_calls": [call]}
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": "stop" if is_over else "tool_calls"}]}
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"


@pytest.fixture
def raw_server() -> Iterator[Callable[[Rule], RawServer]]:
    running: list[RawServer] = []

    def serve(rule: Rule) -> RawServer:
        running.append(RawServer(rule))
        return running[-1]

    yield serve
    for server in running:
        server.close()
