"""The main screen: prompts go out, drafts stay, sessions run side by side, keys do what they say."""

from __future__ import annotations

import asyncio
import re

import pytest
from msgspec.structs import replace
from textual import events

from agent.providers.base import ErrorKind, ProviderError
from agent.providers.retry import RetryingProvider
from agent.session_run import Live

MARKUP = r"[/ [/] [bold]x [red ] [@click=app.quit]x[/] \[x]"


async def test_a_prompt_is_answered_on_the_screen(desk, script):
    script.says("It is **four**.")
    async with desk() as d:
        await d.send("two and two?")
        await d.idle()
        await d.until(lambda: "It is four." in d.text)
        assert "two and two?" in d.text and d.draft == ""


async def test_the_sidebar_the_status_row_and_the_figure_follow_a_turn(desk, script):
    gate = script.holds("well,")
    script.says("next")
    async with desk() as d:
        await d.send("say something")
        await d.until(lambda: "● working · demo" in d.text)
        assert "esc interrupts" in d.text
        gate.set()
        await d.until(lambda: "○ idle · demo" in d.text)
        await d.send("more")
        await d.until(lambda: "1k/32k" in d.text and "3%" in d.text)


# --- the queue


async def test_enter_while_a_turn_runs_queues_and_each_prompt_is_its_own_turn(desk, script):
    gate = script.holds("first")
    script.says("second")
    script.says("third")
    async with desk() as d:
        await d.send("one")
        await d.until(lambda: d.main.runtime.is_busy)
        await d.send("two")
        await d.send("three")
        await d.until(lambda: "2 queued" in d.text and "1 two" in d.text)
        gate.set()
        await d.until(lambda: len(script.requests) == 3)
        await d.idle()
        assert script.prompts == ["one", "two", "three"]


async def test_F16_after_an_interrupt_the_queue_waits_and_enter_on_an_empty_draft_sends_the_next(desk, script):
    script.holds("first")
    script.says("second")
    async with desk() as d:
        await d.send("one")
        await d.until(lambda: script.requests)
        await d.send("two")
        await d.press("escape")
        await d.idle()
        await d.until(lambda: "enter on an empty draft sends the next" in d.text)
        assert script.prompts == ["one"]
        await d.press("enter")
        await d.until(lambda: len(script.requests) == 2)
        assert script.prompts[-1] == "two"
        await d.until(lambda: "queued" not in d.text)


async def test_after_a_failure_the_queue_waits_too(desk, script):
    gate = script.holds("first")
    script.fails("The key was refused.")
    async with desk() as d:
        await d.send("one")
        await d.until(lambda: script.requests)
        await d.send("two")
        await d.send("three")
        gate.set()
        await d.until(lambda: d.main.runtime.state is Live.FAILED)
        await d.until(lambda: "enter on an empty draft" in d.text)
        assert len(script.requests) == 2


async def test_ctrl_t_takes_the_newest_prompt_back_before_the_draft(desk, script):
    script.holds("first")
    async with desk() as d:
        await d.send("one")
        await d.until(lambda: script.requests)
        await d.send("two")
        await d.write("draft")
        await d.press("ctrl+t")
        assert d.draft == "two\ndraft"
        await d.until(lambda: "queued" not in d.text)


# --- ctrl+c, esc, leaving


async def test_F05_ctrl_c_interrupts_a_running_turn_and_the_draft_stays(desk, script):
    script.holds("half")
    async with desk() as d:
        await d.send("one")
        await d.until(lambda: script.requests)
        await d.write("draft")
        await d.press("ctrl+c")
        await d.idle()
        assert d.draft == "draft" and d.app.is_running


async def test_F05_ctrl_c_clears_the_draft_which_comes_back(desk):
    async with desk() as d:
        await d.write("abc")
        await d.press("ctrl+c")
        assert d.draft == "" and "ctrl+z" in d.toasts[-1]
        await d.press("ctrl+z")
        assert d.draft == "abc"


