"""The question about a command in a real terminal: no key, held key or click decides that was not meant for it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

KEY_GAP_S = 0.033  # as a fast typist's, or of a key that is held
FOCUS_OUT, FOCUS_IN = "\x1b[O", "\x1b[I"
LEFT, DELETE, SHIFT_TAB = "\x1b[D", "\x1b[3~", "\x1b[Z"


@pytest.fixture
def ask(desk: Any, terminal: Callable[..., Any], wire: Any) -> Callable[..., Any]:
    """Open the screen on a model that calls commands at once, and send it a prompt.

    `arm_ms` is longer than a busy machine makes two keys of a test come apart.
    """

    def asked(*commands: str, arm_ms: int = 1_500, late_s: float = 0.0) -> Any:
        desk.serve_model(wire.base_url, approvals={"arm_ms": arm_ms})
        calls = [
            {
                "index": at,
                "id": f"call_{at}",
                "type": "function",
                "function": {"name": "terminal", "arguments": json.dumps({"command": command})},
            }
            for at, command in enumerate(commands)
        ]
        wire.stream(late_s, wire.chunk({"tool_calls": calls}), wire.chunk({}, "tool_calls"), b"data: [DONE]\n\n")
        wire.say("done")
        term = terminal()
        term.wait_for("Ask for anything")
        term.send("do it")
        term.wait_until(lambda screen: wire.keys, "the request")  # a key right behind Enter would make it a line end
        return term

    return asked


def press_slowly(term: Any, text: str) -> None:
    for key in text:
        term.type(key)
        ends_at = time.monotonic() + KEY_GAP_S
        while (left := ends_at - time.monotonic()) > 0:
            term.pump(left)


def mouse(term: Any, shown: str) -> str:
    """A press and its release on a text."""
    row, line = next((row, line) for row, line in enumerate(term.lines(), 1) if shown in line)
    at = f"{line.index(shown) + 2};{row}"
    return f"\x1b[<0;{at}M\x1b[<0;{at}m"


def answers(desk: Any) -> list[tuple[str, str]]:
    """What was recorded of each question: the answer, "" while there is none, and its cause or reason."""
    return desk.query("SELECT approval, cause FROM approval_requests ORDER BY rowid")


def test_C20_keys_typed_ahead_decide_nothing_and_stay_in_the_draft(ask: Callable[..., Any], desk: Any) -> None:
    term = ask("touch made", arm_ms=5_000, late_s=0.5)
    while "Run this command?" not in term.screen():
        press_slowly(term, "yes please ")
    press_slowly(term, "yes please 1 2 \r")
    assert "Run this command?" in term.screen()
    term.press("ctrl+c")
    term.wait_until(lambda screen: "yes please" in screen and "Run this" not in screen, "the draft")
    term.wait_for("idle")
    assert [approval for approval, _ in answers(desk)] == ["cancelled"]
    assert not (desk.workspace / "made").exists()


def test_C21_of_a_held_key_only_its_first_press_decides(ask: Callable[..., Any], desk: Any) -> None:
    term = ask("touch one", "touch two", "touch three", arm_ms=2_500)
    term.answer("touch one", "1")
    press_slowly(term, "1\r" * 25)
    term.wait_for("touch two")
    assert [file.name for file in desk.workspace.iterdir()] == ["one"]
    assert answers(desk) == [("allowed_once", ""), ("", "")]


def test_C22_editing_keys_in_the_reason_edit_it_and_decide_nothing(ask: Callable[..., Any], desk: Any) -> None:
    term = ask("touch made", arm_ms=700)
    term.answer("touch made", "6")
    term.wait_for("write a reason")
    press_slowly(term, "abc")
    term.wait_for("abc")
    term.type(f"{LEFT}\x7f{DELETE}{SHIFT_TAB}1")  # the digit is text, or dropped, by where the cursor is by then
    term.wait_for(re.compile("keys count in a moment|enter takes the marked answer"))
    term.press("tab")
    term.wait_for("enter denies with this reason")
    press_slowly(term, " is early")
    term.wait_for(re.compile("a1? is early"))
    assert [approval for approval, _ in answers(desk)] == [""]
    term.press("enter")
    term.wait_for("done")
    [(approval, reason)] = answers(desk)
    assert approval == "denied" and reason in ("the person said: a is early", "the person said: a1 is early")


def test_C23_a_click_that_brings_the_window_to_the_front_decides_nothing(ask: Callable[..., Any], desk: Any) -> None:
    term = ask("touch made", arm_ms=700)
    term.wait_for("enter decides")
    term.type(FOCUS_OUT)
    term.type(FOCUS_IN + mouse(term, "Allow once"))
    term.wait_for("wait…")
    assert not (desk.workspace / "made").exists()
    term.wait_for("enter decides")
    term.type(mouse(term, "Allow once"))
    term.wait_for("done")
    assert (desk.workspace / "made").exists()


def test_C15_C16_neither_blanks_nor_a_turn_of_direction_hides_what_would_run(ask: Callable[..., Any]) -> None:
    term = ask(f"ls{' ' * 2_000}; rm -rf d #\u202e\u2066moc.live\u2069 \u200bimportant")
    screen = term.wait_for("enter decides")
    assert "rm -rf d" in screen and "2,000" in screen and "Careful" in screen
    assert r"\u202e\u2066moc.live\u2069 \u200bimportant" in screen
    assert not set("\u202e\u2066\u2069\u200b") & set(term.written())
