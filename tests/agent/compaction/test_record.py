"""What a session remembers of its compactions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context.record import HELD, Failure, Record, column_of, record_of


@pytest.mark.parametrize(
    ("failure", "pause_s"),
    [(Failure.PERMANENT, 600), (Failure.TIMEOUT, 60), (Failure.GARBLED, 30), (Failure.OTHER, 60)],
)
def test_a_failure_leaves_a_pause_of_its_kind(failure: Failure, pause_s: float) -> None:
    record = Record().failed(failure, 1_000.0)
    assert record.waits(1_000.0 + pause_s - 1) and not record.waits(1_000.0 + pause_s)


def test_timeouts_in_a_row_leave_ever_longer_pauses() -> None:
    record, pauses = Record(), []
    for _ in range(4):
        record = record.failed(Failure.TIMEOUT, 0.0)
        pauses.append(record.retry_at)
    assert pauses == [60, 300, 900, 900]
    assert record.failed(Failure.OTHER, 0.0).failed(Failure.TIMEOUT, 0.0).retry_at == 60


def test_two_compactions_in_vain_block_the_next_one_until_a_reading_is_below_the_threshold() -> None:
    record = Record()
    for _ in range(2):
        assert not record.blocked
        record = record.compacted(is_outline=False).read(900, 500)
    assert "in a row did not make" in record.blocked
    assert record.read(900, 500).in_vain == 2, "only the first reading behind a compaction tells of it"
    assert not record.read(400, 500).blocked


def test_two_outlines_in_a_row_block_the_next_one() -> None:
    record = Record().compacted(is_outline=True)
    assert not record.blocked
    assert not record.compacted(is_outline=False).compacted(is_outline=True).blocked
    assert "No model could summarise" in record.compacted(is_outline=True).blocked


def test_G07_three_tries_without_a_summary_in_a_row_block_the_next_one() -> None:
    record = Record().failed(Failure.OTHER, 0.0).failed(Failure.TIMEOUT, 0.0).refused(0.0)
    assert not record.blocked
    assert "3 times in a row" in record.failed(Failure.GARBLED, 0.0).blocked
    assert not record.compacted(is_outline=False).failed(Failure.OTHER, 0.0).blocked


def test_an_answer_without_a_reading_ends_the_wait_for_one_and_judges_nothing() -> None:
    record = Record().compacted(is_outline=False)
    assert record.awaits_reading
    assert record.read(0, 500) == Record()


def test_what_was_undone_blocks_until_one_is_asked_for() -> None:
    assert "/compact does it" in HELD.blocked
    assert HELD.read(100, 500).blocked
    assert not HELD.compacted(is_outline=False).blocked


records = st.builds(
    Record,
    retry_at=st.floats(0, 1e10),
    failures=st.integers(0, 9),
    timeouts=st.integers(0, 9),
    in_vain=st.integers(0, 9),
    outlines=st.integers(0, 9),
    awaits_reading=st.booleans(),
    is_held=st.booleans(),
)


@given(record=records)
def test_a_record_comes_back_as_it_was_kept(record: Record) -> None:
    assert record_of(column_of(record)) == record


@given(column=st.text() | st.just('{"retry_at": "x"}') | st.just("[" * 5_000))
def test_a_column_that_cannot_be_read_is_nothing(column: str) -> None:
    assert isinstance(record_of(column), Record)


def test_nothing_is_kept_as_nothing() -> None:
    assert column_of(Record()) == ""
