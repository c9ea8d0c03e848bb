"""Commands by the terminal tool beside the same by plain subprocess, in this process."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import psutil
from machine import Machine

from agent.tools import jobs, search_files, terminal
from agent.tools.base import CallContext, Workplace
from agent.tools.call_record import CallRecords
from agent.tools.search_query import Query, ripgrep_arguments
from agent.tools.shell_run import find_bash

COMMANDS = 60
SEARCHES, SEARCHED_FILES, SEARCHED = 15, 20_000, r"function_7\d{3}_3\b"  # a line of a thousand files each
FLOOD_S = 10
BEAT_S = 0.005
PIPE = subprocess.PIPE

T = TypeVar("T")


@dataclass(frozen=True)
class Commands:
    """Milliseconds from the call to the result. `first` started what watches over all."""

    ours_ms: list[float]
    plain_ms: list[float]
    first_ms: float

    @property
    def overhead_ms(self) -> float:
        return statistics.median(self.ours_ms) - statistics.median(self.plain_ms)


@dataclass(frozen=True)
class Flood:
    """While `yes` runs. `late_ms`: by how much the loop was late for a beat; p95."""

    grown_mb: float
    late_ms: float
    shown_chars: int


@dataclass(frozen=True)
class Searches:
    """Milliseconds from the call to the result, by the tool and by ripgrep alone with the same arguments."""

    ours_ms: list[float]
    plain_ms: list[float]

    @property
    def ratio(self) -> float:
        return statistics.median(self.ours_ms) / statistics.median(self.plain_ms)


class ToolsBench:
    """Every scenario, run when a row first asks for it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    @cached_property
    def commands(self) -> Commands:
        self._machine.sample()
        return in_workplace(_commands)

    @cached_property
    def searches(self) -> Searches:
        self._machine.sample()
        return in_workplace(_searches)

    @cached_property
    def flood(self) -> Flood:
        self._machine.sample()
        return in_workplace(_flood)


def in_workplace(work: Callable[[Workplace], Awaitable[T]]) -> T:
    async def run(folder: Path) -> T:
        place = Workplace(
            *(folder, folder, {"PATH": os.environ["PATH"]}, folder / "outputs" / "s"),
            records=CallRecords(folder / "running", "s", str),
        )
        place.outputs.parent.mkdir()
        try:
            return await work(place)
        finally:
            await jobs.end_all(place.outputs)

    with TemporaryDirectory(prefix="hermes-bench-") as folder:
        return asyncio.run(run(Path(folder)))


async def _commands(place: Workplace) -> Commands:
    first_ms = await _ours_ms(place)
    ours_ms, plain_ms = [], []
    for _ in range(COMMANDS):
        ours_ms.append(await _ours_ms(place))
        plain_ms.append(_plain_ms(place))
    return Commands(ours_ms, plain_ms, first_ms)


async def _ours_ms(place: Workplace) -> float:
    began = time.perf_counter()
    await terminal.run({"command": "echo one"}, CallContext(place, "c", lambda text: None))
    return (time.perf_counter() - began) * 1000


def _plain_ms(place: Workplace) -> float:
    bash = find_bash(place.environ)
    assert bash is not None
    command = (bash, "--noprofile", "--norc", "-c", "echo one")
    began = time.perf_counter()
    subprocess.run(command, cwd=place.cwd, env=dict(place.environ), stdin=subprocess.DEVNULL, stdout=PIPE, check=True)
    return (time.perf_counter() - began) * 1000


async def _searches(place: Workplace) -> Searches:
    """The first search of each kind is not counted: it fills the disk cache."""
    for number in range(SEARCHED_FILES):
        file = place.root / f"package_{number % 200}" / f"module_{number}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(f"def function_{number}_{at}(x):\n    return x + {at}\n\n\n" for at in range(50)))
    arguments = ripgrep_arguments(Query("lines", SEARCHED, "./"))
    ours_ms, plain_ms = [], []
    for _ in range(SEARCHES + 1):
        began = time.perf_counter()
        found = await search_files.run({"pattern": SEARCHED}, CallContext(place, "c", lambda text: None))
        ours_ms.append((time.perf_counter() - began) * 1000)
        assert "of 1,000" in found.text, found.text
        began = time.perf_counter()
        # In a session of its own as well: schedulers share out a busy machine by session.
        plain = subprocess.Popen(
            ["rg", *arguments], cwd=place.root, stdin=subprocess.DEVNULL, stdout=PIPE, start_new_session=True
        )
        plain.communicate()
        plain_ms.append((time.perf_counter() - began) * 1000)
    return Searches(ours_ms[1:], plain_ms[1:])


async def _flood(place: Workplace) -> Flood:
    process, shown, late_ms = psutil.Process(), 0, list[float]()

    def show(text: str) -> None:
        nonlocal shown
        shown += len(text)

    async def beat() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(BEAT_S)
            late_ms.append((time.perf_counter() - began - BEAT_S) * 1000)

    await terminal.run({"command": "yes", "timeout": 1}, CallContext(place, "c", show))
    before, beating = process.memory_info().rss, asyncio.create_task(beat())
    await terminal.run({"command": "yes", "timeout": FLOOD_S}, CallContext(place, "c", show))
    grown = process.memory_info().rss - before
    beating.cancel()
    return Flood(grown / 1e6, statistics.quantiles(late_ms, n=20)[-1], shown)
