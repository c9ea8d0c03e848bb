"""The list of sessions: state by sign and word, titles as text, one option changed at a time."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from textual.app import App, ComposeResult

from agent.hub import SessionLine
from agent.runtime import Live
from session.models import Session, TitleSource
from tui.widgets.sidebar import Sidebar


def line(id: str, title: str, state: Live = Live.IDLE, *, is_unread: bool = False) -> SessionLine:
    session = Session(id, "tui", title, TitleSource.DERIVED, "/w", "/w", 0.0, 0.0)
    return SessionLine(session, state, is_unread, 0)


class Beside(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.sidebar = Sidebar()

    def compose(self) -> ComposeResult:
        yield self.sidebar

    @property
    def rows(self) -> list[str]:
        return [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]


@pytest.mark.parametrize(
    ("state", "is_unread", "told"),
    [
        (Live.IDLE, False, "○ idle"),
        (Live.WORKING, False, "● working"),
        (Live.ASKING, False, "? asking"),
        (Live.FAILED, False, "✗ failed"),
        (Live.IDLE, True, "◆ unread"),
        (Live.FAILED, True, "✗ failed"),
    ],
)
async def test_a_state_is_told_by_a_sign_and_a_word(state: Live, is_unread: bool, told: str):
    app = Beside()
    async with app.run_test(size=(60, 20)) as pilot:
        app.sidebar.sessions.put(line("a", "One", state, is_unread=is_unread))
        await pilot.pause()
        assert any(told in row for row in app.rows)


@pytest.mark.parametrize(
    "title", ["[/", "[/]", "[bold]x", "[red", "]", "[@click=app.quit]x[/]", r"\[x]", "$accent {x}"]
)
async def test_D01_a_title_is_text(title: str):
    app = Beside()
    async with app.run_test(size=(60, 20)) as pilot:
        app.sidebar.sessions.put(line("a", title))
        await pilot.pause()
        assert any(row.endswith(title) for row in app.rows)


async def test_D09_a_long_title_is_cut_between_characters():
    app = Beside()
    async with app.run_test(size=(60, 20)) as pilot:
        app.sidebar.sessions.put(line("a", "👩🏽‍💻" * 40))
        await pilot.pause()
        row = next(row for row in app.rows if "…" in row).strip()
        assert row.removesuffix("…").replace("👩🏽‍💻", "") == ""


async def test_E22_control_characters_in_a_title_do_not_reach_the_screen():
    app = Beside()
    async with app.run_test(size=(60, 20)) as pilot:
        app.sidebar.sessions.put(line("a", "x\x1b[31m\ny"))
        await pilot.pause()
        assert any(r"x\x1b[31m y" in row for row in app.rows)


async def test_a_new_session_stands_on_top_and_stored_ones_below():
    app = Beside()
    async with app.run_test(size=(60, 20)) as pilot:
        sessions = app.sidebar.sessions
        sessions.put(line("a", "Alpha"))
        sessions.fill([line("b", "Beta"), line("a", "stale")])
        sessions.put(line("c", "Gamma"))
        await pilot.pause()
        assert [option.id for option in sessions.options] == ["c", "a", "b"]
        assert not any("stale" in row for row in app.rows)


async def test_a_change_touches_only_its_own_option():
    app = Beside()
    async with app.run_test(size=(60, 20)) as pilot:
        sessions = app.sidebar.sessions
        sessions.fill([line("a", "Alpha"), line("b", "Beta")])
        await pilot.pause()
        other = sessions.get_option("b").prompt
        sessions.put(replace(line("a", "Alpha"), state=Live.WORKING))
        await pilot.pause()
        assert sessions.get_option("b").prompt is other
        assert any("working" in row for row in app.rows)
