"""What an import did, and how it is refused."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from session.errors import UserError


class Imported(Struct, frozen=True):
    """How many sessions came, with how many rows in all, and how many did not; `reasons` says why, a sentence a kind."""

    sessions: int
    messages: int
    skipped: int
    reasons: tuple[str, ...]


class RefusedImport(UserError):
    """A file that is not wholly what it should be. Nothing of it was stored."""

    sentence = "{path} was not imported, nothing was changed: {reason}."


class RefusedLine(RefusedImport):
    """A line of it that is not what it should be."""

    sentence = "{path} was not imported, nothing was changed: in line {line}, {reason}."


class NewerExport(RefusedImport):
    """The file was written by a later version of this program."""

    sentence = (
        "{path} was not imported, nothing was changed: a newer hermes wrote it (format {found}; this one knows up to "
        "{known}). Update hermes to import it."
    )


def told(skipped: Counter[str]) -> tuple[str, ...]:
    """A sentence for each reason, which stands behind the number: "2 sessions were here already."."""
    return tuple(f"{n} session{'' if n == 1 else 's'}: {reason}." for reason, n in sorted(skipped.items()))
