"""What is done to a program and what is read off it: one function a scenario, one process a call."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path

from model_server import marker
from program import Program

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
PORT = 8871
READY_S = 40
ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")

# No four of these letters in a row come twice, so that each key's echo can be told from all others.
TYPED = "QZJXKVWYHUBGPFMRLNDTCSOEIAQXZVJKYWHGUBPMFRLDNTSCEOIA"
WARM_KEYS = 3
KEY_GAP_S = 0.13
IMPORT_GAP_S = 0.3  # the import waits for a pause of 0.25 s
DRAFT_STORED_S = 2.0  # an emptied draft is stored a second behind the keys, and the next start would show it
SAME_FRAME_S = 0.005  # what is read of a pty that soon behind the last piece is the rest of the same frame


@dataclass
class Subject:
    """A program to measure: its command, the words on its screen when it is ready, and its home."""

    command: list[str]
    ready: re.Pattern[str]
    home: Path
    arguments: list[str] = field(default_factory=list)

    @contextmanager
    def started(self) -> Iterator[Program]:
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        own = {"HOME": str(self.home), "HERMES_HOME": str(self.home / "hermes"), "SHELL": "/bin/sh", "LANG": "C.UTF-8"}
        screen = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        cwd = self.home / "work"
        cwd.mkdir(parents=True, exist_ok=True)
        program = Program([*self.command, *self.arguments], {**kept, **own, **screen}, cwd)
        try:
            yield program
        finally:
            program.kill()

    def wait_ready(self, program: Program) -> float:
        return program.wait_for(lambda screen: bool(self.ready.search(screen)), READY_S, "the ready screen")


@dataclass(frozen=True)
class Start:
    echo_ms: float
    cpu_s: float


@dataclass(frozen=True)
class Turn:
    """`beyond_ms`: from Enter to the end of the answer on screen, without the time the server took. `to_wire_ms`: from Enter
    until the server had the first byte of the request."""

    beyond_ms: float
    from_first_byte_ms: float
    cpu_s: float
    to_wire_ms: float


@dataclass(frozen=True)
class Idle:
    rss_mb: float
    cpu_s: float
    tty_bytes: int


@dataclass(frozen=True)
class Echo:
    p50_ms: float
    p95_ms: float
    max_ms: float
    n: int


@dataclass(frozen=True)
class TypedTurn:
    """Keys typed while an answer streams, and what the process tree spent from Enter until the screen was quiet."""

    typed: Echo
    cpu_s: float


@dataclass(frozen=True)
class Flood:
    """What a person meets while a command writes without end."""

    typed: Echo
    grown_mb: float
    tty_bytes: int


@dataclass(frozen=True)
class Crowd:
    """Several sessions that stream at once, one of them shown."""

    typed: Echo
    hidden_cpu_s: float  # of each hidden one


@contextmanager
def model_server(log: Path) -> Iterator[None]:
    server = subprocess.Popen([sys.executable, str(HERE / "model_server.py"), str(PORT), str(log)])
    try:
        yield
    finally:
        server.kill()
        server.wait()


def start(subject: Subject) -> Start:
    """Spawn; when the screen is ready, type; the time is from spawn to the first typed character on screen."""
    with subject.started() as program:
        subject.wait_ready(program)
        cpu_s = program.cpu_s()
        before, ends_at = program.screen().count("Z"), time.monotonic() + 20
        while time.monotonic() < ends_at:
            program.write(b"Z")
            key_ends_at = time.monotonic() + 0.1
            while time.monotonic() < key_ends_at:
                at = program.show(lambda screen: screen.count("Z") > before)
                if at is not None:
                    return Start((at - program.spawned_at) * 1000, cpu_s)
                time.sleep(0.002)
        raise AssertionError(f"a typed character did not show:\n{program.screen()}")


# What the first frame needs anyway, and then what is read of a person's files for it.
CONFIG = """
import gc, os, time
gc.disable()
import textual.app, session.db
before_s = time.process_time()
from agent.config.home import find_home
from agent.config.load import load_settings
from agent.config.secrets import load_secrets
from agent.providers.keys import key_names
home = find_home(os.environ)
loaded = load_settings(home.config, environ=os.environ)
secrets, problems = load_secrets(home.env, os.environ, key_names(loaded.settings))
print(time.process_time() - before_s)
assert loaded.settings.providers and len(secrets.names) >= 5 and not (*loaded.problems, *problems)
"""


def config_cpu_ms(home: Path) -> float:
    """In a process of its own; the first one in a home writes down what it read for those after it."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "HERMES_HOME": str(home / "hermes"), "LANG": "C.UTF-8"}
    done = subprocess.run([sys.executable, "-c", CONFIG], env=environ, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout) * 1000


