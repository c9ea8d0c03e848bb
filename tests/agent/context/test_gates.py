"""When a conversation is made smaller: on what the server counted, and on an estimate only where no count will come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.context.gates import Gate, Known, Pressure, Verdict, judge

WINDOW, THRESHOLD = 200_000, 150_000
KNOWN = Known(window=WINDOW, threshold=THRESHOLD)
OVER, UNDER = THRESHOLD, THRESHOLD - 1
BEFORE_REQUESTS = (Gate.PREFLIGHT, Gate.PRE_CALL)

gates = st.sampled_from(Gate)
tokens = st.one_of(st.integers(0, 2 * WINDOW), st.sampled_from([UNDER, OVER, WINDOW, WINDOW + 1]))
pressures = st.builds(Pressure, tokens, st.booleans(), st.integers(0, WINDOW // 2))
knowns = st.builds(
    Known,
    st.none() | st.just(WINDOW),
    st.none() | st.just(THRESHOLD),
    tokens,
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


def estimated(used: int) -> Pressure:
    return Pressure(used, is_anchored=False)


def counted(used: int, unsure: int = 0) -> Pressure:
    return Pressure(used, is_anchored=True, unsure=unsure)


@pytest.mark.parametrize("gate", Gate)
def test_a_counted_figure_never_waits(gate: Gate):
    assert judge(gate, counted(OVER), KNOWN) is Verdict.COMPACT
    assert judge(gate, counted(UNDER), KNOWN) is Verdict.GO


@pytest.mark.parametrize("gate", Gate)
@pytest.mark.parametrize(
    ("used", "unsure", "verdict"),
    [
        (OVER, 1, Verdict.WAIT),  # it may be just below
        (OVER + 1, 1, Verdict.COMPACT),  # it is not below in any case
        (OVER, THRESHOLD // 10, Verdict.WAIT),
        (OVER, THRESHOLD // 2, Verdict.COMPACT),  # it may be more than the server takes
        (UNDER, THRESHOLD // 4, Verdict.GO),
    ],
)
def test_what_may_be_below_the_threshold_yet_is_counted_first_where_the_server_takes_it_in_any_case(
    gate: Gate, used: int, unsure: int, verdict: Verdict
):
    assert judge(gate, counted(used, unsure), KNOWN) is verdict


@pytest.mark.parametrize("gate", Gate)
@pytest.mark.parametrize(
    ("used", "known", "verdict"),
    [
        (OVER, {}, Verdict.WAIT),  # the server counts one request first
        (UNDER, {}, Verdict.GO),
        (OVER, {"last_prompt": OVER}, Verdict.COMPACT),  # it has counted as much already
        (OVER, {"omits_usage": True}, Verdict.COMPACT),  # it never counts
        (WINDOW + 1, {}, Verdict.COMPACT),  # it could not even read that
        (WINDOW, {}, Verdict.WAIT),
        (WINDOW + 1, {"window": None}, Verdict.WAIT),
        (0, {"is_overflow_proven": True}, Verdict.COMPACT),  # it has refused it
        (0, {"is_overflow_proven": True, "threshold": None, "window": None}, Verdict.COMPACT),
        (2 * WINDOW, {"threshold": None}, Verdict.GO),
    ],
)
def test_an_estimate_over_the_threshold_waits_one_request(gate: Gate, used: int, known: dict, verdict: Verdict):
    assert judge(gate, estimated(used), replace(KNOWN, **known)) is verdict


@pytest.mark.parametrize("gate", BEFORE_REQUESTS)
@pytest.mark.parametrize("known", [{}, {"last_prompt": OVER}, {"omits_usage": True}])
def test_G04_what_a_compaction_left_is_counted_before_another_one(gate: Gate, known: dict):
    assert judge(gate, estimated(WINDOW), replace(KNOWN, awaits_reading=True, **known)) is Verdict.WAIT


def test_behind_results_the_last_reading_goes_before_an_estimate():
    assert judge(Gate.POST_TOOLS, estimated(OVER), replace(KNOWN, last_prompt=UNDER)) is Verdict.GO
    assert judge(Gate.POST_TOOLS, estimated(UNDER), replace(KNOWN, last_prompt=OVER)) is Verdict.COMPACT


def test_behind_results_a_reading_that_knows_them_goes_before_the_last_one():
    assert judge(Gate.POST_TOOLS, counted(OVER), replace(KNOWN, last_prompt=UNDER)) is Verdict.COMPACT
    assert judge(Gate.POST_TOOLS, counted(UNDER), replace(KNOWN, last_prompt=OVER)) is Verdict.GO


@pytest.mark.parametrize("gate", BEFORE_REQUESTS)
def test_before_a_request_the_last_reading_alone_compacts_nothing(gate: Gate):
    """It is of another conversation than the one to be sent, as after a rewind."""
    assert judge(gate, estimated(UNDER), replace(KNOWN, last_prompt=OVER)) is Verdict.GO


@given(gates, pressures, knowns)
def test_no_verdict_waits_twice(gate, pressure, known):
    """The one request brings a reading, or shows that none will come."""
    if judge(gate, pressure, known) is Verdict.WAIT:
        assert judge(gate, counted(pressure.used), known) is not Verdict.WAIT
        uncounted = replace(known, awaits_reading=False, omits_usage=True)
        assert judge(gate, replace(pressure, is_anchored=False), uncounted) is not Verdict.WAIT


@given(gates, tokens, knowns)
def test_a_counted_figure_below_the_threshold_compacts_nothing(gate, used, known):
    if known.threshold is not None and used < known.threshold and not known.is_overflow_proven:
        assert judge(gate, counted(used), known) is Verdict.GO


@given(pressures, knowns)
def test_behind_results_nothing_happens_while_a_reading_is_awaited(pressure, known):
    waiting = replace(known, awaits_reading=True, is_overflow_proven=False)
    assert judge(Gate.POST_TOOLS, pressure, waiting) is Verdict.GO


@given(gates, pressures, knowns)
def test_a_proven_overflow_compacts_at_once(gate, pressure, known):
    assert judge(gate, pressure, replace(known, is_overflow_proven=True)) is Verdict.COMPACT
