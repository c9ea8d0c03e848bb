"""Repair finds what is wrong, mends what it can behind a copy, changes nothing that was said, and tells the rest."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from session.db import SessionDB
from session.invariants import violations
from session.models import Approval, ApprovalRequest, CallOutcome, EndReason, Finish, Message, Partial
from session.repair import Report, repair
from session.status import Status, status

NewSession = Callable[..., str]
Say = Callable[..., list[Message]]

NOW = 1_000.0
PAGE = 4_096


@pytest.fixture
def damage(db: SessionDB, db_path: Path) -> Callable[..., None]:
    """Close the store, and do to its file what no program of ours would."""

    def do(*statements: str) -> None:
        db.close()
        with closing(sqlite3.connect(db_path, isolation_level=None)) as raw:
            raw.execute("PRAGMA writable_schema = ON")
            for statement in statements:
                raw.execute(statement)

    return do


def whole(report: Report) -> bool:
    return (report.found, report.backup, report.salvaged) == ((), "", "")


def everything(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as raw:
        return raw.execute("SELECT * FROM messages ORDER BY id").fetchall()


def test_nothing_is_changed_in_a_store_that_is_sound(db: SessionDB, session_id: str, say: Say, db_path: Path) -> None:
    say(session_id, "user hi", "calls a", "result a", "answer done")
    db.close()
    assert whole(repair(db_path, NOW))
    assert [path.name for path in db_path.parent.iterdir()] == ["state.db"]


def test_E09_damaged_rows_are_listed_and_left_as_they_are(
    session_id: str, say: Say, damage: Callable[..., None], db_path: Path
) -> None:
    rows = say(session_id, "user hi", "answer one", "user more", "answer two")
    damage(
        f"""UPDATE messages SET calls = '[{{"id": "abc' WHERE id = {rows[1].id}""",
        f"UPDATE messages SET role = 'nobody' WHERE id = {rows[2].id}",
    )
    before = everything(db_path)
    report = repair(db_path, NOW)
    named = [fault for fault in report.left if "damaged row" in fault.what]
    assert {fault.session_id for fault in named} == {session_id}
    assert [any(f"row {row.id}:" in fault.what for fault in named) for row in rows] == [False, True, True, False]
    assert everything(db_path) == before
    assert not report.backup  # nothing could be mended, so nothing was about to be changed
    assert "cannot be brought back" in " ".join(report.to_do)


def test_E04_what_a_dead_process_left_is_settled_once(db: SessionDB, session_id: str, say: Say, db_path: Path) -> None:
    say(session_id, "user hi", "calls a b", "result a")
    db.write(lambda t: t.turns.begin(session_id, 1.0)).result()
    db.write(lambda t: t.calls.mark_started(session_id, "b", Approval.ALLOWED_ONCE, 1.0)).result()
    db.write(lambda t: t.partials.append(session_id, Partial("half an ans"), 1.0)).result()
    db.close()
    report = repair(db_path, NOW)
    assert {fault.session_id for fault in report.mended} == {session_id}
    assert report.left == ()
    assert Path(report.backup).exists()
    assert whole(repair(db_path, NOW))
    store = SessionDB.open(db_path)
    rows = store.read(lambda t: t.messages.all(session_id)).result()
    store.close()
    assert [row.result.outcome for row in rows if row.result] == [CallOutcome.OK, CallOutcome.INTERRUPTED]
    assert (rows[-1].content, rows[-1].finish) == ("half an ans", Finish.CUT)


def test_a_question_that_waits_for_a_person_is_left_to_wait(
    db: SessionDB, session_id: str, say: Say, db_path: Path
) -> None:
    say(session_id, "user hi", "calls a")
    db.write(lambda t: t.turns.begin(session_id, 1.0)).result()
    db.write(lambda t: t.approvals.open(ApprovalRequest("r", session_id, "a", "terminal", "ls", "", 1.0))).result()
    db.close()
    assert whole(repair(db_path, NOW))
    store = SessionDB.open(db_path)
    assert store.read(lambda t: status(t, session_id)).result() is Status.WAITING
    store.close()


WORK = """
import sys, time
from pathlib import Path
from session.db import SessionDB
from session.lease import Claim
db = SessionDB.open(Path(sys.argv[1]))
def begin(tables):
    tables.turns.begin(sys.argv[2], time.time())
    return tables.leases.take(Claim(sys.argv[2], "t", "tui"), time.time())