async def test_F05_one_ctrl_c_never_quits_and_a_second_within_a_second_does(desk):
    now = [100.0]
    async with desk(clock=lambda: now[0]) as d:
        now[0] += 60
        await d.press("ctrl+c")
        assert d.app.is_running and "again" in d.toasts[-1]
        now[0] += 1.5
        await d.press("ctrl+c")
        assert d.app.is_running
        now[0] += 0.5
        await d.press("ctrl+c")
        await d.pilot.pause()
        assert not d.app.is_running


async def test_F05_a_press_in_the_first_second_does_not_count(desk):
    now = [100.0]
    async with desk(clock=lambda: now[0]) as d:
        await d.press("ctrl+c")
        now[0] += 0.9
        await d.press("ctrl+c")
        assert d.app.is_running


async def test_esc_interrupts_and_the_draft_stays(desk, script):
    script.holds("half")
    async with desk() as d:
        await d.send("one")
        await d.until(lambda: script.requests)
        await d.write("draft")
        await d.press("escape")
        await d.idle()
        await d.until(lambda: "Interrupted" in d.text)
        assert d.draft == "draft"


@pytest.mark.parametrize("how", ["ctrl+q", "ctrl+d", "/quit", "/exit"])
async def test_F06_each_way_out_leaves(desk, how: str):
    async with desk() as d:
        await (d.send(how) if how.startswith("/") else d.press(how))
        await d.pilot.pause()
        await d.pilot.pause()
        assert not d.app.is_running


# --- commands


@pytest.mark.parametrize("text", ["/home/u/p/x.py:45 fix this", "/tmp", "/README.md is wrong", "//", "/", " /model"])
async def test_F09_a_message_that_begins_with_a_slash_but_is_no_command_is_sent(desk, script, text: str):
    script.says("ok")
    async with desk() as d:
        await d.send(text)
        await d.until(lambda: script.requests)
        assert script.prompts == [text]


@pytest.mark.parametrize("line", ["/modle", "/eixt", "/personalty x"])
async def test_F10_a_mistyped_command_is_neither_run_nor_sent_and_stays_in_the_draft(desk, script, line: str):
    async with desk() as d:
        await d.send(line)
        assert d.draft == line and "did you mean /" in d.toasts[-1]
        assert not script.requests and d.app.is_running


async def test_a_command_for_idle_sessions_is_refused_while_a_turn_runs(desk, script):
    script.holds("half")
    async with desk() as d:
        await d.send("one")
        await d.until(lambda: script.requests)
        await d.send("/redo")
        await d.until(lambda: d.toasts)
        assert "has to wait" in d.toasts[-1] and d.draft == "/redo"


async def test_an_error_of_a_command_is_its_sentence_and_the_line_can_be_mended(desk):
    async with desk() as d:
        await d.send("/model nosuchprovider:x[/]")
        await d.until(lambda: d.toasts)
        assert "nosuchprovider" in d.toasts[-1] and d.draft == "/model nosuchprovider:x[/]"


async def test_help_is_a_list_of_commands_and_keys_and_esc_closes_it(desk):
    async with desk() as d:
        await d.write("draft")
        await d.press("home", "ctrl+k")
        await d.send("/help")
        await d.until(lambda: "esc closes" in d.text and "/branch" in d.text)
        await d.press(*"/personality")
        await d.until(lambda: "/branch" not in d.text and "/personality" in d.text)
        await d.press("escape")
        await d.until(lambda: d.app.screen is d.main)


# --- several sessions


async def test_switching_while_others_stream_loses_nothing(desk, script):
    gate = script.holds("the first half")
    async with desk() as d:
        first = d.shown
        await d.send("one")
        await d.until(lambda: "the first half" in d.text)
        await d.send("/new")
        await d.until(lambda: d.shown != first and "the first half" not in d.text)
        gate.set()
        await d.until(lambda: "◆ unread" in d.text)
        await d.press("alt+down")
        await d.until(lambda: d.shown == first)
        await d.until(lambda: "the first half end" in d.text and "unread" not in d.text)


