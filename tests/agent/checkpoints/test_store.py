"""The store of checkpoints: private, bounded, and honest about what it has lost."""

from __future__ import annotations

import asyncio
import os
import random
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from agent.checkpoints.checkpoints import CannotRestore, NoCheckpoint
from agent.checkpoints.limits import Limits
from agent.checkpoints.putting import GONE
from agent.checkpoints.steps import VERSION, Owner, Step, Steps
from agent.config.home import Home
from agent.session_files import remove_outputs

Open = Callable[..., Any]


def noise(number: int, size: int = 10_000) -> bytes:
    """What zlib can't make smaller."""
    return random.Random(number).randbytes(size)


def contents(home: Home) -> list[Path]:
    return sorted((home.checkpoints / "contents").glob("??/*"))


def steps(home: Home, session_id: str = "s1") -> list[Path]:
    return sorted((home.checkpoints / "sessions" / session_id).glob("0*"))


async def test_all_of_it_is_for_its_owner_only(repository: Path, home: Home, session: Open) -> None:
    (repository / "f").write_text("secret")
    os.umask(os.umask(0))
    await session(repository).shell("echo > f")
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (home.checkpoints, *home.checkpoints.rglob("*"))}
    assert {path: mode for path, mode in modes.items() if mode & 0o077} == {}


async def test_a_content_is_kept_once(repository: Path, home: Home, session: Open) -> None:
    (repository / ".gitignore").unlink()
    for name in "abc":
        (repository / name).write_text("same")
    await session(repository).shell("cp a d")
    await session(repository, "s2").shell("cp a e")
    assert len(contents(home)) == 1


async def test_a_call_that_changes_nothing_leaves_no_step(repository: Path, home: Home, session: Open) -> None:
    deeds = session(repository)
    await deeds.shell("true")
    kept = len(steps(home))
    await deeds.shell("ls; touch .gitignore")
    assert len(steps(home)) == kept


async def test_what_is_deleted_with_a_session_goes(repository: Path, home: Home, session: Open) -> None:
    (repository / "f").write_text("both")
    await session(repository).shell("echo only first > g")
    deeds = session(repository, "s2")
    await deeds.shell("rm f g")
    before = len(contents(home))
    assert remove_outputs(home, ["s1", "..", "none"]) == []
    assert (
        len(contents(home)) == before
    )  # the second session needs what the first one made: it was there before its call
    await deeds.checkpoints.restore(await deeds.plan())
    assert (repository / "f").read_text() == "both"
    assert remove_outputs(home, ["s2"]) == []
    assert contents(home) == steps(home) == []


async def test_E18_a_session_that_is_deleted_while_it_is_open_leaves_nothing(
    repository: Path, home: Home, session: Open
) -> None:
    deeds = session(repository)
    call = await deeds.begin()
    deeds.bash("echo private > f")
    remove_outputs(home, ["s1"])
    with pytest.raises(NoCheckpoint, match="No checkpoint of the files was made: no such file"):
        await deeds.checkpoints.after(call)
    assert steps(home) == []
    assert not (home.checkpoints / "sessions" / "s1").exists()


async def test_the_oldest_sessions_make_place(workspace: Path, home: Home, session: Open) -> None:
    limits = Limits(store_bytes=100_000)
    for number in range(12):
        (workspace / "f").write_bytes(noise(number))
        deeds = session(workspace, f"s{number:02}", limits)
        await deeds.shell("rm f")
        assert sum(path.stat().st_size for path in contents(home)) <= limits.store_bytes
        await deeds.checkpoints.restore(await deeds.plan())
        assert (workspace / "f").read_bytes() == noise(number)
        await deeds.checkpoints.close()
    left = sorted(path.name for path in (home.checkpoints / "sessions").iterdir())
    assert left[-1] == "s11"
    assert 3 <= len(left) < 12
    assert left == [f"s{number:02}" for number in range(12 - len(left), 12)]


async def test_a_session_that_is_open_keeps_its_place(workspace: Path, session: Open) -> None:
    limits = Limits(store_bytes=50_000)
    (workspace / "f").write_bytes(noise(0, 30_000))
    first = session(workspace, "s1", limits)
    await first.shell("rm f")
    (workspace / "g").write_bytes(noise(1, 30_000))
    second = session(workspace, "s2", limits)
    await second.shell("rm g")
    assert await second.uncovered() == {}
    assert (await second.plan()).files == ()
    await first.checkpoints.restore(await first.plan())
    assert (workspace / "f").read_bytes() == noise(0, 30_000)


