"""A screen that is used for days: sessions come and go, and nothing of them stays behind.

The goal is told by `HERMES_SOAK=300`: 300 sessions of 7 turns each, opened, streamed into, searched and archived. Resident
memory is flat within 10 % from the first fifth of them on, and no widget, watcher, task, timer, thread, listener or
session is left that was not there by then.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading

import psutil
import pytest

SESSIONS = int(os.environ.get("HERMES_SOAK") or 12)
TURNS = 7 if SESSIONS >= 100 else 1  # of each session
SETTLED = max(10, SESSIONS // 5)  # by then all is loaded, and as many transcripts are held as ever
MOST_GROWN = 1.10
ANSWER = "## Answer\n\nIt is **{n}**, as `code` says:\n\n```python\nx = {n}\n```\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | {n} |\n"


def standing(app) -> dict[str, int]:
    """What must not grow: each is counted when nothing is under way."""
    gc.collect()
    return {
        "widgets": len(app._registry),
        "watchers": sum(
            len(watchers) for node in app._registry for watchers in getattr(node, "__watchers", {}).values()
        ),
        "timers": sum(len(node._timers) for node in app._registry),
        "tasks": len(asyncio.all_tasks()),
        "workers": len(app.workers),
        "threads": threading.active_count(),
        "listeners": len(app.main.hub._listeners),
        "sessions": len(app.main.hub._runtimes),
    }


def rss_mb() -> float:
    return psutil.Process().memory_info().rss / 2**20


async def one_session(d, script, number: int) -> None:
    """Opened, streamed into, searched, and archived."""
    before = d.shown
    await d.send("/new")
    await d.until(lambda: d.shown != before)
    for turn in range(TURNS):
        script.says(ANSWER.format(n=number * 100 + turn))
        await d.send(f"question {turn} of session {number}")
        await d.until(lambda turn=turn: len(d.main.runtime.s.rows) >= 2 * turn + 2 and not d.main.runtime.is_busy)
    script.requests.clear()
    await d.press("ctrl+f")
    await d.until(lambda: type(d.app.screen).__name__ == "SearchScreen")
    await d.press(*"question")
    await d.until(lambda: "question" in d.text)
    await d.press("escape")
    await d.until(lambda: d.app.screen is d.main)
    here = d.shown
    await d.send("/archive")
    await d.until(lambda: d.shown != here)


@pytest.mark.soak
@pytest.mark.timeout(0)
async def test_sessions_that_come_and_go_leave_no_widget_watcher_task_or_timer_behind(desk, script):
    async with desk() as d:
        for number in range(SETTLED):
            await one_session(d, script, number)
        await d.pilot.pause(0.2)
        first, first_mb = standing(d.app), rss_mb()
        for number in range(SETTLED, SESSIONS):
            await one_session(d, script, number)
            if number % 20 == 0:
                print(f"{number + 1:>4} sessions: {rss_mb():6.1f} MB, {standing(d.app)}")
        await d.until(lambda: all(count <= first[what] for what, count in standing(d.app).items()) or None)
        last_mb = rss_mb()
        print(
            f"{SESSIONS} sessions, {SESSIONS * TURNS} turns: {first_mb:.1f} MB after {SETTLED}, {last_mb:.1f} MB at the end"
        )
        assert SESSIONS < 100 or last_mb < first_mb * MOST_GROWN


async def test_a_line_that_passed_leaves_no_empty_frame_behind(desk):
    async with desk() as d:
        d.main.say("first")
        await d.until(lambda: d.app.query("Toast"))
        await d.app.query("Toast").first().remove()  # as Textual does with one whose time is over
        assert d.app.query("ToastHolder")
        d.main.say("second")
        await d.until(lambda: d.app.query("Toast") and all(holder.children for holder in d.app.query("ToastHolder")))
