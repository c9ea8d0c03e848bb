"""One thing the doctor saw."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Grade(StrEnum):
    """How bad it is. Only a problem keeps hermes, or a part of it, from working."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


class Finding(Struct, frozen=True):
    """`text` is one sentence, `fix` what to do about it, "" where there is nothing to do."""

    area: str
    grade: Grade
    text: str
    fix: str = ""
