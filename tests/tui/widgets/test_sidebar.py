"""The list of sessions: state by sign and word, titles as text, the newest on top, all of them when looked through."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace
from textual.app import App, ComposeResult

from agent.config.display_settings import Grouping
from agent.session_lines import SessionLine
from agent.session_run import Live
from session.models import Session, TitleSource
from session.status import Status
from tui.widgets.session_rows import Group, Placed, grouped
from tui.widgets.sidebar import Sidebar

NOON = time.mktime((2026, 6, 17, 12, 0, 0, 0, 0, -1))
HOUR_S, DAY_S = 3_600, 86_400


def line(id: str, title: str, state: Live = Live.IDLE, *, at: float = 0.0, **fields) -> SessionLine:
    workspace = fields.pop("workspace", "/w")
    is_pinned = fields.pop("is_pinned", False)
    session = Session(id, "tui", title, TitleSource.DERIVED, workspace, workspace, at, at, is_pinned=is_pinned)
    return SessionLine(session, state, fields.pop("is_unread", False), 0, **fields)


class Beside(App[None]):
    AUTO_FOCUS = None

    def __init__(self, stored: Sequence[SessionLine] = (), clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.stored = stored
        self.reads = 0
        self.sidebar = Sidebar(self.everything, clock)

    async def everything(self) -> Sequence[SessionLine]:
        self.reads += 1
        return self.stored

    def compose(self) -> ComposeResult:
        yield self.sidebar

    def on_mount(self) -> None:
        self.sidebar.fit(120)

    @property
    def sessions(self):
        return self.sidebar.sessions

    @property
    def rows(self) -> list[str]:
        return [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]


@pytest.mark.parametrize(
    ("state", "fields", "told"),
    [
        (Live.IDLE, {}, "○ idle"),
        (Live.WORKING, {}, "● working"),
        (Live.ASKING, {}, "? asking"),
        (Live.FAILED, {}, "✗ failed"),
        (Live.IDLE, {"is_unread": True}, "◆ unread"),
        (Live.FAILED, {"is_unread": True}, "✗ failed"),
        (Live.IDLE, {"standing": Status.CUT}, "◌ cut"),
        (Live.IDLE, {"standing": Status.WAITING}, "? waiting"),
        (Live.IDLE, {"standing": Status.WORKING}, "● working elsewhere"),
    ],
)
async def test_a_state_is_told_by_a_sign_and_a_word(state: Live, fields: dict, told: str):
    app = Beside()
    async with app.run_test(size=(60, 20)) as pilot:
        app.sessions.put(line("a", "One", state, **fields))
        await pilot.pause()
        assert any(told in row for row in app.rows)


async def test_how_long_a_turn_runs_stands_at_the_end_of_its_row_and_goes_on():
    now = [65.0]
    app = Beside(clock=lambda: now[0])
    async with app.run_test(size=(60, 20)) as pilot:
        app.sessions.put(line("a", "One", Live.WORKING, working_since=1.0))
        await pilot.pause()
        assert any(row.endswith("● working          1m 04s") for row in app.rows)
        now[0] = 66.0
        app.sessions._tick()
        await pilot.pause()
        assert any("1m 05s" in row for row in app.rows)


@pytest.mark.parametrize(
    "title", ["[/", "[/]", "[bold]x", "[red", "]", "[@click=app.quit]x[/]", r"\[x]", "$accent {x}"]
)
async def test_D01_a_title_is_text(title: str):
    app = Beside()
    async with app.run_test(size=(60, 20)) as pilot:
        app.sessions.put(line("a", title))
        await pilot.pause()
        assert any(row.endswith(title) for row in app.rows)


async def test_D09_a_long_title_is_cut_between_characters():
    app = Beside()
    async with app.run_test(size=(60, 20)) as pilot:
        app.sessions.put(line("a", "👩🏽‍💻" * 40))
        await pilot.pause()
        row = next(row for row in app.rows if "…" in row).strip()
        assert row.removesuffix("…").replace("👩🏽‍💻", "") == ""


async def test_E22_control_characters_in_a_title_do_not_reach_the_screen():
    app = Beside()
    async with app.run_test(size=(60, 20)) as pilot:
        app.sessions.put(line("a", "x\x1b[31m\ny"))
        await pilot.pause()
        assert any(r"x\x1b[31m y" in row for row in app.rows)


# --- the order


def groups(by: Grouping, *lines: SessionLine) -> list[Group]:
    return grouped([Placed(one.session, one.session.last_activity_at) for one in lines], by, NOON)


def test_sessions_stand_by_day_the_newest_first_and_what_is_pinned_on_top():
    lines = [
        line("old", "", at=NOON - 7 * DAY_S),
        line("week", "", at=NOON - 6 * DAY_S),
        line("yesterday", "", at=NOON - 13 * HOUR_S),
        line("morning", "", at=NOON - 12 * HOUR_S),
        line("now", "", at=NOON),
        line("pinned", "", at=1.0, is_pinned=True),
    ]
    assert groups(Grouping.DAY, *lines) == [
        Group("Pinned", ["pinned"]),
        Group("Today", ["now", "morning"]),
        Group("Yesterday", ["yesterday"]),
        Group("This week", ["week"]),
        Group("Older", ["old"]),
    ]


def test_E12_projects_of_one_name_stand_apart_and_are_told_by_their_folders():
    lines = [
        line("1", "", at=1.0, workspace="/a/site"),
        line("2", "", at=2.0, workspace="/b/site"),
        line("3", "", at=3.0, workspace="/b/map"),
        line("4", "", at=4.0, workspace="/a/site"),
    ]
    assert groups(Grouping.PROJECT, *lines) == [
        Group("a/site", ["4", "1"]),
        Group("map", ["3"]),
        Group("b/site", ["2"]),
    ]


async def test_a_row_moves_up_when_a_turn_begins_in_it_and_not_with_what_is_said():
    app = Beside()
    async with app.run_test(size=(60, 20)):
        app.sessions.sync([line("b", "Beta", at=2.0), line("a", "Alpha", at=1.0)])
        app.sessions.put(line("a", "Alpha", Live.WORKING, at=9.0))
        assert app.sessions.keys == ["b", "a"]
        app.sessions.lift("a")
        assert app.sessions.keys == ["a", "b"]


async def test_a_list_read_from_the_store_takes_the_place_of_the_one_before():
    app = Beside()
    async with app.run_test(size=(60, 20)):
        app.sessions.sync([line("b", "Beta", at=2.0), line("a", "Alpha", at=1.0)])
        app.sessions.sync([line("c", "Gamma", at=3.0), line("b", "Better", at=2.0)])
        assert app.sessions.keys == ["c", "b"]
        known = app.sessions.line("b")
        assert known and known.session.title == "Better"


async def test_archived_and_deleted_sessions_leave_the_list_but_for_the_shown_one():
    app = Beside()
    async with app.run_test(size=(60, 20)):
        one = line("a", "Alpha", at=1.0)
        app.sessions.put(one)
        app.sessions.show("a")
        archived = replace(one, session=replace(one.session, is_archived=True))
        app.sessions.put(archived)
        assert app.sessions.keys == ["a"]
        app.sessions.show("")
        app.sessions.put(archived)
        assert app.sessions.keys == []


async def test_a_change_draws_only_its_own_row_anew():
    app = Beside()
    async with app.run_test(size=(60, 20)) as pilot:
        app.sessions.sync([line("b", "Beta", at=2.0), line("a", "Alpha", at=1.0)])
        await pilot.pause()
        drawn = dict(app.sessions._drawn)
        app.sessions.put(line("a", "Alpha", Live.WORKING, at=1.0))
        await pilot.pause()
        assert any("working" in row for row in app.rows)
        changed = [place for place, strips in app.sessions._drawn.items() if drawn.get(place) is not strips]
        assert changed == [2]  # a heading, Beta, Alpha


# --- looking through it


async def test_all_sessions_are_read_when_it_gets_the_focus_and_let_go_when_it_is_left():
    stored = [line(f"s{number:03}", f"Session {number}", at=float(number)) for number in range(200)]
    app = Beside(stored)
    async with app.run_test(size=(60, 20)) as pilot:
        app.sessions.sync(stored[-50:])
        assert (app.sessions.count, app.reads) == (50, 0)
        app.sessions.focus()
        await pilot.pause()
        assert (app.sessions.count, app.reads) == (200, 1)
        await pilot.press("end")
        assert app.sessions.marked == "s000"
        app.sessions.sync(stored[-50:])  # another process wrote something: what is older stays
        assert app.sessions.count == 200
        app.sessions.leave()
        assert app.sessions.count == 50


async def test_what_is_typed_finds_titles_and_projects():
    stored = [
        line("a", "Fix the Ünïcode bug", at=3.0, workspace="/w/atlas"),
        line("b", "Fix the build", at=2.0, workspace="/w/site"),
        line("c", "Draw the coast", at=1.0, workspace="/w/atlas"),
    ]
    app = Beside(stored)
    async with app.run_test(size=(60, 20)) as pilot:
        app.sessions.sync(stored)
        app.sessions.focus()
        await pilot.press(*"atlas fix")
        assert app.sessions.keys == ["a"]
        assert any("/ atlas fix▏ 1 found" in row for row in app.rows)
        await pilot.press("ctrl+u", *"ÜNÏ", "backspace")
        assert app.sessions.keys == ["a"]
        await pilot.press("escape")
        assert app.sessions.keys == ["a", "b", "c"]


async def test_ten_thousand_sessions_draw_no_more_than_those_in_sight():
    stored = [line(f"s{number:05}", f"Session {number}", at=float(number)) for number in range(10_000)]
    app = Beside(stored)
    async with app.run_test(size=(60, 30)) as pilot:
        app.sessions.sync(stored[-50:])
        app.sessions.focus()
        await pilot.pause()
        await pilot.press("end", "pageup", "home", *"99")
        assert any("Session 9999" in row for row in app.rows)
        assert len(app.sessions._drawn) < 20
