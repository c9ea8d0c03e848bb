"""The composer: sending, line breaks, pastes, and characters made of several code points."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

CLUSTERS = ["あ", "👨‍👩‍👧‍👦", "⏺️", "e\u0301", "한", "ש", "🇯🇵", "👩🏽‍💻", "1\ufe0f\u20e3"]


async def test_enter_sends_the_draft(composer):
    async with composer() as c:
        await c.press("h", "i")
        await c.pilot.pause(0.03)
        await c.press("enter")
        assert c.app.sent == ["hi"] and c.draft == ""


@pytest.mark.parametrize("key", ["shift+enter", "alt+enter", "ctrl+j"])
async def test_a_new_line_has_its_own_keys(composer, key: str):
    async with composer() as c:
        await c.press("a", key, "b")
        assert c.draft == "a\nb" and not c.app.sent


async def test_F01_a_bracketed_paste_is_one_draft_and_is_not_sent(composer):
    async with composer() as c:
        await c.paste("line1\nline2\r\nline3\n")
        assert c.draft == "line1\nline2\nline3" and not c.app.sent


async def test_F01_without_brackets_the_lines_of_a_paste_do_not_each_submit(composer):
    async with composer() as c:
        await c.burst("line1\nline2\nline3\n")
        assert c.draft == "line1\nline2\nline3\n" and not c.app.sent


async def test_F08_a_line_that_comes_together_with_its_enter_is_sent(composer):
    async with composer() as c:
        await c.burst("日本語\n")
        assert c.app.sent == ["日本語"]


async def test_F02_what_follows_a_paste_in_the_same_burst_is_not_submitted(composer):
    async with composer() as c:
        await c.paste("a", then="\rrm -rf d\r")
        assert not c.app.sent and c.draft == "a\nrm -rf d\n"


async def test_F02_control_bytes_in_a_paste_are_dropped(composer):
    async with composer() as c:
        await c.paste("x\x1b[31my\x00\x9b2Jz\tq")
        assert c.draft == "x[31my2Jz\tq"


async def test_keys_of_one_burst_act_in_the_order_they_came(composer):
    async with composer() as c:
        await c.burst("teh\x7f\x7fhe")
        assert c.draft == "the"


async def test_F14_two_hundred_backspaces_in_one_read_all_count(composer):
    async with composer() as c:
        await c.paste("x" * 210)
        await c.burst("\x7f" * 200)
        assert c.draft == "x" * 10


async def test_D08_backspace_removes_one_visible_character(composer):
    async with composer() as c:
        for cluster in CLUSTERS:
            await c.paste(f"a{cluster}")
            await c.press("backspace")
            assert c.draft == "a", cluster
            c.app.composer.clear()


async def test_D08_left_steps_over_one_visible_character(composer):
    async with composer() as c:
        for cluster in CLUSTERS:
            await c.paste(f"a{cluster}b")
            await c.press("left", "left", "x")
            assert c.draft == f"ax{cluster}b"
            c.app.composer.clear()


async def test_D08_delete_removes_one_visible_character(composer):
    async with composer() as c:
        for cluster in CLUSTERS:
            await c.paste(f"{cluster}b")
            await c.press("home", "delete")
            assert c.draft == "b", cluster
            c.app.composer.clear()


async def test_D08_up_and_down_never_stop_inside_a_character(composer):
    async with composer() as c:
        await c.paste("👨‍👩‍👧‍👦👨‍👩‍👧‍👦\nabc")
        await c.press("up", "x")
        family = "👨‍👩‍👧‍👦"
        assert c.draft.split("\n")[0] in (f"x{family}{family}", f"{family}x{family}", f"{family}{family}x")


@pytest.mark.parametrize(
    ("text", "cells"), [("あいう", 6), ("👨‍👩‍👧‍👦", 2), ("⏺️", 2), ("e\u0301", 1), ("한글", 4), ("🇯🇵", 2)]
)
async def test_D08_the_cursor_stands_behind_the_cells_of_the_text(composer, text: str, cells: int):
    async with composer() as c:
        await c.paste(text)
        await c.press("end")
        assert c.cursor_cell == cells


async def test_D08_the_border_is_whole_with_the_cursor_on_a_character(composer):
    async with composer() as c:
        for cluster in CLUSTERS:
            await c.paste(f"a{cluster}b")
            await c.press("left", "left")
            row = next(row for row in c.rows if cluster in row)
            assert row.rstrip().endswith("│") and cell_len(row) == 60, cluster
            c.app.composer.clear()


async def test_ctrl_z_brings_a_sent_or_cleared_draft_back(composer):
    async with composer() as c:
        await c.paste("a long thought")
        await c.pilot.pause(0.03)
        await c.press("enter")
        await c.press("ctrl+z")
        assert c.draft == "a long thought"


async def test_it_grows_to_a_third_of_the_screen_and_no_further(composer):
    async with composer(size=(60, 18)) as c:
        await c.paste("\n".join(str(n) for n in range(30)))
        assert 5 <= c.app.composer.outer_size.height <= 18 // 3


async def test_a_long_paste_can_be_undone_and_redone(composer):
    pasted = "\n".join(f"line {n}" for n in range(80))
    async with composer(size=(60, 18)) as c:
        await c.press("a")
        await c.paste(pasted)
        await c.pilot.pause()
        await c.press("ctrl+z")
        assert c.draft == "a"
        await c.press("ctrl+y")
        assert c.draft == f"a{pasted}"
        await c.press("ctrl+z", "ctrl+z", "ctrl+y", "b")
        assert c.draft == "ab"


@pytest.mark.parametrize("key", ["ctrl+x", "ctrl+k", "ctrl+u", "ctrl+w", "ctrl+shift+k", "delete", "backspace"])
@pytest.mark.parametrize("text", ["", "last", "first\nlast"])
async def test_deleting_at_the_end_of_the_draft_only_deletes(composer, key: str, text: str):
    async with composer() as c:
        await c.paste(text)
        await c.press(key, key, key)
        assert c.app.is_running and text.startswith(c.draft)


@pytest.mark.parametrize("size", [(4, 2), (1, 1), (20, 6)])
async def test_D11_a_very_small_terminal_does_not_break_it(composer, size: tuple[int, int]):
    async with composer(size=size) as c:
        await c.paste("👨‍👩‍👧‍👦 あいう " * 5)
        await c.press("left", "backspace", "up", "end")
        await c.pilot.resize_terminal(80, 24)
        assert "あいう" in c.draft


async def test_F06_ctrl_d_leaves_on_an_empty_draft_only(composer):
    async with composer() as c:
        await c.paste("ab")
        await c.press("home", "ctrl+d")
        assert c.draft == "b" and c.app.is_running
        await c.press("ctrl+d", "ctrl+d")
        await c.pilot.pause()
        assert not c.app.is_running


async def test_D01_markup_in_a_draft_is_text(composer):
    async with composer() as c:
        await c.paste(r"[/ [/] [bold]x [@click=app.quit]x[/] \[x]")
        assert any(r"[/ [/] [bold]x [@click=app.quit]x[/] \[x]" in row for row in c.rows)
