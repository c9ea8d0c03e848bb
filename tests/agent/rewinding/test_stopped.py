"""A restore of files that a person stops: what is done stays, what is left is told, and /redo has the rest."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from agent.commands.rewind import carry_out, redo
from agent.commands.table import Said, TakenBack
from agent.events import RestoreMoved
from agent.rewinding import Scope
from session.errors import NothingToUndo

FILES = 8
WAIT_S = 30


@pytest.fixture
def stops(work: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Interrupt the session when so many files are replaced, once."""

    def after(number: int) -> None:
        loop, rename = asyncio.get_running_loop(), os.rename
        renamed: list[object] = []

        def watched(*args: Any, **more: Any) -> None:
            rename(*args, **more)
            renamed.append(args)
            if len(renamed) == number:
                was_heard = threading.Event()
                loop.call_soon_threadsafe(lambda: (work.bench.hub.interrupt(work.id), was_heard.set()))
                assert was_heard.wait(WAIT_S)

        monkeypatch.setattr(os, "rename", watched)

    return after


async def changed_files(work: Any, workspace: Path) -> None:
    for number in range(FILES):
        (workspace / f"f{number}").write_text(f"old {number}\n")
    (workspace / "swap").mkdir()
    (workspace / "swap/in").write_text("in\n")
    await work.shell("go", "for f in f*; do echo new > $f; done; echo new > made; rm -r swap; echo file > swap")


def olds(workspace: Path) -> int:
    return sum((workspace / f"f{number}").read_text().startswith("old") for number in range(FILES))


async def test_a_rewind_that_is_stopped_says_what_is_left_and_redo_takes_it_back(
    work: Any, workspace: Path, look: Any, stops: Any
) -> None:
    await changed_files(work, workspace)
    after = look(workspace)
    listener = work.bench.hub.listen(work.id)
    stops(3)
    outcome = await work.rewind("go")
    assert (outcome.is_stopped, olds(workspace), work.said) == (True, 3, [])
    assert len(outcome.done) + len(outcome.failed) == FILES + 3
    moved = [event for event in listener.drain() if isinstance(event, RestoreMoved)]
    assert moved[-1].done is None
    await work.undo()
    assert (look(workspace), work.said) == (after, ["go", "did go"])
    with pytest.raises(NothingToUndo):
        await work.undo()


async def test_an_undo_that_is_stopped_is_gone_on_with_by_the_next_one(
    work: Any, workspace: Path, look: Any, stops: Any
) -> None:
    await changed_files(work, workspace)
    after = look(workspace)
    await work.rewind("go")
    stops(3)
    said = await redo(work.bench.hub, work.id, "")
    assert isinstance(said, Said) and "Stopped: " in said.text and said.text.endswith("/redo brings back the rest.")
    assert (0 < olds(workspace) < FILES, work.said) == (True, ["go", "did go"])
    said = await redo(work.bench.hub, work.id, "")
    assert isinstance(said, Said) and "Stopped" not in said.text
    assert look(workspace) == after
    with pytest.raises(NothingToUndo):
        await work.undo()


async def test_a_folder_in_the_place_of_a_file_comes_back_wherever_a_rewind_was_stopped(
    work: Any, workspace: Path, look: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "swap").mkdir()
    await work.shell("go", "rmdir swap; echo file > swap; mkdir other; echo x > gone; chmod 500 other")
    after = look(workspace)
    history = work.runtime.s.parts.history_for(work.runtime.s.session)
    unlink = os.unlink

    def unlink_and_stop(path: Any, **more: Any) -> None:
        unlink(path, **more)
        if os.fspath(path) == "swap":
            history.stop()

    monkeypatch.setattr(os, "unlink", unlink_and_stop)
    outcome = await work.rewind("go")
    monkeypatch.setattr(os, "unlink", unlink)
    assert (outcome.is_stopped, (workspace / "swap").exists()) == (True, False)
    outcome = await work.undo()
    assert (look(workspace), outcome.failed) == (after, ())


async def test_a_retry_that_is_stopped_sends_nothing(work: Any, workspace: Path, stops: Any) -> None:
    await changed_files(work, workspace)
    stops(2)
    seen = await work.preview("go")
    effect = await carry_out(work.bench.hub, work.id, seen, Scope.BOTH, is_retry=True)
    assert isinstance(effect, TakenBack)
    assert (effect.prompt, work.said, work.runtime.is_busy) == ("go", [], False)
    assert "Stopped: " in effect.said and effect.said.endswith("/redo undoes that.")
