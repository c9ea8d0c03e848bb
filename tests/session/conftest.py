"""Real stores in real files, and second processes that can be killed."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from session.db import SessionDB
from session.models import Session, TitleSource

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
