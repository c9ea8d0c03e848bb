"""The rows of the provider, beside bare HTTP and the SDK's typed way."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from goals import Goal
from provider_bench import PARSE_ROUNDS, PARSED, ROUNDS, SIZES, STALL_ROUNDS, ProviderBench


def provider_goal(
    row: str,
    unit: str,
    goal: float,
    read: Callable[[ProviderBench], float],
    remarks: Callable[[ProviderBench], Iterable[str]],
    *,
    is_least: bool = False,
) -> Goal[ProviderBench]:
    return Goal(f"provider {row}", unit, goal, read, is_least, remarks, "providers")


def each_way(p: ProviderBench, size: int) -> list[str]:
    one = p.overheads[size]
    return [f"{one.ours_ms:.2f} ms, bare HTTP {one.raw_ms:.2f} ms, typed {one.typed_ms:.2f} ms"]


def overhead(size: int) -> list[Goal[ProviderBench]]:
    what = f"{size:,} messages: CPU of one request and its short answer; p50 of {ROUNDS}, over"
    return [
        provider_goal(
            f"overhead, {what} the same by bare HTTP",
            "ratio",
            1.5,
            lambda p: p.overheads[size].ours_ms / p.overheads[size].raw_ms,
            lambda p: each_way(p, size),
        ),
        provider_goal(
            f"overhead, {what} the SDK's typed way",
            "ratio",
            0.05,
            lambda p: p.overheads[size].ours_ms / p.overheads[size].typed_ms,
            lambda p: each_way(p, size),
        ),
    ]


GOALS: list[Goal[ProviderBench]] = [
    *(goal for size in SIZES for goal in overhead(size)),
    provider_goal(
        f"stall: the longest that the loop works at one thing, in CPU, while {SIZES[-1]:,} messages are sent; p50 of {STALL_ROUNDS}",
        "ms",
        8,
        lambda p: p.stall_ms,
        lambda p: [f"CPU of the whole request {p.overheads[SIZES[-1]].ours_ms:.2f} ms"],
    ),
    provider_goal(
        f"parse: {PARSED:,} chunks of 5 characters, from bytes to parts, in a second of CPU; p50 of {PARSE_ROUNDS}",
        "chunks",
        60_000,
        lambda p: p.parse_rate,
        lambda p: [f"{1e6 / p.parse_rate:.1f} µs a chunk"],
        is_least=True,
    ),
    provider_goal(
        "memory: the most held while an answer comes in 100,000 chunks, over the same text in 1,000",
        "MB",
        2,
        lambda p: p.memory_mb[0] - p.memory_mb[1],
        lambda p: ["{:.2f} MB, in 1,000 chunks {:.2f} MB; the text is 0.5 MB".format(*p.memory_mb)],
    ),
]
