"""What a session remembers of its compactions: how long to leave the next one, and what speaks against it."""

from __future__ import annotations

from enum import StrEnum

import msgspec
from msgspec import Struct
from msgspec.structs import replace

MOST_IN_VAIN = 2  # so many in a row, and none is made unasked any more
MOST_FAILURES = 3  # likewise, that brought no summary at all (G07)
LADDER_S = (60.0, 300.0, 900.0)  # after the first, second, each later timeout in a row


class Failure(StrEnum):
    """Why no summary could be had."""

    PERMANENT = "permanent"  # no key, no credit, no such model: it will not pass by itself
    TIMEOUT = "timeout"
    GARBLED = "garbled"  # what came was no answer, or broke off
    OTHER = "other"


class Record(Struct, frozen=True, omit_defaults=True):
    """`retry_at`: none is made unasked before it, in seconds since the epoch. The others count what came in a row: tries
    without a summary, timeouts, compactions that left the conversation over the threshold, summaries without a model.

    `awaits_reading`: no server has counted what the last one left. `is_held`: the person has undone one.
    """

    retry_at: float = 0.0
    failures: int = 0
    timeouts: int = 0
    in_vain: int = 0
    outlines: int = 0
    awaits_reading: bool = False
    is_held: bool = False

    @property
    def blocked(self) -> str:
        """Why none is made unasked any more, a sentence, "" where it may be."""
        if self.is_held:
            return (
                "The conversation is over the size at which it is compacted. As a compaction was undone here, it is not "
                "done by itself: /compact does it."
            )
        if self.in_vain >= MOST_IN_VAIN:
            return (
                f"{MOST_IN_VAIN} compactions in a row did not make the conversation small enough, so none is made by itself "
                "any more. Go on with /new, choose a model with a larger window (/model), or try /compact."
            )
        if self.outlines >= MOST_IN_VAIN or self.failures >= MOST_FAILURES:
            return (
                f"No model could summarise the conversation {max(self.outlines, self.failures)} times in a row, so it is "
                "not compacted by itself any more. Check auxiliary.model in the settings, then use /compact."
            )
        return ""

    def waits(self, now: float) -> bool:
        return now < self.retry_at

    def failed(self, failure: Failure, now: float) -> Record:
        """No model gave a summary."""
        timeouts = self.timeouts + 1 if failure is Failure.TIMEOUT else 0
        return replace(self, failures=self.failures + 1, timeouts=timeouts, retry_at=now + _pause_s(failure, timeouts))

    def refused(self, now: float) -> Record:
        """It could not be carried out."""
        return replace(self, retry_at=now + _pause_s(Failure.OTHER, 0))

    def compacted(self, *, is_outline: bool) -> Record:
        outlines = self.outlines + 1 if is_outline else 0
        return Record(in_vain=self.in_vain, outlines=outlines, awaits_reading=True)

    def found_nothing(self) -> Record:
        """There was nothing to take out."""
        return replace(self, in_vain=self.in_vain + 1)

    def read(self, prompt_tokens: int, threshold: int | None) -> Record:
        """A server counted a request of the conversation, or, with 0, answered one without counting it."""
        is_over = threshold is not None and prompt_tokens >= threshold
        if prompt_tokens and not is_over:
            return replace(self, failures=0, in_vain=0, outlines=0, awaits_reading=False)
        in_vain = self.in_vain + 1 if is_over and self.awaits_reading else self.in_vain
        return replace(self, in_vain=in_vain, awaits_reading=False)


HELD = Record(is_held=True)


def record_of(column: str) -> Record:
    """What the column of a session says; nothing where it can't be read: then it is learned again."""
    try:
        return msgspec.json.decode(column or "{}", type=Record)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return Record()


def column_of(record: Record) -> str:
    """ "" for nothing."""
    return "" if record == Record() else msgspec.json.encode(record).decode()


def _pause_s(failure: Failure, timeouts: int) -> float:
    match failure:
        case Failure.PERMANENT:
            return 600.0
        case Failure.TIMEOUT:
            return LADDER_S[min(timeouts, len(LADDER_S)) - 1]
        case Failure.GARBLED:
            return 30.0
        case Failure.OTHER:
            return 60.0
