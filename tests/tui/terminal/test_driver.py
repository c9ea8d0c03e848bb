"""The driver in a real pty: keys, frames, a terminal that is slow, and one that sends strange bytes."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from textual.app import App

from tui.driver import MOST_WAITING, Output
from tui.terminal import Terminal

if TYPE_CHECKING:
    from conftest import Pty


def settle(pty: Pty, seconds: float) -> None:
    """Read for a while, for things that must not happen."""
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        pty.pump(0.01)


def test_keys_pastes_and_the_mouse_arrive(small_app: Pty) -> None:
    small_app.send("ä\x1b[Aj\x1b[200~two\nlines\x1b[201~\x1b[<0;5;3M".encode())
    small_app.wait_for("ä up j paste(9) mouse(4,2)")


def test_F07_a_split_arrow_is_no_esc_and_a_lone_esc_is_one(small_app: Pty) -> None:
    small_app.send(b"\x1b")
    settle(small_app, 0.05)
    small_app.send(b"[A.")
    assert "escape" not in small_app.wait_for("up full_stop")
    small_app.send(b"\x1b")
    small_app.wait_for("up full_stop escape")


def test_bytes_that_are_no_text_do_not_end_the_app(small_app: Pty) -> None:
    """What tmux sends after a reattach (textual #6668)."""
    small_app.send(b"\x1b[M\xff\xfe\xfd\x1b[<35;1;\x1b[99999999999u\xc3\x28k")
    small_app.wait_for("left_parenthesis k")


def test_a_resize_reaches_the_app(small_app: Pty) -> None:
    small_app.resize(60, 20)
    small_app.send(b"j")
    small_app.wait_for("60x20")


def test_a_terminal_that_reads_nothing_for_2_s_blocks_neither_keys_nor_the_loop(small_app: Pty) -> None:
    """Frames are left out, not queued: afterwards the newest one shows, and the keys from meanwhile were taken."""
    small_app.send(b"f")
    small_app.wait_for("aaaaaaa")
    process = psutil.Process(small_app.process.pid)
    settle(small_app, 0.2)
    spent_s, began_at = sum(process.cpu_times()[:2]), time.monotonic()
    small_app.send(b"jkl")
    time.sleep(2)  # the stimulus itself
    assert sum(process.cpu_times()[:2]) - spent_s < 1.0
    small_app.written = b""
    small_app.wait_for("j k l")
    assert len(small_app.written) < 200_000
    assert time.monotonic() - began_at < 8  # the two, a frame, and room for a machine that is busy


def test_quit_works_while_the_terminal_reads_nothing(small_app: Pty) -> None:
    small_app.send(b"f")
    small_app.wait_for("aaaaaaa")
    small_app.send(b"q")
    assert small_app.process.wait(timeout=15) == 0  # nobody has read a byte since
    settle(small_app, 0.2)
    assert small_app.is_restored()


async def test_what_waits_for_a_terminal_that_reads_nothing_is_bounded(pty: Pty) -> None:
    app: App[None] = App()
    async with app.run_test():
        terminal = Terminal.open(pty.slave)
        terminal.enter()
        output = Output(terminal, app, lambda: None)
        tracemalloc.start()
        for _ in range(40):
            output.write("x" * 1_000_000)
            output.flush()
        held_bytes = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        output.finish()
        terminal.close()
    assert held_bytes < 2 * MOST_WAITING


def test_any_size_of_the_window_will_do(screen: Pty) -> None:
    screen.resize(20, 6)
    screen.send(b"one")
    screen.wait_for(lambda text: "one" in text and max(map(len, text.splitlines())) <= 20)
    screen.resize(400, 100)
    screen.send(b" two\r")
    screen.wait_for(lambda text: "one two" in text and "idle" in text)
    screen.resize(3, 1)
    screen.resize(100, 30)
    screen.wait_for("Ask for anything")
    screen.send(b"\x11")
    assert screen.wait_exit() == 0
    assert screen.is_restored()


def test_what_libraries_print_goes_to_the_log_and_not_on_the_screen(small_app: Pty, tmp_path: Path) -> None:
    small_app.send(b"ez")
    assert "noise" not in small_app.wait_for("e z")
    small_app.send(b"q")
    assert small_app.wait_exit() == 0
    assert (tmp_path / "fd.log").read_text() == "noise on two\nnoise on one\n"
    assert b"noise" not in small_app.written


def test_an_idle_screen_costs_nothing(small_app: Pty) -> None:
    """No thread that polls: not one wake-up, and not one byte."""
    process = psutil.Process(small_app.process.pid)

    def costs() -> tuple[bool, bytes]:
        before, small_app.written = process.num_ctx_switches().voluntary, b""
        settle(small_app, 1.5)
        return process.num_ctx_switches().voluntary - before > 2, small_app.written

    settle(small_app, 0.5)
    assert any(costs() == (False, b"") for _ in range(5))  # where the machine is busy, a start takes longer


def test_the_others_on_the_terminal_keep_a_blocking_one(pty: Pty) -> None:
    """O_NONBLOCK belongs to a file description; the shell shares ours on fd 0 and would fail with EAGAIN."""
    import os

    terminal = Terminal.open(pty.slave)
    try:
        assert os.get_blocking(pty.slave)
        assert not os.get_blocking(terminal.fd)
    finally:
        terminal.close()