async def test_half_an_answer_is_there_when_one_comes_back_in_mid_stream(desk, script):
    script.holds("the first half")
    async with desk() as d:
        first = d.shown
        await d.send("one")
        await d.until(lambda: "the first half" in d.text)
        await d.send("/new")
        await d.until(lambda: d.shown != first)
        await d.press("alt+down")
        await d.until(lambda: "the first half" in d.text)


async def test_each_session_keeps_its_own_draft(desk, script):
    script.says("ok")
    async with desk() as d:
        first = d.shown
        await d.send("one")
        await d.idle()
        await d.send("/new")
        await d.until(lambda: d.shown != first)
        second = d.shown
        await d.write("for the second")
        await d.press("alt+down")
        await d.until(lambda: d.shown == first)
        assert d.draft == ""
        await d.write("for the first")
        await d.press("alt+up")
        await d.until(lambda: d.shown == second)
        assert d.draft == "for the second"


async def test_a_prompt_goes_to_the_session_that_was_shown_at_enter(desk, script):
    script.says("a")
    script.holds("b")
    async with desk() as d:
        first = d.shown
        await d.send("one")
        await d.idle()
        await d.send("/new")
        await d.until(lambda: d.shown != first)
        second = d.shown
        await d.write("for the second")
        await d.press("enter", "alt+down")
        await d.until(lambda: d.shown == first and len(script.requests) == 2)
        assert any(row.content == "for the second" for row in d.hub.runtime(second).s.rows)


async def test_stored_sessions_are_listed_and_open_as_they_were(desk, script):
    script.says("remember this")
    async with desk() as d:
        await d.send("one")
        await d.idle()
    async with desk() as d:
        await d.until(lambda: "one" in d.text)
        await d.press("alt+down")
        await d.until(lambda: "remember this" in d.text)


async def test_E10_a_session_whose_folder_moved_says_so_when_it_is_opened(desk, script, tmp_path):
    script.says("remember this")
    async with desk() as d:
        await d.send("one")
        await d.idle()
        session_id = d.shown
    (tmp_path / "work").rename(tmp_path / "moved")
    async with desk() as d:
        (tmp_path / "work").rmdir()
        await d.until(lambda: "one" in d.text)
        await d.press("alt+down")
        await d.until(lambda: any(f"hermes sessions relink {session_id}" in toast for toast in d.toasts))


# --- the screen itself


async def test_D01_markup_is_text_in_prompt_title_answer_error_and_toast(desk, script):
    script.says(f"`{MARKUP}`")
    script.fails(f"failed: {MARKUP}")
    async with desk(size=(140, 40)) as d:
        await d.send(MARKUP)
        await d.idle()
        await d.send("fail")
        await d.idle()
        d.main.say(MARKUP)
        await d.until(lambda: f"failed: {MARKUP}" in d.text)
        await d.until(lambda: d.text.count(MARKUP) >= 4)
        assert d.app.is_running


async def test_the_sidebar_goes_under_a_hundred_columns_and_a_key_brings_it(desk):
    async with desk(size=(99, 30)) as d:
        assert "New session" not in d.text
        await d.press("ctrl+b")
        assert "New session" in d.text
        await d.resize(120, 30)
        await d.press("ctrl+b")
        assert "New session" not in d.text


@pytest.mark.parametrize("size", [(19, 10), (40, 5), (1, 1)])
async def test_a_terminal_too_small_says_so_and_comes_back_with_the_draft(desk, size: tuple[int, int]):
    async with desk() as d:
        await d.write("my draft")
        await d.resize(*size)
        await d.until(lambda: "│" not in d.text)
        await d.resize(110, 32)
        await d.until(lambda: "my draft" in d.text)


