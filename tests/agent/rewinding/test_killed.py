"""A kill in the middle of a rewind, or of its undoing: rows and files are as before, or both go the whole way."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.rewinding import WENT_ON, Scope
from session.errors import UserError

FILES = 8
RECORD, FIRST, MIDDLE = -1, 0, FILES // 2  # how many files are replaced before the kill
HERMES = """
import asyncio, os, signal, sys
from agent.open import open_hub
from agent.profile import Profile
from agent.rewinding import Scope, prompts

home, session_id, what, at = sys.argv[1:]
rename, replace, renamed = os.rename, os.replace, []

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def counted_rename(*args, **more):
    if len(renamed) == int(at):
        die()
    renamed.append(args)
    rename(*args, **more)

def watched_replace(src, dst, **more):
    replace(src, dst, **more)
    if int(at) < 0 and os.path.basename(dst).isdecimal():
        die()

async def main():
    profile = Profile.load({"HERMES_HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin"})
    hub = await open_hub(profile, source="tui", is_attended=True)
    runtime = await hub.open(session_id)
    os.rename, os.replace = counted_rename, watched_replace
    if what == "undo":
        await hub.undo_rewind(session_id)
    else:
        seen = await hub.rewind_preview(session_id, prompts(runtime.s)[0].id)
        await hub.rewind(session_id, seen, Scope(what))

asyncio.run(main())
"""


async def killed(work: Any, home: Path, what: str, at: int) -> None:
    """Do it in a process of its own, which is killed when so many files are replaced, or when the restore is recorded."""
    await work.bench.hub.close("the test goes on elsewhere")
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", HERMES, str(home), work.id, what, str(at))
    assert await process.wait() == -signal.SIGKILL


async def changed_files(work: Any, workspace: Path) -> None:
    for number in range(FILES):
        (workspace / f"f{number}").write_text(f"old {number}\n")
    await work.shell("go", "for f in f*; do echo new > $f; done; echo new > made; mkdir d")


async def reopened(open_bench: Any, work: Any) -> Any:
    """The same session in another process, as far as it knows."""
    again = await open_bench()
    await again.hub.open(work.id)
    work.bench, again.session_id = again, work.id
    return again.hub.runtime(work.id).s


def without_drafts(standing: dict[str, Any]) -> dict[str, Any]:
    """A kill may leave one file that was being written."""
    return {path: what for path, what in standing.items() if not path.endswith(".tmp")}


@pytest.mark.parametrize("at", [RECORD, FIRST, MIDDLE, FILES - 1])
@pytest.mark.parametrize("scope", [Scope.BOTH, Scope.FILES])
async def test_a_rewind_that_is_killed_is_not_done_or_finished_by_the_next_opening(
    work: Any, home: Path, workspace: Path, open_bench: Any, look: Any, at: int, scope: Scope
) -> None:
    await changed_files(work, workspace)
    after = look(workspace)
    await killed(work, home, scope, at)
    s = await reopened(open_bench, work)
    if at == RECORD:
        assert (look(workspace), work.said, s.opening_notice) == (after, ["go", "did go"], "")
        await work.rewind("go", scope)
    else:
        assert "That was finished now" in s.opening_notice
    restored = [(workspace / f"f{number}").read_text() for number in range(FILES)]
    assert restored == [f"old {number}\n" for number in range(FILES)]
    assert ((workspace / "made").exists(), (workspace / "d").exists()) == (False, False)
    assert work.said == ([] if scope is Scope.BOTH else ["go", "did go"])
    await work.undo()
    assert (without_drafts(look(workspace)), work.said) == (after, ["go", "did go"])


@pytest.mark.parametrize("at", [RECORD, FIRST, MIDDLE])
async def test_an_undo_that_is_killed_is_not_done_or_finished_by_the_next_opening(
    work: Any, home: Path, workspace: Path, open_bench: Any, look: Any, at: int
) -> None:
    await changed_files(work, workspace)
    after = look(workspace)
    await work.rewind("go")
    before = look(workspace)
    await killed(work, home, "undo", at)
    await reopened(open_bench, work)
    if at == RECORD:
        assert (look(workspace), work.said) == (before, [])
        await work.undo()
    assert (without_drafts(look(workspace)), work.said) == (after, ["go", "did go"])


async def test_what_a_person_changed_behind_the_kill_is_left_alone(
    work: Any, home: Path, workspace: Path, open_bench: Any
) -> None:
    await changed_files(work, workspace)
    await killed(work, home, Scope.BOTH, MIDDLE)
    (workspace / f"f{FILES - 1}").write_text("by hand\n")
    s = await reopened(open_bench, work)
    assert "left alone 1." in s.opening_notice
    assert (workspace / f"f{FILES - 1}").read_text() == "by hand\n"
    assert (workspace / f"f{FILES - 2}").read_text() == f"old {FILES - 2}\n"


async def test_a_rest_that_the_conversation_has_left_behind_is_told_and_not_done(
    work: Any, home: Path, workspace: Path, open_bench: Any
) -> None:
    """Somebody who had the session open went on with it meanwhile."""
    await changed_files(work, workspace)
    other = await open_bench()
    await other.hub.open(work.id)
    other.session_id = work.id
    await killed(work, home, Scope.BOTH, FIRST)
    work.served.reply(text="more")
    await other.ask("and then")
    s = await reopened(open_bench, work)
    assert (s.opening_notice, (workspace / "f0").read_text()) == (WENT_ON, "new\n")
    assert (await reopened(open_bench, work)).opening_notice == ""


async def test_a_full_disk_takes_nothing_back(work: Any, workspace: Path, look: Any, full_disk: Any) -> None:
    await work.shell("go", "echo 1 > a")
    seen, before = await work.preview("go"), look(workspace)
    for scope in Scope:
        with full_disk(), pytest.raises(UserError):
            await work.bench.hub.rewind(work.id, seen, scope)
    assert (look(workspace), work.said) == (before, ["go", "did go"])
    await work.bench.hub.rewind(work.id, await work.preview("go"), Scope.BOTH)
    assert not (workspace / "a").exists()
