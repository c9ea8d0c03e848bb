"""How long a server asks us to wait before the next request."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC
from math import isfinite

MOST_S = 365 * 86_400.0  # a longer wish, such as the year 9999, is a slip
LONGEST_WAIT_S = 300.0  # a longer wish is told to the person instead of slept through


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds from `retry-after-ms`, or from `retry-after` in seconds or as an HTTP date; None when it says nothing."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    wish = headers.get("retry-after", "")
    seconds = _number(wish)
    if seconds is None:
        seconds = _until(wish)
    return None if seconds is None else _bounded(seconds)


def spoken(wait_s: float) -> str:
    """A wait as a person says it."""
    if wait_s < 90:
        return f"{max(1, round(wait_s))} seconds"
    if wait_s < 7200:
        return f"{round(wait_s / 60)} minutes"
    return f"{round(wait_s / 3600)} hours" if wait_s < 172_800 else f"{round(wait_s / 86_400)} days"


def _bounded(seconds: float) -> float:
    return min(MOST_S, max(0.0, seconds))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _until(date: str) -> float | None:
    from email.utils import parsedate_to_datetime  # ten modules that a start need not pay for

    try:
        moment = parsedate_to_datetime(date)
        # "-0000" gives a moment without a zone, which would be read as local time.
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