async def test_D11_the_smallest_terminal_works(desk, script):
    script.says("# t\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    async with desk(size=(20, 6)) as d:
        await d.send("hi")
        await d.idle()
        assert d.app.is_running


async def test_nothing_is_painted_while_idle(desk, script):
    script.says("ok")
    async with desk() as d:
        await d.send("hi")
        await d.idle()
        await d.until(lambda: "○ idle" in d.text and d.main.conversations.view._flow_maker)
        await d.pilot.pause(0.1)
        painted: list[object] = []
        paint = d.app._display
        d.app._display = lambda screen, update: (painted.append(update), paint(screen, update))
        await d.pilot.pause(1.5)  # longer than the clock of a working turn takes for one tick
        assert not painted


async def test_what_is_typed_while_the_sidebar_has_the_focus_is_looked_for_and_the_draft_stays(desk):
    async with desk() as d:
        await d.press("tab")
        assert d.app.focused is d.main.sessions
        await d.press("a", "b")
        d.app.post_message(events.Paste("c\nd"))
        await d.until(lambda: "/ abc d▏ 0 found" in d.text)
        await d.press("escape", "escape")
        assert d.app.focused is d.main.composer
        assert (d.draft, "▏" in d.text) == ("", False)


@pytest.mark.parametrize("rows", [6, 7, 8, 9])
async def test_the_draft_is_in_sight_on_the_lowest_screens(desk, rows: int):
    async with desk(size=(40, rows)) as d:
        await d.write("in sight")
        assert "in sight" in d.text


async def test_a_store_that_fails_is_a_sentence_and_the_screen_stays(desk, script):
    script.says("ok")
    async with desk(env={"OPENAI_API_KEY": "sk-test"}) as d:
        await asyncio.wrap_future(
            d.hub.profile.db.write(lambda tables: tables.state._connection.run("DROP TABLE state"))
        )
        await d.send("hi")
        await d.asked()
        await d.press("y")
        await d.until(lambda: script.requests)
        assert d.app.is_running


@pytest.mark.parametrize("cols", [30, 31, 39])
async def test_a_screen_that_cannot_hold_the_sidebar_does_not_show_it_and_says_so(desk, cols: int):
    async with desk(size=(cols, 12)) as d:
        await d.press("ctrl+b")
        assert not d.main.sidebar.display and "40 columns" in d.toasts[-1]
        await d.resize(60, 12)
        await d.press("ctrl+b")
        assert d.main.sidebar.display
        await d.resize(cols, 12)
        assert not d.main.sidebar.display
        await d.write("draft")
        await d.until(lambda: d.draft == "draft")


async def test_A32_the_time_until_the_next_attempt_counts_down_on_the_screen_and_esc_ends_it(desk, script):
    script.answers.append(ProviderError(ErrorKind.RATE_LIMIT, "Slow down.", may_retry=True, retry_after_s=200))
    async with desk() as d:
        s = d.main.runtime.s
        s.parts = replace(s.parts, provider_for=lambda _: RetryingProvider(script))
        await d.send("go")
        await d.until(lambda: re.search(r"asks again in 3m \d\ds \(2 of 4\)", d.text))
        first = re.search(r"asks again in 3m (\d\d)s", d.text)
        await d.until(lambda: first and f"3m {int(first[1]) - 1:02}s" in d.text)
        await d.press("escape")
        await d.idle()
        assert "asks again" not in d.text
        assert len(script.requests) == 1


async def test_the_page_keys_scroll_the_conversation_while_a_draft_is_typed(desk, script):
    async with desk() as d:
        script.says("\n\n".join(f"line {number}" for number in range(200)))
        await d.send("hello")
        await d.until(lambda: "line 199" in d.text)
        await d.press("x", "pageup")
        await d.until(lambda: "line 199" not in d.text)
        await d.press("pagedown")
        await d.until(lambda: "line 199" in d.text)
        assert d.draft == "x"


async def test_a_window_that_comes_to_the_front_while_the_app_ends_breaks_nothing(desk):
    async with desk() as d:
        app = d.app
    assert not app.screen_stack
    await app.on_event(events.AppFocus())
