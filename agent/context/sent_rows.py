"""The rows that a model gets, with what is known of all of them up to each: a fingerprint, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence

from agent.context.anchor import row_fingerprint
from agent.context.estimate import least_tokens
from agent.context.features import NONE, Features, of_row
from session.models import Message, Role


class SentRows:
    """Follows the rows of a session. They mostly grow, so that each is looked at once, however often it is asked."""

    def __init__(self) -> None:
        self.rows: list[Message] = []
        self._followed: list[Message] = []  # notices included
        self._prefixes = [b""]  # by how many rows
        self._features: list[Features | None] = []  # by row
        self._total, self._totalled = NONE, 0
        self._least, self._counted = 0, 0

    def follow(self, rows: Sequence[Message]) -> None:
        """Take in what is new in the rows of the session, or what they are instead."""
        seen = len(self._followed)
        if rows[:seen] == self._followed:  # a look at each, and no more where they are the very same
            new = [row for row in rows[seen:] if _is_sent(row)]
        else:
            sent = [row for row in rows if _is_sent(row)]
            self._keep(self._shared(sent))
            new = sent[len(self.rows) :]
        self._followed = list(rows)
        for row in new:
            self.rows.append(row)
            self._prefixes.append(row_fingerprint(self._prefixes[-1], row))
            self._features.append(None)

    def fingerprint(self, count: int) -> str:
        """Of the first `count` rows."""
        return self._prefixes[count].hex()

    def begins_with(self, count: int, fingerprint: str) -> bool:
        return count <= len(self.rows) and self.fingerprint(count) == fingerprint

    @property
    def total(self) -> Features:
        """Of all rows, without thinking."""
        self.add_up(len(self.rows))
        return self._total

    def add_up(self, most: int) -> bool:
        """Do a part of what `total` would have to do: that of so many rows. Whether there is more."""
        end = min(len(self.rows), self._totalled + most)
        for index in range(self._totalled, end):
            self._total += self._of(index)
        self._totalled = end
        return end < len(self.rows)

    def since(self, start: int) -> Features:
        """Of the rows from one on, without thinking."""
        return sum((self._of(index) for index in range(start, len(self.rows))), NONE)

    def thinking_since(self, start: int) -> Features:
        """The thinking of the answers from a row on that no server counted, and nothing else."""
        answers = ((index, self.rows[index]) for index in range(start, len(self.rows)) if self.rows[index].reasoning)
        uncounted = ((index, row) for index, row in answers if not _counted_thinking(row))
        return sum((of_row(row, with_thinking=True) - self._of(index) for index, row in uncounted), NONE)

    def counted_thinking_since(self, start: int) -> int:
        """Tokens of the thinking of the answers from a row on that a server counted and that is kept to be sent back."""
        return sum(_counted_thinking(row) for row in self.rows[start:] if row.reasoning or row.extras)

    @property
    def least(self) -> int:
        """The fewest tokens that any tokenizer makes of all rows."""
        for row in self.rows[self._counted :]:
            self._least += least_tokens_of(row)
        self._counted = len(self.rows)
        return self._least

    def has_prompt_since(self, start: int) -> bool:
        """Whether another turn began behind a row."""
        return any(row.role is Role.USER for row in self.rows[start:])

    @property
    def turn_start(self) -> int:
        """The place behind the last prompt."""
        places = range(len(self.rows) - 1, -1, -1)
        return next((place + 1 for place in places if self.rows[place].role is Role.USER), 0)

    # --- inside

    def _of(self, index: int) -> Features:
        found = self._features[index]
        if found is None:
            found = self._features[index] = of_row(self.rows[index])
        return found

    def _shared(self, sent: Sequence[Message]) -> int:
        """How many rows from the beginning on are those that were seen."""
        count = 0
        for held, row in zip(self.rows, sent, strict=False):
            if not (held is row or held == row or _says_the_same(held, row)):
                break
            count += 1
        return count

    def _keep(self, count: int) -> None:
        if count == len(self.rows):
            return
        del self.rows[count:], self._prefixes[count + 1 :], self._features[count:]
        self._total, self._totalled = NONE, 0
        self._least, self._counted = 0, 0


def least_tokens_of(row: Message) -> int:
    said = row.sent or row.content or row.refusal
    return least_tokens(said) + sum(least_tokens(call.arguments) for call in row.calls)


def _counted_thinking(row: Message) -> int:
    return row.usage.reasoning if row.usage is not None else 0


def _is_sent(row: Message) -> bool:
    return row.role is not Role.NOTICE


def _says_the_same(one: Message, other: Message) -> bool:
    """Also of a row that got another id since."""
    return row_fingerprint(b"", one) == row_fingerprint(b"", other)
