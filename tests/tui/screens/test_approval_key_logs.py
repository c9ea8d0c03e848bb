"""Random key logs thrown at an opening question: nothing is allowed that their owner did not allow by the stated rule.

The rule: a press allows something only on a screen that has been there, and in its size, for the quiet time, and only if
no key, click, paste or change of focus came within the quiet time before it, or before the keys of that very screen that
lead up to it without a break.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from textual import events

from agent.approvals.details import Details, Offer
from agent.approvals.inbox import Answer
from session.models import Approval
from tui.keys import ALWAYS_KEYS, APPROVAL_KEYS, WORDS_KEYS
from tui.screens.approval import ApprovalScreen
from tui.screens.approval_step import ApprovalStep
from tui.screens.approval_words import WordsStep
from tui.screens.choosing import ChoosingScreen

ROUNDS = int(os.environ.get("HERMES_SOAK") or 0)
LOGS = 200 if ROUNDS else 20  # a round: 10,000 in a soak of 50
QUIET_S = 0.03
SIZE = (44, 18)
SIZES = [SIZE, (80, 24), (40, 10), (18, 5)]  # at 40 by 10 the answers stand in one row, and 18 by 5 is too small
DETAILS = Details(
    may_save=True, offers=((Offer("= touch a", "exact"), Offer("touch *", "prefix", 9)),), command="touch a"
)
BOUND = {key for table in (APPROVAL_KEYS, ALWAYS_KEYS, WORDS_KEYS) for one in table for key in one.key.split(",")}
NAMED = ["enter", "tab", "shift+tab", "up", "down", "left", "right", "escape", "backspace", "delete", "home", "end"]
ALLOWING = ("1", "2", "3", "enter", "click")  # the third answer of the second look that saves a rule
WORDS = ["yes please 1 2", "y", "no!", "1", "111", "fix 2 tests", " ", "3", "go on 4 6"]


@dataclass
class Owner:
    """Who wrote a log: what they did and when, what came of it, and when a screen was last opened or closed."""

    did: list[tuple[float, str]] = field(default_factory=list)
    turned_s: float = 0.0  # when what keys act on was last another, or of another size
    allowed_s: float | None = None
    is_away: bool = False  # the window is not in front

    def note(self, what: str) -> None:
        self.did.append((time.monotonic(), what))

    def may_have_allowed(self) -> bool:
        """Whether some press was due to allow, by the rule."""
        assert self.allowed_s is not None
        done = [(at, what) for at, what in self.did if at <= self.allowed_s]
        return any(what in ALLOWING and self._leads(done, n) for n, (_, what) in enumerate(done))

    def _leads(self, done: list[tuple[float, str]], press: int) -> bool:
        for n in range(press, -1, -1):
            at, what = done[n]
            if what not in BOUND and what != "click":
                return False
            before = max(done[n - 1][0] if n else 0.0, self.turned_s)
            if at - before >= QUIET_S:
                return True
        return False


def key(name: str) -> events.Key:
    character = {"enter": "\r", "tab": "\t", "space": " "}.get(name, name if len(name) == 1 else None)
    return events.Key(name, character)


async def play(d, owner: Owner, dice: random.Random) -> None:
    """One step of a log."""
    post = d.app.post_message

    def press(name: str) -> None:
        owner.note(name)
        post(key(name))

    match dice.randrange(10):
        case 0 | 1:
            for character in dice.choice(WORDS):
                press("space" if character == " " else character)
                if dice.random() < 0.3:
                    await asyncio.sleep(dice.uniform(0, QUIET_S / 3))
        case 2:
            name = dice.choice(["enter", "1", "2", "up", "tab", "3"])
            for _ in range(dice.randrange(2, 8)):
                press(name)
                await asyncio.sleep(dice.uniform(0, QUIET_S / 2))
        case 3:
            owner.note("paste")
            post(events.Paste(dice.choice(["1", "yes\n", "1\n", "rm -rf x"])))
        case 4:
            for _ in range(dice.randrange(1, 3)):
                turn_window(d, owner)
        case 5 | 6:
            click(d, owner, dice)
        case 7:
            await d.pilot.resize_terminal(*dice.choice(SIZES))
        case _:
            for _ in range(dice.randrange(1, 4)):
                press(dice.choice([*NAMED, *"123456"]))


def turn_window(d, owner: Owner) -> None:
    owner.note("focus")
    owner.is_away = not owner.is_away
    d.app.post_message(events.AppBlur() if owner.is_away else events.AppFocus())


def click(d, owner: Owner, dice: random.Random) -> None:
    screen = d.app.screen
    if not isinstance(screen, ChoosingScreen):
        return
    x, y = screen.answers.region.offset
    x, y = x + dice.randrange(3, 12), y + dice.randrange(0, 6)
    owner.note("click")
    for kind in (events.MouseDown, events.MouseUp):
        d.app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, x, y))


async def leave_others(d, owner: Owner) -> None:
    """Close what keys meant for the transcript or the sidebar opened, over a question or in its place.

    A question closes by itself once it is answered: that is waited for, not helped.
    """
    while not isinstance(d.app.screen, (ApprovalScreen, ApprovalStep, WordsStep, type(d.main))):
        left = d.app.screen
        owner.note("escape")
        d.app.post_message(key("escape"))
        await d.until(lambda left=left: d.app.screen is not left)


async def deliberate(d, owner: Owner) -> None:
    """A person who looks first."""
    if owner.is_away:
        turn_window(d, owner)
    await d.pilot.resize_terminal(*SIZE)
    await leave_others(d, owner)
    await d.until(lambda: getattr(d.app.screen, "is_armed", False) or d.app.screen is d.main)
    if isinstance(d.app.screen, ApprovalScreen):
        await asyncio.sleep(max(0.0, QUIET_S - (time.monotonic() - owner.did[-1][0] if owner.did else 0.0)))
        owner.note("1")
        d.app.post_message(key("1"))


async def allow(d, owner: Owner) -> bool:
    """A log that holds nothing but a deliberate yes."""
    answer = d.asks("touch a", DETAILS, id="ask_0")
    await d.until(lambda: isinstance(d.app.screen, ApprovalScreen))
    while not answer.done():  # a press is dropped where the machine was too slow for the screen to be armed in time
        await deliberate(d, owner)
        await d.pilot.pause(0.01)
    return answer.result().approval.may_run


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[[object, Owner], None]:
    """Notes for the owner of the running log when a screen comes or goes, and when something is allowed."""

    def watch(d, owner: Owner) -> None:
        def turned(kind: type, name: str) -> None:
            does = getattr(kind, name)

            def noted(*args, **kwargs):
                if owner.allowed_s is None:
                    owner.turned_s = time.monotonic()
                return does(*args, **kwargs)

            monkeypatch.setattr(kind, name, noted)

        monkeypatch.undo()
        turned(type(d.app), "push_screen")
        turned(type(d.app), "pop_screen")
        turned(WordsStep, "to_answers")
        turned(ChoosingScreen, "on_resize")
        dismiss = ApprovalStep.dismiss

        def dismissed(step: ApprovalStep, result: Answer | None = None):
            if result is not None and result.approval.may_run:
                owner.allowed_s = time.monotonic()  # the answer itself is given once its screen is gone
            return dismiss(step, result)

        monkeypatch.setattr(ApprovalStep, "dismiss", dismissed)
        answer = type(d.hub).answer

        def answered(hub, request_id: str, given: Answer) -> bool:
            if given.approval.may_run and owner.allowed_s is None:
                owner.allowed_s = time.monotonic()
            return answer(hub, request_id, given)

        monkeypatch.setattr(type(d.hub), "answer", answered)

    return watch


async def throw_log(d, owner: Owner, dice: random.Random) -> bool:
    """Put a question, and play a log before and while it opens. Whether something was allowed."""
    for _ in range(dice.choice([0, 0, 1, 2])):
        await play(d, owner, dice)
    answer = d.asks("touch a", DETAILS, id=f"ask_{time.monotonic_ns()}")
    for _ in range(dice.randrange(2, 9)):
        await asyncio.sleep(dice.choice([0, 0, dice.uniform(0, QUIET_S / 2), dice.uniform(QUIET_S, QUIET_S * 2)]))
        if answer.done():
            break
        await play(d, owner, dice)
    if not answer.done() and dice.random() < 0.2:
        await deliberate(d, owner)
    await d.pilot.pause(0.01)
    for request in d.hub.pending():
        d.hub.answer(request.id, Answer(Approval.CANCELLED, "the log ended"))
    given = await answer
    await leave_others(d, owner)
    await d.until(lambda: d.app.screen is d.main)
    if owner.is_away:
        turn_window(d, owner)
        await d.until(lambda: d.app.app_focus)  # the app may end behind this log
    if d.app.size != SIZE:
        await d.pilot.resize_terminal(*SIZE)
    return given.approval.may_run


@pytest.mark.soak
@pytest.mark.timeout(0 if ROUNDS else 60)
@pytest.mark.parametrize("number", range(ROUNDS or 1))
async def test_C20_C21_C22_C23_no_log_allows_what_its_owner_did_not(desk, script, watched, number):
    seed = random.randrange(2**32)
    allowed = 0
    for _ in range(LOGS * 4):
        script.says("ok")  # what is typed on behind an answer becomes a prompt
    async with desk(size=SIZE, arm_ms=round(QUIET_S * 1_000)) as d:
        for log in range(LOGS):
            owner = Owner()
            watched(d, owner)
            dice = random.Random(f"{seed} {log}")
            if not await (throw_log(d, owner, dice) if log else allow(d, owner)):
                continue
            allowed += 1
            assert owner.may_have_allowed(), f"log {log} of seed {seed}: {owner}"
    print(f"{allowed} of {LOGS} logs allowed something")
    assert allowed, "no log allowed anything: the rule was not tried"
