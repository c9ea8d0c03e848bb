"""A change of a file is seen before it is allowed: all of it, at any width, and without a pause."""

from __future__ import annotations

import asyncio
import time

import pytest

from agent.approvals.details import Details
from tui.screens.approval import ApprovalScreen

PATH = "/w/a.py"
WORDS = "".join(chr(0x4E00 + n) for n in range(240))
WIDE_LINE = f'\t\tx = "日本語🙂{WORDS}the-end"'


def change(before: str | None, after: str) -> Details:
    return Details(writes=(PATH,), path=PATH, before=before, after=after)


async def read(d, size_rows: int = 400) -> str:
    """All rows that paging through the question shows."""
    await d.asked()
    seen: dict[str, None] = {}
    for _ in range(size_rows):
        before = d.text
        seen.update(dict.fromkeys(before.split("\n")))
        await d.press("pagedown")
        await d.pilot.pause(0.01)
        if d.text == before:
            break
    return "\n".join(seen)


@pytest.mark.parametrize("size", [(60, 24), (80, 24), (120, 40), (160, 50), (40, 10)])
async def test_D10_a_line_wider_than_the_modal_is_wrapped_and_its_end_is_in_reach(desk, size):
    async with desk(size=size) as d:
        answer = d.asks("a.py", change("one\n", f"one\n{WIDE_LINE}\n"), "write_file")
        seen = await read(d)
        assert "日本語🙂" in seen and not set(WORDS).difference(seen)
        assert "Deny" in d.text
        answer.cancel()


async def test_on_a_low_screen_what_is_known_of_a_change_stands_behind_it(desk):
    async with desk(size=(40, 10)) as d:
        details = Details(writes=(PATH, "/w/other.py"), path=PATH, before="one\n", after="two\n")
        answer = d.asks("a.py", details, "write_file")
        await d.asked()
        await d.until(lambda: "more lines" in d.text)
        assert "other.py" not in d.text and "1 + two" in d.text
        await d.press("pagedown", "end")
        await d.until(lambda: "other.py" in d.text and "more line" not in d.text)
        await d.press("home")
        await d.until(lambda: "1 + two" in d.text)
        answer.cancel()


def splits(d) -> list[bool]:
    """For each line that goes, whether what comes stands beside it."""
    return ["2 + new = 2" in row for row in d.text.split("\n") if "2 - old = 2" in row]


@pytest.mark.parametrize(("cells", "is_split"), [(119, False), (120, True)])
async def test_from_120_columns_on_both_sides_stand_beside_each_other(desk, cells: int, is_split: bool):
    async with desk(size=(cells, 30)) as d:
        answer = d.asks("a.py", change("first = 1\nold = 2\n", "first = 1\nnew = 2\n"), "patch")
        await d.asked()
        assert splits(d) == [is_split]
        answer.cancel()


async def test_a_resize_lays_the_change_out_anew(desk):
    async with desk(size=(160, 40)) as d:
        answer = d.asks("a.py", change("first = 1\nold = 2\n", "first = 1\nnew = 2\n"), "patch")
        await d.asked()
        for cells in (70, 130, 40, 119, 120):
            await d.resize(cells, 24)
            await d.until(lambda is_split=cells >= 120: splits(d) == [is_split])
        await d.asked()
        answer.cancel()


async def test_a_new_file_is_called_one_and_is_shown_whole(desk):
    async with desk(size=(130, 30)) as d:
        answer = d.asks("a.py", change(None, "\n".join(f"line {n}" for n in range(60))), "write_file")
        seen = await read(d)
        assert "Write this new file?" in seen and f"{PATH} · +60 lines, no line end at the end" in seen
        assert all(f"+ line {n}" in seen for n in range(60))
        answer.cancel()


async def test_lost_line_ends_are_seen(desk):
    async with desk(size=(110, 30)) as d:
        answer = d.asks("a.py", change("a\r\nb\r\n", "a\nb"), "write_file")
        await d.asked()
        assert "line ends change from CR LF to LF, no line end at the end" in d.text
        assert r"- a\x0d" in d.text and "+ b ⟨no line end⟩" in d.text
        answer.cancel()


async def test_a_megabyte_opens_at_once_and_the_loop_goes_on(desk):
    before = "".join(f"line {n} of a long file\n" for n in range(40_000))
    after = "".join(f"line {n} of a {'large' if n % 50 == 0 else 'long'} file\n" for n in range(40_000))
    async with desk(size=(120, 40)) as d:
        pauses: list[float] = []

        async def tick() -> None:
            while True:
                at = time.thread_time()  # the work of this thread alone: others share the machine
                await asyncio.sleep(0.005)
                pauses.append(time.thread_time() - at)

        ticking = asyncio.create_task(tick())
        answer = d.asks("a.py\n" + after, change(before, after), "write_file")
        await d.until(lambda: isinstance(d.app.screen, ApprovalScreen))
        await d.asked()
        ticking.cancel()
        assert "+800 −800 lines" in d.text
        assert max(pauses) < 2
        await d.press("end")
        await d.until(lambda: "39,95" in d.text or "39951" in d.text)
        answer.cancel()


async def test_nothing_is_decided_before_the_change_is_drawn(desk, monkeypatch):
    from tui.widgets import diff_view

    gate, compare = asyncio.Event(), diff_view.file_diff
    loop = asyncio.get_running_loop()

    def slow(before: str, after: str):
        asyncio.run_coroutine_threadsafe(gate.wait(), loop).result(10)
        return compare(before, after)

    monkeypatch.setattr(diff_view, "file_diff", slow)
    async with desk(arm_ms=20) as d:
        answer = d.asks("a.py", change("a\n", "b\n"), "write_file")
        await d.until(lambda: "Comparing…" in d.text)
        await d.pilot.pause(0.2)
        await d.press("1")
        assert not answer.done() and not d.app.screen.is_armed
        gate.set()
        await d.asked()
        await d.press("1")
        assert (await answer).approval == "allowed_once"


async def test_a_change_too_large_to_compare_is_shown_as_the_text_of_the_call(desk):
    text = "x" * 6_100_000
    async with desk() as d:
        answer = d.asks("a.py\nthe content", change("", text), "write_file")
        await d.asked()
        assert "the content" in d.text
        answer.cancel()
