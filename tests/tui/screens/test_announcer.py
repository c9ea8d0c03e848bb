"""What is told beside the screen: titles, progress, and one notification of each thing while nobody looks."""

from __future__ import annotations

import time
from typing import Any

import pytest
from textual.events import AppBlur, AppFocus

from agent.config.display_settings import Notify
from tui.announcer import PROGRESS_OFF, PROGRESS_ON, notification


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What goes to the terminal past the drawing, of which a test without a terminal has none."""
    found: list[str] = []
    monkeypatch.setattr("tui.app.HermesApp._write", lambda app, sequence: found.append(sequence))
    return found


async def look_away(d: Any) -> None:
    d.app.post_message(AppBlur())
    await d.until(lambda: not d.app.app_focus)


async def test_each_thing_notifies_once_and_only_somebody_who_looks_elsewhere(
    desk: Any, script: Any, written: list[str]
) -> None:
    def told() -> list[str]:
        return [sequence for sequence in written if sequence.startswith("\x1b]9;hermes")]

    async with desk(config="", env={"TERM_PROGRAM": "iTerm.app"}) as d:
        script.says("seen")
        await d.send("One")
        await d.idle()
        await look_away(d)
        script.says("unseen")
        d.hub.submit(d.shown, "Two")
        await d.until(told)
        script.fails("The key was refused.")
        d.hub.submit(d.shown, "Three")
        await d.until(lambda: len(told()) == 2)
        script.says("", "rm -r build")
        d.hub.submit(d.shown, "Four")
        await d.until(lambda: len(told()) == 3)
        await d.until(lambda: "?" in written[-1])
        d.hub.interrupt(d.shown)
        await d.idle()
        d.app.post_message(AppFocus())
        await d.until(lambda: d.app.app_focus)
        assert told() == [
            "\x1b]9;hermes: One is done.\x07",
            "\x1b]9;hermes: One failed: The key was refused.\x07",
            "\x1b]9;hermes: One asks you something.\x07",
        ]


async def test_the_window_is_named_after_the_session_and_how_it_stands(
    desk: Any, script: Any, written: list[str]
) -> None:
    async with desk() as d:
        gate = script.holds("half")
        await d.send("Sort \x1b]2;evil\x07 the files")
        await d.until(lambda: any("●" in sequence for sequence in written))
        gate.set()
        await d.idle()
        await d.until(lambda: "●" not in written[-1])
        assert written[0] == "\x1b]2;hermes — New session\x07"
        assert written[-1].startswith("\x1b]2;hermes — Sort")
        assert all(sequence.count("\x1b") == sequence.count("\x07") == 1 for sequence in written)


async def test_progress_moves_while_a_long_turn_runs_and_is_taken_back(
    desk: Any, script: Any, written: list[str]
) -> None:
    ahead_s = 0.0
    async with desk(env={"TERM_PROGRAM": "ghostty"}, clock=lambda: time.monotonic() + ahead_s) as d:
        gate = script.holds("half")
        await d.send("go")
        await d.until(lambda: d.main.runtime.is_busy)
        assert PROGRESS_ON not in written
        ahead_s = 10.0
        d.main.tell()
        assert (written[-1], d.app.announcer.parting) == (PROGRESS_ON, PROGRESS_OFF)
        gate.set()
        await d.until(lambda: PROGRESS_OFF in written)
        assert d.app.announcer.parting == ""


@pytest.mark.parametrize(
    ("how", "environ", "sent"),
    [
        (Notify.AUTO, {}, "\x07"),
        (Notify.AUTO, {"TERM_PROGRAM": "ghostty"}, "\x1b]9;hermes: a;b is done.\x07"),
        (Notify.AUTO, {"TERM_PROGRAM": "ghostty", "TMUX": "/tmp/x"}, "\x07"),
        (Notify.AUTO, {"TERM": "foot"}, "\x1b]777;notify;hermes;a,b is done.\x07"),
        (Notify.OSC9, {"TMUX": "/tmp/x"}, "\x1bPtmux;\x1b\x1b]9;hermes: a;b is done.\x07\x1b\\"),
        (Notify.BELL, {"TERM_PROGRAM": "ghostty"}, "\x07"),
        (Notify.OFF, {}, ""),
    ],
)
def test_a_notification_is_what_the_terminal_is_known_to_show(how: Notify, environ: dict[str, str], sent: str) -> None:
    assert notification(how, "a;b is done.", environ) == sent


def test_no_text_gets_out_of_a_notification() -> None:
    sent = notification(Notify.OSC9, "x\x07\x1b]52;c;aGk=\x07\x9c\x1b\\ \u202eend", {})
    assert sent.endswith("\x07")
    assert not any(char in sent[1:-1] for char in "\x07\x1b\x9c\u202e\n")
