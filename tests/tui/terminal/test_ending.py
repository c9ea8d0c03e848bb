"""Every way out: signals, errors, a terminal that goes away. The process is gone within 2 s and the terminal as before."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tui.ending import GRACE_S

if TYPE_CHECKING:
    from conftest import Pty

LIMIT_S = 2.0 + 2.0  # two by the rule, and as much again for a machine that is busy


def integrity(home: str) -> str:
    db = sqlite3.connect(Path(home) / "state.db")
    try:
        return str(db.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        db.close()


def finishes(home: str) -> list[str]:
    db = sqlite3.connect(Path(home) / "state.db")
    try:
        return [str(row[0]) for row in db.execute("SELECT finish FROM messages WHERE role = 'assistant' ORDER BY id")]
    finally:
        db.close()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)], ids=["TERM", "HUP", "INT"]
)
def test_F12_a_signal_in_a_turn_restores_the_terminal_and_settles_the_turn(
    screen: Pty, environ: dict[str, str], number: int, code: int
) -> None:
    screen.send(b"long\r")
    screen.wait_for("written in advance")
    began_at = time.monotonic()
    screen.process.send_signal(number)
    assert screen.wait_exit() == code
    assert time.monotonic() - began_at < LIMIT_S
    assert screen.is_restored()
    assert b"Traceback" not in screen.written
    assert integrity(environ["HERMES_HOME"]) == "ok"
    assert finishes(environ["HERMES_HOME"])[-1:] == ["interrupted"]


def test_a_terminal_that_reads_nothing_keeps_nobody_from_interrupting_and_leaving(
    screen: Pty, environ: dict[str, str]
) -> None:
    screen.send(b"long\r")
    screen.wait_for("written in advance")
    screen.send(b"\x1b[27u")
    ends_at = time.monotonic() + 15
    while finishes(environ["HERMES_HOME"])[-1:] != ["interrupted"]:  # nobody reads a byte meanwhile
        assert time.monotonic() < ends_at
        time.sleep(0.02)
    screen.send(b"\x11")
    assert screen.process.wait(timeout=15) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_F12_a_signal_while_starting_leaves_no_trace_on_the_terminal(
    pty: Pty, environ: dict[str, str], hermes: Path, number: int
) -> None:
    process = pty.start([hermes], environ)
    for _ in range(100):  # some time before the first frame
        pty.pump(0.002)
        if psutil.Process(process.pid).memory_info().rss > 25_000_000:
            break
    process.send_signal(number)
    assert pty.wait_exit() in (128 + number, -number)
    assert b"Traceback" not in pty.written
    assert pty.is_restored() or b"\x1b[?1049h" not in pty.written


def test_F12_a_blocked_loop_does_not_keep_the_process_or_the_modes(small_app: Pty) -> None:
    small_app.send(b"b")
    began_at = time.monotonic()
    small_app.pump(0.2)
    small_app.process.send_signal(signal.SIGTERM)
    assert small_app.wait_exit() == 143
    assert time.monotonic() - began_at < LIMIT_S
    assert small_app.is_restored()


def test_a_second_signal_ends_it_at_once(small_app: Pty) -> None:
    small_app.send(b"b")
    small_app.pump(0.2)
    small_app.process.send_signal(signal.SIGINT)
    began_at = time.monotonic()
    while time.monotonic() - began_at < 0.4:
        small_app.pump(0.01)
    small_app.process.send_signal(signal.SIGINT)
    assert small_app.wait_exit() == 130
    assert time.monotonic() - began_at < GRACE_S  # after which it would have ended without the second one
    assert small_app.is_restored()


def test_a_signal_sent_twice_at_once_still_settles_the_turn(screen: Pty, environ: dict[str, str]) -> None:
    """As `timeout` does: to the child, and to its group."""
    screen.send(b"long\r")
    screen.wait_for("written in advance")
    screen.process.send_signal(signal.SIGTERM)
    screen.process.send_signal(signal.SIGTERM)
    assert screen.wait_exit() == 143
    assert finishes(environ["HERMES_HOME"])[-1:] == ["interrupted"]


def test_F12_the_next_start_repairs_what_a_kill_left(small_app: Pty, tmp_path: Path, environ: dict[str, str]) -> None:
    command = small_app.process.cmdline()
    small_app.process.kill()
    small_app.process.wait()
    assert not small_app.is_restored()
    small_app.written = b""
    small_app.start(command, environ)
    small_app.wait_for(lambda text: b"\x1b[?1049h" in small_app.written and "ready" in text)
    small_app.send(b"q")
    assert small_app.wait_exit() == 0
    assert small_app.is_restored()


def test_F13_a_stopped_app_gives_the_terminal_back_and_takes_it_again(small_app: Pty) -> None:
    small_app.send(b"j")
    small_app.wait_for("j")
    small_app.process.send_signal(signal.SIGTSTP)
    small_app.wait_for(lambda _: small_app.process.status() == psutil.STATUS_STOPPED)
    small_app.pump(0)
    assert small_app.is_restored()
    small_app.written = b""
    small_app.process.send_signal(signal.SIGCONT)
    small_app.wait_for(lambda text: b"\x1b[?1049h" in small_app.written and "j" in text)
    small_app.send(b"k")
    small_app.wait_for("j k")


@pytest.mark.parametrize("key", [b"x", b"w"], ids=["handler", "worker"])
def test_F12_an_error_restores_the_terminal_and_prints_no_traceback(small_app: Pty, tmp_path: Path, key: bytes) -> None:
    small_app.send(key)
    assert small_app.wait_exit() == 1
    assert small_app.is_restored()
    assert b"Traceback" not in small_app.written
    assert b"secret" not in small_app.written
    assert "a secret in" in (tmp_path / "crash.log").read_text()


@pytest.mark.parametrize("case", ["leader", "child of a shell", "SIGHUP ignored", "no controlling terminal"])
def test_a_closed_pty_ends_the_process_within_2_s_without_spinning(
    pty: Pty, environ: dict[str, str], hermes: Path, case: str
) -> None:
    pid = start(pty, environ, hermes, case)
    pty.send(b"long\r")
    pty.wait_for("written in advance")
    process = psutil.Process(pid)
    before_s, began_at = cpu_s(process), time.monotonic()
    spent_s = 0.0
    pty.hang_up()
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() - began_at < LIMIT_S, "still there"
        spent_s = max(spent_s, cpu_s(process) - before_s)
        pty.process.poll()
        time.sleep(0.01)
    assert spent_s < 0.6
    assert integrity(environ["HERMES_HOME"]) == "ok"
    assert finishes(environ["HERMES_HOME"])[-1:] == ["interrupted"]


def test_a_closed_pty_ends_a_process_whose_loop_is_blocked(small_app: Pty) -> None:
    small_app.send(b"b")
    small_app.pump(0.3)
    began_at = time.monotonic()
    small_app.hang_up()
    assert small_app.process.wait(timeout=15) == 129
    assert time.monotonic() - began_at < LIMIT_S


def start(pty: Pty, environ: dict[str, str], hermes: Path, case: str) -> int:
    """Start the product in one of the ways a terminal is lost; its process id."""
    if case == "child of a shell":
        shell = shutil.which("bash")
        if shell is None:
            pytest.skip("there is no bash")
        pty.start([shell, "--norc", "--noprofile", "-i"], environ)
        pty.send(f"{hermes}\n".encode())
    else:
        pty.start(
            [hermes],
            environ,
            has_session=case != "no controlling terminal",
            ignores_hup=case == "SIGHUP ignored",
        )
    pty.wait_for("Ask for anything")
    if case != "child of a shell":
        return pty.process.pid
    return pty.process.children()[0].pid


def cpu_s(process: psutil.Process) -> float:
    try:
        return sum(process.cpu_times()[:2])
    except psutil.Error:
        return 0.0


def test_a_long_turn_leaves_neither_a_title_nor_progress_behind(
    pty: Pty, environ: dict[str, str], hermes: Path
) -> None:
    pty.start([hermes, "--set", "display.theme=auto"], {**environ, "TERM_PROGRAM": "ghostty", "TMUX": "", "STY": ""})
    pty.wait_for("Ask for anything")
    assert b"\x1b[22;0t" in pty.written and b"\x1b]2;hermes" in pty.written
    assert b"\x1b]11;?" in pty.written and b"48;2;251;250;247" not in pty.written
    pty.send(b"\x1b]11;rgb:ffff/ffff/ffff\x07")
    pty.wait_for(lambda _: b"48;2;251;250;247" in pty.written)  # the light theme's page
    assert "rgb:" not in pty.text()
    pty.send(b"run sleep 20\r")
    pty.wait_for(lambda _: b"\x1b]9;4;3\x07" in pty.written)
    pty.process.send_signal(signal.SIGTERM)
    pty.wait_exit()
    assert pty.is_restored()
    assert pty.written.rfind(b"\x1b]9;4;0\x07") > pty.written.rfind(b"\x1b]9;4;3\x07")
    assert b"\x1b[23;0t" in pty.written[pty.written.rfind(b"\x1b]2;") :]
