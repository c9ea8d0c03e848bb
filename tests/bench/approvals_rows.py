"""How long a verdict on a command takes."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from functools import cached_property
from pathlib import Path

from goals import Goal
from machine import Machine

from agent.approvals.shell_judge import judge_command
from agent.tools.base import Workplace

CALLS = 200
COMMAND = (
    "cd src && git log --oneline -5 -- main.py | head -3; grep -rn 'import os' . | sort -u | wc -l && "
    'for f in a b; do echo "$f: $(wc -l < main.py)"; done 2>/dev/null; LANG=C ls -la src/*.py || true # and so on'
)


class ApprovalsBench:
    """A workspace under git, and the same command judged again and again."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    @cached_property
    def verdict_ms(self) -> list[float]:
        self.machine.sample()
        with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
            root = Path(folder).resolve()
            (root / "src").mkdir()
            (root / "src" / "main.py").write_text("import os\n")
            subprocess.run(["git", "init", "--quiet", "--template=", "."], cwd=root, check=True)
            place = Workplace(root, root, {"HOME": folder, "PATH": "/usr/local/bin:/usr/bin:/bin"}, root / "outputs")
            judge_command(COMMAND, place)
            return [_timed_ms(place) for _ in range(CALLS)]


def _timed_ms(place: Workplace) -> float:
    started = time.perf_counter()
    judge_command(COMMAND, place)
    return (time.perf_counter() - started) * 1000


GOALS: list[Goal[ApprovalsBench]] = [
    Goal(
        f"approvals verdict: a command of {len(COMMAND)} characters and 11 parts, warm; p50 of {CALLS}",
        "ms",
        2,
        lambda bench: statistics.median(bench.verdict_ms),
        issue="approvals",
    ),
]
