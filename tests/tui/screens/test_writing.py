"""Writing a prompt on the main screen: long pastes, history, completion, and drafts that outlive the process."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.events import Paste

from session.process import this_process
from tui.screens.pasted import PastedScreen

LONG = "\n".join(f"line {number}" for number in range(120))
LABEL = "[Pasted text #1 · 120 lines]"


async def paste(d, text: str) -> None:
    d.app.post_message(Paste(text))
    await d.pilot.pause()


async def press(d, *keys: str) -> None:
    """Keys of a person: no burst."""
    await d.pilot.pause(0.02)
    await d.press(*keys)


async def sent(d, text: str) -> None:
    """A prompt that was sent and answered."""
    d.script.says("well")
    await d.write(text)
    await press(d, "enter")
    await d.idle()


# --- long pastes


@pytest.mark.parametrize("text", ["x" * 1_000_000, "\n".join("x" * 49 for _ in range(20_000))], ids=["line", "lines"])
async def test_F03_a_megabyte_is_one_label_at_once_and_is_sent_whole(desk, script, text: str):
    async with desk() as d:
        script.says("read")
        began_s = time.monotonic()
        await paste(d, text)
        assert time.monotonic() - began_s < 1
        assert "Pasted text #1" in d.draft and len(d.draft) < 60
        await press(d, "enter")
        await d.until(lambda: script.requests)
        assert script.prompts == [text]


async def test_F04_a_label_is_one_thing_for_cursor_and_deletion_and_undo_brings_it_back(desk):
    async with desk() as d:
        for keys in (("backspace",), ("ctrl+w",), ("left", "delete"), ("ctrl+u",), ("home", "ctrl+k")):
            await paste(d, LONG)
            assert d.draft.startswith("[Pasted") and d.main.composer.prompt == LONG
            label = d.draft
            await press(d, *keys)
            assert d.draft == "", keys
            await press(d, "ctrl+z")
            assert d.draft == label and d.main.composer.prompt == LONG, keys
            d.main.composer.set_draft("")


async def test_F04_a_number_never_stands_for_another_text(desk):
    async with desk() as d:
        await paste(d, LONG)
        await press(d, "backspace")
        await paste(d, LONG.upper())
        assert d.draft == LABEL.replace("#1", "#2") and d.main.composer.prompt == LONG.upper()


async def test_F04_a_recalled_label_brings_its_text_also_after_a_restart(desk, script):
    async with desk() as d:
        script.says("read")
        await d.write("about ")
        await paste(d, LONG)
        await press(d, "enter")
        await d.idle()
    async with desk() as d:
        await paste(d, LONG.upper())
        await press(d, "ctrl+u", "up")
        assert d.draft.startswith("about [Pasted text #2") and d.main.composer.prompt == f"about {LONG}"


async def test_F04_a_text_that_is_not_kept_any_more_is_said_to_be_gone(desk, script):
    async with desk() as d:
        script.says("read")
        await paste(d, LONG)
        await press(d, "enter")
        await d.idle()
        d.hub.profile.db.write(lambda tables: tables.state.trim("pasted:", 0)).result()
    async with desk() as d:
        await press(d, "up")
        assert d.main.composer.prompt == "[A pasted text of 120 lines stood here; it is not kept any more.]"


async def test_a_pasted_text_is_opened_changed_and_unfolded(desk):
    async with desk() as d:
        await paste(d, LONG)
        await press(d, "ctrl+o")
        await d.until(lambda: isinstance(d.app.screen, PastedScreen))
        assert "line 0" in d.text
        await press(d, "!", "escape")
        await d.until(lambda: d.draft == LABEL.replace("#1", "#2"))
        assert d.main.composer.prompt == f"!{LONG}" and d.app.focused is d.main.composer
        await press(d, "ctrl+o")
        await d.until(lambda: isinstance(d.app.screen, PastedScreen))
        await press(d, "ctrl+o")
        await d.until(lambda: d.draft == f"!{LONG}")
        await press(d, "ctrl+z", "ctrl+z")
        assert d.main.composer.prompt == LONG


async def test_how_long_a_paste_must_be_can_be_set(desk):
    async with desk(
        config="", env={"HERMES_DISPLAY_PASTE_FOLD_LINES": "0", "HERMES_DISPLAY_PASTE_FOLD_CHARS": "9"}
    ) as d:
        await paste(d, "a\nb\nc\nd")
        assert d.draft == "a\nb\nc\nd"
        await paste(d, "123456789")
        assert d.draft.endswith("[Pasted text #1 · 9 characters]")


# --- history


async def test_F19_up_on_the_first_line_goes_back_and_down_brings_the_unsent_draft(desk, script):
    async with desk() as d:
        await sent(d, "one")
        await sent(d, "two\nlines")
        await d.write("my\ndraft")
        await press(d, "up")
        assert d.draft == "my\ndraft"
        await press(d, "home", "up")
        assert d.draft == "two\nlines"
        await press(d, "up", "up")
        assert d.draft == "one"
        await press(d, "up", "down", "down", "down")
        assert d.draft == "my\ndraft"


async def test_what_stands_before_the_cursor_is_what_an_earlier_prompt_begins_with(desk, script):
    async with desk() as d:
        for text in ("fix the test", "read it", "fix the docs"):
            await sent(d, text)
        await d.write("fix")
        await press(d, "up", "up")
        assert d.draft == "fix the test"
        await press(d, "down", "down")
        assert d.draft == "fix"


async def test_the_history_outlives_the_process_and_has_no_prompt_twice_in_a_row(desk, script):
    async with desk() as d:
        for text in ("first", "again", "again"):
            await sent(d, text)
        await d.write("dropped")
        await press(d, "ctrl+c")
    async with desk() as d:
        seen = []
        for _ in range(4):
            await press(d, "up")
            seen.append(d.draft)
        assert seen == ["dropped", "again", "first", "first"]


async def test_F15_a_key_is_in_no_history_no_draft_and_no_undo(desk, tmp_path: Path):
    secret = "sk-this-is-no-ones-key-123456"
    async with desk() as d:
        await d.write("/key OPENAI_API_KEY")
        await press(d, "enter")
        await d.until(lambda: d.app.screen is not d.main)
        await paste(d, secret)
        await press(d, "ctrl+u", "escape")
        await d.until(lambda: d.app.screen is d.main)
        await press(d, "ctrl+y")
        assert d.draft == ""
        await d.write(f"/key {secret}")
        d.main.drafts.save()
        await press(d, "ctrl+c", "up")
        assert secret not in d.draft
        await press(d, "down")
    kept = [file for file in tmp_path.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]
    assert kept == []


# --- completion


async def test_commands_are_suggested_and_tab_takes_one(desk):
    async with desk() as d:
        await press(d, "/", "m", "o")
        await d.until(lambda: "how much is asked" in d.text)
        await press(d, "down", "tab")
        assert d.draft == "/model "
        d.main.composer.set_draft("")
        await press(d, "/", "h", "e", "tab")
        assert d.draft == "/help"


async def test_suggestions_go_with_what_they_were_for(desk, tmp_path: Path):
    (tmp_path / "work").mkdir()
    for name in ("alpha.py", "beta.py"):
        (tmp_path / "work" / name).touch()
    async with desk() as d:
        suggestions = d.main.composer.suggestions
        await press(d, "/")
        await d.until(lambda: suggestions.offered)
        await press(d, "backspace")
        await d.until(lambda: not suggestions.display)
        await press(d, "@")
        await d.until(lambda: len(suggestions.offered) == 2)
        d.main.composer.insert("bet")  # and Tab before anything new is suggested
        await d.main.composer.run_action("complete")
        await d.until(lambda: d.draft == "@beta.py ")


async def test_a_click_takes_a_suggestion_and_enter_the_one_that_was_gone_to(desk):
    async with desk() as d:
        suggestions = d.main.composer.suggestions
        await press(d, "/", "m", "o", "d")
        await d.until(lambda: suggestions.region.height == 2)
        await d.resize(80, 20)
        await d.until(lambda: d.main.composer.region.y < 20 and suggestions.region.bottom == d.main.composer.region.y)
        await d.pilot.click(suggestions, offset=(4, 1))
        assert d.draft == "/model " and d.app.focused is d.main.composer
        await press(d, "ctrl+u", "/", "m", "o", "d")
        await d.until(lambda: suggestions.offered)
        await press(d, "up", "enter")
        assert d.draft == "/model "


async def test_the_argument_of_a_command_is_suggested(desk):
    async with desk() as d:
        await press(d, *"/mode ")
        await d.until(lambda: len(d.main.composer.suggestions.offered) == 4)
        await press(d, "p", "tab")
        assert d.draft == "/mode plan"


async def test_F10_enter_runs_no_suggestion_that_the_person_did_not_go_to(desk, script):
    async with desk() as d:
        await press(d, "/", "h", "e", "l")
        await d.until(lambda: d.main.composer.suggestions.offered)
        await press(d, "enter")
        assert d.app.screen is d.main and d.draft == "/hel" and not script.requests


async def test_esc_closes_the_suggestions_and_interrupts_nothing(desk, script):
    async with desk() as d:
        gate = script.holds("working")
        await d.write("go")
        await press(d, "enter", "/", "m")
        await d.until(lambda: d.main.composer.suggestions.offered)
        await press(d, "escape")
        assert not d.main.composer.suggestions.display and d.main.runtime.is_busy and d.draft == "/m"
        gate.set()
        await d.idle()


@pytest.mark.parametrize(
    ("written", "file", "draft"),
    [
        ("compare @src/al", "src/alpha.py", "compare @src/alpha.py  with it"),
        ("@note", "my notes.md", '@"my notes.md"  with it'),
        ("@[x]", "a[x].txt", "@a[x].txt  with it"),
        ("@日", "日本語.txt", "@日本語.txt  with it"),
        ("@-o", "-odd.txt", "@-odd.txt  with it"),
        ("@q", 'q"q.txt', '@"q\\"q.txt"  with it'),
    ],
)
async def test_F17_only_the_token_is_completed(desk, tmp_path: Path, written: str, file: str, draft: str):
    async with desk() as d:
        path = tmp_path / "work" / file
        path.parent.mkdir(exist_ok=True)
        path.touch()
        await d.write("  with it")
        d.main.composer.move_cursor((0, 0))
        await d.write(written)
        await d.until(lambda: d.main.composer.suggestions.offered)
        await press(d, "tab")
        assert d.draft == draft.replace("  with", "  with")


async def test_F17_a_path_at_the_start_is_no_command(desk, tmp_path: Path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "part.txt").touch()
    async with desk() as d:
        await d.write(f"{tmp_path}/work/pa")
        await press(d, "tab")
        await d.until(lambda: d.draft == f"{tmp_path}/work/part.txt ")


async def test_F17_a_path_behind_a_command_is_completed_as_a_path(desk, tmp_path: Path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "part of it").mkdir()
    async with desk() as d:
        await d.write(f"/cmd {tmp_path}/work/pa")
        await press(d, "tab")
        await d.until(lambda: d.draft == f'/cmd "{tmp_path}/work/part of it/')


async def test_ignored_files_are_not_suggested(desk, tmp_path: Path):
    (tmp_path / "work").mkdir()
    for name in ("kept_name.txt", "left_name.txt"):
        (tmp_path / "work" / name).touch()
    (tmp_path / "work" / ".gitignore").write_text("left*\n")
    async with desk() as d:
        await d.write("@name")
        await d.until(lambda: d.main.composer.suggestions.offered)
        assert [one.shown for one in d.main.composer.suggestions.offered] == ["kept_name.txt"]


@pytest.mark.parametrize("letter", ["1", "n", "q", "?"])
async def test_F18_letters_that_are_shortcuts_elsewhere_are_typed(desk, letter: str):
    async with desk() as d:
        d.main.say("Something passes by.")
        await press(d, "/", "m")
        await press(d, letter)
        assert d.draft == f"/m{letter}" and d.app.screen is d.main


# --- drafts


async def test_a_draft_is_there_again_after_its_process_was_killed(desk, monkeypatch: pytest.MonkeyPatch):
    dead = replace(this_process(), pid=2**22 + 1)
    monkeypatch.setattr("agent.unsent.this_process", lambda: dead)
    async with desk() as d:
        await d.write("half a thought ")
        await paste(d, LONG)
        d.main.drafts.save()
    monkeypatch.undo()
    async with desk() as d:
        await d.until(lambda: d.main.composer.prompt == f"half a thought {LONG}")
    async with desk() as d:  # it is this process's draft now, which still runs
        assert d.draft == ""


async def test_a_draft_stays_with_its_stored_session(desk, script):
    async with desk() as d:
        await sent(d, "hello")
        await d.write("and another thing")
        kept = d.shown
    async with desk() as d:
        d.main.go_to(kept)
        await d.until(lambda: d.shown == kept and d.draft == "and another thing")
        await press(d, "ctrl+c")
    async with desk() as d:
        d.main.go_to(kept)
        await d.until(lambda: d.shown == kept)
        await d.pilot.pause(0.1)
        assert d.draft == ""


async def test_F08_with_ctrl_s_as_the_key_that_sends_enter_begins_a_line(desk, script):
    async with desk(env={"HERMES_DISPLAY_SEND_KEY": "ctrl+s"}) as d:
        script.says("well")
        await d.write("日本語")
        await press(d, "enter", "x")
        assert d.draft == "日本語\nx" and not script.requests
        await press(d, "ctrl+s")
        await d.until(lambda: script.requests)
        assert script.prompts == ["日本語\nx"]


# --- the queue


async def queued(d, script, *texts: str):
    """Prompts behind a turn that runs; the event that ends it."""
    gate = script.holds("working")
    for text in ("begin", *texts):
        await d.write(text)
        await press(d, "enter")
    await d.until(lambda: d.main.runtime.queue == texts)
    return gate


async def test_queued_prompts_change_places_and_are_sent_one_by_one_in_that_order(desk, script):
    async with desk() as d:
        gate = await queued(d, script, "one", "two", "three")
        await press(d, "alt+q", "down", "down", "shift+up", "shift+up")
        assert d.main.runtime.queue == ("three", "one", "two")
        for _ in range(3):
            script.says("done")
        gate.set()
        await d.until(lambda: len(script.requests) == 4)
        await d.idle()
        assert script.prompts == ["begin", "three", "one", "two"]


async def test_E21_the_order_of_the_queue_is_in_the_store(desk, script):
    async with desk() as d:
        gate = await queued(d, script, "one", "two", "three")
        await press(d, "alt+q", "shift+down", "shift+down")
        await d.main.runtime._queue.settled()
        kept = d.hub.profile.db.read(lambda tables: tables.queued.all(d.shown)).result()
        assert [row.content for row in kept] == ["two", "three", "one"]
        assert {row.id for row in kept} == d.main.runtime.queued_ids
        gate.set()
        for _ in range(3):
            script.says("done")
        await d.until(lambda: len(script.requests) == 4)
        await d.idle()


async def test_a_queued_prompt_is_edited_or_removed(desk, script):
    async with desk() as d:
        gate = await queued(d, script, "one", "two", "three")
        await press(d, "alt+q", "down", "enter")
        assert d.draft == "two" and d.main.runtime.queue == ("one", "three") and d.app.focused is d.main.composer
        await press(d, "alt+q", "delete")
        assert d.main.runtime.queue == ("three",)
        await press(d, "x")
        assert d.draft == "twox"
        await press(d, "ctrl+u", "up")
        assert d.draft == "one"
        script.says("done")
        gate.set()
        await d.until(lambda: len(script.requests) == 2)
        await d.idle()
