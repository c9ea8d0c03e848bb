"""One turn at a time in a session, whichever process runs it."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from session.errors import UnusableLease
from session.lease import TurnLease

Start = Callable[..., "subprocess.Popen[str]"]

HOLD = """
import sys
from pathlib import Path
from session.lease import TurnLease
lease = TurnLease.take(Path(sys.argv[1]), "s")
print("taken" if lease else "refused", flush=True)
sys.stdin.readline()
"""


def test_another_process_cannot_take_what_is_held(tmp_path: Path, run_python: Start) -> None:
    lease = TurnLease.take(tmp_path, "s")
    assert lease
    assert run_python(HOLD, tmp_path).communicate("\n")[0] == "refused\n"
    lease.release()
    assert run_python(HOLD, tmp_path).communicate("\n")[0] == "taken\n"


def test_a_killed_holder_leaves_the_lease_free(tmp_path: Path, run_python: Start) -> None:
    holder = run_python(HOLD, tmp_path)
    assert holder.stdout and holder.stdout.readline() == "taken\n"
    assert TurnLease.take(tmp_path, "s") is None
    holder.kill()
    holder.wait()
    assert TurnLease.take(tmp_path, "s")


def test_two_turns_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    first = TurnLease.take(tmp_path, "s")
    assert first
    assert TurnLease.take(tmp_path, "s") is None
    assert TurnLease.take(tmp_path, "another session")
    first.release()
    first.release()
    assert TurnLease.take(tmp_path, "s")


RELEASE_WITH_A_COPY_AROUND = """
import os, sys
from pathlib import Path
from session.lease import TurnLease
lease = TurnLease.take(Path(sys.argv[1]), "s")
if os.fork() == 0:  # a child that has not come to its exec yet
    sys.stdin.readline()
    os._exit(0)
lease.release()
print("free" if TurnLease.take(Path(sys.argv[1]), "s") else "held", flush=True)
"""


def test_a_child_that_was_just_forked_does_not_keep_the_lease(tmp_path: Path, run_python: Start) -> None:
    assert run_python(RELEASE_WITH_A_COPY_AROUND, tmp_path).communicate("\n")[0] == "free\n"


def test_the_folder_is_made_for_its_owner_only(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    assert TurnLease.take(tmp_path / "home" / "locks", "s")
    assert stat.S_IMODE((tmp_path / "home" / "locks").stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("a file")
    with pytest.raises(UnusableLease, match=f"locks{os.sep}s.lock cannot be locked"):
        TurnLease.take(tmp_path / "locks", "s")
