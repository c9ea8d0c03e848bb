"""What a terminal says of itself when it is asked, and what follows from that for the screen."""

from __future__ import annotations

import os
import re
import select
import time
from collections.abc import Iterator, Mapping

from msgspec import Struct
from rich.cells import cell_len

from agent.doctor.finding import Finding, Grade
from tui.background import ASK_BACKGROUND, can_be_asked, told_background
from tui.terminal import ASK_SYNC, drain

TERMINAL = "terminal"
ANSWER_S = 1.5  # over a slow line; every terminal answers the last question
WRITE_S = 1.0
READ_BYTES = 4096
SAMPLES = {
    "a letter": "ä",
    "a letter and an accent": "e\u0301",
    "an ellipsis": "…",
    "Chinese": "漢字",
    "an emoji": "😀",
    "a skin tone": "👍🏽",
    "a joined emoji": "👩‍💻",
    "a flag": "🇩🇪",
    "a red heart": "❤️",
}

_ASK_NAME, _ASK_KEYS, _ASK_PLACE, _ASK_KIND = "\x1b[>q", "\x1b[?u", "\x1b[6n", "\x1b[c"
_ANEW = "\r\x1b[K"  # in an empty line again
_NAME = re.compile(r"\x1bP>\|([^\x1b]*)\x1b\\")
_KEYS = re.compile(r"\x1b\[\?\d+u")
_SYNC = re.compile(r"\x1b\[\?2026;([0-4])\$y")
_BACKGROUND = re.compile(r"\x1b\]11;([^\x07\x1b]*)(?:\x07|\x1b\\)")
_PLACE = re.compile(r"\x1b\[\d+;(\d+)R")
_KIND = re.compile(r"\x1b\[\?[\d;]*c")


class Told(Struct, frozen=True):
    """The answers. `widths` is how many cells each of SAMPLES took, () where the terminal does not tell."""

    name: str = ""
    tells_keys: bool = False
    draws_whole: bool = False
    is_dark: bool | None = None
    widths: tuple[int, ...] = ()
    has_answered: bool = False


def ask(fd: int, environ: Mapping[str, str]) -> Told:
    """Ask the terminal behind a non-blocking fd in raw mode. Something is drawn meanwhile, for the widths."""
    drain(fd, _questions(environ).encode(), WRITE_S)
    return read_answers(_answers(fd))


def read_answers(said: str) -> Told:
    """What the answers say, in whatever order and among whatever else they came."""
    name, sync, background = _NAME.search(said), _SYNC.search(said), _BACKGROUND.search(said)
    told = told_background(background[1]) if background else None
    widths = tuple(int(column) - 1 for column in _PLACE.findall(said))
    return Told(
        name[1] if name else "",
        tells_keys=_KEYS.search(said) is not None,
        draws_whole=sync is not None and sync[1] in "123",
        is_dark=told.is_dark if told else None,
        widths=widths if len(widths) == len(SAMPLES) else (),
        has_answered=_KIND.search(said) is not None,
    )


def told_findings(told: Told) -> Iterator[Finding]:
    """The answers as sentences, with what to do about the bad ones."""
    if not told.has_answered:
        yield Finding(TERMINAL, Grade.NOTE, "It answers no questions, so the rest is not known.")
        return
    if told.name:
        yield Finding(TERMINAL, Grade.OK, f"It calls itself {told.name}.")
    yield _keys(told)
    if told.draws_whole:
        yield Finding(TERMINAL, Grade.OK, "It draws a frame in one piece.")
    else:
        yield Finding(TERMINAL, Grade.NOTE, "It does not draw a frame in one piece, so the screen may flicker.")
    if told.is_dark is None:
        yield Finding(
            TERMINAL, Grade.NOTE, "It does not tell its background, which counts as dark.", "set display.theme"
        )
    else:
        yield Finding(TERMINAL, Grade.OK, f"Its background is {'dark' if told.is_dark else 'light'}.")
    yield _widths(told.widths)
    yield Finding(TERMINAL, Grade.OK, "Whether it lets a program set the clipboard (OSC 52), no terminal tells.")


def _keys(told: Told) -> Finding:
    if told.tells_keys:
        return Finding(TERMINAL, Grade.OK, "It tells all keys apart.")
    said = "It does not tell all keys apart: Shift+Enter comes as Enter."
    return Finding(TERMINAL, Grade.NOTE, said, "begin a new line with Alt+Enter or Ctrl+J")


def _widths(widths: tuple[int, ...]) -> Finding:
    if not widths:
        return Finding(TERMINAL, Grade.NOTE, "It does not tell how wide it draws a character.")
    wrong = [
        f"{name} is {width} wide instead of {cell_len(sample)}"
        for (name, sample), width in zip(SAMPLES.items(), widths, strict=True)
        if width != cell_len(sample)
    ]
    if not wrong:
        return Finding(TERMINAL, Grade.OK, f"It draws all {len(SAMPLES)} samples as wide as the screen counts on.")
    return Finding(TERMINAL, Grade.WARNING, f"Lines are torn where such characters stand: {', '.join(wrong)}.")


def _questions(environ: Mapping[str, str]) -> str:
    # Apple's terminal prints the question whether it can draw frames in one piece.
    sync = "" if environ.get("TERM_PROGRAM") == "Apple_Terminal" else ASK_SYNC
    background = ASK_BACKGROUND if can_be_asked(environ) else ""
    places = "".join(f"{_ANEW}{sample}{_ASK_PLACE}" for sample in SAMPLES.values())
    return f"{_ASK_NAME}{_ASK_KEYS}{sync}{background}{places}{_ANEW}{_ASK_KIND}"


def _answers(fd: int) -> str:
    """What comes until the last question is answered, or nothing more does."""
    said, ends_at = "", time.monotonic() + ANSWER_S
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    while not _KIND.search(said) and (left_s := ends_at - time.monotonic()) > 0:
        if not poller.poll(left_s * 1000):
            break
        try:
            read = os.read(fd, READ_BYTES)
        except BlockingIOError:
            continue
        except OSError:
            break
        if not read:
            break
        said += read.decode("utf-8", "replace")
    return said
