"""Errors that a person can meet: each is one sentence that says what happened and what to do."""

from __future__ import annotations

from typing import ClassVar


class UserError(Exception):
    """An error to show as it stands. `sentence` is filled with the values given; they are data and never format."""

    sentence: ClassVar[str] = "{reason}"

    def __init__(self, **values: object) -> None:
        super().__init__(self.sentence.format(**values))
        self.values = values


class ForeignDatabase(UserError):
    """A SQLite database of another program (its application_id is not ours)."""

    sentence = (
        "{path} belongs to another program ({found}). Nothing was changed. "
        "Set HERMES_HOME to another folder to keep sessions there."
    )


class NotADatabase(UserError):
    """Something other than a SQLite database stands where ours would."""

    sentence = (
        "{path} is not a SQLite database. Nothing was changed. Move it away, or set HERMES_HOME to another folder."
    )


class NewerDatabase(UserError):
    """The file was written by a later version of this program (openclaw/openclaw#115421)."""

    sentence = (
        "{path} was written by a newer hermes (format {found}; this one knows up to {known}). "
        "Nothing was changed. Update hermes to open it."
    )


class UnusableDatabase(UserError):
    """The file cannot be opened, read or written; `reason` is the system's or SQLite's own word."""

    sentence = (
        "{path} cannot be used: {reason}. Check its permissions and the disk, or set HERMES_HOME to another folder."
    )


class BusyDatabase(UserError):
    """Another process held the write lock for longer than a write waits."""

    sentence = (
        "{path} was kept locked by another program for {waited_s:.0f} s, so nothing was stored. Close it and try again."
    )


class FailedWrite(UserError):
    """SQLite could not carry out a write (disk full, I/O error); the whole transaction was undone."""

    sentence = "This could not be stored in {path}: {reason}. Free some space or check the disk, then try again."


class ClosedDatabase(UserError):
    """A read or write was asked for after `close`."""

    sentence = "{path} is already closed, so nothing more can be read or stored."


class UnusableLease(UserError):
    """The file system refuses the lock that keeps two processes from running one session at once."""

    sentence = "{path} cannot be locked: {reason}. Set HERMES_HOME to a folder on a local disk."
