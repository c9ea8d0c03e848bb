"""The image on the clipboard, as a file: what a program of the desktop gives of it."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from agent.image_files import ImageFile, NoImage, look_at
from session.errors import UserError
from tui.clipboard import SEEN_BY_TOOLS

TOOL_S = 5.0
_HEX = re.compile(rb"\xc2\xabdata PNGf([0-9A-F]+)\xc2\xbb")  # as osascript tells bytes


class NoClipboardImage(UserError):
    """There is no image to be had from the clipboard."""

    sentence = "No image was taken from the clipboard: {why}. A file goes in with /image PATH."


class _Way(Struct, frozen=True):
    """A program that gives the image on its output; `package` is what brings it."""

    command: tuple[str, ...]
    package: str = ""


async def take_image(environ: Mapping[str, str], folder: Path) -> ImageFile:
    """Keep the image in a private file in a folder of the session. Raises NoClipboardImage."""
    return await asyncio.to_thread(_taken, environ, folder)


def _taken(environ: Mapping[str, str], folder: Path) -> ImageFile:
    ways = list(_ways(environ))
    there = [way for way in ways if shutil.which(way.command[0], path=environ.get("PATH", ""))]
    if not there:
        wanted = " or ".join(f"{way.command[0]} ({way.package})" for way in ways if way.package)
        raise NoClipboardImage(why=f"{wanted} is not installed")
    seen = {name: environ[name] for name in SEEN_BY_TOOLS if name in environ}
    raw = next(filter(None, (_given(way.command, seen) for way in there)), b"")
    if not raw:
        raise NoClipboardImage(why="there is none on it")
    try:
        return look_at(_kept(raw, folder))
    except NoImage as error:
        raise NoClipboardImage(why=str(error.values["why"])) from error
    except OSError as error:
        raise NoClipboardImage(why=f"it could not be kept ({error.strerror or error})") from error


def _ways(environ: Mapping[str, str]) -> Iterator[_Way]:
    """Raises NoClipboardImage where no program can know the person's clipboard."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        raise NoClipboardImage(why="over ssh, that of your own machine can't be read")
    if sys.platform == "darwin":
        yield _Way(("pngpaste", "-"), "brew install pngpaste")
        yield _Way(("osascript", "-e", "get the clipboard as «class PNGf»"))
    elif environ.get("WAYLAND_DISPLAY"):
        yield _Way(("wl-paste", "--no-newline", "--type", "image/png"), "of wl-clipboard")
    elif environ.get("DISPLAY"):
        yield _Way(("xclip", "-selection", "clipboard", "-t", "image/png", "-o"), "of xclip")
    else:
        raise NoClipboardImage(why="there is no desktop here")


def _given(command: tuple[str, ...], environ: Mapping[str, str]) -> bytes:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            timeout=TOOL_S,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    if done.returncode != 0:
        return b""
    told = _HEX.search(done.stdout)
    return bytes.fromhex(told[1].decode()) if told else done.stdout


def _kept(raw: bytes, folder: Path) -> Path:
    # Not what is above them: that would be the home of a profile that was deleted meanwhile.
    for one in (folder.parent, folder):
        one.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"clipboard-{time.time_ns()}.png"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(raw)
    return path
