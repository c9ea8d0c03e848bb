"""One turn at a time in a session, whichever process runs it; and nobody waits for one that is gone."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from session.db import SessionDB
from session.errors import SessionDeleted
from session.lease import SILENT_S, Claim, Lease, forget, is_held
from session.process import Process, runs, this_process

Start = Callable[..., "subprocess.Popen[str]"]
numbers = itertools.count(1)

HOLD = """
import sys
from pathlib import Path
from session.db import SessionDB
from session.lease import Claim
db = SessionDB.open(Path(sys.argv[1]))
standing = db.write(lambda tables: tables.leases.take(Claim("s", "theirs", "chat"), 1.0)).result()
print(f"held by {standing.holder.pid} at {standing.claim.front}" if standing else "taken", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def take(db: SessionDB) -> Iterator[Callable[..., Lease | None]]:
    """Claim session "s" for this process; who has it, or None."""
    claims: list[Claim] = []

    def claim(at: float = 1.0, session_id: str = "s") -> Lease | None:
        claims.append(Claim(session_id, f"ours {next(numbers)}", "tui"))
        return db.write(lambda tables: tables.leases.take(claims[-1], at)).result()

    yield claim
    for one in claims:
        forget(one)


@pytest.fixture
def held_by(db: SessionDB) -> Callable[..., None]:
    """Put a lease of session "s" into the store, as another process would; fields of this process unless told."""

    def put(beat_at: float = 1.0, **fields: object) -> None:
        one = replace(this_process(), **fields)
        values = (one.host, one.host_name, one.boot, one.pid_namespace, one.pid, one.started, 1.0, beat_at)
        insert = "INSERT INTO leases VALUES ('s', 'theirs', 'chat', ?, ?, ?, ?, ?, ?, ?, ?)"
        db.write(lambda tables: tables.connection.run(insert, *values)).result()

    return put


@pytest.fixture
def sleeper(run_python: Start) -> Process:
    """Another process of this machine, which runs until it is ended."""
    process = run_python("import sys; print(flush=True); sys.stdin.readline()")
    assert process.stdout and process.stdout.readline()
    return replace(this_process(), pid=process.pid, started=started(process.pid))


def started(pid: int) -> str:
    found = subprocess.run(
        [sys.executable, "-c", f"from session.process import system; print(system.started({pid}))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.strip()


def test_another_process_is_told_who_works_until_that_one_is_done(
    db: SessionDB, db_path: Path, take: Callable[..., Lease | None], run_python: Start
) -> None:
    assert take() is None
    assert run_python(HOLD, db_path).communicate("\n")[0] == f"held by {os.getpid()} at tui\n"
    db.write(lambda tables: tables.leases.release(tables.leases.of("s").claim)).result()
    assert run_python(HOLD, db_path).communicate("\n")[0] == "taken\n"


def test_a_killed_holder_leaves_the_lease_free_before_anybody_has_counted_it(
    db_path: Path, take: Callable[..., Lease | None], run_python: Start
) -> None:
    holder = run_python(HOLD, db_path)
    assert holder.stdout and holder.stdout.readline() == "taken\n"
    standing = take()
    assert standing and standing.holder.pid == holder.pid
    holder.kill()
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)  # dead, and a zombie still
    assert take() is None


def test_two_turns_of_one_process_exclude_each_other(db: SessionDB, take: Callable[..., Lease | None]) -> None:
    assert take() is None
    assert take() is not None
    assert take(session_id="another") is None


def test_a_lease_that_could_not_be_given_back_is_no_hindrance_to_its_own_process(
    db: SessionDB, take: Callable[..., Lease | None]
) -> None:
    assert take() is None
    forget(db.read(lambda tables: tables.leases.of("s")).result().claim)
    assert take() is None


@pytest.mark.parametrize("elsewhere", [{"host": "another machine"}, {"pid_namespace": "pid:[1]"}, {"host": ""}])
@pytest.mark.parametrize("is_number_taken", [True, False])
def test_of_what_cannot_be_seen_the_beat_alone_tells(
    held_by: Callable[..., None], take: Callable[..., Lease | None], elsewhere: dict[str, str], is_number_taken: bool
) -> None:
    held_by(beat_at=1.0, pid=os.getpid() if is_number_taken else 2**22 + 1, **elsewhere)
    assert take(at=SILENT_S + 0.9) is not None
    assert take(at=SILENT_S + 1.1) is None


def test_in_containers_that_look_the_same_the_beat_alone_tells() -> None:
    """Without /proc, the first process of each may be told apart by nothing."""
    here = Process("box", "box", "", "", 1, "")
    lease = Lease(Claim("s", "theirs", "chat"), here, 1.0, 1.0)
    assert is_held(lease, here, SILENT_S + 0.9)
    assert not is_held(lease, here, SILENT_S + 1.1)


def test_a_machine_that_slept_for_an_hour_keeps_its_leases(
    held_by: Callable[..., None], take: Callable[..., Lease | None], sleeper: Process
) -> None:
    held_by(pid=sleeper.pid, started=sleeper.started)
    assert take(at=3_600.0) is not None


def test_a_process_that_got_the_number_of_the_holder_is_not_the_holder(
    held_by: Callable[..., None], take: Callable[..., Lease | None], sleeper: Process
) -> None:
    held_by(pid=sleeper.pid, started="1")
    assert take() is None


def test_a_holder_of_before_the_machine_started_anew_is_gone(
    held_by: Callable[..., None], take: Callable[..., Lease | None], sleeper: Process
) -> None:
    held_by(pid=sleeper.pid, started=sleeper.started, boot="an earlier one")
    assert take() is None


def test_an_unverified_holder_is_kept_while_its_number_is_taken_and_reclaimed_after(
    held_by: Callable[..., None], take: Callable[..., Lease | None], run_python: Start
) -> None:
    process = run_python("import sys; sys.stdin.readline()")
    held_by(pid=process.pid, started="")
    assert take(at=3_600.0) is not None
    assert process.poll() is None  # and nothing was sent to it
    process.communicate("\n")
    assert take() is None


def test_a_lease_without_a_process_has_no_start_of_one(held_by: Callable[..., None]) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        held_by(pid=0, started="12345")
    held_by(pid=0, started="")


def test_a_beat_says_whether_the_lease_is_still_ours_and_a_release_takes_nobody_elses(
    db: SessionDB, take: Callable[..., Lease | None], held_by: Callable[..., None]
) -> None:
    assert take() is None
    ours = db.read(lambda tables: tables.leases.of("s")).result().claim
    assert db.write(lambda tables: tables.leases.beat(ours, 7.0)).result()
    assert db.read(lambda tables: tables.leases.of("s")).result().beat_at == 7.0
    db.write(lambda tables: tables.leases.release(ours)).result()
    held_by(host="another machine")
    assert not db.write(lambda tables: tables.leases.beat(ours, 8.0)).result()
    db.write(lambda tables: tables.leases.release(ours)).result()
    assert db.read(lambda tables: tables.leases.of("s")).result().claim.token == "theirs"


def test_E18_nobody_works_in_a_deleted_session(
    db: SessionDB, session_id: str, take: Callable[..., Lease | None]
) -> None:
    assert take(session_id=session_id) is None
    ours = db.read(lambda tables: tables.leases.of(session_id)).result().claim
    db.write(lambda tables: tables.sessions.delete(session_id, 2.0)).result()
    with pytest.raises(SessionDeleted):
        db.write(lambda tables: tables.leases.beat(ours, 3.0)).result()
    with pytest.raises(SessionDeleted):
        take(session_id=session_id)
    assert db.read(lambda tables: tables.leases.of(session_id)).result() is None


def test_a_forked_child_is_another_process() -> None:
    me, (read_end, write_end) = this_process(), os.pipe()
    if os.fork() == 0:
        os.write(write_end, b"other" if this_process() != me and runs(me, this_process()) else b"the same")
        os._exit(0)
    os.wait()
    assert os.read(read_end, 20) == b"other"
    os.close(read_end)
    os.close(write_end)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the start behind the name")
def test_a_name_with_parentheses_hides_no_start(tmp_path: Path) -> None:
    program = tmp_path / "a) Z 1 (b"
    shutil.copy(shutil.which("sleep") or "", program)
    process = subprocess.Popen([program, "60"])
    try:
        assert int(started(process.pid)) >= int(this_process().started)
    finally:
        process.kill()
        process.wait()
