"""Whether a conversation must be made smaller before the next request: one authority, asked at three moments."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from agent.context.threshold import FULL


class Gate(StrEnum):
    """When it is asked."""

    PREFLIGHT = "preflight"  # at the start of a turn
    PRE_CALL = "pre_call"  # before each further request
    POST_TOOLS = "post_tools"  # when results were appended


class Verdict(StrEnum):
    GO = "go"
    COMPACT = "compact"
    WAIT = "wait"  # one request goes through, so that its server counts it


class Pressure(Struct, frozen=True):
    """Tokens of the next request of this turn. `is_anchored`: they rest on what the server counted.

    What came since is estimated: all together may be too many by `unsure`, or too few by half of that.
    """

    used: int
    is_anchored: bool
    unsure: int = 0


class Known(Struct, frozen=True):
    """What is known beside the figure. `last_prompt` is the last real count, 0 for none."""

    window: int | None = None
    threshold: int | None = None  # None where compaction is off or the window is unknown
    last_prompt: int = 0
    awaits_reading: bool = False  # a compaction just ran, and no server has counted what is left
    omits_usage: bool = False  # the server is known not to count
    is_overflow_proven: bool = False  # the server refused the last request for its size


def judge(gate: Gate, pressure: Pressure, known: Known) -> Verdict:
    """What to do before the next request.

    A proven overflow needs no threshold, so that it acts also where the window is unknown: where compaction is off,
    nobody may ask. WAIT ends by itself: the answer brings a reading, or shows that the server omits them.
    """
    if known.is_overflow_proven:
        return Verdict.COMPACT
    if known.threshold is None:
        return Verdict.GO
    if gate is Gate.POST_TOOLS and known.awaits_reading:
        return Verdict.GO
    used = _used(gate, pressure, known)
    if used < known.threshold:
        return Verdict.GO
    waits = _is_in_doubt(pressure, known.threshold) if pressure.is_anchored else _waits(used, known, known.threshold)
    return Verdict.WAIT if waits else Verdict.COMPACT


def _used(gate: Gate, pressure: Pressure, known: Known) -> int:
    """A figure that rests on a reading before the last reading itself, and that before an estimate.

    The last reading does not know what this turn added before a request, so that it counts only behind the results.
    """
    if gate is Gate.POST_TOOLS and not pressure.is_anchored and known.last_prompt > 0:
        return known.last_prompt
    return pressure.used


def _is_in_doubt(pressure: Pressure, threshold: int) -> bool:
    """Whether the server may count less than the threshold yet, and will not refuse it in any case."""
    is_perhaps_below = pressure.used - pressure.unsure < threshold
    return is_perhaps_below and (pressure.used + pressure.unsure // 2) * FULL <= threshold


def _waits(used: int, known: Known, threshold: int) -> bool:
    """Whether an estimate over the threshold lets one request through, so that its server counts it.

    An estimate alone compacts nothing, unless something says that no reading would come, or what it would say.
    """
    if known.awaits_reading:
        return True
    is_real = known.last_prompt >= threshold
    is_too_large = known.window is not None and used > known.window
    return not (is_real or known.omits_usage or is_too_large)
