"""How long a look at a whole workspace takes, and how late the loop is meanwhile."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from goals import Goal
from machine import Machine

from agent.checkpoints.checkpoints import Checkpoints
from agent.checkpoints.limits import Limits
from agent.config.home import Home

FILES, FOLDERS = 40_000, 800
SCANS = 15
BEAT_S = 0.005


@dataclass(frozen=True)
class Scans:
    """The first copies all; the others find one file changed. `late_ms`: by how much the loop was late for a beat."""

    first_s: float
    each_ms: list[float]
    late_ms: list[float]


class CheckpointBench:
    """A repository of many small files."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    @cached_property
    def scans(self) -> Scans:
        with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
            root, home = Path(folder).resolve() / "work", Home(Path(folder) / "home", "~")
            home.create()
            _fill(root)
            self.machine.sample()
            return asyncio.run(_scanned(Checkpoints(home, "bench", root, limits=Limits(copy_s=600)), root))


def _fill(root: Path) -> None:
    for number in range(FILES):
        path = root / f"package{number % FOLDERS // 40}" / f"module{number % FOLDERS}" / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {number}\n" * 40)
    subprocess.run("git init -q . && git add -A", shell=True, cwd=root, check=True)


async def _scanned(checkpoints: Checkpoints, root: Path) -> Scans:
    began = time.perf_counter()
    await checkpoints.before("first")
    first_s = time.perf_counter() - began
    late_ms: list[float] = []
    beating = asyncio.create_task(_beat(late_ms))
    each_ms: list[float] = []
    for number in range(SCANS):
        (root / "package0" / "module0" / "file0.py").write_text(f"{number}")
        began = time.perf_counter()
        await checkpoints.before(str(number))
        each_ms.append((time.perf_counter() - began) * 1000)
    beating.cancel()
    await checkpoints.close()
    return Scans(first_s, each_ms, late_ms)


async def _beat(late_ms: list[float]) -> None:
    while True:
        due = time.perf_counter() + BEAT_S
        await asyncio.sleep(BEAT_S)
        late_ms.append((time.perf_counter() - due) * 1000)


GOALS: list[Goal[CheckpointBench]] = [
    Goal(
        f"checkpoint scan: {FILES:,} files under git in {FOLDERS} folders, one of them changed, before a command; p50 of {SCANS}",
        "ms",
        250,
        lambda bench: statistics.median(bench.scans.each_ms),
        remarks=lambda bench: [f"the first copy {bench.scans.first_s:.1f} s"],
        issue="tools",
    ),
    Goal(
        f"checkpoint scan, the loop: by how much it is late meanwhile for a beat each {BEAT_S * 1000:.0f} ms; p95",
        "ms",
        16,
        lambda bench: statistics.quantiles(bench.scans.late_ms, n=20)[-1],
        remarks=lambda bench: [f"the most {max(bench.scans.late_ms):.1f} ms of {len(bench.scans.late_ms):,} beats"],
        issue="tools",
    ),
]
