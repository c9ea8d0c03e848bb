"""The rows of a conversation with what they cost, and the places at which it can be cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, islice

from session.models import Message, Role


class Said:
    """The rows with what they cost, and the places at which they can be cut."""

    def __init__(self, rows: Sequence[Message], price: Callable[[Message], int]) -> None:
        self.rows = rows
        self.price = price
        self._sums = list(accumulate(map(self.price, rows), initial=0))
        self._counts = list(accumulate((row.role is not Role.NOTICE for row in rows), initial=0))

    def tokens(self, start: int, end: int | None = None) -> int:
        return self._sums[len(self.rows) if end is None else end] - self._sums[start]

    def count(self, start: int, end: int | None = None) -> int:
        """Notices are not counted: no model reads them."""
        return self._counts[len(self.rows) if end is None else end] - self._counts[start]

    @cached_property
    def places(self) -> list[int]:
        """In order: no call stands before one and is answered behind it or not yet, and no result follows it."""
        until = _group_ends(self.rows)
        found: list[int] = []
        open_until = -1
        for place, follows in enumerate(_roles_that_follow(self.rows)):
            if open_until < place and follows is not Role.TOOL:
                found.append(place)
            open_until = max(open_until, until[place])
        return found or [0]

    @cached_property
    def last_prompt(self) -> int | None:
        return next((place for place, row in _backwards(self.rows) if row.is_prompt), None)

    @cached_property
    def last_reply(self) -> int | None:
        """The last answer that says something."""
        return next((place for place, row in _backwards(self.rows) if is_said(row)), None)

    def ends_in_prompt(self, place: int) -> bool:
        """Whether a prompt is the last that a model gets before a place."""
        before = (row for row in reversed(self.rows[:place]) if row.role is not Role.NOTICE)
        return any(row.is_prompt for row in islice(before, 1))

    def kept_from(self, most: int) -> int:
        """Where the tail must begin, or before: at what was asked last, and at the last answer if that takes up to `most`."""
        prompt = len(self.rows) - 1 if self.last_prompt is None else self.last_prompt
        reply = prompt if self.last_reply is None else self.last_reply
        return min(prompt, reply) if self.tokens(self.last_place(reply)) <= most else prompt

    def last_place(self, at: int) -> int:
        """The last place at or before an index."""
        return max((place for place in self.places if place <= at), default=0)


def _group_ends(rows: Sequence[Message]) -> list[int]:
    """For each row the place of the last row that belongs to it: calls and their results belong together.

    A call without a result belongs to what is still to come.
    """
    ids = [[call.id for call in row.calls] + ([row.result.call_id] if row.result else []) for row in rows]
    last = {one: place for place, of_row in enumerate(ids) for one in of_row}
    answered = {row.result.call_id for row in rows if row.result}
    last |= {call.id: len(rows) for row in rows for call in row.calls if call.id not in answered}
    return [max((last[one] for one in of_row), default=place) for place, of_row in enumerate(ids)]


def _roles_that_follow(rows: Sequence[Message]) -> list[Role]:
    """For each place the role of the first row from there on that a model gets."""
    found: list[Role] = []
    following = Role.NOTICE
    for row in reversed(rows):
        following = following if row.role is Role.NOTICE else row.role
        found.append(following)
    return found[::-1]


def _backwards(rows: Sequence[Message]) -> Iterator[tuple[int, Message]]:
    return zip(reversed(range(len(rows))), reversed(rows), strict=True)


def is_said(row: Message) -> bool:
    return row.role is Role.ASSISTANT and bool((row.content or row.refusal).strip())
