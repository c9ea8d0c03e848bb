"""Two hundred scripted sessions: what a person does and what the models say, the same for the same number."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.personality import PERSONALITIES
from tests.honesty import models, texts
from tests.honesty.counting import Answer, Call
from tests.honesty.models import Model
from tests.honesty.texts import Dice, Make

SESSIONS = 200


@dataclass(frozen=True)
class Say:
    """A prompt, what the model answers to it, request by request, and the files that its calls read."""

    text: str
    answers: tuple[Answer, ...]
    files: Mapping[str, str]
    images: int = 0  # sent before the text


@dataclass(frozen=True)
class Rewind:
    """Back to before the last prompts."""

    prompts: int = 1


@dataclass(frozen=True)
class Branch:
    """Go on in a copy that ends before the last prompts."""

    prompts: int = 1


@dataclass(frozen=True)
class Switch:
    model: Model


@dataclass(frozen=True)
class Resume:
    """Reopen the home; `in_process`: a process of its own looks first."""

    in_process: bool = False


@dataclass(frozen=True)
class Speak:
    personality: str


@dataclass(frozen=True)
class Anew:
    """Another session in the same home."""


@dataclass(frozen=True)
class Compact:
    """By the person's own command."""


Step = Say | Rewind | Branch | Switch | Resume | Speak | Anew | Compact


@dataclass(frozen=True)
class Script:
    number: int
    kind: str
    models: tuple[Model, ...]  # the first one answers at the beginning
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Kind:
    """What the sessions of one kind are made of. Pairs of numbers are the least and the most."""

    name: str
    models: Sequence[Model]
    prompt: Sequence[Make] = (texts.prose,)
    answer: Sequence[Make] = (texts.prose, texts.mixed)
    result: Sequence[Make] = (texts.code, texts.prose, texts.data)
    turns: tuple[int, int] = (4, 7)
    rounds: tuple[int, int] = (0, 2)  # of calls, in a turn
    result_chars: tuple[int, int] = (300, 6_000)
    thinking_chars: tuple[int, int] = (200, 4_000)
    between: Sequence[Callable[[Dice, Sequence[Model]], Step]] = ()
    chance: float = 0.5  # that something happens between two turns
    images: float = 0.0  # the chance of some with a prompt


def _rewind(dice: Dice, _: Sequence[Model]) -> Step:
    return Rewind(dice.choice([1, 1, 2]))


def _branch(dice: Dice, _: Sequence[Model]) -> Step:
    return Branch(dice.choice([1, 1, 2]))


def _switch(dice: Dice, offered: Sequence[Model]) -> Step:
    return Switch(dice.choice(offered))


def _resume(dice: Dice, _: Sequence[Model]) -> Step:
    return Resume()


def _resume_in_process(dice: Dice, _: Sequence[Model]) -> Step:
    return Resume(in_process=dice.random() < 0.3)


def _speak(dice: Dice, _: Sequence[Model]) -> Step:
    return Speak(dice.choice(["", *PERSONALITIES]))


def _anew(dice: Dice, _: Sequence[Model]) -> Step:
    return Anew()


def _compact(dice: Dice, _: Sequence[Model]) -> Step:
    return Compact()


ANY = (texts.prose, texts.code, texts.cjk, texts.other, texts.data, texts.mixed)
SMALL = tuple(
    model.small(window)
    for model, window in zip(models.COUNTING, (10_000, 12_000, 16_000, 14_000, 18_000, 12_000, 16_000, 20_000, 16_000), strict=True)
)  # fmt: skip
UNDECLARED = (models.PLAIN.small(12_000, is_declared=False), models.CACHING.small(16_000, is_declared=False))

