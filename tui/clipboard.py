"""The clipboard, and what is true of it: which way a text took, and whether anybody said that it arrived.

A program of the desktop answers whether it took the text. A terminal that is asked by OSC 52 answers nothing, so that is
told as it is. What neither takes is written to a file.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from session.models import Level
from tui.multiplexer import passed_on

TOOL_S = 2.0
TERMINAL_BYTES = 74_000  # as base64 under the 100,000 bytes that careful terminals still take
DEAF = frozenset({"linux", "dumb"})  # terminals without a clipboard
FILE = "clipboard.txt"
SEEN_BY_TOOLS = ("PATH", "HOME", "LANG", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "TMUX")
TMUX = ("tmux", "load-buffer", "-w", "-")  # sets tmux's buffer and the clipboard of the terminal that it runs in


class Outcome(Struct, frozen=True):
    """What became of a copy, in a sentence."""

    sentence: str
    level: Level = Level.INFO


class Clipboard:
    """Copies for one terminal. `write` sends bytes to it as they are, None where there is none; `folder` is for files."""

    def __init__(self, environ: Mapping[str, str], write: Callable[[str], object] | None, folder: Path) -> None:
        self._environ = environ
        self._write = write
        self._folder = folder
        self._turn = asyncio.Lock()  # two copies at once must not end in the wrong order

    async def copy(self, text: str) -> Outcome:
        """Take a text to the best place there is."""
        if not text:
            return Outcome("There is nothing to copy.", Level.WARNING)
        async with self._turn:
            if tool := await asyncio.to_thread(self._take_by_tool, text):
                return Outcome(_by_tool(text, tool))
            if self._write is not None and _fits(text, self._environ):
                self._write(osc_52(text, self._environ))
                return Outcome(f"{size_of(text)} sent to the terminal (OSC 52); some terminals ignore it.")
            return await asyncio.to_thread(self._to_file, text)

    def _take_by_tool(self, text: str) -> str:
        """The name of the program that took the text; "" where none did."""
        seen = {name: self._environ[name] for name in SEEN_BY_TOOLS if name in self._environ}
        for command in _tools(self._environ):
            path = shutil.which(command[0], path=self._environ.get("PATH", ""))
            if path and _took([path, *command[1:]], text, seen):
                return command[0]
        return ""

    def _to_file(self, text: str) -> Outcome:
        path = self._folder / FILE
        try:
            # Whatever stood there under this name, a link included, is replaced and never written through.
            path.unlink(missing_ok=True)
            path.touch(0o600, exist_ok=False)
            path.write_text(text, "utf-8", "replace")
        except OSError as error:
            why = error.strerror or str(error)
            return Outcome(
                f"Nothing was copied: there is no clipboard, and {path} can't be written ({why}).", Level.ERROR
            )
        return Outcome(f"{size_of(text)} written to {path}, since no clipboard takes it.", Level.WARNING)


def size_of(text: str) -> str:
    lines, characters = text.rstrip("\n").count("\n") + 1, len(text)
    return f"{lines:,} line{'s'[: lines != 1]} ({characters:,} character{'s'[: characters != 1]})"


def osc_52(text: str, environ: Mapping[str, str]) -> str:
    """The bytes that ask a terminal to take a text, through a multiplexer where one stands between."""
    asked = f"\x1b]52;c;{b64encode(text.encode('utf-8', 'replace')).decode()}\x07"
    return passed_on(asked, environ)


def _by_tool(text: str, tool: str) -> str:
    if tool == TMUX[0]:
        return f"Copied {size_of(text)} to tmux, which passes it on to the terminal where that takes it."
    return f"Copied {size_of(text)} with {tool}."


def _tools(environ: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Programs that may take a text, the likeliest first. Those of a desktop would fill the wrong one over ssh."""
    if not (environ.get("SSH_CONNECTION") or environ.get("SSH_TTY")):
        if sys.platform == "darwin":
            yield ("pbcopy",)
        if environ.get("WAYLAND_DISPLAY"):
            yield ("wl-copy",)
        if environ.get("DISPLAY"):
            yield ("xclip", "-selection", "clipboard")
            yield ("xsel", "--clipboard", "--input")
    if environ.get("TMUX"):
        yield TMUX


def _took(command: list[str], text: str, environ: Mapping[str, str]) -> bool:
    """Whether a program took a text from its input. What it says goes nowhere: some stay behind and hold it open."""
    quiet = subprocess.DEVNULL
    try:
        done = subprocess.run(
            command,
            input=text.encode("utf-8", "replace"),
            stdout=quiet,
            stderr=quiet,
            env=dict(environ),
            timeout=TOOL_S,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _fits(text: str, environ: Mapping[str, str]) -> bool:
    return len(text.encode("utf-8", "replace")) <= TERMINAL_BYTES and environ.get("TERM", "") not in DEAF
