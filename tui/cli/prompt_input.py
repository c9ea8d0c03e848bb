"""The prompt of `hermes chat`: what was written behind -q, and what standard input holds."""

from __future__ import annotations

import array
import fcntl
import os
import stat
import sys
import termios
from pathlib import Path

from agent.image_files import Prompt, with_images
from session.errors import UserError
from tui.cli.options import ChatOptions


class NoPrompt(UserError):
    """The prompt is blank."""

    sentence = "There is nothing to send: the prompt is empty."


def read_prompt(options: ChatOptions) -> Prompt:
    """Standard input is read only where that was asked for: a loop over lines must not lose them, and cron must not wait
    for them. Raises NoPrompt or NoImage."""
    is_whole = options.prompt == "-"
    parts = ["" if is_whole else options.prompt, _standard_input() if is_whole or options.has_stdin else ""]
    text = "\n\n".join(part for part in parts if part.strip())
    if not text:
        raise NoPrompt
    return with_images(text.encode("utf-8", "replace").decode(), [Path(name) for name in options.images])


def about_unread(options: ChatOptions) -> str:
    """A sentence where something waits in a pipe that the person may have meant to be sent, else ""."""
    if options.has_stdin or options.prompt == "-" or not (waiting := _waiting_bytes()):
        return ""
    return f"Standard input was not read, though {waiting:,} bytes wait there. To send it behind the prompt: --stdin"


def _standard_input() -> str:
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - None when closed
        return ""
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _waiting_bytes() -> int:
    try:
        if not stat.S_ISFIFO(os.fstat(0).st_mode):
            return 0
        count = array.array("i", [0])
        fcntl.ioctl(0, termios.FIONREAD, count)
    except OSError:
        return 0
    return count[0]
