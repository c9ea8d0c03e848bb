"""What a question about a call tells beside its text: why, part by part, and what could be settled for good."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from agent.approvals.shell_verdict import Mark, Part


class Offer(Struct, frozen=True):
    """A rule that can be saved with a yes: what would run unasked from now on, as it is written in the settings.

    `covers` is how many of the last 200 commands it would have allowed as well.
    """

    rule: str
    width: str  # exact, subcommand, prefix, path, folder, host
    covers: int = 0


class Script(Struct, frozen=True):
    """A file of the workspace that a command would run, as it was when it was asked about (C30)."""

    path: str
    text: str


class Details(Struct, frozen=True):
    """`before` and `after` are a file's text around a change, None where there is none: `after` alone is a new file's.

    `may_save` is False where nothing can be settled for good (protected files, the floor, marks of danger).
    """

    parts: tuple[Part, ...] = ()
    marks: tuple[Mark, ...] = ()
    offers: tuple[tuple[Offer, ...], ...] = ()  # for each part that lacks a rule, from narrow to wide
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    path: str = ""
    before: str | None = None
    after: str | None = None
    may_save: bool = False
    ends_at: float | None = None  # when it times out, in seconds since the epoch
    command: str = (
        ""  # what a person may rewrite: the command alone, "" where nothing can be (another tool, a secret in it)
    )

    is_once: bool = False  # a yes holds for this one call only, never for the session (protected files)
    scripts: tuple[Script, ...] = ()
    stamps: tuple[str, ...] = ()  # by which each file that would run is known again; others when one was changed


NO_DETAILS = Details()


def encoded(details: Details) -> str:
    return msgspec.json.encode(details).decode()


def decoded(text: str) -> Details:
    """What stands in the store; nothing where it can't be read."""
    try:
        return msgspec.json.decode(text or "{}", type=Details)
    except msgspec.DecodeError:
        return NO_DETAILS
