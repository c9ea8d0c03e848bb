"""`hermes chat` where nobody looks: in cron, behind closed files, stopped at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from session.db import SessionDB
from session.invariants import violations

if TYPE_CHECKING:
    from conftest import Command

POINTS = int(os.environ.get("HERMES_SOAK") or 3)  # for each signal
LATEST_S = 2.5  # a turn that asks twice and runs a command takes about so long


def broken_rules(home: Path) -> list[str]:
    """What does not hold of the stored sessions."""
    db = SessionDB.open(home / "state.db")
    try:
        ids = [session.id for session in db.read(lambda tables: tables.sessions.listing(10)).result()]
        return [rule for id_ in ids for rule in db.read(lambda tables, id_=id_: violations(tables, id_)).result()]
    finally:
        db.close()


@pytest.mark.parametrize("files", ["", "<&- >&- 2>&-"], ids=["no terminal", "closed files"])
def test_as_from_cron_it_works_without_a_terminal_a_home_and_a_path(hermes: Command, files: str) -> None:
    command = f"env -i HERMES_HOME={hermes.home} {hermes.path} chat --json -q 'run echo hi' {files}"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=hermes.cwd, capture_output=True, timeout=20, check=False)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert hermes.query("SELECT exit_code FROM messages WHERE role = 'tool'") == [(0,)]
    assert broken_rules(hermes.home) == []
    if not files:
        assert json.loads(done.stdout)["exit_reason"] == "completed"


@pytest.mark.parametrize(
    ("number", "codes"), [(signal.SIGINT, {130, -2}), (signal.SIGTERM, {143, -15})], ids=["SIGINT", "SIGTERM"]
)
def test_a_signal_at_any_moment_leaves_a_legal_session_and_nothing_but_the_object(
    hermes: Command, number: int, codes: set[int]
) -> None:
    """Before Python has come to our code a signal ends it as it ends any program (a negative code)."""
    moments = random.Random(number)
    for _ in range(POINTS):
        process = hermes.start("chat", "--json", "-q", "run echo hi")
        time.sleep(moments.uniform(0, LATEST_S))
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=20)
        assert process.returncode in {0, *codes}
        told = [json.loads(line)["exit_reason"] for line in stdout.splitlines()]
        assert told in ([], ["interrupted"], ["completed"])
        assert told == ["completed"] or process.returncode != 0
        assert told or process.returncode != 143  # our own code, which owes the object
        assert b"Traceback" not in stderr or process.returncode < 0
    if (hermes.home / "state.db").exists():
        assert broken_rules(hermes.home) == []
