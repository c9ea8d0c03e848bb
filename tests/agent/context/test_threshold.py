"""How full a context may be, and how the room is shared out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.settings import CompressionSettings
from agent.context.threshold import Budget, budget

settings = st.builds(
    CompressionSettings,
    threshold=st.floats(0.1, 0.95),
    target_ratio=st.floats(0.05, 0.8),
    protect_last_n=st.integers(1, 1_000),
)


@pytest.mark.parametrize(
    ("window", "max_tokens", "part", "threshold"),
    [
        (1_000_000, None, 0.5, 500_000),  # half of a large window
        (512_000, None, 0.5, 256_000),
        (511_999, None, 0.5, 383_999),  # three quarters of one that is not large
        (200_000, None, 0.3, 150_000),
        (200_000, None, 0.9, 180_000),  # which only ever raises what is set
        (200_000, 40_000, 0.5, 120_000),  # of what the answer leaves
        (80_000, None, 0.5, 64_000),  # never less than this
        (131_072, 128_000, 0.5, 55_705),  # half the window is never left to an answer
        (32_768, None, 0.5, 27_852),  # where that would fill the window: 85 % of it
        (64_000, None, 0.5, 54_400),
        (32_768, 8_192, 0.5, 20_889),  # and of what the answer leaves
        (4_096, None, 0.5, 3_481),
    ],
)
def test_compaction_acts_at(window: int, max_tokens: int | None, part: float, threshold: int):
    assert budget(window, max_tokens, CompressionSettings(threshold=part)).threshold == threshold


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (4_096, Budget(3_481, 696, 512)),
        (8_192, Budget(6_963, 1_392, 1_024)),
        (32_768, Budget(27_852, 5_570, 2_000)),
        (128_000, Budget(96_000, 19_200, 6_400)),
        (1_048_576, Budget(524_288, 104_857, 10_000)),
    ],
)
def test_a_fifth_of_the_threshold_stays_and_a_summary_has_its_bounds(window: int, expected: Budget):
    assert budget(window, None, CompressionSettings()) == expected


@pytest.mark.parametrize(("wanted", "rows"), [(1, 3), (5, 5), (20, 8)])
def test_of_the_last_messages_three_to_eight_are_counted(wanted: int, rows: int):
    assert budget(128_000, None, CompressionSettings(protect_last_n=wanted)).least_rows == rows


@given(st.integers(1, 2_000_000), st.none() | st.integers(1, 2_000_000), settings)
def test_what_stays_and_a_summary_fit_below_the_threshold_of_any_window(window, max_tokens, chosen):
    found = budget(window, max_tokens, chosen)
    assert 0 <= 2 * found.tail + found.summary <= found.threshold <= window
    assert found.summary <= window // 8
