"""`hermes logs`: which lines it shows, and how it goes on with a log that is written, put aside and read by nobody."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pexpect
import pytest

if TYPE_CHECKING:
    from conftest import Command

WAIT_S = 15


@pytest.fixture
def log(hermes: Command) -> Path:
    (hermes.home / "logs").mkdir()
    path = hermes.home / "logs" / "hermes.log"
    path.touch()
    return path


def record(age_s: float, level: str, words: str) -> str:
    written = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - age_s))
    return f"{written},123 4711 {level} agent.turn: {words}\n"


def shown(hermes: Command, *arguments: str) -> list[str]:
    done = hermes.run("logs", *arguments)
    assert done.returncode == 0
    return [line.partition("agent.turn: ")[2] or line for line in done.stdout.decode().splitlines()]


def test_since_takes_what_is_not_older(hermes: Command, log: Path) -> None:
    log.write_text(record(9000, "INFO", "old") + record(4000, "INFO", "middle") + record(5, "INFO", "new"))
    assert shown(hermes, "--since", "10m") == ["new"]
    assert shown(hermes, "--since", "2h") == ["middle", "new"]
    assert shown(hermes, "--since", "3d") == ["old", "middle", "new"]
    at = time.strftime("%Y-%m-%dT%H:%M", time.localtime(time.time() - 4200))
    assert shown(hermes, "--since", at) == ["middle", "new"]
    assert shown(hermes, "--since", "3d", "-n", "1") == ["new"]


def test_since_reaches_into_the_log_that_was_put_aside(hermes: Command, log: Path) -> None:
    log.with_suffix(".log.1").write_text(record(60, "INFO", "before") + "and its last line")
    log.write_text(record(5, "INFO", "after"))
    assert shown(hermes, "--since", "10m") == ["before", "and its last line", "after"]


def test_a_traceback_stays_with_its_record(hermes: Command, log: Path) -> None:
    failed = record(5, "ERROR", "failed") + "Traceback (most recent call last):\n  ...\n"
    log.write_text(record(9, "INFO", "fine") + "detail\n" + failed + record(3, "WARNING", "odd"))
    assert shown(hermes, "--level", "error") == ["failed", "Traceback (most recent call last):", "  ..."]
    assert shown(hermes, "--level", "warning")[-1] == "odd"


@pytest.mark.parametrize("time_", ["yesterday", "10", "-1h", "2026-13-45", ""])
def test_a_time_that_is_none_is_told(hermes: Command, time_: str) -> None:
    done = hermes.run("logs", f"--since={time_}")
    assert done.returncode == 2
    assert b"takes 10m, 2h, 3d or a time" in done.stderr


def test_nothing_found_is_said(hermes: Command, log: Path) -> None:
    log.write_text(record(9000, "INFO", "old"))
    assert b"Nothing of that kind" in hermes.run("logs", "--since", "1m").stderr


def test_a_key_that_stands_in_the_log_is_masked(hermes: Command, log: Path) -> None:
    """What was written before the key was known to be one."""
    (hermes.home / ".env").write_text("MY_KEY=sk-very-secret-0123\n")
    hermes.environ["OTHER_TOKEN"] = "tok-very-secret-0123"
    (hermes.home / "config.yaml").write_text("providers: {p: {base_url: 'http://h/v1', key_env: MINE}}\n")
    hermes.environ["MINE"] = "min-very-secret-0123"
    log.write_text(record(5, "INFO", "sk-very-secret-0123, tok-very-secret-0123 and min-very-secret-0123"))
    assert shown(hermes) == ["[MY_KEY], [OTHER_TOKEN] and [MINE]"]


def test_showing_the_log_makes_nothing(hermes: Command, tmp_path: Path) -> None:
    hermes.environ["HERMES_HOME"] = str(tmp_path / "later")
    assert hermes.run("logs").returncode == 0
    assert not (tmp_path / "later").exists()


def test_bytes_that_act_on_a_terminal_are_spelled_out_there(hermes: Command, log: Path) -> None:
    log.write_bytes(b"\x1b]0;title\x07 \x9b2J \xff\n")
    child = pexpect.spawn(str(hermes.path), ["logs"], env=hermes.environ, cwd=str(hermes.cwd), timeout=WAIT_S)
    written = child.read().decode()
    assert "\\x1b]0;title\\x07" in written
    assert "\x1b" not in written


# --- following


class Following:
    """`hermes logs -f`, and what it has shown."""

    def __init__(self, hermes: Command) -> None:
        self.process = hermes.start("logs", "-f", start_new_session=True)
        assert self.process.stdout is not None
        self.stdout = self.process.stdout
        self.text = ""

    def wait_for(self, words: str) -> None:
        ends_at = time.monotonic() + WAIT_S
        while words not in self.text:
            ready, _, _ = select.select([self.stdout], [], [], max(0, ends_at - time.monotonic()))
            assert ready, f"{words!r} did not come, but {self.text!r}"
            piece = os.read(self.stdout.fileno(), 65_536)
            assert piece, f"it ended before {words!r} came"
            self.text += piece.decode()


@pytest.fixture
def following(hermes: Command, log: Path) -> Iterator[Following]:
    log.write_text("first\n")
    following = Following(hermes)
    following.wait_for("first")
    yield following
    following.process.kill()
    following.process.communicate()


def append(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


def test_new_lines_are_shown_once_and_whole(following: Following, log: Path) -> None:
    append(log, "sec")
    append(log, "ond\nthird\n")
    following.wait_for("third\n")
    assert following.text == "first\nsecond\nthird\n"


def test_following_goes_on_in_the_log_that_takes_its_place(following: Following, log: Path) -> None:
    append(log, "last of the old\n")
    log.replace(log.with_suffix(".log.1"))
    log.write_text("first of the new\n")
    following.wait_for("first of the new\n")
    assert following.text == "first\nlast of the old\nfirst of the new\n"


def test_following_goes_on_in_a_log_that_was_emptied(following: Following, log: Path) -> None:
    append(log, "much " * 100 + "\n")
    following.wait_for("much \n")
    log.write_text("anew\n")
    following.wait_for("anew\n")


def test_ctrl_c_ends_it_quietly_with_130(following: Following) -> None:
    following.process.send_signal(signal.SIGINT)
    _, stderr = following.process.communicate(timeout=WAIT_S)
    assert (following.process.returncode, stderr) == (130, b"")


def test_it_ends_when_nobody_reads_it_any_more(hermes: Command, log: Path) -> None:
    """`hermes logs -f | head -1`, also where nothing more is ever logged."""
    log.write_text("first\n")
    done = hermes.shell('"$HERMES" logs -f | head -1')
    assert done.stdout == b"first\n"


def test_waiting_costs_next_to_nothing(following: Following) -> None:
    before = cpu_s(following.process)
    time.sleep(1)  # the time itself is what is measured
    assert cpu_s(following.process) - before < 0.1


def cpu_s(process: subprocess.Popen[bytes]) -> float:
    import psutil

    times = psutil.Process(process.pid).cpu_times()
    return times.user + times.system
