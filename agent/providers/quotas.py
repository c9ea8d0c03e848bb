"""How much a server still lets a person ask, and when that begins anew: as its headers and errors tell it, nothing guessed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from agent.providers.retry_after import MOST_S
from agent.providers.wire_json import Object, as_list, as_object, as_text

_NAMES = {"requests": "requests", "tokens": "tokens", "input-tokens": "tokens in", "output-tokens": "tokens out"}
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_PIECE = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
EPOCH_S, EPOCH_MS = 1e9, 1e12  # a larger number is a moment and no time to wait


class Limit(Struct, frozen=True):
    """One limit of a server: so many of `what` in all and left, and the Unix time at which it begins anew; None: untold."""

    what: str
    most: int | None = None
    left: int | None = None
    resets_at: float | None = None

    def __str__(self) -> str:
        of = f" of {self.most:,}" if self.most is not None else ""
        left = f"{self.left:,}{of} {self.what} left".replace("  ", " ") if self.left is not None else ""
        reset = f"resets {at_time(self.resets_at)}" if self.resets_at is not None else ""
        return ", ".join(part for part in (left, reset) if part)


def limits_in(headers: Mapping[str, str]) -> tuple[Limit, ...]:
    """Those that the headers of an answer tell, as most servers do, Anthropic, or a proxy that has but one."""
    found = [_limit(headers, words, f"x-ratelimit-{{}}-{name}") for name, words in _NAMES.items()]
    found += [_limit(headers, words, f"anthropic-ratelimit-{name}-{{}}") for name, words in _NAMES.items()]
    found += [_limit(headers, "", form) for form in ("x-ratelimit-{}", "ratelimit-{}")]
    return tuple(limit for limit in found if limit.left is not None or limit.resets_at is not None)


def reset_in(headers: Mapping[str, str]) -> float | None:
    """When the limits that are used up begin anew; None where the headers tell of none."""
    ends = [one.resets_at for one in limits_in(headers) if one.left == 0 and one.resets_at is not None]
    return max(ends, default=None)


def reset_of(error: Object) -> float | None:
    """The same of the body of an error: in seconds, as a moment, as Google says it, or the headers that a proxy was sent."""
    for name, is_wait in (("resets_at", False), ("resets_in_seconds", True), ("retry_after", True)):
        value = error.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _bounded(time.time() + value if is_wait else float(value))
    for detail in as_list(error.get("details")):
        if (wait_s := _duration(as_text(as_object(detail).get("retryDelay")))) is not None:
            return _bounded(time.time() + wait_s)
    passed_on = as_object(as_object(error.get("metadata")).get("headers"))
    return reset_in({name.lower(): as_text(value) for name, value in passed_on.items()})


def at_time(moment: float) -> str:
    """A moment that is near, as a person says it: "at 14:05", with the day where it is another one."""
    then, now = datetime.fromtimestamp(moment), datetime.now()
    return f"at {then:%H:%M}" if then.date() == now.date() else f"on {then.day} {then:%B} at {then:%H:%M}"


def _limit(headers: Mapping[str, str], words: str, form: str) -> Limit:
    most, left = (_count(headers.get(form.format(name), "")) for name in ("limit", "remaining"))
    return Limit(words, most, left, _moment(headers.get(form.format("reset"), "")))


def _count(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 16 else None


def _moment(text: str) -> float | None:
    """A Unix time from a moment, in seconds or milliseconds or as ISO 8601, or from a time to wait."""
    wait_s = _duration(text)
    if wait_s is not None:
        return _bounded(time.time() + wait_s)
    try:
        number = float(text)
    except ValueError:
        return _bounded(_iso(text))
    if number > EPOCH_MS:
        return _bounded(number / 1000)
    return _bounded(number if number > EPOCH_S else time.time() + number)


def _iso(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo else None


def _duration(text: str) -> float | None:
    """Seconds of "1h5m0s", "8.64s", "120ms"."""
    if len(text) > 40 or not _DURATION.fullmatch(text):
        return None
    return sum(_pieces(text))


def _pieces(text: str) -> Iterator[float]:
    for number, unit in _PIECE.findall(text):
        yield float(number) * _UNITS_S[unit]


def _bounded(moment: float | None) -> float | None:
    """None for what is over, or so far away that it is a slip; NaN is neither."""
    now = time.time()
    return moment if moment is not None and now <= moment <= now + MOST_S else None
