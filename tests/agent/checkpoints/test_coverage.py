"""What is covered, and that the list names what is not."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.checkpoints.entry import SETTLED_NS
from agent.checkpoints.limits import Limits

Open = Callable[..., Any]
Look = Callable[[Path], dict[str, tuple[str, int, bytes]]]


async def test_what_is_not_covered_is_named_and_untouched(repository: Path, session: Open) -> None:
    deeds = session(repository)
    deeds.bash(
        "truncate -s 6M huge; touch a.log; mkdir build; touch build/x; mkfifo build/p"
        "; git init -q nested; touch nested/f; git add huge; echo 1 > f"
    )
    await deeds.shell("echo 2 > f; echo more >> huge; echo more > a.log; rm build/x; echo more > nested/f")
    assert await deeds.uncovered() == {
        "huge": "TOO_LARGE",
        "nested": "REPOSITORY",
        "a.log": "IGNORED",
        "build": "IGNORED",
    }
    plan = await deeds.plan()
    assert [file.path for file in plan.files] == ["f"]
    await deeds.checkpoints.restore(plan)
    assert (repository / "a.log").read_text() == (repository / "nested" / "f").read_text() == "more\n"
    assert not (repository / "build" / "x").exists()


async def test_a_huge_file_that_a_command_made_stays_and_is_named(repository: Path, session: Open) -> None:
    deeds = session(repository)
    await deeds.shell("mkdir d; truncate -s 6M d/huge; touch d/f")
    restored = await deeds.checkpoints.restore(await deeds.plan())
    assert await deeds.uncovered() == {"d/huge": "TOO_LARGE"}
    assert [one.path for one in restored.failed] == ["d"]
    assert [path.name for path in (repository / "d").iterdir()] == ["huge"]


async def test_a_submodule_is_its_own(repository: Path, session: Open, tmp_path: Path) -> None:
    other = tmp_path / "other"
    script = f"""
        git init -q {other} && touch {other}/f && git -C {other} add f
        git -C {other} -c user.name=a -c user.email=a@b commit -qm x
        git -c protocol.file.allow=always submodule add -q {other} sub
    """
    deeds = session(repository)
    deeds.bash(script)
    await deeds.shell("echo more > sub/f; echo 1 > f")
    assert await deeds.uncovered() == {"sub": "REPOSITORY"}
    assert [file.path for file in (await deeds.plan()).files] == ["f"]


async def test_a_repository_that_the_session_made_leaves_covered_what_was(
    repository: Path, session: Open, look: Look
) -> None:
    (repository / "d").mkdir()
    (repository / "d" / "f").write_text("old")
    deeds = session(repository)
    await deeds.shell("git init -q d; echo new > d/f; touch d/g")
    await deeds.checkpoints.restore(await deeds.plan())
    assert (repository / "d" / "f").read_text() == "old"
    assert (repository / "d" / "g").exists()
    assert await deeds.uncovered() == {"d": "REPOSITORY", "d/g": "REPOSITORY"}


async def test_a_work_tree_that_is_linked_is_covered(repository: Path, session: Open, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    deeds = session(linked)
    subprocess.run(
        f"git add -A; git -c user.name=a -c user.email=a@b commit -qm x; git worktree add -q {linked}",
        shell=True,
        cwd=repository,
        check=True,
    )
    await deeds.shell("touch f a.log; echo new >> .gitignore")
    assert [file.path for file in (await deeds.plan()).files] == [".gitignore", "f"]


async def test_a_folder_without_git_is_covered_up_to_a_bound(workspace: Path, session: Open, look: Look) -> None:
    for name in "abcdef":
        (workspace / name).write_text("old")
    (workspace / "z").mkdir()
    (workspace / "z" / "f").write_text("old")
    deeds = session(workspace, limits=Limits(walk_files=4))
    await deeds.shell("for f in a b e z/f; do echo new > $f; done; rm c; touch e2")
    await deeds.checkpoints.restore(await deeds.plan())
    assert {name: (workspace / name).read_text() for name in "abcde"} == dict.fromkeys("abcd", "old") | {"e": "new\n"}
    assert (workspace / "z" / "f").read_text() == "new\n"
    assert await deeds.uncovered() == {".": "BEYOND", "z": "BEYOND"}


async def test_a_folder_without_git_is_covered_up_to_so_many_bytes(workspace: Path, session: Open) -> None:
    for name in "abc":
        (workspace / name).write_bytes(bytes(1000))
    deeds = session(workspace, limits=Limits(walk_bytes=2500))
    await deeds.shell("rm a b c")
    assert [file.path for file in (await deeds.plan()).files] == ["a", "b"]


async def test_a_workspace_without_git_is_taken_back(workspace: Path, session: Open, look: Look) -> None:
    (workspace / "d").mkdir()
    (workspace / "d" / "f").write_text("old")
    before = look(workspace)
    deeds = session(workspace)
    await deeds.shell("mv d e; echo new >> e/f; ln -s e d")
    await deeds.checkpoints.restore(await deeds.plan())
    assert look(workspace) == before


async def test_a_repository_that_a_command_removes_exposes_nothing(repository: Path, session: Open) -> None:
    """Without .git nothing is ignored any more: what was is still left alone."""
    (repository / "build").mkdir()
    (repository / "build" / "x").write_text("old")
    deeds = session(repository)
    await deeds.shell("rm -rf .git; echo new > build/x; touch a.log f")
    await deeds.checkpoints.restore(await deeds.plan())
    assert (repository / "build" / "x").read_text() == "new\n"
    assert not (repository / "f").exists()


async def test_the_home_of_hermes_is_left_alone(tmp_path: Path, session: Open) -> None:
    """A workspace that holds it: what hermes writes while a call runs is not the call's."""
    deeds = session(tmp_path)
    await deeds.shell("touch f home/state.db")
    plan = await deeds.plan()
    assert [file.path for file in plan.files] == ["f"]
    assert (await deeds.uncovered())["home"] == "OURS"


