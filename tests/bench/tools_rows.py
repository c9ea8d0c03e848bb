"""The rows of the tools."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Iterable

from goals import Goal
from tools_bench import COMMANDS, FLOOD_S, SEARCHED_FILES, SEARCHES, ToolsBench


def tools_goal(
    row: str,
    unit: str,
    goal: float,
    read: Callable[[ToolsBench], float],
    remarks: Callable[[ToolsBench], Iterable[str]],
) -> Goal[ToolsBench]:
    return Goal(f"tools {row}", unit, goal, read, remarks=remarks, issue="tools")


def both(bench: ToolsBench) -> list[str]:
    ours, plain = statistics.median(bench.commands.ours_ms), statistics.median(bench.commands.plain_ms)
    return [f"{ours:.1f} ms, plain {plain:.1f} ms; the first of a hermes {bench.commands.first_ms:.0f} ms"]


def both_searches(bench: ToolsBench) -> list[str]:
    ours, plain = statistics.median(bench.searches.ours_ms), statistics.median(bench.searches.plain_ms)
    return [f"{ours:.1f} ms, ripgrep {plain:.1f} ms"]


GOALS: list[Goal[ToolsBench]] = [
    tools_goal(
        f"terminal: a command of the tool, from the call to its result, less the same by plain subprocess; p50 of {COMMANDS}",
        "ms",
        15,
        lambda bench: bench.commands.overhead_ms,
        both,
    ),
    tools_goal(
        f"terminal flood: resident memory that `yes` for {FLOOD_S} s adds, behind one of 1 s",
        "MB",
        5,
        lambda bench: bench.flood.grown_mb,
        lambda bench: [f"{bench.flood.shown_chars:,} characters shown live"],
    ),
    tools_goal(
        f"terminal flood: by how much the loop is late meanwhile for a beat each 5 ms; p95 of {FLOOD_S} s",
        "ms",
        40,
        lambda bench: bench.flood.late_ms,
        lambda bench: [],
    ),
    *(
        [
            tools_goal(
                f"search: search_files in {SEARCHED_FILES:,} files, 1,000 of which match, over ripgrep itself; two p50s of {SEARCHES}",
                "ratio",
                1.2,
                lambda bench: bench.searches.ratio,
                both_searches,
            )
        ]
        if shutil.which("rg")
        else []  # there is nothing to compare with
    ),
]
