"""One title, one session: what a title becomes where another session has it already."""

from __future__ import annotations

import re
from collections.abc import Callable

from session.connection import Connection
from session.titles import MAX_CHARS, cut

NUMBER_CHARS = 8  # kept free for " #12345" where a long title has to be numbered
BRANCH = " (branch)"
NUMBERED = re.compile(r"(.+) #[1-9]\d{0,5}")

HOLDER = "SELECT id FROM sessions WHERE title != '' AND title = ? AND id != ?"


def holder(connection: Connection, title: str, session_id: str) -> str:
    """The id of another session that has the title, "" where none has."""
    found = connection.value(HOLDER, title, session_id)
    return found if isinstance(found, str) else ""


def free_title(connection: Connection, title: str, session_id: str) -> str:
    """The title itself, or "title #2", "title #3", … where other sessions have it; "" stays ""."""
    stem = cut(title, MAX_CHARS - NUMBER_CHARS)

    def numbered(number: int) -> str:
        return title if number == 1 else f"{stem} #{number}"

    return numbered(free_number(lambda number: holder(connection, numbered(number), session_id) != ""))


def free_number(is_taken: Callable[[int], bool]) -> int:
    """A number that is not taken though the one below it is, or 1: in some 2 log n looks, however many are taken."""
    if not is_taken(1):
        return 1
    taken, free = 1, 2
    while is_taken(free):
        taken, free = free, free * 2
    while free - taken > 1:
        middle = (taken + free) // 2
        taken, free = (middle, free) if is_taken(middle) else (taken, middle)
    return free


def next_in_lineage(connection: Connection, title: str) -> str:
    """The title of a session that comes from one named `title`: after "name" and after "name #2" comes "name #3".

    A number that was not given by us is part of the name: "fix issue #2" is followed by "fix issue #2 #2".
    """
    numbered = NUMBERED.fullmatch(title)
    stem = numbered[1] if numbered and holder(connection, numbered[1], "") else title
    return free_title(connection, stem, "")


def branch_title(connection: Connection, title: str) -> str:
    """The title of a branch of a session named `title`, also where that is one itself: "name (branch)", then "… #2"."""
    is_named = title.endswith(BRANCH) or f"{BRANCH} #" in title
    return next_in_lineage(connection, title if is_named else cut(title, MAX_CHARS - len(BRANCH)) + BRANCH)
