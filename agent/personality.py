"""Ways of speaking that a person can lay over a session: those we bring, those of the settings, and files of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import islice
from pathlib import Path

from msgspec import Struct

from agent.config.files import NotReadable, read_text
from session.errors import UserError

NONE = ("none", "default", "neutral")
FOLDER = "personalities"
MOST_FILES, MOST_CHARS = 200, 20_000
NAMED = re.compile(r"[^\W_][\w-]{0,39}")

PERSONALITIES: dict[str, str] = {
    "concise": "Answer in as few words as the matter allows. No preamble, no summary of what was asked.",
    "teacher": "Explain as to a bright colleague new to the subject: the reason first, then the step, then a small example.",
    "reviewer": "Read everything as a careful reviewer: name risks, missing tests and simpler ways before you agree.",
    "plain": "Use short everyday words and short sentences. Explain each term of the trade the first time it comes up.",
    "architect": "Think in parts and the seams between them: say what depends on what, what a choice costs later, and "
    "which decision can wait.",
    "socratic": "Lead with questions before answers: one or two at a time, each narrowing the problem. Answer plainly "
    "when the person asks you to.",
    "skeptic": "Doubt every claim, your own first: say what would prove it wrong, check what can be checked, and mark "
    "what was not.",
    "cheerful": "Be warm and lively. Notice what went well, keep spirits up when something fails, and stay brief about it.",
    "butler": "Speak with the dry courtesy of an experienced butler: discreet, exact, never hurried, a raised eyebrow "
    "where it is due.",
    "pirate": "Talk like an old ship's captain: salt, weather and rope in every metaphor, and a hearty word for the crew.",
    "detective": "Tell it like a night-shift detective: clues, suspects, alibis, and at last who did it.",
    "bard": "Speak in the manner of a travelling bard: cadence and an occasional rhymed couplet, never at the cost of a fact.",
}
HEADING = (
    "How to speak in this session (the personality “{name}”, chosen by the person). It changes the tone alone: facts, code, "
    "commands and care stay as they are.\n\n{text}"
)


class Source(StrEnum):
    """Where a personality comes from; the later one of the same name holds."""

    BUILT_IN = "built in"
    SETTINGS = "config.yaml"
    FILE = "file"


class Personality(Struct, frozen=True):
    """`shown` is the file it is from, as a person knows it."""

    name: str
    text: str
    source: Source = Source.BUILT_IN
    shown: str = ""

    @property
    def about(self) -> str:
        """Its first line."""
        return next((line.strip(" #") for line in self.text.splitlines() if line.strip(" #")), "")

    @property
    def overlay(self) -> str:
        """What is laid behind the system prompt."""
        return HEADING.format(name=self.name, text=self.text)


class NoSuchPersonality(UserError):
    """None has this name."""

    sentence = "There is no personality {name}. There are: {names}, none."


class Personalities(Struct, frozen=True):
    """All there are, by name. `problems` say which files are none, and why."""

    by_name: Mapping[str, Personality]
    problems: tuple[str, ...] = ()

    def find(self, name: str) -> Personality | None:
        """None where there is none of this name, however it is capitalised."""
        return self.by_name.get(name.lower())

    def named(self, name: str) -> Personality:
        """Raises NoSuchPersonality."""
        found = self.find(name)
        if found is None:
            raise NoSuchPersonality(name=name, names=", ".join(self.by_name))
        return found


def is_none(name: str) -> bool:
    """Whether a name clears the personality."""
    return name.lower() in NONE


def read_personalities(home: Path, shown: str, of_settings: Mapping[str, str]) -> Personalities:
    """All that a profile has; a file that is none is a problem, and never an error. Looks at the disk."""
    found = [Personality(name, text) for name, text in PERSONALITIES.items()]
    problems: list[str] = []
    for name, text in of_settings.items():
        _take(found, problems, Personality(name, text, Source.SETTINGS, f"personalities.{name} in config.yaml"))
    for path in _files(home / FOLDER):
        place = f"{shown}/{FOLDER}/{path.name}"
        try:
            _take(found, problems, Personality(path.stem, read_text(path) or "", Source.FILE, place))
        except NotReadable as error:
            problems.append(f"{place} is no personality: {error}.")
    return Personalities({one.name.lower(): one for one in found}, tuple(problems))


def _files(folder: Path) -> Iterable[Path]:
    try:
        return sorted(islice(folder.glob("*.md"), MOST_FILES))
    except OSError:
        return ()


def _take(found: list[Personality], problems: list[str], one: Personality) -> None:
    text = one.text.strip()
    if not NAMED.fullmatch(one.name) or is_none(one.name):
        problems.append(f"{one.shown} has no usable name: letters, digits, - and _, at most 40, and none of {_WORDS}.")
    elif not text:
        problems.append(f"{one.shown} says nothing.")
    elif len(text) > MOST_CHARS:
        problems.append(f"{one.shown} is longer than {MOST_CHARS:,} characters; make it shorter.")
    else:
        found.append(Personality(one.name, text, one.source, one.shown))


_WORDS = ", ".join(NONE)
