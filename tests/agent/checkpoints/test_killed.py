"""A kill in the middle of a copy or a restore: each file is the old one or the new one, and it can be done again."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.config.home import Home

Open = Callable[..., Any]
Look = Callable[[Path], Any]

FILES = 400
REPOSITORY = Path(__file__).parents[3]
OLD, NEW = "old\n" * 2_000, "new\n" * 2_000

PROCESS = """
import asyncio, sys
from pathlib import Path
from agent.checkpoints.checkpoints import Checkpoints
from agent.config.home import Home

async def main(what: str, home: Path, root: Path) -> None:
    checkpoints = Checkpoints(Home(home, "~"), "s1", root)
    if what == "copy":
        await checkpoints.before("call-0")
    elif what == "restore":
        await checkpoints.restore(await checkpoints.changes_since(["call-0"]))
    else:
        await checkpoints.undo(await checkpoints.last_restored())

asyncio.run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
"""


def killed(what: str, home: Home, root: Path, is_time: Callable[[], bool]) -> None:
    """Do it in a process of its own, which is killed as soon as a look at the disk says so."""
    command = [sys.executable, "-c", PROCESS, what, str(home.root), str(root)]
    process = subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while not is_time() and process.poll() is None:
        assert time.monotonic() < deadline
    process.kill()
    assert process.wait() == -signal.SIGKILL, process.communicate()


def name(number: int) -> str:
    return f"d{number // 50}/f{number:03}"


def fill(root: Path) -> None:
    for number in range(FILES):
        (root / name(number)).parent.mkdir(exist_ok=True)
        (root / name(number)).write_text(f"{number} {OLD}")


def contents(home: Home) -> list[Path]:
    return list((home.checkpoints / "contents").glob("??/*"))


def is_right(blob: Path) -> bool:
    return hashlib.sha256(zlib.decompress(blob.read_bytes())).hexdigest() == blob.parent.name + blob.name


async def test_a_copy_that_is_killed_leaves_no_wrong_content(
    workspace: Path, home: Home, session: Open, look: Look
) -> None:
    fill(workspace)
    before = look(workspace)
    killed("copy", home, workspace, lambda: len(contents(home)) > 100)
    kept = contents(home)
    assert 100 < len(kept) < FILES
    assert all(map(is_right, kept))
    deeds = session(workspace)
    await deeds.shell("rm -r d*")
    await deeds.checkpoints.restore(await deeds.plan())
    assert look(workspace) == before


@pytest.mark.parametrize("after", [1, FILES // 2])
async def test_a_restore_that_is_killed_can_be_done_again_and_undone(
    workspace: Path, home: Home, session: Open, look: Look, after: int
) -> None:
    fill(workspace)
    before = look(workspace)
    deeds = session(workspace)
    await deeds.shell(f"for f in d*/f*; do yes new | head -2000 > $f; done; rm {name(FILES - 1)}; touch more")
    changed = look(workspace)
    await deeds.checkpoints.close()

    killed("restore", home, workspace, lambda: (workspace / name(after)).read_text() != NEW)
    half = look(workspace)
    files = {name(number) for number in range(FILES)}
    assert all(half[path] in (before[path], changed.get(path)) for path in files & half.keys())
    assert {path for path in half.keys() - before.keys() - changed.keys() if not path.endswith(".tmp")} == set()
    assert half not in (before, changed)

    again = session(workspace)
    again.calls = deeds.calls
    plan = await again.plan()
    assert plan.conflicts == ()
    restored = await again.checkpoints.restore(plan)
    assert (restored.failed, look(workspace)) == ((), before)
    await again.checkpoints.undo(restored)
    await again.checkpoints.undo(await again.checkpoints.last_restored())
    assert look(workspace) == before


async def test_a_restore_that_is_killed_can_be_undone(workspace: Path, home: Home, session: Open, look: Look) -> None:
    fill(workspace)
    deeds = session(workspace)
    await deeds.shell("for f in d*/f*; do yes new | head -2000 > $f; done")
    changed = look(workspace)
    await deeds.checkpoints.close()
    killed("restore", home, workspace, lambda: (workspace / name(100)).read_text() != NEW)
    half = look(workspace)
    assert half != changed
    again = session(workspace)
    undone = await again.checkpoints.undo(await again.checkpoints.last_restored())
    drafts = {path for path in half if path.endswith(".tmp")}
    assert (undone.failed, {path: what for path, what in look(workspace).items() if path not in drafts}) == (
        (),
        changed,
    )
