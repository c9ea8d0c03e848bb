"""/rewind, /undo, /redo, /retry and /branch on the screen."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from agent.approvals.shell_verdict import Mode
from session.models import Role
from tui.app import HermesApp
from tui.screens.rewind import PromptChoice, RewindScreen

CONFIG = "auxiliary: {titles: false}\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "work"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All lines that passed, also those that are gone from the screen by now."""
    lines: list[str] = []
    show = HermesApp.notify

    def notify(app: HermesApp, message: str, **more: Any) -> None:
        lines.append(message)
        show(app, message, **more)

    monkeypatch.setattr(HermesApp, "notify", notify)
    return lines


def said(d: Any) -> list[str]:
    return [row.content for row in d.main.runtime.s.rows if row.role in (Role.USER, Role.ASSISTANT) and row.content]


def unbroken(d: Any) -> str:
    """What stands in a box on the screen, as one line."""
    return " ".join(" ".join(line.strip(" │") for line in d.text.splitlines()).split())


async def exchange(d: Any, prompt: str, *commands: str) -> None:
    """A prompt, the commands it leads to, and an answer; nothing is asked."""
    await d.main.runtime.set_mode(Mode.YOLO)
    if commands:
        d.script.says("", *commands)
    d.script.says(f"did {prompt}")
    await d.send(prompt)
    await d.until(lambda: not d.script.answers)
    await d.until(lambda: said(d)[-1:] == [f"did {prompt}"])
    await d.idle()


async def preview(d: Any, line: str = "/rewind") -> Any:
    """What the last prompt leads to, armed."""
    await d.send(line)
    if line == "/rewind":
        await d.until(lambda: isinstance(d.app.screen, PromptChoice) and d.app.screen.focused)
        await d.press("enter")
    await d.until(lambda: isinstance(d.app.screen, RewindScreen))
    return await d.asked()


async def back(d: Any) -> None:
    await d.until(lambda: d.app.screen is d.main)
    await d.until(lambda: not d.main.runtime.is_busy)


@pytest.mark.parametrize("size", [(80, 24), (160, 50), (40, 12)])
async def test_a_rewind_is_shown_before_it_is_made_and_brought_back(desk, script, work, told, size):
    async with desk(size=size, config=CONFIG) as d:
        (work / "kept").write_text("old\n")
        await exchange(d, "first")
        await exchange(d, "second", "echo new > kept; echo made > made")
        await preview(d)
        if size[1] >= 24:
            assert "4 messages leave the conversation" in unbroken(d)
            assert "restore kept" in unbroken(d) and "remove made" in unbroken(d)
        assert (work / "kept").read_text() == "new\n"
        await d.press("1")
        await back(d)
        await d.until(lambda: told)
        assert ((work / "kept").read_text(), (work / "made").exists()) == ("old\n", False)
        assert (said(d), d.draft) == (["first", "did first"], "second")
        assert told[-1] == "4 messages taken back and 2 files restored. /redo undoes that."
        await d.press("ctrl+c")
        await d.send("/redo")
        await d.until(lambda: told[-1] == "4 messages and 2 files are back.")
        assert ((work / "kept").read_text(), (work / "made").exists()) == ("new\n", True)
        assert len(said(d)) == 4


async def test_cancel_is_marked_and_esc_leads_back_to_the_prompts_and_out(desk, script, work):
    async with desk(size=(80, 24), config=CONFIG) as d:
        await exchange(d, "first")
        await exchange(d, "second", "echo new > made")
        await preview(d)
        await d.press("enter")
        await d.until(lambda: isinstance(d.app.screen, PromptChoice))
        await d.press("escape")
        await back(d)
        await d.press(*"draft")
        assert (d.draft, (work / "made").exists(), len(said(d))) == ("draft", True, 4)


async def test_keys_of_the_first_moment_and_digits_behind_the_answers_decide_nothing(desk, script, work):
    async with desk(size=(80, 24), config=CONFIG, arm_ms=2_000) as d:
        await exchange(d, "first", "echo new > made")
        await d.send("/undo")
        await d.until(lambda: isinstance(d.app.screen, RewindScreen))
        await d.press("1", "enter", "2", "a", "1")
        assert isinstance(d.app.screen, RewindScreen) and not d.app.screen.is_armed
        await d.press("ctrl+c")
        await back(d)
        assert (len(said(d)), (work / "made").exists()) == (2, True)
    async with desk(size=(80, 24), config=CONFIG) as d:
        await exchange(d, "first", "echo new > other")
        await preview(d, "/retry")
        await d.press("5")
        assert isinstance(d.app.screen, RewindScreen) and d.app.screen.is_armed


