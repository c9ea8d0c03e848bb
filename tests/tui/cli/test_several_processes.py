"""Several `hermes` on one database: all finish whole, waits are bounded, and a session that is damaged is told as that."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from session.db import SessionDB
from session.invariants import violations
from session.models import Role

if TYPE_CHECKING:
    from conftest import Command

WHOLE = [Role.NOTICE, Role.USER, Role.ASSISTANT]


def told(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    _, stderr = process.communicate(timeout=80)
    return process.returncode, stderr.decode()


def conversations(hermes: Command) -> list[list[Role]]:
    """The roles of each session's rows; fails where an invariant is broken."""
    db = SessionDB.open(hermes.home / "state.db")
    try:
        return db.read(
            lambda tables: [
                [row.role for row in tables.messages.all(session.id) if not violations(tables, session.id)]
                for session in tables.sessions.listing(100)
            ]
        ).result()
    finally:
        db.close()


@pytest.mark.timeout(100)  # eight programs at once take their time on a busy machine
def test_E01_eight_headless_runs_at_once_all_finish_with_whole_sessions(
    hermes: Command, model_says: Callable[..., str]
) -> None:
    hermes.serve_model(model_says("Hello."))
    runs = [hermes.start("chat", "-q", "say hello") for _ in range(8)]
    assert [told(run) for run in runs if run.wait(80) != 0] == []
    assert conversations(hermes) == [WHOLE] * 8
    titles = sorted(title for (title,) in hermes.query("SELECT title FROM sessions"))
    assert titles == ["say hello", *(f"say hello #{number}" for number in range(2, 9))]
    assert hermes.query("PRAGMA integrity_check") == [("ok",)]
    assert hermes.query("SELECT count(*) FROM leases") == [(0,)]


def test_E01_a_run_waits_for_a_process_that_holds_the_database_for_three_seconds(
    hermes: Command, model_says: Callable[..., str]
) -> None:
    hermes.serve_model(model_says("Hello."))
    hermes.run("chat", "-q", "the first")
    with closing(sqlite3.connect(hermes.home / "state.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        run = hermes.start("chat", "-q", "the second")
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(3)
        other.execute("ROLLBACK")
    assert told(run)[0] == 0
    assert conversations(hermes) == [WHOLE] * 2


def test_E19_a_session_that_cannot_be_read_is_an_error_with_its_cause_and_no_other_takes_its_place(
    hermes: Command, model_says: Callable[..., str]
) -> None:
    hermes.serve_model(model_says("Hello."))
    hermes.run("chat", "-q", "hi")
    [(session_id,)] = hermes.query("SELECT id FROM sessions")
    damage(hermes, "messages")
    done = hermes.run("chat", "--json", "--session", session_id, "-q", "go on")
    assert done.returncode != 0
    assert "malformed" in json.loads(done.stdout)["error"]["message"]
    missing = hermes.run("chat", "--json", "--session", "20200101-000000-0000", "-q", "go on")
    assert "There is no session" in json.loads(missing.stdout)["error"]["message"]
    assert hermes.query("SELECT id FROM sessions") == [(session_id,)]


def damage(hermes: Command, table: str) -> None:
    """Overwrite the page on which a table begins."""
    path = hermes.home / "state.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [(page,)] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
        [(size,)] = db.execute("PRAGMA page_size")
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


@pytest.mark.parametrize("arguments", ["chat -q help", "tui", "sessions list", "sessions export --all --output x.md"])
def test_E11_no_command_needs_the_folder_it_was_started_in_to_be_there(hermes: Command, arguments: str) -> None:
    done = hermes.shell(f"mkdir gone && cd gone && rmdir ../gone && $HERMES {arguments}")
    assert b"Traceback" not in done.stderr and b"an error in it" not in done.stderr
    if arguments == "chat -q help":
        assert b"The folder you are in does not exist any more" in done.stderr


def test_a_killed_run_holds_nobody_up(hermes: Command, model_says: Callable[..., str]) -> None:
    hermes.serve_model(model_says("Hello."))
    hermes.run("chat", "-q", "hi")
    [(session_id,)] = hermes.query("SELECT id FROM sessions")
    run = hermes.start("chat", "--session", session_id, "-q", "run sleep 60", "--model", "demo")
    ends_at = time.monotonic() + 15
    while not hermes.query("SELECT 1 FROM leases") and time.monotonic() < ends_at:
        time.sleep(0.01)
    run.kill()
    run.wait()
    assert hermes.run("chat", "--session", session_id, "-q", "go on", "--model", "here:m").returncode == 0
