"""How disturbed the machine is while something is measured."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field

import psutil

SPREAD_LIMIT = 1.10  # median over best of a fixed loop
OTHERS_LIMIT = 0.05  # of one CPU


def loop_ms() -> float:
    began = time.perf_counter()
    total = 0
    for number in range(400_000):
        total += number * number % 7
    return (time.perf_counter() - began) * 1000


def busy_s() -> float:
    """CPU seconds spent by all processes since the machine started."""
    times = psutil.cpu_times()
    return sum(times) - times.idle - getattr(times, "iowait", 0) - getattr(times, "guest", 0)


@dataclass
class Machine:
    """Calibration loops and the share of a CPU that others took in waits when neither we nor the program had work."""

    loops_ms: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)

    def sample(self, quiet_s: float = 1.0) -> None:
        own, before, began = time.process_time(), busy_s(), time.monotonic()
        time.sleep(quiet_s)
        spent = busy_s() - before - (time.process_time() - own)
        self.others.append(max(0.0, spent) / (time.monotonic() - began))
        self.loops_ms += [loop_ms() for _ in range(5)]

    def disturbance(self) -> str:
        """Why the figures are not to be trusted, "" when they are."""
        spread = statistics.median(self.loops_ms) / min(self.loops_ms)
        share = statistics.median(self.others)
        reasons = []
        if spread > SPREAD_LIMIT:
            reasons.append(f"the calibration loop's median is {spread - 1:.0%} above its best")
        if share > OTHERS_LIMIT:
            reasons.append(f"others use {share:.0%} of a CPU")
        return " and ".join(reasons)
