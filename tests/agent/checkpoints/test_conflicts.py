"""What somebody else changed is never taken back without a word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.checkpoints.blobs import Blobs
from agent.checkpoints.checkpoints import CannotRestore, NoCheckpoint
from agent.checkpoints.limits import LIMITS
from agent.checkpoints.pace import Pace
from agent.checkpoints.plan import CHANGED_MEANWHILE, CHANGED_SINCE, LOST, NOT_KEPT, UNTOLD
from agent.checkpoints.putting import Putting
from agent.checkpoints.tree import Tree
from agent.config.home import Home

Open = Callable[..., Any]


async def test_what_a_person_changed_alone_is_none_of_the_rewind(repository: Path, session: Open) -> None:
    (repository / "theirs").write_text("1")
    deeds = session(repository)
    await deeds.shell("echo 1 > f")
    (repository / "theirs").write_text("2")
    await deeds.shell("echo 2 > f")
    assert [file.path for file in (await deeds.plan()).files] == ["f"]


async def test_C30_what_calls_changed_is_known_to_the_next_process_and_what_others_changed_is_not(
    repository: Path, session: Open
) -> None:
    deeds = session(repository)
    await deeds.shell("echo 1 > go.sh")
    (repository / "theirs").write_text("2")
    await deeds.shell("true")
    assert await deeds.checkpoints.written() == {repository / "go.sh"}
    await deeds.checkpoints.close()
    assert await session(repository).checkpoints.written() == {repository / "go.sh"}


async def test_what_was_changed_since_is_left_unless_a_person_says_otherwise(repository: Path, session: Open) -> None:
    deeds = session(repository)
    await deeds.shell("echo 1 > f; echo 1 > g")
    (repository / "f").write_text("theirs")
    plan = await deeds.plan()
    assert [(file.path, file.conflict) for file in plan.conflicts] == [("f", CHANGED_SINCE)]

    restored = await deeds.checkpoints.restore(plan)
    assert (restored.done, [one.path for one in restored.failed]) == (("g",), ["f"])
    assert (repository / "f").read_text() == "theirs"

    restored = await deeds.checkpoints.restore(await deeds.plan(), also={"f"})
    assert not (repository / "f").exists()
    await deeds.checkpoints.undo(restored)
    assert (repository / "f").read_text() == "theirs"


async def test_what_was_changed_between_two_calls_on_it_is_a_conflict(repository: Path, session: Open) -> None:
    deeds = session(repository)
    await deeds.shell("echo 1 > f")
    (repository / "f").write_text("theirs")
    await deeds.shell("echo 2 >> f")
    assert [(file.path, file.conflict) for file in (await deeds.plan()).files] == [("f", CHANGED_MEANWHILE)]


async def test_a_file_that_came_back_between_two_calls_of_a_tool_is_a_conflict(workspace: Path, session: Open) -> None:
    deeds = session(workspace)
    await deeds.write("f", "1")
    call = await deeds.begin([workspace / "f"])
    (workspace / "f").unlink()
    await deeds.checkpoints.after(call)
    (workspace / "f").write_text("theirs")
    await deeds.write("f", "2")
    assert [(file.path, file.conflict) for file in (await deeds.plan(call)).files] == [("f", CHANGED_MEANWHILE)]


async def test_a_change_after_the_list_was_made_is_seen(repository: Path, session: Open) -> None:
    deeds = session(repository)
    await deeds.shell("echo 1 > f")
    plan = await deeds.plan()
    (repository / "f").write_text("just now")
    restored = await deeds.checkpoints.restore(plan)
    assert [(one.path, one.why) for one in restored.failed] == [("f", CHANGED_SINCE)]
    assert (repository / "f").read_text() == "just now"


async def test_a_change_between_the_check_of_all_and_the_turn_of_one_is_seen(
    repository: Path, home: Home, session: Open
) -> None:
    for name in "ab":
        (repository / name).write_text("old")
    deeds = session(repository)
    await deeds.shell("echo new > a; rm b; echo new > c")
    plan = await deeds.plan()
    for name in "abc":
        (repository / name).write_text("just now")
    putting = Putting(Tree(repository), Blobs(home.checkpoints / "contents", 0), LIMITS, Pace())
    putting.run(plan.files)
    assert putting.failed == dict.fromkeys("abc", CHANGED_SINCE)
    assert [(repository / name).read_text() for name in "abc"] == ["just now"] * 3


async def test_an_undo_leaves_what_was_changed_after_the_restore(repository: Path, session: Open) -> None:
    deeds = session(repository)
    (repository / "f").write_text("0")
    await deeds.shell("echo 1 > f; echo 1 > g")
    restored = await deeds.checkpoints.restore(await deeds.plan())
    (repository / "f").write_text("later")
    undone = await deeds.checkpoints.undo(restored)
    assert (undone.done, [one.path for one in undone.failed]) == (("g",), ["f"])
    assert (repository / "f").read_text() == "later"


async def test_a_link_in_the_place_of_a_folder_leads_nowhere(repository: Path, session: Open, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("1\n")
    deeds = session(repository)
    await deeds.shell("mkdir d; echo 1 > d/f")
    plan = await deeds.plan()
    deeds.bash(f"rm -r d; ln -s {outside} d")
    restored = await deeds.checkpoints.restore(plan)
    assert {one.path for one in restored.failed} == {"d", "d/f"}
    assert (outside / "f").read_text() == "1\n"


async def test_a_call_whose_end_nobody_saw_is_told(repository: Path, session: Open) -> None:
    """Hermes was killed while it ran: what changed then may be the person's."""
    (repository / "f").write_text("0")
    deeds = session(repository)
    call = await deeds.begin()
    (repository / "f").write_text("1")
    reopened = session(repository)
    assert [(file.path, file.conflict) for file in (await reopened.plan(call)).files] == [("f", UNTOLD)]
    await reopened.checkpoints.restore(await reopened.plan(call), also={"f"})
    assert (repository / "f").read_text() == "0"


async def test_what_cannot_be_kept_is_not_overwritten_unasked(repository: Path, session: Open) -> None:
    (repository / "f").write_text("small")
    deeds = session(repository)
    await deeds.shell("truncate -s 6M f")
    await deeds.shell("echo small again > f")
    await deeds.shell("truncate -s 6M f")
    assert [(file.path, file.conflict) for file in (await deeds.plan()).files] == [("f", NOT_KEPT)]
    deeds.bash("echo x > f")
    (file,) = (await deeds.plan(deeds.calls[1])).files
    assert file.conflict == LOST
    restored = await deeds.checkpoints.restore(await deeds.plan(deeds.calls[1]), also={"f"})
    assert ([(one.path, one.why) for one in restored.failed], (repository / "f").read_text()) == ([("f", LOST)], "x\n")


async def test_nothing_is_restored_while_a_call_runs(repository: Path, session: Open) -> None:
    deeds = session(repository)
    await deeds.begin()
    with pytest.raises(CannotRestore, match="a call of this session still runs"):
        await deeds.plan()


async def test_a_workspace_that_is_gone_is_a_sentence(tmp_path: Path, session: Open) -> None:
    with pytest.raises(NoCheckpoint, match="No checkpoint of the files was made: no such file or directory"):
        await session(tmp_path / "none").begin()


async def test_a_session_whose_name_is_no_file_name_is_a_sentence(repository: Path, session: Open) -> None:
    with pytest.raises(NoCheckpoint, match="can't be one of a folder"):
        await session(repository, "../s").begin()