async def test_a_copy_that_takes_too_long_is_waited_for_no_longer(repository: Path, session: Open) -> None:
    (repository / "f").write_text("old")
    deeds = session(repository, limits=Limits(copy_s=0))
    await deeds.shell("echo new > f; echo new > g")
    assert [file.path for file in (await deeds.plan()).files] == ["g"]
    assert (await deeds.uncovered())["f"] == "LATE"
    later = await deeds.shell("echo newer > f")
    assert [file.path for file in (await deeds.plan(later)).files] == ["f"]


async def test_the_first_copy_is_made_while_a_person_reads(repository: Path, session: Open) -> None:
    (repository / "f").write_text("old")
    deeds = session(repository, limits=Limits(copy_s=0))
    deeds.checkpoints.prepare()
    await deeds.checkpoints.last_restored()  # stands behind it in the thread
    await deeds.shell("echo new > f")
    assert [file.path for file in (await deeds.plan()).files] == ["f"]


async def test_a_second_session_in_a_workspace_reads_nothing_again(repository: Path, session: Open) -> None:
    (repository / "f").write_text("old")
    while time.time_ns() <= (repository / "f").stat().st_ctime_ns + 2 * SETTLED_NS:
        await asyncio.sleep(0.01)  # only times that are a moment old prove anything
    await session(repository).shell("touch g")
    deeds = session(repository, "s2", limits=Limits(copy_s=0))
    await deeds.shell("echo new > f")
    assert [file.path for file in (await deeds.plan()).files] == ["f"]


async def test_C05_the_settings_of_a_repository_start_nothing(repository: Path, session: Open, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    deeds = session(repository)
    deeds.bash(
        "touch f; git add f; git -c user.name=a -c user.email=a@b commit -qm x; echo more >> f"
        f"; cp {trap} .git/hooks/post-index-change; echo '* diff=x filter=x' > .gitattributes"
    )
    for name in (
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "diff.external",
        "filter.x.clean",
        "diff.x.command",
    ):
        deeds.bash(f"git config {name} {trap}")
    deeds.bash(
        f"git config pager.ls-files {trap}; git config core.worktree {tmp_path}; git config core.hooksPath .git/hooks"
    )
    (repository / "bin").mkdir()
    shutil.copy(trap, repository / "git")
    await deeds.shell("rm f")
    assert [file.path for file in (await deeds.plan()).files] == ["f"]
    assert not (tmp_path / "sprung").exists()


async def test_C05_an_object_that_is_missing_is_not_fetched(repository: Path, session: Open, tmp_path: Path) -> None:
    """git reads a .gitignore that is not checked out from the objects, and would fetch it by what the remote names."""
    deeds = session(repository)
    deeds.bash(
        "mkdir d; echo x > d/.gitignore; git add -A; git -c user.name=a -c user.email=a@b commit -qm x"
        "; git update-index --skip-worktree d/.gitignore"
        "; blob=$(git rev-parse :d/.gitignore); rm d/.gitignore; rm -f .git/objects/${blob:0:2}/${blob:2}"
        f"; git config core.repositoryformatversion 1; git config extensions.partialClone origin"
        f"; git config remote.origin.url 'ext::sh -c \"touch {tmp_path}/sprung\"'; git config remote.origin.promisor true"
        "; git config protocol.ext.allow always; touch d/f"
    )
    await deeds.shell("touch d/g")
    assert not (tmp_path / "sprung").exists()


UNREADABLE = """
import asyncio, json, os, sys
from pathlib import Path
from agent.checkpoints.checkpoints import Checkpoints
from agent.config.home import Home
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)

async def main(folder: Path) -> None:
    root, home = folder / "ws", Home(folder / "home", "~")
    (root / "shut").mkdir(parents=True)
    home.create()
    for name in ("secret", "closed", "shut/f"):
        (root / name).write_text("old")
    (root / "secret").chmod(0)
    checkpoints = Checkpoints(home, "s", root)
    await checkpoints.before("c")
    (root / "closed").chmod(0)
    (root / "shut/f").write_text("new")
    (root / "shut").chmod(0)
    await checkpoints.after("c")
    plan = await checkpoints.changes_since(["c"])
    left = {one.path: one.why.name for one in plan.uncovered}
    restored = await checkpoints.restore(plan)
    texts = [(root / name).read_text() for name in ("closed", "shut/f")]
    print(json.dumps([left, restored.done, [one.path for one in restored.failed], texts]))
    await checkpoints.close()

asyncio.run(main(Path(sys.argv[1])))
"""


def test_what_cannot_be_read_is_named_and_not_taken_for_gone() -> None:
    folder = Path("/tmp") / f"hermes-test-{os.getpid()}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    try:
        ran = subprocess.run(
            [sys.executable, "-c", UNREADABLE, str(folder)],
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
        )
    finally:
        subprocess.run(["chmod", "-R", "u+rwx", str(folder)], check=False)
        shutil.rmtree(folder)
    assert ran.returncode == 0, ran.stderr
    left, done, failed, texts = json.loads(ran.stdout)
    assert left == {"secret": "UNREADABLE", "shut": "UNREADABLE"}
    assert (sorted(done), failed) == (["closed", "shut"], [])
    # What became of a file behind a door that the session shut is seen by nobody until it is open again.
    assert texts == ["old", "new"]
