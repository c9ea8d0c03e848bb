"""The open store as the verbs see it. What they say of it is masked, and a session is what a person calls it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct, to_builtins

from agent.profile import Profile
from agent.session_names import named
from session.models import Session
from session.status import Status, standing_of
from session.tables import Tables
from tui.cli.console import answer, data, remark

T = TypeVar("T")
Record = dict[str, object]


class Store(Struct, frozen=True):
    """A profile whose sessions are read or changed, and how the answer is wanted."""

    profile: Profile
    as_json: bool

    def read(self, fn: Callable[[Tables], T]) -> T:
        """Raises UserError."""
        return self.profile.db.read(fn).result()

    def write(self, fn: Callable[[Tables], T]) -> T:
        """Raises UserError."""
        return self.profile.db.write(fn).result()

    def find(self, text: str) -> Session:
        """The one session that is meant. Raises NoSuchSession or AmbiguousSession."""
        return self.read(lambda tables: named(tables, text))

    def find_all(self, texts: tuple[str, ...]) -> list[Session]:
        """Each of them, once. Raises NoSuchSession or AmbiguousSession before anything is done."""
        return list({session.id: session for session in map(self.find, texts)}.values())

    def masked(self, text: str) -> str:
        return self.profile.secrets.masking.text(text)

    def answer(self, text: str) -> bool:
        """False when nobody reads it any more."""
        return answer(self.masked(text))

    def remark(self, text: str) -> None:
        remark(self.masked(text))

    def data(self, value: object) -> None:
        data(json.dumps(self.profile.secrets.masking.deep(value)))

    def tell(self, record: object, sentence: str) -> None:
        """What was done: the record with --json, else the sentence."""
        if self.as_json:
            self.data(record)
        else:
            self.answer(sentence)


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def moment(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    except (ValueError, OverflowError, OSError):  # a damaged or imported time
        return "no known time"


def marks(tables: Tables, session: Session) -> tuple[str, ...]:
    """What sets a session apart from others in a list."""
    standing = standing_of(tables, session.id, time.time())
    said = (
        "pinned" if session.is_pinned else "",
        "archived" if session.is_archived else "",
        standing.value if standing is not Status.COMPLETE else "",
    )
    return tuple(filter(None, said))


def session_record(tables: Tables, session: Session) -> Record:
    record: Record = to_builtins(session)
    return {
        **record,
        "title_source": session.title_source.name.lower(),
        "status": standing_of(tables, session.id, time.time()).value,
    }
