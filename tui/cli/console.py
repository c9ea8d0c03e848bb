"""Words to the person who runs a command: answers on stdout, everything else on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple, TextIO

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"

_losses: list[str] = []  # why an answer did not get out whole; the first reason counts


def answer(text: str) -> bool:
    """Text on stdout: its exact bytes into a file or pipe; on a terminal, spelled out what would act on it.

    False when nobody reads it any more.
    """
    if not text:
        return True
    if _is_terminal(sys.stdout):
        from agent.literal import visible

        text = "\n".join(visible(line) for line in text.split("\n"))
    return _write(sys.stdout, text if text.endswith("\n") else f"{text}\n")


class Piece(NamedTuple):
    """A part of an answer; one that is marked stands out on a terminal."""

    text: str
    is_marked: bool = False


def answer_pieces(pieces: Iterable[Piece]) -> None:
    """As `answer`: bold where a piece is marked, on a terminal."""
    if not _is_terminal(sys.stdout):
        _write(sys.stdout, "".join(piece.text for piece in pieces))
        return
    from agent.literal import visible

    shown = [(visible(piece.text), piece.is_marked) for piece in pieces]
    _write(sys.stdout, "".join(f"{BOLD}{text}{PLAIN}" if is_marked else text for text, is_marked in shown))


def data(text: str) -> bool:
    """Machine-readable text on stdout, as it is. False when nobody reads it any more."""
    return _write(sys.stdout, f"{text}\n")


def remark(text: str) -> None:
    """One line on stderr, spelled out what would act on a terminal."""
    from agent.literal import visible

    _write(sys.stderr, f"{' '.join(visible(line) for line in text.split(chr(10)))}\n")


def loss() -> str:
    """Why a part of the answer never left this process (a full disk behind `>`), "" where all of it did."""
    return _losses[0] if _losses else ""


def mistake(sentence: str, *, as_json: bool) -> None:
    """What went wrong, on stderr; with --json an object on stdout, too: `{"error": sentence}`."""
    if as_json:
        import json

        data(json.dumps({"error": sentence}))
    remark(f"hermes: {sentence}")


def ask(question: str) -> bool:
    """Whether a person says yes on the terminal; anything else is a no."""
    return ask_word(question).lower() in ("y", "yes")


def ask_word(question: str) -> str:
    """What a person types on the terminal. Keys typed before the question do not count."""
    import termios

    with suppress(termios.error):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    _write(sys.stderr, question)
    return sys.stdin.readline().strip()


def has_screen() -> bool:
    """Whether keys come from a terminal and what is drawn goes to one."""
    return _is_terminal(sys.stdin) and _is_terminal(sys.stdout)


def open_standard_files() -> None:
    """Where fd 0, 1 or 2 was closed (`hermes <&-`), the next file opened would take its place and be written to."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _write(stream: TextIO | None, text: str) -> bool:
    """UTF-8 whatever the locale is. A reader that left (`| head`) is no error; nothing more is written to it."""
    if stream is None:
        return False
    try:
        stream.buffer.write(text.encode("utf-8", "replace"))
        stream.flush()
    except OSError as error:
        if stream is sys.stdout and not isinstance(error, BrokenPipeError):
            _losses.append(error.strerror or type(error).__name__)
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return False
    return True
