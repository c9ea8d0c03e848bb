"""The view in a running app: where it stands, what it repaints, and that it never takes the keys."""

from __future__ import annotations

import subprocess
import sys

from textual.widgets import TextArea

from agent.events import AnswerRestarted, Stamp
from session.models import Approval, CallOutcome, CallResult, Role, ToolCall

AT = Stamp("default", "s", 1)


def conversation(told, turns: int):
    return [row for n in range(turns) for row in (told.prompt(f"question {n}"), told.answer(f"answer {n}\n\n- a\n- b"))]


async def test_it_opens_at_the_end_and_follows(stage, told):
    stage.view.open(conversation(told, 40))
    await stage.pilot.pause()
    assert stage.view.is_following
    await stage.apply(told.stored(told.prompt("and now?")))
    assert stage.lines[-1].strip() == "▌ and now?"


async def test_an_empty_conversation_shows_its_intro_as_literal_text(stage, told):
    stage.view.open([], intro="Welcome [/]\nsay something")
    await stage.pilot.pause()
    assert [line.strip() for line in stage.lines[:3]] == ["", "Welcome [/]", "say something"]


async def test_D14_scrolled_up_the_view_stays_says_what_is_new_and_end_returns(stage, told):
    stage.view.open(conversation(told, 40))
    for _ in range(3):
        stage.view.action_page_up()
    await stage.pilot.pause()
    before = stage.lines
    for n in range(0, 200, 10):
        await stage.apply(*(told.says(f"chunk {m}\n") for m in range(n, n + 10)))
    assert stage.lines[:-1] == before[:-1]
    assert "new below" in stage.lines[-1]
    stage.view.action_scroll_end()
    await stage.pilot.pause()
    assert "chunk 199" in stage.lines[-1]
    assert stage.view.is_following


async def test_the_wheel_stops_following_and_reaching_the_end_follows_again(stage, told):
    stage.view.open(conversation(told, 40))
    stage.view.scroll_lines(-3)
    assert not stage.view.is_following
    stage.view.scroll_lines(3)
    assert stage.view.is_following


async def test_scrolling_up_and_down_passes_every_line_once(stage, told):
    """Heights are estimated and corrected on the way; the text itself never jumps or repeats."""
    stage.view.open(conversation(told, 12))
    stage.view.action_scroll_home()
    await stage.pilot.pause()
    seen = [stage.lines[0]]
    while not stage.view.is_following:
        stage.view.scroll_lines(1)
        await stage.pilot.pause()
        seen.append(stage.lines[0])
    seen += stage.lines[1:]
    asked = [line.strip() for line in seen if "question" in line]
    assert asked == [f"▌ question {n}" for n in range(12)]


async def test_a_resize_and_a_theme_keep_the_top_row(stage, told):
    stage.view.open(conversation(told, 40))
    stage.view.action_page_up()
    stage.view.action_page_up()
    await stage.pilot.pause()
    top = stage.lines[0]
    await stage.pilot.resize_terminal(60, 24)
    assert stage.lines[0] == top
    stage.app.theme = "textual-light"
    await stage.pilot.pause()
    assert stage.lines[0] == top


async def test_D03_a_fence_that_streams_survives_focus_theme_and_resize(stage, told):
    stage.view.open([])
    await stage.apply(told.says("Ex:\n\n```python\n"), told.says("body = 1\n"), told.says("```\n"))
    await stage.pilot.click("TranscriptView", offset=(4, 4))
    stage.app.theme = "textual-light"
    await stage.pilot.resize_terminal(70, 20)
    await stage.pilot.pause()
    assert any("body = 1" in line for line in stage.lines)


async def test_a_shrinking_document_leaves_no_row_behind(stage, told):
    stage.view.open([told.prompt("hi")])
    await stage.apply(told.says("withdrawn words\n\n" * 30))
    await stage.apply(AnswerRestarted(AT, 2, 5, "The connection broke.", 0.1))
    assert [line.strip() for line in stage.lines if line] == [
        "▌ hi",
        "The connection broke. Asking again (2 of 5) …",
    ]


async def test_a_click_opens_a_card_and_the_composer_keeps_the_focus(stage, told):
    output = "\n".join(f"line {n}" for n in range(15))
    result = CallResult("a", "terminal", CallOutcome.OK, Approval.ALLOWED_ONCE)
    calls = (ToolCall("a", "terminal", '{"command":"seq"}'),)
    stage.view.open([told.answer("", calls=calls), told.row(Role.TOOL, output, result=result)])
    await stage.pilot.pause()
    assert not any("line 7" in line for line in stage.lines)
    await stage.pilot.click("TranscriptView", offset=(10, 1))
    await stage.pilot.pause()
    assert any("line 7" in line for line in stage.lines)
    assert isinstance(stage.app.focused, TextArea)
    stage.view.action_toggle_card()
    await stage.pilot.pause()
    assert not any("line 7" in line for line in stage.lines)


async def test_a_tab_switch_of_conversations_shows_only_the_new_one(stage, told):
    stage.view.open(conversation(told, 40))
    stage.view.action_page_up()
    stage.view.open([told.prompt("other")])
    await stage.pilot.pause()
    assert [line.strip() for line in stage.lines if line] == ["▌ other"]
    assert stage.view.is_following


async def test_D13_a_chunk_draws_only_the_open_answer_behind_any_number_of_messages(stage, told):
    from tui.transcript.layout import Layout

    stage.view.open(conversation(told, 1_000))
    await stage.apply(told.says("Hello "))
    drawn = []
    draw = Layout._draw  # pyright: ignore[reportPrivateUsage]
    Layout._draw = lambda self, index, block: drawn.append(index) or draw(self, index, block)
    try:
        await stage.apply(told.says("world"))
    finally:
        Layout._draw = draw
    assert drawn == [2_000]


async def test_before_formatting_is_there_the_source_is_shown(told, monkeypatch):
    from textual.app import App

    from tui.transcript.view import TranscriptView

    class Bare(App[None]):
        def compose(self):
            yield TranscriptView()

    monkeypatch.setattr("tui.transcript.view.WARM_AFTER_S", 600)
    app = Bare()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.query_one(TranscriptView)
        view.open([told.answer("**bold**")])
        await pilot.pause()
        row = app.screen._compositor.render_strips()[1].text  # pyright: ignore[reportPrivateUsage]
        assert row.strip() == "**bold**"
        view.formatting_ready()
        await pilot.pause()
        row = app.screen._compositor.render_strips()[1].text  # pyright: ignore[reportPrivateUsage]
        assert row.strip() == "bold"


def test_the_view_loads_neither_markdown_nor_highlighting():
    code = "import sys, tui.transcript.view; print([m for m in ('markdown_it', 'pygments', 'rich.markdown') if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"


async def test_formatting_comes_by_itself_soon_after_the_first_frame(told):
    from textual.app import App

    from tui.transcript.view import TranscriptView

    class Bare(App[None]):
        def compose(self):
            yield TranscriptView()

    app = Bare()
    async with app.run_test(size=(40, 10)) as pilot:
        app.query_one(TranscriptView).open([told.answer("**bold**")])
        for _ in range(200):
            await pilot.pause(0.02)
            if app.screen._compositor.render_strips()[1].text.strip() == "bold":  # pyright: ignore[reportPrivateUsage]
                return
    raise AssertionError("still plain after 4 s")