KINDS: tuple[Kind, ...] = (
    Kind("prose", (models.PLAIN, models.CACHING, models.RESPONDING), result=(texts.prose,)),
    Kind("code", (models.PLAIN, models.CACHING, models.RESPONDING), answer=(texts.code, texts.mixed), result=(texts.code,)),
    Kind("cjk", (models.PLAIN, models.CACHING), prompt=(texts.cjk, texts.other), answer=(texts.cjk, texts.cjk, texts.other), result=(texts.cjk, texts.code)),
    Kind("floods", models.COUNTING, rounds=(2, 6), result_chars=(2_000, 40_000), turns=(2, 4)),
    Kind("images", (models.PLAIN, models.CACHING, models.SEALED), images=0.6),
    Kind("reasoning", models.THINKERS, rounds=(1, 5), thinking_chars=(500, 12_000)),
    Kind("rewinds", (models.PLAIN, *models.THINKERS), between=(_rewind,), chance=0.7, answer=ANY, turns=(5, 8)),
    Kind("branches", (models.CACHING, *models.THINKERS), between=(_branch, _branch, _anew), chance=0.7, answer=ANY),
    Kind("switches", models.COUNTING, between=(_switch,), chance=0.7, turns=(5, 8), answer=ANY),
    Kind("resumes", models.COUNTING, between=(_resume_in_process,), chance=0.8, answer=ANY),
    Kind("compactions", SMALL, rounds=(1, 4), result_chars=(500, 7_000), turns=(7, 11), answer=ANY, thinking_chars=(200, 2_500), between=(_resume, _compact, _rewind), chance=0.2),
    Kind("personalities", (models.PLAIN, models.ECHOED_COUNTED, models.RESPONDING), between=(_speak, _speak, _resume), chance=0.8),
    Kind("usageless", models.USAGELESS, between=(_resume, _rewind), chance=0.3, answer=ANY),
    Kind("unknown windows", UNDECLARED, rounds=(1, 4), result_chars=(500, 6_000), turns=(6, 9), answer=ANY, between=(_resume, _anew), chance=0.2),
    Kind("served less", tuple(m.small(14_000) for m in (models.PLAIN, models.ECHOED_COUNTED)), rounds=(1, 4), result_chars=(500, 6_000), turns=(6, 9), answer=ANY),
    Kind("everything", (*SMALL[:4], *models.COUNTING), prompt=ANY, answer=ANY, result=ANY, rounds=(0, 4), turns=(6, 9), images=0.15, result_chars=(300, 8_000), between=(_rewind, _branch, _switch, _resume, _speak, _anew, _compact), chance=0.5),
)  # fmt: skip


def script(number: int) -> Script:
    kind = KINDS[number % len(KINDS)]
    dice = random.Random(number)
    count = 3 if kind.name in ("switches", "everything") else 1
    offered = tuple(dice.sample(kind.models, count))
    if kind.name == "served less":
        offered = tuple(replace(one, declared=128_000) for one in offered)
    return Script(number, kind.name, offered, tuple(_steps(kind, dice, offered)))


def _steps(kind: Kind, dice: Dice, offered: Sequence[Model]) -> Iterator[Step]:
    for turn in range(dice.randint(*kind.turns)):
        if turn and kind.between and dice.random() < kind.chance:
            yield dice.choice(kind.between)(dice, offered)
        yield _said(kind, dice, turn)


@dataclass
class _Turn:
    """One turn while it is made up."""

    kind: Kind
    dice: Dice
    number: int
    files: dict[str, str] = field(default_factory=dict[str, str])

    def text(self, makes: Sequence[Make], least: int, most: int) -> str:
        """Short ones are more frequent, as in life."""
        chars = round(least * (most / least) ** self.dice.random())
        return self.dice.choice(makes)(self.dice, chars)

    @property
    def thinking(self) -> str:
        return self.text((texts.prose,), *self.kind.thinking_chars)

    def call(self) -> Call:
        name = f"file{self.number}_{len(self.files)}.txt"
        self.files[name] = self.text(self.kind.result, *self.kind.result_chars)
        match self.dice.random():
            case chance if chance < 0.7:
                return Call("read_file", json.dumps({"path": name, "limit": 2_000}))
            case chance if chance < 0.85:
                return Call("terminal", json.dumps({"command": f"cat {name}"}))
            case _:
                return Call("write_file", json.dumps({"path": f"new_{name}", "content": self.files.pop(name)}))

    def calling(self) -> Answer:
        calls = tuple(self.call() for _ in range(self.dice.choice([1, 1, 1, 2, 3])))
        text = self.text(self.kind.answer, 40, 400) if self.dice.random() < 0.5 else ""
        return Answer(text, self.thinking, calls)


def _said(kind: Kind, dice: Dice, number: int) -> Say:
    turn = _Turn(kind, dice, number)
    asked = turn.text(kind.prompt, 60, 2_000)
    rounds = [turn.calling() for _ in range(dice.randint(*kind.rounds))]
    last = Answer(turn.text(kind.answer, 150, 4_000), turn.thinking)
    images = dice.randint(1, 3) if dice.random() < kind.images else 0
    return Say(asked, (*rounds, last), turn.files, images)