async def test_what_the_store_has_no_room_for_is_named(workspace: Path, session: Open) -> None:
    (workspace / "f").write_bytes(noise(0, 30_000))
    (workspace / "g").write_text("small")
    deeds = session(workspace, limits=Limits(store_bytes=20_000))
    await deeds.shell("rm g; echo > h")
    assert await deeds.uncovered() == {"f": "FULL"}
    assert [file.path for file in (await deeds.plan()).files] == ["g", "h"]


async def test_a_copy_that_is_lost_is_told_and_nothing_is_put_in_its_place(
    repository: Path, home: Home, session: Open
) -> None:
    for name in "abc":
        (repository / name).write_text(f"old {name}")
    deeds = session(repository)
    await deeds.shell("for f in a b c; do echo new > $f; done")
    blobs = {blob.stat().st_size: blob for blob in contents(home)}
    assert blobs
    for blob in contents(home):
        blob.write_bytes(blob.read_bytes()[:-1])
    restored = await deeds.checkpoints.restore(await deeds.plan())
    assert [(one.path, one.why) for one in restored.failed] == [(name, GONE) for name in "abc"]
    assert [(repository / name).read_text() for name in "abc"] == ["new\n"] * 3


async def test_a_content_that_a_power_cut_left_empty_is_written_again(
    repository: Path, home: Home, session: Open
) -> None:
    (repository / "f").write_text("old")
    await session(repository).shell("true")
    for blob in contents(home):
        blob.write_bytes(b"")
    deeds = session(repository, "s2")
    await deeds.shell("echo new > f")
    await deeds.checkpoints.restore(await deeds.plan())
    assert (repository / "f").read_text() == "old"


@pytest.mark.parametrize("torn", [1, -1])
async def test_a_record_that_is_damaged_is_told_and_gone_on_with(
    repository: Path, home: Home, session: Open, torn: int
) -> None:
    deeds = session(repository)
    await deeds.shell("echo 1 > f")
    await deeds.shell("echo 2 > f")
    steps(home)[torn].write_bytes(b"torn")
    reopened = session(repository)
    assert await reopened.checkpoints.changes_since(["call-0"]) == (await reopened.plan("none"))
    assert (await reopened.plan("call-0")).is_cut
    reopened.calls = ["later"]
    call = await reopened.shell("echo 3 > f")
    assert len((await session(repository).plan(call)).files) == 1
    await reopened.checkpoints.restore(await reopened.plan(call))
    assert (repository / "f").read_text() == "2\n"


async def test_a_newer_record_is_refused_and_nothing_it_may_need_is_removed(
    repository: Path, home: Home, session: Open
) -> None:
    await session(repository).shell("echo 1 > f")
    await session(repository, "s2").shell("echo 1 > g")
    Steps(home.checkpoints / "sessions" / "s1").write(99, Step(VERSION + 1, Owner.OTHERS, "", 0.0))
    with pytest.raises(CannotRestore, match="a newer hermes recorded"):
        await session(repository).plan("call-0")
    with pytest.raises(NoCheckpoint, match="a newer hermes recorded"):
        await session(repository).begin()
    before = contents(home)
    remove_outputs(home, ["s2"])
    assert contents(home) == before


async def test_a_full_disk_is_a_sentence_and_changes_nothing(
    repository: Path, session: Open, full_disk: Callable[[], AbstractContextManager[None]]
) -> None:
    (repository / "f").write_text("old")
    deeds = session(repository)
    await deeds.shell("echo new > f")
    plan = await deeds.plan()
    deeds.bash("echo new > g")
    with full_disk():
        with pytest.raises(NoCheckpoint, match="No checkpoint of the files was made: file too large"):
            await deeds.begin()
        with pytest.raises(CannotRestore, match="No file was restored: file too large"):
            await deeds.checkpoints.restore(plan)
    assert (repository / "f").read_text() == "new\n"
    await deeds.checkpoints.restore(plan)
    assert (repository / "f").read_text() == "old"


async def test_nothing_waits_on_the_loop_and_what_nobody_waits_for_stops(workspace: Path, session: Open) -> None:
    for number in range(3_000):
        (workspace / f"f{number}").write_text(str(number))
    deeds = session(workspace)
    beginning = asyncio.create_task(deeds.begin())
    beats = 0
    while not (deeds.root.parent / "home" / "checkpoints" / "contents").exists():
        beats += 1
        await asyncio.sleep(0)
    beginning.cancel()
    with pytest.raises(asyncio.CancelledError):
        await beginning
    assert beats
    assert (await deeds.plan()).files == ()  # behind what was stopped, in the same thread
    assert len(list((deeds.root.parent / "home" / "checkpoints" / "contents").glob("??/*"))) < 3_000
