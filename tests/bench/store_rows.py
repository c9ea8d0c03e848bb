"""The rows of the store with a million messages, beside the same statements on one plain connection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from goals import Goal
from store_bench import (
    BURST,
    BURSTS,
    INDEXED,
    INDEXED_BLOCKS,
    MEMORY_RUNS,
    QUERIES,
    STREAM_S,
    StoreBench,
)
from store_fixture import MESSAGES
from store_memory import APPENDS
from store_raw import Compared

SLACK_MS = 1.5  # that a search may take longer than raw where raw is faster than that


def worst(found: dict[str, Compared]) -> float:
    """Of each query, the store's time over raw's, or over a third of what it may take where raw is too fast for that."""
    return max(one.store / max(one.raw, (one.raw + SLACK_MS) / 3) for one in found.values())


def each_query(found: dict[str, Compared]) -> Iterator[str]:
    for name, one in found.items():
        yield f"{name}: {one.store:.2f} ms, raw {one.raw:.2f} ms, {one.ratio:.2f}x, {one.store - one.raw:+.2f} ms"


def each_rate(one: Compared) -> list[str]:
    return [f"{one.store:,.0f} a second, raw {one.raw:,.0f}"]


def store_goal(
    row: str,
    unit: str,
    goal: float | Callable[[StoreBench], float],
    read: Callable[[StoreBench], float],
    remarks: Callable[[StoreBench], Iterable[str]],
    *,
    is_least: bool = False,
) -> Goal[StoreBench]:
    return Goal(f"store {row}", unit, goal, read, is_least, remarks, "store")


SLACK = f"ratio to raw, to (raw + {SLACK_MS} ms) / 3 where that is more; the worst of {len(QUERIES)} queries"
GOALS: list[Goal[StoreBench]] = [
    store_goal(
        "list: the first 50 of 10,000 sessions, from the question to the records; p50; the goal is 1 ms or 3x raw",
        "ms",
        lambda s: max(1.0, 3 * s.list_ms.raw),
        lambda s: s.list_ms.store,
        lambda s: [f"raw {s.list_ms.raw:.3f} ms, {s.list_ms.ratio:.2f}x"],
    ),
    store_goal(
        "open: a session of 2,000 messages and the last 200 of them, from the question to the records; p50",
        "ms",
        10,
        lambda s: s.page_ms.store,
        lambda s: [
            f"raw {s.page_ms.raw:.2f} ms; all 2,000 of them {s.whole_ms.store:.1f} ms, raw {s.whole_ms.raw:.1f} ms"
        ],
    ),
    store_goal(
        f"search by rank: the first 20 with their snippets, over raw MATCH and 20 rows by id; {SLACK}",
        "ratio",
        3,
        lambda s: worst(s.best_ms),
        lambda s: each_query(s.best_ms),
    ),
    store_goal(
        f"search by newest: the same in that order; {SLACK}",
        "ratio",
        3,
        lambda s: worst(s.newest_ms),
        lambda s: each_query(s.newest_ms),
    ),
    store_goal(
        f"append: one by one, each committed before the next, the search index left for later on both sides; p50 rate of {BURSTS} x {BURST}, over raw",
        "ratio",
        0.6,
        lambda s: s.append_rate.ratio,
        lambda s: each_rate(s.append_rate),
        is_least=True,
    ),
    store_goal(
        f"append and index: one by one until the search index holds them all; p50 rate of {INDEXED_BLOCKS} x {INDEXED:,}, over raw with the index in each transaction",
        "ratio",
        0.6,
        lambda s: s.indexed_rate.ratio,
        lambda s: each_rate(s.indexed_rate),
        is_least=True,
    ),
    store_goal(
        f"append by eight: as many threads, each waits for its own commit, the search index left for later; p50 rate of {BURSTS} x {BURST}, over raw one by one",
        "ratio",
        1.3,
        lambda s: s.eight_rate.ratio,
        lambda s: [
            *each_rate(s.eight_rate),
            f"each on the disk before it is answered: {each_rate(s.eight_synced_rate)[0]}, {s.eight_synced_rate.ratio:.2f}x",
        ],
        is_least=True,
    ),
    store_goal(
        f"append by eight and index: the same until the search index holds them all; p50 rate of {INDEXED_BLOCKS} x {INDEXED:,}, over raw one by one with the index in each transaction",
        "ratio",
        1.3,
        lambda s: s.eight_indexed_rate.ratio,
        lambda s: each_rate(s.eight_indexed_rate),
        is_least=True,
    ),
    store_goal(
        f"list behind a writer: the first 50 while pieces each 50 ms and 16 rows a second are written; the most in {STREAM_S:.0f} s",
        "ms",
        50,
        lambda s: max(s.waits.each_ms),
        lambda s: [
            f"p50 {s.waits.percentile(50):.2f} ms, p99 {s.waits.percentile(99):.2f} ms of {len(s.waits.each_ms):,}"
        ],
    ),
    store_goal(
        f"memory: resident after a list, a page, {len(QUERIES)} searches and {APPENDS:,} appends, less the same with an empty store; p50 of {MEMORY_RUNS} processes",
        "MB",
        15,
        lambda s: s.memory_mb[0] - s.memory_mb[1],
        lambda s: ["{:.1f} MB, empty {:.1f} MB; {:,} messages".format(*s.memory_mb, MESSAGES)],
    ),
]