async def test_a_conflict_is_restored_only_when_it_is_ticked(desk, script, work, told):
    async with desk(size=(80, 24), config=CONFIG) as d:
        await exchange(d, "first", "echo 1 > a; echo 1 > b")
        for name in "ab":
            (work / name).write_text("by hand\n")
        screen = await preview(d)
        assert "[ ] remove a" in unbroken(d) and "it was changed since, and not by this session" in unbroken(d)
        assert "only conflicts, and none is ticked" in d.text
        await d.press("1")
        assert d.app.screen is screen
        await d.asked()
        await d.press("tab", "tab", "space")
        assert "▸ [x] remove b" in unbroken(d)
        await d.press("1")
        await back(d)
        await d.until(lambda: told)
        assert ((work / "a").read_text(), (work / "b").exists()) == ("by hand\n", False)
        assert "a: it was changed since, and not by this session" in told[-1]


async def test_the_preview_follows_the_size_of_the_terminal_and_keeps_its_ticks(desk, script, work):
    async with desk(size=(120, 40), config=CONFIG) as d:
        await exchange(d, "first", "echo 1 > a")
        (work / "a").write_text("by hand\n")
        screen = await preview(d)
        await d.press("tab", "space")
        for size in ((80, 24), (40, 12), (24, 8), (120, 40)):
            await d.resize(*size)
            await d.pilot.pause()
        await d.asked()
        assert "▸ [x] remove" in d.text and d.app.screen is screen


async def test_undo_gives_back_the_prompt_unless_something_else_is_written(desk, script, told):
    async with desk(size=(80, 24), config=CONFIG) as d:
        await exchange(d, "first")
        await exchange(d, "second")
        await d.send("/undo")
        await d.until(lambda: told)
        assert (said(d), d.draft) == (["first", "did first"], "second")
        assert told[-1] == "2 messages taken back. /redo undoes that."
        d.main.sending.take("/undo")
        d.main.composer.set_draft("other")
        await d.until(lambda: said(d) == [])
        await d.until(lambda: len(told) == 2)
        assert d.draft == "other"


async def test_a_retry_that_would_undo_files_asks_and_sends_the_prompt_again(desk, script, work):
    async with desk(size=(80, 24), config=CONFIG) as d:
        await exchange(d, "first", "echo 1 > a")
        await preview(d, "/retry")
        d.script.says("better")
        await d.press("1")
        await back(d)
        await d.until(lambda: said(d) == ["first", "better"])
        assert ((work / "a").exists(), d.draft) == (False, "")


async def test_branching_off_leaves_the_conversation_and_its_files_as_they_are(desk, script, work):
    async with desk(size=(80, 24), config=CONFIG) as d:
        await exchange(d, "first")
        await exchange(d, "second", "echo 1 > a")
        original = d.shown
        await preview(d)
        await d.press("4")
        await d.until(lambda: d.shown != original)
        await d.until(lambda: d.draft == "second")
        assert (said(d), (work / "a").exists()) == (["first", "did first"], True)
        assert d.main.runtime.s.session.title == "first (branch)"
        assert len(d.hub.runtime(original).s.rows) > 4


async def test_where_a_turn_runs_nothing_is_taken_back(desk, script, told):
    async with desk(size=(80, 24), config=CONFIG) as d:
        await exchange(d, "first")
        gate = script.holds("thinking")
        await d.send("second")
        await d.until(lambda: d.main.runtime.is_busy)
        for line in ("/rewind", "/undo", "/redo", "/retry", "/branch"):
            told.clear()
            d.main.composer.clear()
            await d.send(line)
            await d.until(lambda: told)
            assert "has to wait until this turn ends" in told[-1]
        gate.set()
        await d.until(lambda: said(d)[-1] == "thinking end")


async def test_D01_prompts_and_paths_are_no_markup(desk, script, work):
    async with desk(size=(80, 24), config=CONFIG) as d:
        await exchange(d, "[bold]x[/] y", "touch '[red]a[]'")
        await preview(d)
        assert "“[bold]x[/] y”" in d.text and "remove     [red]a[]" in d.text


async def test_a_restore_shows_how_far_it_is_and_esc_stops_it(desk, script, work, told, monkeypatch):
    goes_on, rename, renamed = threading.Event(), os.rename, []

    def slow(*args: Any, **more: Any) -> None:
        rename(*args, **more)
        renamed.append(args)
        if len(renamed) == 3:
            assert goes_on.wait(30)

    async with desk(size=(80, 24), config=CONFIG) as d:
        for name in "abcdef":
            (work / name).write_text("old\n")
        await exchange(d, "first", "for f in *; do echo new > $f; done")
        await preview(d)
        monkeypatch.setattr(os, "rename", slow)
        await d.press("1")
        await d.until(lambda: "restoring 2 of 6" in d.text and "esc cancels" in d.text)
        await d.press("escape")
        goes_on.set()
        await d.until(lambda: told)
        stopped = "Stopped: 3 files are left as before."
        assert told[-1] == f"4 messages taken back and 3 files restored. {stopped} /redo undoes that."
        assert [(work / name).read_text() for name in "cd"] == ["old\n", "new\n"]
        await d.until(lambda: "restoring" not in d.text)
        await d.press("ctrl+c")
        await d.send("/redo")
        await d.until(lambda: told[-1] == "4 messages and 3 files are back.")
        assert {(work / name).read_text() for name in "abcdef"} == {"new\n"}