nonces = count(int(time.time()) % 10_000 * 10)


def nonce() -> str:
    """A new word of letters only, which no widget formats."""
    return "q" + "".join(chr(ord("a") + int(digit)) for digit in str(next(nonces)))


def type_prompt(program: Program, prompt: str) -> None:
    for letter in prompt:
        program.write(letter.encode())
        time.sleep(0.015)
    program.wait_for(lambda screen: prompt[-12:] in screen.replace("\n", ""), 5, "the typed prompt")
    program.wait_quiet(0.35)


def turn(program: Program, log: Path, stream: str = "") -> Turn:
    """Send a prompt; `stream` is chunks:characters:delay of the answer, "" for a short one."""
    word = nonce()
    prompt = f"bench:stream:{stream}:{word}" if stream else f"bench:short:{word}"
    type_prompt(program, prompt)
    cpu_s, entered, done = program.cpu_s(), time.monotonic(), marker(word)
    seen_from = len(program.log)
    program.write(b"\r")
    wait_for_bytes(program, seen_from, done.encode(), 60)
    shown = program.wait_for(lambda screen: done in screen, 10, "the end of the answer")
    program.wait_quiet(0.5)
    request = request_of(log, prompt)
    server_s = request["last"] - request["arrived"]
    to_wire_ms = (request["arrived"] - entered) * 1000
    beyond_ms, from_first_byte_ms = (shown - entered - server_s) * 1000, (shown - request["first"]) * 1000
    return Turn(beyond_ms, from_first_byte_ms, program.cpu_s() - cpu_s, to_wire_ms)


def wait_for_bytes(program: Program, seen_from: int, wanted: bytes, timeout_s: float) -> None:
    """Until a word was written; nothing is emulated meanwhile. A word drawn in two parts is left to the screen."""
    ends_at, rest = time.monotonic() + timeout_s, b""
    while time.monotonic() < ends_at and not program.is_closed:
        while seen_from < len(program.log):
            rest = ESCAPES.sub(b"", rest[-64:] + program.log[seen_from][1])
            seen_from += 1
            if wanted in rest:
                return
        time.sleep(0.01)


def request_of(log: Path, prompt: str) -> dict[str, float]:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return next(line for line in reversed(lines) if prompt in line["prompt"])


def idle(program: Program, seconds: float = 10) -> Idle:
    """Nothing is done; the program has answered once before, so that all it loads late is loaded."""
    program.wait_quiet(1)
    time.sleep(3)
    cpu_s, size = program.cpu_s(), program.size_bytes
    time.sleep(seconds)
    return Idle(program.rss_mb(), program.cpu_s() - cpu_s, program.size_bytes - size)


def echo(program: Program, keys: int = 40, gap_s: float = KEY_GAP_S) -> Echo:
    """Type a key every 130 ms, or as often as is told; the time is from each key to the screen that shows it."""
    letters = TYPED[: keys + WARM_KEYS]
    program.show()
    sent: list[float] = []
    for letter in letters:
        sent.append(time.monotonic())
        program.write(letter.encode())
        time.sleep(gap_s)
    time.sleep(0.7)
    shown_ms = echo_times(program, letters, sent)
    program.write(b"\x7f" * len(letters))
    if len(shown_ms) < keys * 0.9:
        raise AssertionError(f"only {len(shown_ms)} of {keys} keys showed:\n{program.screen()}")
    p95_ms = statistics.quantiles(shown_ms, n=20)[-1]
    return Echo(statistics.median(shown_ms), p95_ms, max(shown_ms), len(shown_ms))


def echo_while_importing(subject: Subject) -> Echo:
    """Keys from the ready screen on, each so late behind the one before it that the import has gone on in between."""
    with subject.started() as program:
        subject.wait_ready(program)
        typed = echo(program, keys=20, gap_s=IMPORT_GAP_S)
        time.sleep(DRAFT_STORED_S)
        return typed


