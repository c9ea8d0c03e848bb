"""A selection drawn with the mouse in a real terminal, and the bytes that carry it to the clipboard."""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

PRESS, DRAG, RELEASE = "\x1b[<0;{};{}M", "\x1b[<32;{};{}M", "\x1b[<0;{};{}m"


def place_of(term: Any, words: str) -> tuple[int, int]:
    """The column and row where words begin, counted from 1 as the mouse does."""
    row = next(row for row, line in enumerate(term.lines()) if words in line)
    return term.lines()[row].index(words) + 1, row + 1


def test_D15_a_drag_over_three_messages_in_tmux_over_ssh_is_sent_wrapped(
    terminal: Callable[..., Any], desk: Any, wire: Any
) -> None:
    """The tmux that the environment names does not run, so it can't be asked; its passthrough is what is left."""
    desk.serve_model(wire.base_url)
    wire.say("Some **bold** words.")
    wire.say("That is all.")
    over_ssh = ("env", "TERM=screen", "TMUX=/nowhere/socket,1,0", "SSH_TTY=/dev/pts/9")
    term = terminal(cols=90, program=(*over_ssh, str(Path(sys.executable).with_name("hermes"))))
    term.wait_for("Ask for anything")
    term.send("first prompt")
    term.wait_for("Some bold words.")
    term.send("second prompt")
    term.wait_for("That is all.")
    (x, y), (end_x, end_y) = place_of(term, "first prompt"), place_of(term, "second prompt")
    term.press(PRESS.format(x, y), DRAG.format(x + 9, y + 1), DRAG.format(end_x + 12, end_y))
    term.press(RELEASE.format(end_x + 12, end_y), "ctrl+c")
    text = b64encode(b"first prompt\n\nSome **bold** words.\n\nsecond prompt").decode()
    sent = f"\x1bPtmux;\x1b\x1b]52;c;{text}\x07\x1b\\"
    term.wait_until(lambda _: sent in term.written(), "the wrapped text")
    term.wait_for("sent to the terminal (OSC 52)")
