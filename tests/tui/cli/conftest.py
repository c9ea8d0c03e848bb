"""The `hermes` command as a process of its own."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

WAIT_S = 20


class Command:
    """`hermes` with a home of its own. `environ` may be changed before a run."""

    path = Path(sys.executable).with_name("hermes")

    def __init__(self, home: Path, cwd: Path) -> None:
        self.home, self.cwd = home, cwd
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
def hermes(hermes_home: Path, tmp_path: Path) -> Command:
    cwd = tmp_path / "work"
    cwd.mkdir()
    return Command(hermes_home, cwd)


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
