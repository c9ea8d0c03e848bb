"""Sequences for the terminal itself, where tmux or GNU screen stands in between."""

from __future__ import annotations

from collections.abc import Mapping

SCREEN_BYTES = 240  # GNU screen passes on no longer piece


def is_between(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("TMUX") or environ.get("STY"))


def passed_on(sequence: str, environ: Mapping[str, str]) -> str:
    """The sequence, wrapped so that the multiplexer, if there is one, hands it to the terminal where it is allowed to."""
    if environ.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environ.get("STY"):
        parts = (sequence[at : at + SCREEN_BYTES] for at in range(0, len(sequence), SCREEN_BYTES))
        return "".join(f"\x1bP{part}\x1b\\" for part in parts)
    return sequence
