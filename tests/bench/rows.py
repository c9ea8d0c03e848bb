"""Speed and memory of the product beside a minimal Textual app, of the store beside plain sqlite3 and of the provider
beside bare HTTP, and how true the context figure is, as a table and as build/bench.json.

    python tests/bench/rows.py [part of a row's name, which ends with the colon …]

Each figure is a median of `RUNS` processes or turns; ratios compare two medians of the same run.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

import scenarios
from approvals_rows import GOALS as APPROVALS_GOALS
from approvals_rows import ApprovalsBench
from checkpoint_rows import GOALS as CHECKPOINT_GOALS
from checkpoint_rows import CheckpointBench
from context_rows import GOALS as CONTEXT_GOALS
from context_rows import ContextBench
from goals import Goal, M, Row
from machine import Machine
from model_server import markdown
from provider_bench import ProviderBench
from provider_rows import GOALS as PROVIDER_GOALS
from scenarios import BIN, HERE, PORT, Crowd, Echo, Flood, Idle, Start, Subject, Turn, TypedTurn
from store_bench import StoreBench
from store_rows import GOALS as STORE_GOALS
from tools_bench import ToolsBench
from tools_rows import GOALS as TOOLS_GOALS
from transcript_rows import GOALS as TRANSCRIPT_GOALS
from transcript_rows import TranscriptBench

from agent.workspace import find_workspace
from session.db import SessionDB
from session.models import ApiMode, Finish, Message, Role, Route, Session, TitleSource

RUNS = 5
CONFIG_RUNS = 15
FLOODS = 3
UNFOCUSED_RUNS = 2
LONG_SESSION = 2_000  # messages
BURST = "2000:20:0"
PACED = "800:20:10"
SESSIONS, LONG = 6, "4500:20:10"  # long enough for all of them to be begun and measured
REPORT = HERE.parent.parent / "build" / "bench.json"


@dataclass(frozen=True)
class LongRun:
    """One process: warm turns, idle waits, bursts, keys typed while an answer streams, and such answers unfocused."""

    warm_turns: list[Turn]
    rests: list[Idle]
    bursts: list[Turn]
    typed: list[TypedTurn]
    unfocused_fps: list[float]


@dataclass
class Measured:
    """Every scenario, run when a row first asks for it."""

    folder: Path
    machine: Machine = field(default_factory=Machine)

    @property
    def log(self) -> Path:
        return self.folder / "requests.jsonl"

    def product(self, home: str, *arguments: str) -> Subject:
        return Subject([str(BIN / "hermes"), "tui"], READY, configured(self.folder / home), list(arguments))

    @cached_property
    def floor_starts(self) -> list[Start]:
        app = Subject([sys.executable, str(HERE / "minimal_app.py")], re.compile("welcome"), self.folder / "floor")
        return self.starts(app)

    @cached_property
    def starts_of_product(self) -> list[Start]:
        return self.starts(self.product("starts"))

    def starts(self, subject: Subject) -> list[Start]:
        """The first one fills the disk cache and is not counted."""
        self.machine.sample()
        return [scenarios.start(subject) for _ in range(RUNS + 1)][1:]

    @cached_property
    def config_cpu_ms(self) -> list[float]:
        """The first one remembers the settings for the others, and is not counted."""
        self.machine.sample()
        home = configured(self.folder / "config")
        keys = ("OPENAI_API_KEY", "GITHUB_TOKEN", "DEPLOY_KEY", "SEARCH_KEY", "MAIL_PASSWORD")
        (home / "hermes" / ".env").write_text("".join(f"{name}=sk-bench-{name}-0123456789\n" for name in keys))
        (home / "hermes" / ".env").chmod(0o600)
        return [scenarios.config_cpu_ms(home) for _ in range(CONFIG_RUNS + 1)][1:]

    @cached_property
    def first_turns(self) -> list[Turn]:
        return [self.first_turn(self.product("turns")) for _ in range(RUNS + 1)][1:]

    def first_turn(self, subject: Subject) -> Turn:
        with subject.started() as program:
            ready_at = subject.wait_ready(program)
            time.sleep(max(0.0, ready_at + 2.5 - time.monotonic() - 0.015 * 22 - 0.4))  # the prompt is typed meanwhile
            return scenarios.turn(program, self.log)

    @cached_property
    def session(self) -> LongRun:
        self.machine.sample()
        subject = self.product("turns")
        with subject.started() as program:
            subject.wait_ready(program)
            time.sleep(2.5)
            return LongRun(
                [scenarios.turn(program, self.log) for _ in range(RUNS + 1)][1:],
                [scenarios.idle(program) for _ in range(RUNS)],
                [scenarios.turn(program, self.log, BURST) for _ in range(RUNS)],
                [scenarios.echo_while_streaming(program, PACED) for _ in range(RUNS)],
                [scenarios.frames_while_unfocused(program, PACED) for _ in range(UNFOCUSED_RUNS)],
            )

    @cached_property
    def floods(self) -> list[Flood]:
        """In one process, one behind the other; the first one loads what a command needs, and is not counted."""
        self.machine.sample()
        subject = self.product("floods")
        with subject.started() as program:
            subject.wait_ready(program)
            time.sleep(2.5)
            return [scenarios.echo_while_flooded(program) for _ in range(FLOODS + 1)][1:]

    @cached_property
    def crowd(self) -> Crowd:
        self.machine.sample()
        subject = self.product("crowd")
        with subject.started() as program:
            subject.wait_ready(program)
            time.sleep(2.5)
            return scenarios.crowd(program, SESSIONS, LONG)

    @cached_property
    def echo_while_importing(self) -> list[Echo]:
        self.machine.sample()
        subject = self.product("importing")
        return [scenarios.echo_while_importing(subject) for _ in range(RUNS + 1)][1:]

    @cached_property
    def echo_when_empty(self) -> Echo:
        return self.echo_of(self.product("empty"))

    @cached_property
    def echo_when_long(self) -> Echo:
        subject = self.product("long", "--continue")
        marker = seed(subject.home, LONG_SESSION)
        return self.echo_of(Subject(subject.command, re.compile(marker), subject.home, subject.arguments))

    def echo_of(self, subject: Subject) -> Echo:
        """The median of RUNS echoes, each in a process of its own."""
        self.machine.sample()
        echoes: list[Echo] = []
        for _ in range(RUNS):
            with subject.started() as program:
                subject.wait_ready(program)
                time.sleep(2.5)
                echoes.append(scenarios.echo(program))
                time.sleep(scenarios.DRAFT_STORED_S)
        names = ("p50_ms", "p95_ms", "max_ms")
        p50, p95, most = (statistics.median(getattr(one, name) for one in echoes) for name in names)
        return Echo(p50, p95, most, sum(one.n for one in echoes))


READY = re.compile("(?i)message|ask")


def configured(home: Path) -> Path:
    """A home whose config names the bench server."""
    hermes = home / "hermes"
    hermes.mkdir(parents=True, exist_ok=True)
    provider = {
        "base_url": f"http://127.0.0.1:{PORT}/hermes/v1",
        "context_length": 1_000_000,
        "models": {"bench-model": {}},
    }
    settings = {"model": {"default": "bench-model", "provider": "bench"}, "providers": {"bench": provider}}
    approvals = {"shell": {"allow": ["= yes"]}}
    (hermes / "config.yaml").write_text(json.dumps({**settings, "approvals": approvals, "probe_local": False}))
    return home


def seed(home: Path, messages: int) -> str:
    """Store a session of 800-character answers; the word on screen when its end is shown."""
    work = home / "work"
    work.mkdir(parents=True, exist_ok=True)
    route = Route("bench", "bench-model", f"http://127.0.0.1:{PORT}/hermes/v1", ApiMode.CHAT, window=1_000_000)
    now = time.time()
    session = Session(
        "seeded", "tui", "Seeded", TitleSource.DERIVED, str(work), str(find_workspace(work)), now, now, route
    )
    text = markdown(800)
    rows = [
        Message("seeded", Role.ASSISTANT, f"{text}\n\nanswer {number}", now, finish=Finish.STOP)
        if number % 2
        else Message("seeded", Role.USER, f"question {number}", now)
        for number in range(messages)
    ]
    db = SessionDB.open(home / "hermes" / "state.db")
    db.write(lambda tables: (tables.sessions.create(session), [tables.messages.append(row) for row in rows])).result()
    db.close()
    return f"answer {messages - 1}"


def p50(values: Iterable[float]) -> float:
    return statistics.median(values)


GOALS: list[Goal[Measured]] = [
    Goal(
        f"start: spawn, then a key as soon as the screen is ready, to its echo; p50 of {RUNS} over the floor's p50",
        "ratio",
        1.35,
        lambda m: p50(s.echo_ms for s in m.starts_of_product) / p50(s.echo_ms for s in m.floor_starts),
    ),
    Goal(
        f"start: CPU of the process tree from spawn to the ready screen; p50 of {RUNS} over the floor's p50",
        "ratio",
        1.4,
        lambda m: p50(s.cpu_s for s in m.starts_of_product) / p50(s.cpu_s for s in m.floor_starts),
    ),
    Goal(
        f"config: CPU of importing and reading config.yaml and a .env of 5 keys, beside Textual and the store, settings as at the last start; p50 of {CONFIG_RUNS} processes",
        "ms",
        10,
        lambda m: p50(m.config_cpu_ms),
    ),
    Goal(
        f"idle: resident memory of the process tree at the end of each 10 s wait after six short turns; p50 of {RUNS}",
        "MB",
        85,
        lambda m: p50(i.rss_mb for i in m.session.rests),
    ),
    Goal(f"idle: CPU in 10 s without input; p50 of {RUNS}", "s", 0.03, lambda m: p50(i.cpu_s for i in m.session.rests)),
    Goal(
        f"idle: bytes to the terminal in 10 s without input; the most of {RUNS}",
        "bytes",
        0,
        lambda m: max(i.tty_bytes for i in m.session.rests),
    ),
    Goal(
        f"first turn: Enter 2.5 s after the ready screen, to the answer's last word on screen, less the server's time; p50 of {RUNS} processes",
        "ms",
        90,
        lambda m: p50(t.beyond_ms for t in m.first_turns),
    ),
    Goal(
        f"warm turn: Enter to the answer's last word on screen, less the server's time; p50 of {RUNS}",
        "ms",
        25,
        lambda m: p50(t.beyond_ms for t in m.session.warm_turns),
    ),
    Goal(
        f"provider wire: Enter to the first byte of the request at the server, in a session that has answered once; p50 of {RUNS}",
        "ms",
        20,
        lambda m: p50(t.to_wire_ms for t in m.session.warm_turns),
        issue="providers",
    ),
    Goal(
        f"burst: 2,000 chunks of 20 characters of markdown at once, first byte to the last word on screen; p50 of {RUNS}",
        "ms",
        350,
        lambda m: p50(t.from_first_byte_ms for t in m.session.bursts),
    ),
    Goal(
        f"burst: CPU of that turn, from Enter until the screen is quiet; p50 of {RUNS}",
        "s",
        0.55,
        lambda m: p50(t.cpu_s for t in m.session.bursts),
    ),
    Goal(
        f"echo while streaming: a key each 130 ms while 100 chunks of 20 characters a second come, to its echo; median of {RUNS} p50s of 40 keys",
        "ms",
        10,
        lambda m: p50(e.typed.p50_ms for e in m.session.typed),
    ),
    Goal(
        f"echo while streaming: the same keys; median of {RUNS} p95s of 40 keys",
        "ms",
        25,
        lambda m: p50(e.typed.p95_ms for e in m.session.typed),
    ),
    Goal(
        f"echo while streaming: the same keys; median of {RUNS} maxima of 40 keys",
        "ms",
        50,
        lambda m: p50(e.typed.max_ms for e in m.session.typed),
        issue="screen",
    ),
    Goal(
        f"paced turn: CPU of such an answer of 8 s with those keys and as many backspaces, from Enter until the screen is quiet; p50 of {RUNS}",
        "s",
        2.4,
        lambda m: p50(e.cpu_s for e in m.session.typed),
        issue="screen",
    ),
    Goal(
        f"unfocused: frames a second to the terminal while 100 chunks of 20 characters a second come; p50 of {UNFOCUSED_RUNS}",
        "1/s",
        8,
        lambda m: p50(m.session.unfocused_fps),
        issue="screen",
    ),
    Goal(
        f"echo while importing: a key each {scenarios.IMPORT_GAP_S * 1000:.0f} ms from the ready screen on, while what the first turn needs is loaded; median of {RUNS} p95s of 20 keys",
        "ms",
        12,
        lambda m: p50(e.p95_ms for e in m.echo_while_importing),
        remarks=lambda m: [f"at most {max(e.max_ms for e in m.echo_while_importing):.1f} ms"],
        issue="screen",
    ),
    Goal(
        f"echo idle: a key each 130 ms in an empty session, to its echo; median of {RUNS} p95s of 40 keys",
        "ms",
        12,
        lambda m: m.echo_when_empty.p95_ms,
        remarks=lambda m: [f"p50 {m.echo_when_empty.p50_ms:.1f} ms, at most 8 wanted"],
        issue="screen",
    ),
    Goal(
        f"echo among sessions: a key each 130 ms while {SESSIONS} sessions stream 100 chunks a second each, to its echo; p95 of 40 keys",
        "ms",
        30,
        lambda m: m.crowd.typed.p95_ms,
        remarks=lambda m: [f"p50 {m.crowd.typed.p50_ms:.1f} ms"],
        issue="screen",
    ),
    Goal(
        f"hidden stream: CPU that each of {SESSIONS - 1} sessions streaming out of sight adds in 8 s",
        "s",
        0.4,
        lambda m: m.crowd.hidden_cpu_s,
        issue="screen",
    ),
    Goal(
        f"echo while flooded: a key each 130 ms while `yes` runs for 10 s, to its echo; median of {FLOODS} p95s of 40 keys",
        "ms",
        40,
        lambda m: p50(f.typed.p95_ms for f in m.floods),
        remarks=lambda m: [f"p50 {p50(f.typed.p50_ms for f in m.floods):.1f} ms"],
        issue="tools",
    ),
    Goal(
        f"flooded memory: resident memory of the process tree that those keys' 6 s of `yes` add; the most of {FLOODS}",
        "MB",
        5,
        lambda m: max(f.grown_mb for f in m.floods),
        remarks=lambda m: [f"{p50(f.tty_bytes for f in m.floods):,.0f} bytes to the terminal meanwhile"],
        issue="tools",
    ),
    Goal(
        f"echo in a session of {LONG_SESSION:,} messages: a key each 130 ms to its echo; median of {RUNS} p50s of 40 keys, over the same in an empty session",
        "ratio",
        1.2,
        lambda m: m.echo_when_long.p50_ms / m.echo_when_empty.p50_ms,
    ),
]


def main(wanted: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
        measured = Measured(Path(folder))
        measured.log.touch()
        with scenarios.model_server(measured.log):
            found = list(rows(GOALS, measured, wanted))
    with closing(ProviderBench(measured.machine)) as provider:
        found += rows(PROVIDER_GOALS, provider, wanted)
    with closing(StoreBench(measured.machine)) as store:
        found += rows(STORE_GOALS, store, wanted)
    found += rows(TOOLS_GOALS, ToolsBench(measured.machine), wanted)
    found += rows(CONTEXT_GOALS, ContextBench(), wanted)
    found += rows(APPROVALS_GOALS, ApprovalsBench(measured.machine), wanted)
    found += rows(CHECKPOINT_GOALS, CheckpointBench(measured.machine), wanted)
    found += rows(TRANSCRIPT_GOALS, TranscriptBench(measured.machine), wanted)
    if not found:
        print("No row has such a name.", file=sys.stderr)
        return 2
    disturbance = measured.machine.disturbance()
    print(f"This run was disturbed: {disturbance}." if disturbance else "The machine was quiet.")
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps([{**asdict(row), "holds": row.holds} for row in found], indent=1) + "\n")
    return 0


def rows(goals: Iterable[Goal[M]], measured: M, wanted: list[str]) -> Iterator[Row]:
    """Measure and print those whose names are wanted."""
    for goal in goals:
        if goal.is_wanted(wanted):
            row = goal.measure(measured)
            print(row, flush=True)
            yield row


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
