"""A rewind brings files back, byte for byte, and its undo takes that back."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.checkpoints.plan import Did

Open = Callable[..., Any]
Look = Callable[[Path], dict[str, tuple[str, int, bytes]]]


async def test_a_scripted_session_is_taken_back_and_brought_back(repository: Path, session: Open, look: Look) -> None:
    """Edits by tools and changes by shell commands: content, modes, links and what was not there."""
    root = repository
    (root / "src").mkdir()
    (root / "src" / "main.py").write_text("print('one')\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "latest").symlink_to("src/main.py")
    (root / "empty").mkdir()
    (root / "caf\udce9.txt").write_bytes(b"\xff\0")
    before = look(root)
    deeds = session(root)

    await deeds.write("src/main.py", "print('two')\n")
    await deeds.write("src/new/deep.py", "x = 1\n")
    await deeds.shell(
        "rm run.sh; mv src lib; rmdir empty; rm caf*; mkdir -p a/b; echo hi > a/b/c; chmod 600 lib/main.py"
    )
    await deeds.tool("patch", path="lib/new/deep.py", old="1", new="2")
    await deeds.shell("rm latest; ln -s lib latest; rm -r a/b; echo file > a/b; chmod 700 lib")
    after = look(root)
    assert after != before

    plan = await deeds.plan()
    assert plan.conflicts == ()
    restored = await deeds.checkpoints.restore(plan)
    assert (restored.failed, look(root)) == ((), before)

    undone = await deeds.checkpoints.undo(restored)
    assert (undone.failed, look(root)) == ((), after)


async def test_the_list_says_what_the_session_did(repository: Path, session: Open) -> None:
    (repository / "changed").write_text("1")
    (repository / "deleted").write_text("1")
    deeds = session(repository)
    await deeds.shell("echo 2 > changed; rm deleted; echo 1 > created")
    plan = await deeds.plan()
    assert {did: [file.path for file in plan.that(did)] for did in Did} == {
        Did.CREATED: ["created"],
        Did.MODIFIED: ["changed"],
        Did.DELETED: ["deleted"],
    }


async def test_a_rewind_goes_to_any_call(repository: Path, session: Open) -> None:
    deeds = session(repository)
    for number in range(4):
        await deeds.shell(f"echo {number} > f")
    await deeds.checkpoints.restore(await deeds.plan(deeds.calls[2]))
    assert (repository / "f").read_text() == "1\n"
    await deeds.checkpoints.restore(await deeds.plan(deeds.calls[1]))
    assert (repository / "f").read_text() == "0\n"


async def test_a_file_that_git_ignores_is_restored_where_a_tool_wrote_it(repository: Path, session: Open) -> None:
    (repository / "build").mkdir()
    (repository / "build" / "known.txt").write_text("old")
    (repository / "build" / "other.txt").write_text("old")
    deeds = session(repository)
    await deeds.write("build/known.txt", "new")
    await deeds.write("build/fresh.txt", "new")
    await deeds.shell("echo more > build/other.txt; echo more >> build/known.txt; touch build/made")
    plan = await deeds.plan()
    assert [file.path for file in plan.files] == ["build/fresh.txt", "build/known.txt"]
    await deeds.checkpoints.restore(plan)
    assert sorted(path.name for path in (repository / "build").iterdir()) == ["known.txt", "made", "other.txt"]
    assert (repository / "build" / "known.txt").read_text() == "old"
    assert (repository / "build" / "other.txt").read_text() == "more\n"


async def test_a_file_outside_of_the_workspace_is_restored_where_a_tool_wrote_it(
    repository: Path, session: Open, tmp_path: Path
) -> None:
    deeds = session(repository)
    await deeds.write(str(tmp_path / "far" / "f"), "there")
    await deeds.checkpoints.restore(await deeds.plan())
    assert not (tmp_path / "far").exists()


async def test_a_file_that_becomes_visible_to_git_is_not_taken_for_a_new_one(repository: Path, session: Open) -> None:
    """It was there before the call, uncovered: a rewind must not remove it."""
    (repository / "secret.log").write_text("precious")
    deeds = session(repository)
    await deeds.shell("echo > .gitignore; echo more >> secret.log; echo new > new.log")
    await deeds.checkpoints.restore(await deeds.plan())
    assert (repository / "secret.log").read_text() == "precious" + "more\n"
    assert not (repository / "new.log").exists()
    assert (repository / ".gitignore").read_text() == "build/\n*.log\n"


async def test_a_file_that_git_ignores_from_now_on_stays_covered(repository: Path, session: Open) -> None:
    (repository / "notes").write_text("old")
    deeds = session(repository)
    await deeds.shell("echo notes > .gitignore; echo new > notes")
    await deeds.checkpoints.restore(await deeds.plan())
    assert (repository / "notes").read_text() == "old"


async def test_the_same_size_and_time_do_not_hide_a_change(repository: Path, session: Open) -> None:
    (repository / "f").write_text("aaaa")
    deeds = session(repository)
    await deeds.shell("touch -r f stamp; printf bbbb > f; touch -r stamp f; rm stamp")
    await deeds.checkpoints.restore(await deeds.plan())
    assert (repository / "f").read_text() == "aaaa"


async def test_a_workspace_that_was_moved_is_restored_where_it_is(
    repository: Path, session: Open, tmp_path: Path, look: Look
) -> None:
    (repository / "f").write_text("old")
    before = look(repository)
    await session(repository).shell("echo new > f; mkdir d; touch d/x")
    moved = tmp_path / "moved"
    subprocess.run(["cp", "-r", repository, moved], check=True)
    there = session(moved)
    restored = await there.checkpoints.restore(await there.plan("call-0"))
    assert (restored.failed, look(moved)) == ((), before)
    assert (repository / "f").read_text() == "new\n"


async def test_a_session_is_gone_on_with_by_another_process(repository: Path, session: Open, look: Look) -> None:
    before = look(repository)
    first = session(repository)
    await first.shell("echo 1 > f")
    second = session(repository)
    second.calls = [*first.calls]
    await second.write("f", "2")
    await first.checkpoints.restore(await first.plan())
    assert look(repository) == before


async def test_another_session_knows_nothing_of_it(repository: Path, session: Open) -> None:
    await session(repository).shell("echo 1 > f")
    assert (await session(repository, "s2").plan("call-0")).files == ()


async def test_a_folder_without_a_way_in_is_restored(repository: Path, session: Open, look: Look) -> None:
    (repository / "d").mkdir()
    (repository / "d" / "f").write_text("old")
    before = look(repository)
    deeds = session(repository)
    await deeds.shell("echo new > d/f; touch d/more; chmod 500 d; mkdir e; touch e/f; chmod 500 e")
    restored = await deeds.checkpoints.restore(await deeds.plan())
    assert (restored.failed, look(repository)) == ((), before)


async def test_an_undo_can_itself_be_undone(repository: Path, session: Open) -> None:
    deeds = session(repository)
    await deeds.shell("echo 1 > f")
    undone = await deeds.checkpoints.undo(await deeds.checkpoints.restore(await deeds.plan()))
    assert (repository / "f").exists()
    await deeds.checkpoints.undo(undone)
    assert not (repository / "f").exists()
