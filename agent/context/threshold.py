"""How full a context may be before it is compacted, and how the room is shared out then."""

from __future__ import annotations

from msgspec import Struct

from agent.config.settings import CompressionSettings

LARGE_WINDOW = 512_000  # below it, half a window is too little to work in
LEAST_PART = 0.75  # of a window that is not large
LEAST_THRESHOLD = 64_000
FULL = 0.85  # of the room, where the least threshold would be more
MOST_SUMMARY, LEAST_SUMMARY = 10_000, 2_000
SUMMARY_PART = 0.05  # of the window
MOST_SHARE = 8  # a summary takes an eighth of a small window at most
LEAST_ROWS, MOST_LEAST_ROWS = 3, 8


class Budget(Struct, frozen=True):
    """All in tokens: at `threshold` compaction acts, `tail` is what stays word for word, `summary` the longest summary.

    `least_rows` is how many of the last rows stay where there is any room for them.
    """

    threshold: int
    tail: int
    summary: int
    least_rows: int = MOST_LEAST_ROWS


def budget(window: int, max_tokens: int | None, settings: CompressionSettings) -> Budget:
    """`window` and `max_tokens`, the longest answer that is asked for, in tokens.

    What stays and the summary together take at most the threshold, in the smallest window and by any setting.
    """
    threshold = _threshold(window, max_tokens or 0, settings.threshold)
    summary = _longest_summary(window)
    tail = min(int(threshold * settings.target_ratio), (threshold - summary) // 2)
    least_rows = max(LEAST_ROWS, min(settings.protect_last_n, MOST_LEAST_ROWS))
    return Budget(threshold, tail, summary, least_rows)


def _threshold(window: int, max_tokens: int, part: float) -> int:
    """A part of what an answer leaves of the window, but no less than LEAST_THRESHOLD; which in its turn leaves some room."""
    part = part if window >= LARGE_WINDOW else max(part, LEAST_PART)
    # Servers refuse a prompt that leaves no room for the answer that is asked for. Where that is most of the window they
    # can't mean it: many models are listed with a longest answer as large as their window.
    room = max(window - max_tokens, window // 2)
    return max(int((window - max_tokens) * part), min(LEAST_THRESHOLD, int(room * FULL)))


def _longest_summary(window: int) -> int:
    wanted = max(LEAST_SUMMARY, min(int(window * SUMMARY_PART), MOST_SUMMARY))
    return min(wanted, window // MOST_SHARE)
