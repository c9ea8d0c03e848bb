"""What one does with sessions: from the list, by commands, over the one that is shown."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from session.models import EndReason, Finish, Message, Role, Session, TitleSource
from session.status import Status
from session.tables import Tables
from tui.screens.approval import ApprovalScreen
from tui.screens.confirm import ConfirmScreen
from tui.screens.preview import PreviewScreen
from tui.screens.search import SearchScreen
from tui.widgets.sidebar import NameField

DAY_S = 86_400


@pytest.fixture
def keep(tmp_path: Path) -> Callable[..., None]:
    """`keep(desk, id, title, said…)`: a session in the store, an hour older than the one that was kept before it."""
    ages = iter(range(1, 1_000))

    def kept(d, session_id: str, title: str, *said: tuple[Role, str], **fields) -> None:
        at, work = time.time() - 3_600 * next(ages), str(tmp_path / "work")

        def store(tables: Tables) -> None:
            tables.sessions.create(Session(session_id, "tui", title, TitleSource.PERSON, work, work, at, at, **fields))
            for role, text in said:
                finish = Finish.STOP if role is Role.ASSISTANT else None
                tables.messages.append(Message(session_id, role, text, at, finish=finish))

        d.hub.profile.db.write(store).result()

    return kept


async def listed(d) -> None:
    """The list as the store has it. What the watcher read before would take the place of it."""
    await d.until(lambda: not d.main._is_showing() or d.main._watcher._version is not None)
    d.main.sessions.sync(await d.hub.catch_up())


def stored(d, session_id: str) -> Session | None:
    return d.hub.profile.db.read(lambda tables: tables.sessions.get(session_id)).result()


async def go_to_list(d, *ids: str) -> None:
    await listed(d)
    await d.press("alt+s")
    await d.until(lambda: d.main.sessions.has_focus and set(ids) <= set(d.main.sessions.keys))


async def mark(d, session_id: str) -> None:
    d.main.sessions.mark(session_id)
    await d.pilot.pause()


# --- the list


async def test_a_session_is_found_by_typing_and_opened_by_enter(desk, keep):
    async with desk() as d:
        keep(d, "one", "Faster import", (Role.USER, "why slow"), (Role.ASSISTANT, "It is read twice."))
        keep(d, "two", "Release notes")
        await go_to_list(d, "one", "two")
        await d.press(*"imp", "enter")
        await d.until(lambda: d.shown == "one" and "It is read twice." in d.text)
        assert d.app.focused is d.main.composer
        assert d.main.sessions.filter_text == ""


async def test_a_click_opens_a_session(desk, keep):
    async with desk() as d:
        keep(d, "one", "Faster import")
        await listed(d)
        await d.until(lambda: "Faster import" in d.text)
        y = next(y for y, row in enumerate(d.text.splitlines()) if "Faster import" in row)
        await d.pilot.click(offset=(5, y))
        await d.until(lambda: d.shown == "one" and d.app.focused is d.main.composer)


async def test_escape_goes_back_to_the_draft(desk):
    async with desk() as d:
        await d.write("half a thought")
        await d.press("f4")
        await d.until(lambda: "ctrl+r rename" in d.text)
        await d.press("escape")
        await d.until(lambda: "ctrl+r rename" not in d.text)
        assert (d.draft, d.app.focused) == ("half a thought", d.main.composer)


async def test_E20_looking_changes_neither_the_order_nor_a_time(desk, keep):
    async with desk() as d:
        keep(d, "newer", "Newer", (Role.USER, "b"), (Role.ASSISTANT, "B"))
        keep(d, "older", "Older one", (Role.USER, "a"), (Role.ASSISTANT, "A"))
        before = stored(d, "older")
        await go_to_list(d, "older")
        order = d.main.sessions.keys
        await mark(d, "older")
        await d.press("enter")
        await d.until(lambda: d.shown == "older" and "A" in d.text)
        await d.press("pageup", "alt+up")
        await d.until(lambda: d.shown == "newer")
        await listed(d)
        after = stored(d, "older")
        assert d.main.sessions.keys == order
        assert before and after and after.last_activity_at == before.last_activity_at


async def test_E22_a_session_is_renamed_from_the_list(desk, keep):
    wanted = {"x" * 300: f"{'x' * 99}…", "/x": "/x", "[bold]": "[bold]", "a  b": "a b"}
    async with desk() as d:
        keep(d, "one", "Faster import")
        await go_to_list(d, "one")
        await mark(d, "one")
        for typed, title in wanted.items():
            await d.press("ctrl+r")
            await d.until(lambda: isinstance(d.app.focused, NameField))
            d.app.focused.value = typed
            await d.press("enter")
            await d.until(lambda title=title: d.main.sessions.line("one").session.title == title)
            found = stored(d, "one")
            assert found and found.title == title
            assert d.main.sessions.has_focus
        await d.press("ctrl+r")
        await d.until(lambda: isinstance(d.app.focused, NameField))
        d.app.focused.value = ""
        await d.press("enter")
        await d.until(lambda: any("at least one character" in toast for toast in d.toasts))


async def test_a_title_that_is_taken_is_told(desk, keep):
    async with desk() as d:
        keep(d, "one", "Faster import")
        keep(d, "two", "Release notes")
        await d.send("/resume two")
        await d.until(lambda: d.shown == "two")
        await d.send("/title Faster import")
        await d.until(lambda: any("already the name of session one" in toast for toast in d.toasts))


async def test_a_session_named_before_its_first_prompt_keeps_the_name(desk, script):
    script.says("ok")
    async with desk() as d:
        await d.send("/title Release 2.4")
        await d.until(lambda: d.toasts)
        await d.send("begin")
        await d.until(lambda: d.hub.runtime(d.shown).s.is_stored)
        await d.idle()
        found = stored(d, d.shown)
        assert found and (found.title, found.title_source) == ("Release 2.4", TitleSource.PERSON)


async def test_a_pinned_session_stands_on_top_however_old_it_is(desk, keep):
    async with desk() as d:
        keep(d, "one", "Faster import")
        keep(d, "old", "From long ago")
        await go_to_list(d, "old")
        await mark(d, "old")
        await d.press("ctrl+k")
        await d.until(lambda: d.main.sessions.keys[0] == "old" and "Pinned" in d.text)
        await d.press("ctrl+k")
        await d.until(lambda: d.main.sessions.keys[-1] == "old" and "Pinned" not in d.text)


async def test_an_archived_session_leaves_the_list_and_its_screen_and_can_be_opened_again(desk, keep, script):
    script.says("ok")
    async with desk() as d:
        keep(d, "one", "Faster import", (Role.USER, "why slow"))
        await d.send("/resume one")
        await d.until(lambda: d.shown == "one")
        await d.send("/archive")
        await d.until(lambda: d.shown != "one" and "one" not in d.main.sessions.keys)
        found = stored(d, "one")
        assert found and (found.is_archived, found.end_reason) == (True, EndReason.ARCHIVED)
        await d.send("/resume Faster")
        await d.until(lambda: d.shown == "one" and "one" in d.main.sessions.keys)
        await d.send("go on")
        await d.until(lambda: d.hub.runtime("one").s.rows[-1].content == "ok")
        await d.idle()
        found = stored(d, "one")
        assert found and (found.is_archived, found.end_reason) == (False, None)


async def test_a_session_in_which_a_turn_runs_is_not_archived(desk, script):
    gate = script.holds("half")
    async with desk() as d:
        await d.send("begin")
        await d.until(lambda: "half" in d.text)
        await d.send("/archive")
        await d.until(lambda: any("still running" in toast for toast in d.toasts))
        gate.set()
        await d.idle()


async def test_nothing_is_deleted_without_a_yes_and_what_goes_is_told_before(desk, keep, tmp_path):
    async with desk() as d:
        keep(d, "one", "Faster import", (Role.USER, "why slow"), (Role.ASSISTANT, "Twice."))
        outputs = tmp_path / "home" / "outputs" / "one"
        outputs.mkdir(parents=True)
        await go_to_list(d, "one")
        await mark(d, "one")
        await d.press("delete")
        await d.asked()
        assert isinstance(d.app.screen, ConfirmScreen)
        assert "“Faster import” goes for good: 2 messages" in d.text
        await d.press("enter")
        await d.until(lambda: d.app.screen is d.main)
        assert stored(d, "one") and d.main.sessions.has_focus
        await d.press("delete")
        await d.asked()
        await d.press("y")
        await d.until(lambda: any(toast.startswith("Deleted") for toast in d.toasts))
        assert stored(d, "one") is None
        assert "one" not in d.main.sessions.keys
        assert not outputs.exists()


async def test_the_shown_session_deleted_makes_room_for_its_neighbour_and_a_turn_in_it_is_stopped(desk, keep, script):
    script.holds("half")
    async with desk() as d:
        keep(d, "one", "Faster import")
        keep(d, "two", "Release notes")
        await listed(d)
        await d.send("/resume one")
        await d.until(lambda: d.shown == "one")
        await d.send("begin")
        await d.until(lambda: "half" in d.text)
        await d.send("/delete")
        await d.asked()
        assert "What runs in it now is stopped." in " ".join(d.text.replace("│", " ").split())
        await d.press("y")
        await d.until(lambda: stored(d, "one") is None)
        await d.until(lambda: d.shown != "one" and "one" not in d.main.sessions.keys)
        assert not d.hub.runtime("one").is_busy


async def test_a_session_is_written_into_its_folder_and_replaces_nothing(desk, keep, tmp_path):
    async with desk() as d:
        keep(d, "one", "Faster: import/export?", (Role.USER, "why slow"), (Role.ASSISTANT, "Twice."))
        await go_to_list(d, "one")
        await mark(d, "one")
        for name in ("Faster-import-export.md", "Faster-import-export-2.md"):
            await d.press("ctrl+e")
            await d.until(lambda name=name: any(f"{name}." in toast for toast in d.toasts))
            assert "Twice." in (tmp_path / "work" / name).read_text()


async def test_an_exact_export_goes_where_it_is_told_to(desk, keep, tmp_path):
    async with desk() as d:
        keep(d, "one", "Faster import", (Role.USER, "why slow"))
        await d.send("/resume one")
        await d.until(lambda: d.shown == "one")
        await d.send(f"/export jsonl {tmp_path / 'kept.jsonl'}")
        await d.until(lambda: any("secrets that were said" in toast for toast in d.toasts))
        assert '"why slow"' in (tmp_path / "kept.jsonl").read_text()
        await d.send(f"/save {tmp_path / 'kept.jsonl'}")
        await d.until(lambda: any("is there already" in toast for toast in d.toasts))


async def test_a_preview_shows_the_first_prompt_and_the_last_answer_and_opens(desk, keep):
    said = [(Role.USER, "why slow"), (Role.ASSISTANT, "Perhaps."), (Role.USER, "sure?"), (Role.ASSISTANT, "Yes.")]
    async with desk() as d:
        keep(d, "one", "Faster import", *said)
        await go_to_list(d, "one")
        await mark(d, "one")
        await d.press("right")
        await d.until(lambda: isinstance(d.app.screen, PreviewScreen) and "Yes." in d.text)
        assert "why slow" in d.text and "Perhaps." not in d.text
        await d.press("escape")
        await d.until(lambda: d.app.screen is d.main)
        assert d.main.sessions.has_focus
        await d.press("right")
        await d.until(lambda: isinstance(d.app.screen, PreviewScreen))
        await d.press("enter")
        await d.until(lambda: d.shown == "one" and d.app.focused is d.main.composer)


async def test_a_question_of_another_session_is_answered_over_the_shown_one(desk, script):
    script.says("I look.", "touch first")
    script.says("And once more.", "touch second")
    script.says("done")
    async with desk() as d:
        asking = d.shown
        await d.send("begin")
        await d.asked()
        new = d.hub.create(Path(d.main.runtime.s.session.cwd)).id
        d.main.show(new)
        await d.until(lambda: d.app.screen is d.main)
        await d.press("alt+s")
        await mark(d, asking)
        for command in ("touch first", "touch second"):
            await d.until(lambda command=command: [ask.shown for ask in d.hub.pending()] == [command])
            await d.press("ctrl+n")
            await d.asked()
            assert isinstance(d.app.screen, ApprovalScreen)
            assert "Run this command? · begin" in d.text and command in d.text
            await d.press("1")
            await d.until(lambda: d.app.screen is d.main)
        await d.until(lambda: d.hub.runtime(asking).s.rows[-1].content == "done")
        await d.until(lambda: d.app.screen is d.main)
        assert d.shown == new
        assert d.main.sessions.has_focus


async def test_a_marked_session_is_gone_on_with_in_a_branch(desk, keep):
    async with desk() as d:
        keep(d, "one", "Faster import", (Role.USER, "why slow"), (Role.ASSISTANT, "It is read twice."))
        await go_to_list(d, "one")
        await mark(d, "one")
        await d.press("ctrl+y")
        await d.until(lambda: "It is read twice." in d.text)
        assert d.shown != "one"
        assert stored(d, d.shown).parent_id == "one"


# --- a narrow screen


async def test_on_a_narrow_screen_the_list_is_a_drawer_that_a_choice_or_escape_closes(desk, keep):
    async with desk(size=(60, 20)) as d:
        keep(d, "one", "Faster import")
        await listed(d)
        await d.press("ctrl+b")
        await d.until(lambda: "Faster import" in d.text and d.main.sessions.has_focus)
        width = d.main.composer.size.width
        await d.press("escape")
        await d.until(lambda: "Faster import" not in d.text and d.app.focused is d.main.composer)
        assert d.main.composer.size.width == width  # it lay over the conversation
        await d.send("/sessions")
        await d.until(lambda: d.main.sessions.has_focus)
        await mark(d, "one")
        await d.press("enter")
        await d.until(lambda: d.shown == "one" and not d.main.sidebar.display)


async def test_a_drawer_stays_while_its_session_gets_a_name_or_is_asked_about(desk, keep):
    async with desk(size=(60, 24)) as d:
        keep(d, "one", "Faster import")
        await listed(d)
        await d.press("ctrl+b")
        await d.until(lambda: d.main.sessions.has_focus)
        await mark(d, "one")
        await d.press("ctrl+r")
        await d.until(lambda: "New name" in d.text)
        await d.press("escape")
        await d.until(lambda: d.main.sessions.has_focus and "New name" not in d.text)
        await d.press("delete")
        await d.asked()
        await d.press("escape")
        await d.until(lambda: d.app.screen is d.main)
        assert d.main.sidebar.display and d.main.sessions.has_focus


# --- search


async def test_search_opens_a_session_at_what_was_found(desk, keep):
    said = [(Role.ASSISTANT, f"Answer {number}: " + "more words " * 40) for number in range(60)]
    said[20] = (Role.ASSISTANT, "The needle lies here.")
    async with desk() as d:
        keep(d, "one", "Haystack", *said)
        await d.write("my draft")
        await d.press("ctrl+f", *"needle")
        await d.until(lambda: isinstance(d.app.screen, SearchScreen) and d.app.screen.searched == "needle")
        await d.until(lambda: "The needle lies" in d.text)
        assert "Haystack" in d.text
        await d.press("enter")
        await d.until(lambda: d.shown == "one" and "The needle lies here." in d.text)
        assert "Answer 59" not in d.text


async def test_E16_anything_can_be_searched_for(desk, keep):
    odd = ["[bold]x[/", '"', "foo AND", "50%", "->"]
    async with desk() as d:
        for number, typed in enumerate(odd):
            keep(d, f"s{number}", f"Haystack {number}", (Role.USER, f"number {number} said {typed} there"))
        for number, typed in enumerate(odd):
            await d.send(f"/search {typed}")
            await d.until(
                lambda number=number: isinstance(d.app.screen, SearchScreen) and f"number {number} said" in d.text
            )
            await d.press("escape")
            await d.until(lambda: d.app.screen is d.main)


async def test_search_follows_what_is_typed_and_says_where_nothing_is_found(desk, keep):
    async with desk(size=(60, 14)) as d:
        keep(d, "one", "Haystack", (Role.USER, "a needle"), (Role.ASSISTANT, "a thread"))
        await d.press("ctrl+f", *"thread")
        await d.until(lambda: "a thread" in d.text)
        await d.press(*"bare")
        await d.until(lambda: "Nothing was said" in d.text and "a thread" not in d.text)
        await d.press("enter")
        await d.resize(40, 12)
        await d.until(lambda: "threadbare" in d.text)
        await d.press("ctrl+c")
        await d.until(lambda: d.app.screen is d.main)


# --- which session is meant


async def test_a_session_is_opened_by_its_id_its_title_their_beginnings_or_a_link(desk, keep):
    names = [
        "20260101-1",
        "Release notes 2.4",
        "20260101",
        "release",
        "@session:20260101-1",
        "@session:gone/20260101-1",
    ]
    async with desk() as d:
        keep(d, "20260101-1", "Release notes 2.4")
        keep(d, "20260202-2", "Faster import")
        for name in names:
            await d.send(f"/resume {name}")
            await d.until(lambda: d.shown == "20260101-1")
            await d.send("/resume 20260202-2")
            await d.until(lambda: d.shown == "20260202-2")


async def test_a_name_that_may_mean_several_says_which(desk, keep):
    async with desk() as d:
        keep(d, "one", "Release 2.4")
        keep(d, "two", "Release 2.5")
        await d.send("/resume release")
        await d.until(lambda: d.toasts)
        assert "one (Release 2.4)" in d.toasts[-1] and "two (Release 2.5)" in d.toasts[-1]
        d.main.composer.set_draft("")  # it stands there again, to be mended
        await d.send("/resume nothing")
        await d.until(lambda: any("There is no session nothing" in toast for toast in d.toasts))


# --- how a session stands that is not open here


async def test_a_session_without_a_whole_answer_is_told_as_cut(desk, keep):
    async with desk() as d:
        keep(d, "one", "Faster import", (Role.USER, "why slow"))
        keep(d, "two", "Release notes", (Role.USER, "write"), (Role.ASSISTANT, "Here."))
        await listed(d)
        await d.until(lambda: "◌ cut" in d.text)
        assert d.main.sessions.line("two").standing is Status.COMPLETE


async def test_old_sessions_stay_in_a_list_that_is_read_anew_while_it_is_looked_through(desk, keep):
    async with desk() as d:
        for number in range(60):
            keep(d, f"s{number:02}", f"Session {number}")
        await go_to_list(d, "s59")
        await d.press("end", "pageup")
        assert d.main.sessions.marked not in (d.shown, "s59")
        keep(d, "late", "Begun while looking")
        await listed(d)
        assert "s59" in d.main.sessions.keys