assert db.write(begin).result() is None
print("working", flush=True)
time.sleep(60)
"""


def test_a_session_in_which_a_process_works_is_left_to_it_until_that_one_is_dead(
    db: SessionDB, session_id: str, say: Say, db_path: Path, run_python: Callable[..., subprocess.Popen[str]]
) -> None:
    say(session_id, "user hi", "calls a")
    worker = run_python(WORK, db_path, session_id)
    assert worker.stdout is not None and worker.stdout.readline() == "working\n"
    assert whole(repair(db_path, NOW))
    worker.kill()
    worker.wait()
    report = repair(db_path, NOW)
    assert report.mended and not report.left


BEGIN = """
import sys, time
from pathlib import Path
from session.db import SessionDB
from session.lease import Claim
db = SessionDB.open(Path(sys.argv[1]))
assert db.write(lambda tables: tables.leases.take(Claim("new", "t", "tui"), time.time())).result() is None
print("working", flush=True)
sys.stdin.readline()
print(db.write(lambda tables: tables.leases.beat(Claim("new", "t", "tui"), time.time())).result(), flush=True)
"""


def test_a_process_that_begins_a_session_keeps_its_lease(
    db: SessionDB, db_path: Path, run_python: Callable[..., subprocess.Popen[str]]
) -> None:
    worker = run_python(BEGIN, db_path)
    assert worker.stdout is not None and worker.stdout.readline() == "working\n"
    assert whole(repair(db_path, NOW))
    assert worker.communicate("\n", timeout=10)[0] == "True\n"
    assert [fault.session_id for fault in repair(db_path, NOW).mended] == ["new"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE messages_fts_data SET block = x'000000ff7f7f7f7f7f7f7f' WHERE id = 10",
        "DELETE FROM messages_fts_data",
        "DELETE FROM messages_fts_docsize WHERE id = (SELECT min(id) FROM messages_fts_docsize)",
        "DROP TABLE messages_fts_idx",
        "DROP TABLE messages_fts",
    ],
)
def test_a_damaged_search_index_is_made_anew_in_place(
    db: SessionDB, session_id: str, say: Say, db_path: Path, damage: Callable[..., None], statement: str
) -> None:
    say(session_id, "user a needle", "answer and hay")
    db.write(lambda t: t.search.rebuild()).result()
    damage(statement)
    assert repair(db_path, NOW).left == ()
    store = SessionDB.open(db_path)
    assert store.write(lambda t: t.search.is_whole()).result()
    assert len(store.read(lambda t: t.search.find("needle")).result().hits) == 1
    store.close()


def test_rows_without_their_session_get_one_and_marks_without_one_go(
    new_session: NewSession, say: Say, damage: Callable[..., None], db_path: Path
) -> None:
    lost, kept = new_session(), new_session()
    say(lost, "user where am I", "answer here")
    damage(
        f"DELETE FROM sessions WHERE id = '{lost}'",
        "INSERT INTO turns (session_id, started_at, exit_reason) VALUES ('nobody', 1.0, '')",
    )
    report = repair(db_path, NOW)
    assert {fault.session_id for fault in report.mended} == {lost, "nobody"}
    store = SessionDB.open(db_path)
    listed = {session.id: session.title for session in store.read(lambda t: t.sessions.listing()).result()}
    assert listed == {kept: "", lost: f"Recovered {lost}"}
    assert [row.content for row in store.read(lambda t: t.messages.all(lost)).result()] == ["where am I", "here"]
    assert store.read(lambda t: violations(t, lost)).result() == []
    store.close()


def test_E18_what_was_deleted_and_is_still_there_is_removed(
    db: SessionDB, session_id: str, say: Say, damage: Callable[..., None], db_path: Path
) -> None:
    (row,) = say(session_id, "user secret")
    db.write(lambda t: t.sessions.end(session_id, EndReason.ARCHIVED, 1.0)).result()
    damage(f"UPDATE sessions SET end_reason = 'deleted', title = '' WHERE id = '{session_id}'")
    report = repair(db_path, NOW)
    assert [fault.session_id for fault in report.mended] == [session_id]
    assert row.id not in [found[0] for found in everything(db_path)]
    assert "also holds what was deleted" in " ".join(report.to_do)


def test_a_session_whose_own_row_is_damaged_is_named(
    session_id: str, damage: Callable[..., None], db_path: Path
) -> None:
    damage(f"UPDATE sessions SET title_source = 'x' WHERE id = '{session_id}'")
    (fault,) = repair(db_path, NOW).left
    assert fault.session_id == session_id
    assert "row of the session is damaged" in fault.what


def test_an_index_that_is_not_that_of_its_table_is_made_anew(
    db: SessionDB, new_session: NewSession, db_path: Path
) -> None:
    session_id = new_session(title="needletitle")
    db.close()
    content = bytearray(db_path.read_bytes())
    (page,) = (at for at in range(PAGE, len(content), PAGE) if is_index(content, at) and in_page(content, at) >= 0)
    content[in_page(content, page)] ^= 1
    db_path.write_bytes(content)
    report = repair(db_path, NOW)
    assert "sessions_by_title" in " ".join(fault.what for fault in report.mended)
    assert whole(repair(db_path, NOW))
    store = SessionDB.open(db_path)
    assert [found.id for found in store.read(lambda t: t.sessions.find("needletitle")).result()] == [session_id]
    store.close()


def is_index(content: bytearray, page: int) -> bool:
    return content[page] == 0x0A  # the first byte of an index's leaf


def in_page(content: bytearray, page: int) -> int:
    return content.find(b"needletitle", page, page + PAGE)


def test_looking_only_tells_the_same_and_changes_nothing(
    db: SessionDB, session_id: str, say: Say, db_path: Path
) -> None:
    say(session_id, "user hi", "calls a")
    db.close()
    looked = repair(db_path, NOW, looks_only=True)
    assert looked.found == looked.left != ()
    assert [path.name for path in db_path.parent.iterdir()] == ["state.db"]
    assert repair(db_path, NOW).found == looked.found


def test_the_copy_is_the_store_as_it_was(db: SessionDB, session_id: str, say: Say, db_path: Path) -> None:
    say(session_id, "user hi", "calls a")
    db.close()
    before = everything(db_path)
    report = repair(db_path, NOW)
    assert everything(Path(report.backup)) == before
    assert len(everything(db_path)) == len(before) + 1
    assert Path(report.backup).stat().st_mode & 0o077 == 0


# --- a file that cannot be used any more


@pytest.fixture
def large(db: SessionDB, new_session: NewSession, say: Say, db_path: Path) -> Path:
    """A closed store of some hundred pages."""
    for _ in range(10):
        say(
            new_session(),
            *(f"{who} word{number} {'filler ' * 60}" for number in range(20) for who in ("user", "answer")),
        )
    db.close()
    return db_path


def test_a_file_with_damaged_pages_is_saved_row_by_row_into_a_new_one_and_left_alone(large: Path) -> None:
    content = bytearray(large.read_bytes())
    pages = len(content) // PAGE
    for page in (pages // 2, pages // 2 + 20):
        content[page * PAGE : (page + 1) * PAGE] = os.urandom(PAGE)
    large.write_bytes(content)
    before = everything_readable(large)
    report = repair(large, NOW)
    assert report.left and report.salvaged
    assert bytes(content) == large.read_bytes()
    assert {str(large), report.salvaged} <= set(" ".join(report.to_do).replace(",", " ").split())
    saved = SessionDB.open(Path(report.salvaged))
    assert len(saved.read(lambda t: t.sessions.listing()).result()) == 10
    saved.close()
    assert 0 < before <= len(everything(Path(report.salvaged))) < 400
    assert whole(repair(Path(report.salvaged), NOW))


def everything_readable(path: Path) -> int:
    """How many rows a plain walk through the table finds."""
    count = 0
    with closing(sqlite3.connect(path)) as raw:
        try:
            for _ in raw.execute("SELECT * FROM messages ORDER BY id"):
                count += 1
        except sqlite3.DatabaseError:
            return count
    return count


def test_a_file_that_was_cut_short_is_saved_as_far_as_it_goes(large: Path) -> None:
    content = large.read_bytes()
    large.write_bytes(content[: len(content) // PAGE // 2 * PAGE])
    report = repair(large, NOW)
    assert report.salvaged and report.left
    assert len(everything(Path(report.salvaged))) > 0
    again = repair(large, NOW)
    assert again.salvaged != report.salvaged  # an earlier rescue is never written over


def test_sessions_of_a_damaged_file_of_an_older_format_keep_what_they_had(large: Path) -> None:
    with closing(sqlite3.connect(large, isolation_level=None)) as raw:
        raw.execute("UPDATE sessions SET cwd = '/elsewhere'")
        for column in ("anchors", "compaction"):
            raw.execute(f"ALTER TABLE sessions DROP COLUMN {column}")
        raw.execute("PRAGMA user_version = 2")
    content = large.read_bytes()
    large.write_bytes(content[: len(content) // PAGE * 3 // 4 * PAGE])
    report = repair(large, NOW)
    with closing(SessionDB.open(Path(report.salvaged))) as saved:
        sessions = saved.read(lambda t: t.sessions.listing()).result()
    assert [(one.cwd, one.anchors) for one in sessions] == [("/elsewhere", "")] * 10


def test_looking_only_at_a_damaged_file_saves_nothing_yet(large: Path) -> None:
    large.write_bytes(before := large.read_bytes()[: 20 * PAGE])
    report = repair(large, NOW, looks_only=True)
    assert report.left and not report.salvaged
    assert large.read_bytes() == before
    assert {path.name for path in large.parent.iterdir()} <= {
        f"{large.name}{suffix}" for suffix in ("", "-wal", "-shm")
    }


def test_a_file_without_its_beginning_is_told_what_can_be_done(large: Path) -> None:
    large.write_bytes(b"\0" * PAGE + large.read_bytes()[PAGE:])
    before = large.read_bytes()
    report = repair(large, NOW)
    assert ".recover" in " ".join(report.to_do)
    assert (large.read_bytes(), report.salvaged) == (before, "")
