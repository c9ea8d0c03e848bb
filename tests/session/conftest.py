"""Real stores in real files, and second processes that can be killed."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from session.db import SessionDB
from session.models import (
    Approval,
    CallOutcome,
    CallResult,
    Finish,
    Message,
    Role,
    Session,
    TitleSource,
    ToolCall,
)

ids = itertools.count(1)


@pytest.fixture
def db_path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def db(db_path: Path) -> Iterator[SessionDB]:
    store = SessionDB.open(db_path)
    yield store
    store.close()


@pytest.fixture
def new_session(db: SessionDB) -> Callable[..., str]:
    """Create a session; its id. Keywords replace fields."""

    def create(**fields: object) -> str:
        values: dict[str, object] = {
            "id": f"s{next(ids)}",
            "source": "tui",
            "title": "",
            "title_source": TitleSource.DERIVED,
            "cwd": "/w",
            "workspace": "/w",
            "created_at": 1.0,
            "last_activity_at": 1.0,
        }
        session = Session(**(values | fields))  # type: ignore[arg-type]
        db.write(lambda t: t.sessions.create(session)).result()
        return session.id

    return create


@pytest.fixture
def session_id(new_session: Callable[..., str]) -> str:
    return new_session()


@pytest.fixture
def say(db: SessionDB) -> Callable[..., list[Message]]:
    """Store what is said, a row each: "user hi", "answer hello", "calls a b", "result a", "notice careful"; the rows."""

    def store(session_id: str, *said: str) -> list[Message]:
        rows = [spoken(session_id, *line.split(" ", 1)) for line in said]
        return db.write(lambda t: [t.messages.append(row) for row in rows]).result()

    return store


def spoken(session_id: str, kind: str, text: str) -> Message:
    match kind:
        case "user":
            return Message(session_id, Role.USER, text, 1.0)
        case "answer":
            return Message(session_id, Role.ASSISTANT, text, 1.0, finish=Finish.STOP)
        case "calls":
            calls = tuple(ToolCall(call_id, "terminal", "{}") for call_id in text.split())
            return Message(session_id, Role.ASSISTANT, "", 1.0, calls=calls, finish=Finish.TOOL_CALLS)
        case "result":
            result = CallResult(text, "terminal", CallOutcome.OK, Approval.ALLOWED_ONCE, 0)
            return Message(session_id, Role.TOOL, f"output of {text}", 1.0, result=result)
        case _:
            return Message(session_id, Role.NOTICE, text, 1.0)


@pytest.fixture
def run_python() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a script in another process, with its output to read; whatever still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", script, *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
