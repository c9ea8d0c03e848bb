"""One sitting in a real tmux: keys, sizes, detaching, copying, stopping and leaving go through it as through a terminal."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

HERMES = Path(sys.executable).with_name("hermes")
OPTIONS = "set -g status off\nset -g default-terminal screen-256color\nset -sg escape-time 0\n"


class Tmux:
    """A server of its own, with a socket of its own."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        options = folder / "tmux.conf"
        options.write_text(OPTIONS)
        self.command = ("tmux", "-S", str(folder / "s"), "-f", str(options))
        self._environ = environ

    def says(self, *words: str) -> str:
        done = subprocess.run(
            [*self.command, *words], env=self._environ, capture_output=True, text=True, timeout=15, check=True
        )
        return done.stdout

    def told(self, *names: str) -> list[str]:
        """What it knows of the pane."""
        return self.says("display-message", "-p", "-t", "t", " ".join(f"#{{{name}}}" for name in names)).split()

    def hermes(self) -> int:
        """The process in the pane's shell."""
        (pid,) = self.told("pane_pid")
        return next(
            one.pid for one in psutil.Process(int(pid)).children(recursive=True) if str(HERMES) in one.cmdline()
        )


@pytest.fixture
def tmux(desk: Any, peer_is_missing: Callable[[str], None]) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        peer_is_missing("tmux is not installed")
    with tempfile.TemporaryDirectory(prefix="tmux-") as folder:  # a path to a socket has to be short
        server = Tmux(Path(folder), desk.environ)
        yield server
        subprocess.run([*server.command, "kill-server"], env=desk.environ, capture_output=True, timeout=15, check=False)


def test_a_sitting_in_tmux(terminal: Callable[..., Any], tmux: Tmux, desk: Any, wire: Any) -> None:
    desk.serve_model(wire.base_url)
    wire.say("Said in tmux.")
    shell = ("new-session", "-s", "t", "env PS1='ready> ' ENV= sh -i")
    term = terminal(cols=80, rows=24, program=(*tmux.command, *shell))
    term.wait_for("ready>")
    term.type(f"{HERMES} tui\r")
    term.wait_for("Ask for anything")
    term.send("hello")
    term.wait_for("Said in tmux.")
    term.wait_for("idle")

    term.resize(100, 30)
    term.wait_until(lambda _: "idle" in term.lines()[29], "the status row on the last line")
    assert tmux.told("pane_width", "pane_height", "alternate_on") == ["100", "30", "1"]

    tmux.says("detach-client", "-s", "t")
    term.wait_exit()
    term = terminal(cols=90, rows=26, program=(*tmux.command, "attach", "-t", "t"))
    term.wait_until(lambda _: "idle" in term.lines()[25], "the status row on the last line")

    term.send("/copy")
    term.wait_for("to tmux")
    assert tmux.says("show-buffer").strip() == "Said in tmux."

    os.kill(tmux.hermes(), signal.SIGTSTP)
    term.wait_for("ready>")
    assert tmux.told("alternate_on", "mouse_any_flag", "cursor_flag") == ["0", "0", "1"]
    term.type("fg\r")
    term.wait_for("Ask for anything")

    term.send("/quit")
    term.wait_gone("Ask for anything")
    term.wait_for("ready>")
    assert tmux.told("alternate_on", "mouse_any_flag", "cursor_flag") == ["0", "0", "1"]
