"""Where a copy goes, and that what is said of it is true. The programs are real scripts; the terminal keeps its bytes."""

from __future__ import annotations

import stat
from base64 import b64encode
from pathlib import Path

import pytest

from session.models import Level
from tui.clipboard import TERMINAL_BYTES, Clipboard


class Place:
    """A folder of programs, a home, and what the terminal got."""

    def __init__(self, folder: Path) -> None:
        self.programs, self.home = folder / "bin", folder / "home"
        self.programs.mkdir()
        self.home.mkdir()
        self.sent: list[str] = []

    def program(self, name: str, script: str) -> None:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def keeps(self, name: str) -> Path:
        """A program that keeps what it got, and how it was called."""
        kept = self.home / f"{name}.got"
        self.program(name, f'/bin/cat > "{kept}"; echo "$@" > "{kept}.args"')
        return kept

    def clipboard(self, **environ: str) -> Clipboard:
        return Clipboard({"PATH": str(self.programs), **environ}, self.sent.append, self.home)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def osc(text: str) -> str:
    return f"\x1b]52;c;{b64encode(text.encode()).decode()}\x07"


async def test_a_program_of_the_desktop_takes_it_from_its_input(place):
    got = place.keeps("wl-copy")
    outcome = await place.clipboard(WAYLAND_DISPLAY="wayland-0").copy("a secret\nin lines\n")
    assert got.read_text() == "a secret\nin lines\n"
    assert "secret" not in Path(f"{got}.args").read_text()
    assert outcome.sentence == "Copied 2 lines (18 characters) with wl-copy."
    assert not place.sent


async def test_one_that_fails_is_not_believed_and_the_next_is_tried(place):
    place.program("xclip", "exit 1")
    got = place.keeps("xsel")
    outcome = await place.clipboard(DISPLAY=":0").copy("text")
    assert (got.read_text(), outcome.sentence) == ("text", "Copied 1 line (4 characters) with xsel.")


async def test_one_that_hangs_is_ended_and_the_terminal_is_asked(place, monkeypatch):
    monkeypatch.setattr("tui.clipboard.TOOL_S", 0.2)
    place.program("wl-copy", "exec /bin/sleep 30")
    outcome = await place.clipboard(WAYLAND_DISPLAY="wayland-0").copy("text")
    assert place.sent == [osc("text")]
    assert "some terminals ignore it" in outcome.sentence


async def test_over_ssh_the_desktop_of_the_other_machine_is_left_alone(place):
    got = place.keeps("xclip")
    await place.clipboard(DISPLAY=":0", SSH_CONNECTION="1 2 3 4").copy("text")
    assert not got.exists() and place.sent == [osc("text")]


async def test_D15_tmux_takes_it_and_is_named(place):
    got = place.keeps("tmux")
    outcome = await place.clipboard(TMUX="/tmp/tmux,1,0", SSH_TTY="/dev/pts/1").copy("text")
    assert (got.read_text(), Path(f"{got}.args").read_text()) == ("text", "load-buffer -w -\n")
    assert "tmux" in outcome.sentence and not place.sent


async def test_D15_a_tmux_that_refuses_gets_the_bytes_wrapped(place):
    place.program("tmux", "exit 1")
    outcome = await place.clipboard(TMUX="/tmp/tmux,1,0", SSH_TTY="/dev/pts/1").copy("text")
    assert place.sent == ["\x1bPtmux;" + osc("text").replace("\x1b", "\x1b\x1b") + "\x1b\\"]
    assert outcome.sentence.startswith("1 line (4 characters) sent to the terminal")


async def test_screen_gets_them_in_pieces(place):
    await place.clipboard(STY="1.pts").copy("x" * 600)
    assert place.sent[0].count("\x1bP") == 4
    assert place.sent[0].replace("\x1bP", "").replace("\x1b\\", "") == osc("x" * 600)


@pytest.mark.parametrize(("text", "term"), [("x" * (TERMINAL_BYTES + 1), "xterm"), ("text", "linux")])
async def test_what_no_terminal_takes_is_in_a_file_for_its_owner_only(place, text, term):
    (place.home / "clipboard.txt").symlink_to(place.home / "elsewhere")
    outcome = await place.clipboard(TERM=term).copy(text)
    file = place.home / "clipboard.txt"
    assert file.read_text() == text and str(file) in outcome.sentence
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not (place.home / "elsewhere").exists() and not place.sent


async def test_a_file_that_cannot_be_written_is_an_error_in_a_sentence(place, tmp_path):
    (tmp_path / "file").touch()
    outcome = await Clipboard({}, None, tmp_path / "file").copy("text")
    assert outcome.level is Level.ERROR and "Nothing was copied" in outcome.sentence
