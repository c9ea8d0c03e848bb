"""What a compaction would keep, summarise and drop: decided from the rows alone, before anything is asked or changed.

The conversation is cut at two places into head, middle and tail, never between a call and its results (B06). A model
summarises the middle. The tail holds what the person asked last, so that a summary is never the last word; it can be too
large all the same, since one turn may read more than fits. Then, in this order:
1. Results of tools in it are sent in one line each from then on, the oldest first (`cut`). The middle may be empty by that:
   nothing is summarised, and the plan helps nonetheless.
2. Where that is not enough, the head takes all up to the last prompt, and the middle is what the turn did first. The
   summary then stands behind the prompt that it serves (`is_within_turn`). An earlier summary before that prompt forbids
   it, since there is one summary at most; the person's next message makes that turn a part of the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from agent.context.said import Said
from agent.context.shortened import shortened
from agent.context.threshold import LEAST_SUMMARY, Budget
from session.models import Message

HEAD_ROWS = 3
TAIL_STRETCH = 1.5  # of its budget, so that a large row more or less moves no cut
LEAST_MIDDLE = 1_000  # tokens that are worth a summary; of a small threshold an eighth

EMPTY = "Nothing was said yet, so there is nothing to compact."
FITS = "All of it stays word for word: with about {tokens:,} tokens the conversation is small enough as it is."
OVERHEAD = (
    "The system prompt and the tool definitions alone take about {fixed:,} tokens, and this model's context is compacted at"
    " {threshold:,}, so no compaction can help. Choose a model with a larger window (/model), or give its server a larger"
    " context."
)
DAMAGED = (
    "Row {id} of this conversation is damaged, and no summary passes over it silently. `hermes sessions repair` tells what"
    " is wrong with it."
)
PROMPT_IS_LARGE = (
    "What you sent last takes about {tokens:,} tokens and stays word for word, so there is nothing to compact. Send less at"
    " once, or choose a model with a larger window (/model)."
)
TURN_IS_LARGE = (
    "What was done since you wrote last takes about {tokens:,} tokens and stays as it is while it is the latest. Send"
    " another message, such as “go on”: then it can be compacted."
)


class CompactionPlan(Struct, frozen=True):
    """`head` and `tail` stay word for word, `middle` is summarised (an earlier summary is in it). Tokens are estimates.

    `cut` are results of the tail as they are sent from then on, with the shorter text in `sent`, which saves `cut_tokens`
    of the `tail_tokens`. `why_not` is a sentence where nothing can be compacted, "" else.
    """

    head: Sequence[Message]
    middle: Sequence[Message]
    tail: Sequence[Message]
    head_tokens: int = 0
    middle_tokens: int = 0
    tail_tokens: int = 0
    summary_tokens: int = 0  # the longest the summary may be
    fixed_tokens: int = 0  # system prompt and tool definitions, which no compaction makes smaller
    why_not: str = ""
    cut: Sequence[Message] = ()
    cut_tokens: int = 0

    @property
    def before(self) -> int:
        return self.fixed_tokens + self.head_tokens + self.middle_tokens + self.tail_tokens

    @property
    def after(self) -> int:
        """At most."""
        return self.before - self.middle_tokens + self.summary_tokens - self.cut_tokens

    @property
    def is_within_turn(self) -> bool:
        """Whether the prompt that the summary serves stands before it, in the head."""
        is_in_head = any(row.is_prompt for row in self.head)
        return bool(self.middle) and is_in_head and not any(row.is_prompt for row in self.tail)


def plan(rows: Sequence[Message], budget: Budget, price: Callable[[Message], int], fixed_tokens: int) -> CompactionPlan:
    """`price` is what a row takes of a request, in tokens: 0 for a notice."""
    rows = list(rows)
    said = Said(rows, price)
    limits = _limits(budget, fixed_tokens)
    if limits.room < limits.least_middle:
        why_not = OVERHEAD.format(fixed=fixed_tokens, threshold=budget.threshold)
        return CompactionPlan((), (), rows, tail_tokens=said.tokens(0), fixed_tokens=fixed_tokens, why_not=why_not)
    divisions = [division for division in _divisions(said, limits) if _is_worth(said, division, limits)]
    made = _made(said, limits, divisions[0] if divisions else WHOLE, fixed_tokens)
    if made.tail_tokens - made.cut_tokens > limits.most and (within := _within_turn(said, limits)):
        made = _made(said, limits, within, fixed_tokens)
    return replace(made, why_not=_why_not(said, limits, made))


class _Division(Struct, frozen=True):
    """Indexes of the first row behind the head and of the first row of the tail."""

    head_end: int
    start: int


WHOLE = _Division(0, 0)


class _Limits(Struct, frozen=True):
    """In tokens, but for `least_rows`: the room that the fixed part leaves, and how it is shared out.

    The tail is wanted with `goal` tokens and takes `most` at most.
    """

    room: int
    summary: int
    head: int
    goal: int
    most: int
    least_middle: int
    least_rows: int


def _limits(budget: Budget, fixed_tokens: int) -> _Limits:
    """After a compaction the threshold is not reached again by the next few rows: a part of the room stays free."""
    room = max(0, budget.threshold - fixed_tokens)
    summary = min(budget.summary, room // 4)
    rest = room - summary
    return _Limits(
        room,
        summary,
        head=min(budget.tail // 2, rest // 8),
        goal=min(int(budget.tail * TAIL_STRETCH), rest // 2),
        most=rest * 3 // 4,
        least_middle=min(LEAST_MIDDLE, budget.threshold // 8),
        least_rows=budget.least_rows,
    )


def _divisions(said: Said, limits: _Limits) -> Iterator[_Division]:
    """What can be cut off before the last prompt, the best first: the number of rows gives way, and then the head."""
    if not said.rows:
        return
    head_end = _head_end(said, limits)
    for end, least_rows in ((head_end, limits.least_rows), (head_end, 0), (0, 0)):
        yield _Division(end, _tail_start(said, limits.goal, limits.most, said.kept_from(limits.most), least_rows))


def _head_end(said: Said, limits: _Limits) -> int:
    """Once there is a summary, what was said first is a part of it. No prompt stays whose answer goes: it would be answered
    again, in one message with the summary behind it."""
    if any(row.is_summary for row in said.rows):
        return 0
    kept_from = said.kept_from(limits.most)
    fit = (
        place
        for place in said.places
        if place <= kept_from
        and said.count(0, place) <= HEAD_ROWS
        and said.tokens(0, place) <= limits.head
        and not said.ends_in_prompt(place)
    )
    return max(fit, default=0)


def _tail_start(said: Said, goal: int, most: int, kept_from: int, least_rows: int) -> int:
    """As far back as `goal` reaches; further for `least_rows` while they take no more than `most`, or for what is kept."""
    within_goal = next((place for place in said.places if said.tokens(place) <= goal), len(said.rows))
    with_rows = max((place for place in said.places if said.count(place) >= least_rows), default=0)
    if said.tokens(with_rows) > most:
        with_rows = len(said.rows)
    return min(within_goal, with_rows, said.last_place(kept_from))


def _within_turn(said: Said, limits: _Limits) -> _Division | None:
    """The cuts behind the last prompt. What stands up to it takes its part of what the tail could have."""
    prompt, half = said.last_prompt, limits.most // 2
    if prompt is None or said.tokens(0, prompt + 1) > half:
        return None
    reply = said.last_reply or 0
    kept_from = reply if reply > prompt else len(said.rows) - 1
    division = _Division(prompt + 1, _tail_start(said, min(limits.goal, half), half, kept_from, limits.least_rows))
    return division if division.head_end in said.places and _is_worth(said, division, limits) else None


def _made(said: Said, limits: _Limits, division: _Division, fixed_tokens: int) -> CompactionPlan:
    head_end, start = division.head_end, division.start
    middle_tokens, tail, tail_tokens = said.tokens(head_end, start), said.rows[start:], said.tokens(start)
    cut = shortened(tail, said.price, limits.goal, limits.most) if tail_tokens > limits.most else []
    was = {row.id: row for row in tail}
    return CompactionPlan(
        said.rows[:head_end],
        said.rows[head_end:start],
        tail,
        head_tokens=said.tokens(0, head_end),
        middle_tokens=middle_tokens,
        tail_tokens=tail_tokens,
        summary_tokens=min(max(middle_tokens // 5, LEAST_SUMMARY), limits.summary, middle_tokens // 2),
        fixed_tokens=fixed_tokens,
        cut=cut,
        cut_tokens=sum(said.price(was[row.id]) - said.price(row) for row in cut),
    )


def _why_not(said: Said, limits: _Limits, made: CompactionPlan) -> str:
    if not said.count(0):
        return EMPTY
    if damaged := next((row for row in made.middle if row.is_damaged), None):
        return DAMAGED.format(id=damaged.id)
    if made.middle or made.cut:
        return ""
    if made.tail_tokens <= limits.most:
        return FITS.format(tokens=made.tail_tokens)
    prompt_tokens = 0 if said.last_prompt is None else said.tokens(said.last_prompt, said.last_prompt + 1)
    if prompt_tokens > limits.most:
        return PROMPT_IS_LARGE.format(tokens=prompt_tokens)
    return TURN_IS_LARGE.format(tokens=made.tail_tokens)


def _is_worth(said: Said, division: _Division, limits: _Limits) -> bool:
    """Whether enough would be summarised that is no summary yet, and no summary would be left beside the new one."""
    kept = (*said.rows[: division.head_end], *said.rows[division.start :])
    middle = range(division.head_end, division.start)
    fresh = sum(said.tokens(place, place + 1) for place in middle if not said.rows[place].is_summary)
    return fresh >= limits.least_middle and not any(row.is_summary for row in kept)
