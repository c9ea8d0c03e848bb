"""Whatever comes from the keyboard while answers stream and questions come up: the screen lives and nothing is allowed."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

SEED = 20_261_130
STEPS = 250
ROUNDS = int(os.environ.get("HERMES_SOAK") or 2)
ARM_MS = 8_000  # no pause of a test is so long: no key in here can be a person's considered answer

DRAFT = "a thought not to be lost"
RESTS = re.compile(r"╭.*(○ idle|✗ failed) · \S+", re.DOTALL)  # whichever model a random line may have chosen
TITLED = re.compile(r"╭─ \S")  # what opens over the screen
QUESTION = re.compile(r"wait…|│ [▸ ] 1  ")  # Esc may begin its quiet time anew; Ctrl+C never waits
# What hermes itself writes: places, colours, modes and questions to the terminal, and the CAN behind a sequence that a slow
# reader cut. All else came from a person's text.
OWN = re.compile(
    r"\x1b(?:\[[<>=?]?[\d;:]*[ $]?[HJKhlmnpqtu]|\][^\x07\x1b]*(?:\x07|\x1b\\)|P[^\x1b]*\x1b\\|\\|[^\x18]{0,80}\x18)"
)
ACTING = re.compile(r"[\x00-\x06\x08\x0b\x0c\x0e-\x17\x19-\x1f\x7f-\x9f]")
LEAVES = b"\x04\x11"  # Ctrl+D and Ctrl+Q end the app, as they should
KEYS = [
    *"abz 012ynY/?'\\[]{}<>|",
    *"\r\n\t\x01\x05\x06\x08\x0b\x0c\x0e\x0f\x10\x12\x14\x15\x17\x18\x19\x1a\x1f\x7f",
    *"あ👨‍👩‍👧‍👦é",
    "/help\r",
    "/new\r",
    "/model demo\r",
    *(f"\x1b[{key}" for key in ("A", "B", "C", "D", "H", "F", "Z", "5~", "6~", "3~", "1;2A", "1;5D", "13;2u", "27u")),
    "\x1b[1;5F",
    "\x1b\r",
    *(f"\x1b{key}" for key in ("f", "j", "o", "q", "s")),
    *(f"\x1b{key}" for key in ("OP", "OS", "[17~", "[18~", "[5;5~", "[6;5~")),  # not F2: who changes settings may allow
    "\x1b[I",
    "\x1b[O",
]
UP, DOWN = "\x1b[1;3A", "\x1b[1;3B"
MOVES = [UP, DOWN, "\x0e", "\x02", "\x1b"]  # to another session, and the sidebar; Esc before an arrow is Alt with it
HARMLESS = [
    byte for byte in range(32, 256) if byte != ord("!")
]  # in front of a line it runs that as the person's command
BROKEN = ["\x1b[", "\x1b]", "\x1bP", "\x1b[200~", "\x1b[<", "\x1b[<0;", "\x1b[99999999999999u", "\x1b[0;0;0u", "\x1b[M"]


def paste(chance: random.Random) -> bytes:
    text = "".join(
        chance.choice(["x", "\n", "\r\n", "\t", "[/]", "\x1b", "あ", "\x00"]) for _ in range(chance.randint(0, 400))
    )
    return f"\x1b[200~{text}\x1b[201~".encode()


def mouse(chance: random.Random) -> bytes:
    button, column, row = chance.choice([0, 1, 2, 32, 35, 64, 65]), chance.randint(-3, 130), chance.randint(0, 50)
    return f"\x1b[<{button};{column};{row}{chance.choice('Mm')}".encode()


def noise(chance: random.Random) -> bytes:
    if chance.random() < 0.5:
        return chance.choice(BROKEN).encode()
    return bytes(chance.choice(HARMLESS) for _ in range(chance.randint(1, 12)))


def play(term: Any, chance: random.Random, *, stays: bool) -> None:
    """Random things happen at the keyboard. Ctrl+C comes too seldom to be pressed twice; `stays`: in one session."""
    keys, widest, stopped_at = (KEYS, 99, 0.0) if stays else (KEYS + MOVES, 140, 0.0)
    term.resize(widest, 30)  # at 99 there is no sidebar to click on
    term.wait_for("Ask for anything")
    for _ in range(STEPS):
        roll = chance.random()
        if roll < 0.05:
            term.resize(chance.randint(1, widest), chance.randint(1, 50))
        elif roll < 0.08 and time.monotonic() - stopped_at > 1.5:
            stopped_at = time.monotonic()
            term.child.send(b"\x03")
        elif roll < 0.7:
            term.child.send(chance.choice(keys))
        else:
            make = chance.choice([paste, mouse, mouse, noise])
            term.child.send(make(chance).translate(None, LEAVES + b"\x03"))
        assert term.pump(chance.choice([0, 0, 0.002, 0.02])), f"hermes ended:\n{term.screen()}"


def settle(term: Any) -> None:
    """Bring the screen back to a conversation and a draft, whatever is open."""
    term.resize(100, 30)
    term.child.send("\x1b[201~\x07")  # ends what was begun
    ends_at = time.monotonic() + 15
    while time.monotonic() < ends_at:
        pause(term, 1.2)  # also the time after which the rest of a broken sequence is not waited for
        screen = term.screen()
        if RESTS.search(screen) and not TITLED.search(screen) and "wait…" not in screen:
            return
        term.child.send("\x03" if QUESTION.search(screen) else "\x1b[27u")
    raise AssertionError(f"the screen did not come to rest:\n{term.screen()}")


def pause(term: Any, seconds: float) -> None:
    ends_at = time.monotonic() + seconds
    while (left := ends_at - time.monotonic()) > 0:
        term.pump(left)


def log(desk: Any) -> str:
    return (desk.home / "logs" / "hermes.log").read_text()


def leave_a_draft(term: Any) -> None:
    """Write one in a session, and go to another session."""
    term.send("first")
    term.wait_for("Here I am.")
    term.send("/new")
    term.wait_for("Working in")
    term.child.send(DOWN)
    term.wait_gone("Working in")
    term.type(DRAFT)
    term.wait_for(DRAFT)
    term.child.send(UP)
    term.wait_gone(DRAFT)


def find_the_draft(term: Any) -> None:
    for _ in range(20):
        if DRAFT in (screen := term.screen()):
            return
        term.child.send("\x03" if QUESTION.search(screen) else DOWN)  # a prompt that waited in line may ask now
        pause(term, 0.2)
    raise AssertionError(f"the draft is gone:\n{term.screen()}")


@pytest.mark.soak
@pytest.mark.parametrize("number", range(ROUNDS))
def test_any_input_while_answers_stream_and_ask_allows_nothing_and_breaks_nothing(
    desk: Any, terminal: Callable[..., Any], wire: Any, number: int
) -> None:
    seed = SEED + number
    print(f"seed {seed}")
    chance = random.Random(seed)
    wire.say("Here I am.")
    words = [part for word in range(60) for part in (wire.chunk({"content": f"**w{word}** `[/]` "}), 0.005)]
    for turn in range(STEPS):
        if turn % 3 == 1:
            wire.call(f"touch allowed-{turn}", f"call_{turn}")
        else:
            wire.stream(*words, wire.chunk({}, "stop"))
    desk.serve_model(wire.base_url, approvals={"arm_ms": ARM_MS}, agent={"stream_retries": 0})
    term = terminal()
    term.wait_for("Ask for anything")
    leave_a_draft(term)
    play(term, chance, stays=number % 2 == 0)
    assert "Traceback" not in log(desk), log(desk)
    settle(term)
    if number % 2 == 0:
        find_the_draft(term)

    term.press("ctrl+q")
    assert term.wait_exit() == 0
    assert not list(desk.workspace.glob("allowed-*"))  # an export is the person's own
    assert not desk.query("SELECT 1 FROM messages WHERE approval LIKE 'allowed%'")
    assert desk.query("PRAGMA integrity_check") == [("ok",)]
    assert "Traceback" not in log(desk)
    if foreign := ACTING.search(drawn := OWN.sub("", term.written())):
        raise AssertionError(f"drawn raw: {drawn[max(0, foreign.start() - 200) : foreign.end() + 200]!r}")
    _, restored, way_back = term.written().rpartition("\x1b[?1049l\x1b[0m\x1b[?25h")
    assert restored and "\x1b" not in way_back
