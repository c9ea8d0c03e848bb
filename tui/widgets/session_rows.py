"""The order of a list of sessions: what is pinned first, then the rest by day or by project, the newest on top."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from msgspec import Struct

from agent.config.display_settings import Grouping
from session.models import Session
from tui.widgets.state_words import one_line

PINNED = "Pinned"
DAYS_OF_WEEK = 7


class Placed(Struct, frozen=True, gc=False):
    """A session and the time that it stands at in the list."""

    session: Session
    at: float


class Group(Struct, frozen=True):
    """Sessions under one heading, in their order."""

    name: str
    ids: list[str]


class Days(Struct, frozen=True):
    """When the days began that a time is told by, seen from one moment."""

    today: float
    yesterday: float
    week: float

    @classmethod
    def at(cls, now: float) -> Days:
        return cls(_midnight(now, 0), _midnight(now, -1), _midnight(now, 1 - DAYS_OF_WEEK))

    def name(self, at: float) -> str:
        if at >= self.today:
            return "Today"
        if at >= self.yesterday:
            return "Yesterday"
        return "This week" if at >= self.week else "Older"


def until_tomorrow_s(now: float) -> float:
    return max(1.0, _midnight(now, 1) - now)


def grouped(placed: Iterable[Placed], by: Grouping, now: float) -> list[Group]:
    """All sessions under their headings, the last active one first; of equal times the greater id, as in the store."""
    newest_first = sorted(placed, key=lambda one: (one.at, one.session.id), reverse=True)
    pinned = [one.session.id for one in newest_first if one.session.is_pinned]
    others = [one for one in newest_first if not one.session.is_pinned]
    groups = _by_day(others, now) if by is Grouping.DAY else _by_project(others)
    return [Group(PINNED, pinned), *groups] if pinned else groups


def sought(session: Session) -> str:
    """What a filter looks for its words in: the title and the name of the project."""
    return f"{' '.join(session.title.split())}\n{session.workspace.rpartition('/')[2]}".casefold()


def _by_day(newest_first: Sequence[Placed], now: float) -> list[Group]:
    days, groups = Days.at(now), dict[str, list[str]]()
    for one in newest_first:
        groups.setdefault(days.name(one.at), []).append(one.session.id)
    return [Group(name, ids) for name, ids in groups.items()]


def _by_project(newest_first: Sequence[Placed]) -> list[Group]:
    """Projects in the order of what was last done in them. Those of one name are told by the folder they are in, too."""
    groups: dict[str, list[str]] = {}
    for one in newest_first:
        groups.setdefault(one.session.workspace, []).append(one.session.id)
    paths = {workspace: PurePath(workspace) for workspace in groups}
    held = Counter(path.name for path in paths.values())
    names = {place: _project(path, is_one_of_many=held[path.name] > 1) for place, path in paths.items()}
    return [Group(names[workspace], ids) for workspace, ids in groups.items()]


def _project(path: PurePath, *, is_one_of_many: bool) -> str:
    name = path.name or str(path)
    return one_line(f"{path.parent.name}/{name}" if is_one_of_many and path.parent.name else name) or "No folder"


def _midnight(now: float, days: int) -> float:
    """When the day began that is so many days after the one of `now`."""
    year, month, day, *_ = time.localtime(now)
    return time.mktime((year, month, day + days, 0, 0, 0, 0, 0, -1))