def echo_while_streaming(program: Program, stream: str) -> TypedTurn:
    """The same keys while an answer comes; they begin 1.5 s after Enter."""
    word = nonce()
    type_prompt(program, f"bench:stream:{stream}:{word}")
    cpu_s = program.cpu_s()
    program.write(b"\r")
    time.sleep(1.5)
    typed = echo(program)
    program.wait_for(lambda screen: marker(word) in screen, 20, "the end of the answer")
    program.wait_quiet(0.5)
    return TypedTurn(typed, program.cpu_s() - cpu_s)


def frames_while_unfocused(program: Program, stream: str) -> float:
    """Frames a second that are written while an answer comes and the terminal has not the focus."""
    word = nonce()
    type_prompt(program, f"bench:stream:{stream}:{word}")
    program.write(b"\r")
    time.sleep(0.5)
    program.write(b"\x1b[O")  # behind the last key, which would bring the focus back
    time.sleep(1)
    seen_from, began_s = len(program.log), time.monotonic()
    time.sleep(4)
    written_s, took_s = [at for at, _ in program.log[seen_from:]], time.monotonic() - began_s
    program.wait_for(lambda screen: marker(word) in screen, 20, "the end of the answer")
    program.write(b"\x1b[I")
    program.wait_quiet(0.5)
    return sum(later - at > SAME_FRAME_S for at, later in pairwise(written_s)) / took_s


def echo_while_flooded(program: Program, seconds: int = 10) -> Flood:
    """The same keys while `yes` runs and its card shows what it writes; memory from 1.5 s on to the last key."""
    word = nonce()
    type_prompt(program, f"bench:yes:{seconds}:{word}")
    program.write(b"\r")
    time.sleep(1.5)
    rss_mb, size = program.rss_mb(), program.size_bytes
    typed = echo(program)
    grown_mb, tty_bytes = program.rss_mb() - rss_mb, program.size_bytes - size
    if marker(word) in program.screen():
        raise AssertionError(f"the command ended before the last key:\n{program.screen()}")
    program.wait_for(lambda screen: marker(word) in screen, seconds + 20, "the end of the answer")
    return Flood(typed, grown_mb, tty_bytes)


def crowd(program: Program, sessions: int, stream: str, seconds: float = 8) -> Crowd:
    """CPU of a wait with one stream, then of the same wait with more behind it, then keys typed meanwhile."""
    _send_among_others(program, f"bench:stream:{stream}:{nonce()}")
    time.sleep(2)
    alone_s = _spent(program, seconds)
    for _ in range(sessions - 1):
        _send_among_others(program, "/new")
        program.wait_for(lambda screen: "Ask for anything" in screen and "Working in" in screen, 10, "a new session")
        _send_among_others(program, f"bench:stream:{stream}:{nonce()}")
    time.sleep(2)
    together_s = _spent(program, seconds)
    typed = echo(program)
    if "working" not in program.screen():
        raise AssertionError(f"the answers ended before the last key:\n{program.screen()}")
    return Crowd(typed, (together_s - alone_s) / (sessions - 1))


def _send_among_others(program: Program, text: str) -> None:
    """Type and send while something else is drawn: the screen is never quiet."""
    for letter in text:
        program.write(letter.encode())
        time.sleep(0.015)
    program.wait_for(lambda screen: text[-12:] in screen.replace("\n", ""), 10, "the typed text")
    time.sleep(0.2)
    program.write(b"\r")
    program.wait_for(lambda screen: "Ask for anything" in screen, 10, "an empty draft")


def _spent(program: Program, seconds: float) -> float:
    before_s = program.cpu_s()
    time.sleep(seconds)
    return program.cpu_s() - before_s


def echo_times(program: Program, letters: str, sent: list[float]) -> list[float]:
    """For each key after the warm ones, the milliseconds until it was drawn behind the three before it."""
    times: list[float] = []
    at = sent[0]
    for number in range(WARM_KEYS, len(letters)):
        word = letters[number - WARM_KEYS : number + 1]
        if word not in program.screen():  # else it was drawn together with the key before it
            drawn = program.show(lambda screen, word=word: word in screen)
            if drawn is None:
                break
            at = drawn
        times.append((at - sent[number]) * 1000)
    return times
