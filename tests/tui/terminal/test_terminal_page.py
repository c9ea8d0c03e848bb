"""`hermes doctor --terminal`: what a terminal answers, and what it makes of keys and the mouse."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tui.cli.terminal_answers import SAMPLES, read_answers, told_findings

if TYPE_CHECKING:
    from conftest import Pty

KITTY = "\x1bP>|kitty(0.35)\x1b\\\x1b[?25u\x1b[?2026;2$y\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
KIND = "\x1b[?62;22c"


def places(*widths: int) -> str:
    return "".join(f"\x1b[1;{width + 1}R" for width in widths)


def told(said: str) -> str:
    return "\n".join(finding.text for finding in told_findings(read_answers(said)))


def test_what_a_terminal_answers_is_told() -> None:
    widths = (1, 1, 1, 4, 2, 2, 2, 2, 2)
    assert len(widths) == len(SAMPLES)
    shown = told(KITTY + places(*widths) + KIND)
    assert "calls itself kitty(0.35)" in shown and "all keys apart" in shown and "background is light" in shown
    assert "one piece" in shown and "all 9 samples" in shown


def test_a_terminal_that_draws_some_characters_wider_is_told() -> None:
    assert "a joined emoji is 4 wide instead of 2" in told(places(1, 1, 1, 4, 2, 2, 4, 2, 2) + KIND)


@pytest.mark.parametrize("said", ["", "\x1b[?", "\x1b[1;2R" * 40, "\x1bP>|" + "x" * 9000])
def test_a_terminal_that_answers_nothing_sensible_is_told_as_one(said: str) -> None:
    assert "answers no questions" in told(said)


@pytest.fixture
def page(pty: Pty, environ: dict[str, str], hermes: Path) -> Pty:
    pty.start([hermes, "doctor", "--terminal"], environ)
    pty.wait_for(lambda _: b"\x1b[c" in pty.written)
    pty.send((KITTY + KIND).encode())
    pty.wait_for("tells all keys apart")
    return pty


def test_keys_the_mouse_and_the_focus_are_named_and_the_terminal_is_left_as_it_was(page: Pty) -> None:
    page.send(b"a\x1b[13;2u\x1b[<0;5;3M\x1b[O\x1b[200~pasted\x1b[201~")
    page.wait_for("a shift+enter a paste of 6")
    assert "button 1 pressed at column 5, row 3" in page.text() and "it went away" in page.text()
    page.resize(60, 12)
    page.wait_for("60 by 12")
    page.send(b"\x03")
    assert page.wait_exit() == 0
    assert page.is_restored()
    assert b"It calls itself kitty(0.35)." in page.written[page.written.rfind(b"\x1b[?1049l") :]


def test_a_signal_restores_the_terminal(page: Pty) -> None:
    page.process.send_signal(signal.SIGTERM)
    assert page.wait_exit() == 143
    assert page.is_restored()


def test_without_a_terminal_it_is_plain_text(environ: dict[str, str], hermes: Path) -> None:
    done = subprocess.run([hermes, "doctor", "--terminal"], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "not run on a terminal" in done.stdout and "\x1b" not in done.stdout
