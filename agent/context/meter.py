"""The one authority on how full the context window is.

A figure rests on the last answer whose provider counted its tokens; only what was appended since is estimated. What is
shown leaves thinking out, which goes away with the end of a turn; what compaction decides by counts it where it is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from agent.context.anchor import Anchor, Anchors, decode, encode, route_fingerprint
from agent.context.features import NONE, Features, of_text, of_tools
from agent.context.gates import Pressure
from agent.context.reading import Asked, Lesson, fitting, read, resent, without_reading
from agent.context.sent_rows import SentRows
from agent.context.terms import Terms
from session.models import Message, Role

PART_ROWS, PART_PAUSE_S = 32, 0.005  # a millisecond of work, and then that of others
DOUBT = 0.4  # of what is estimated behind a reading: hardly ever is less of it there, or half as much more
MOST_PROMPTS = 4  # of a session whose size is remembered: with and without the personality, now and before


class FigureSource(StrEnum):
    """What a context figure rests on."""

    PROVIDER = "provider"
    PROVIDER_PLUS_ESTIMATE = "provider+estimate"
    ESTIMATE = "estimate"
    UNKNOWN = "unknown"


class ContextFigure(Struct, frozen=True):
    """Tokens of the conversation as the next request would send it. `window` is None when nobody has told it."""

    used: int
    window: int | None
    source: FigureSource
    read_at: float | None = None  # when the server counted, seconds since the epoch
    threshold: int | None = None  # from which on it is compacted; None where that is off or the window unknown
    declared: int | None = None  # the window as configured, where the server proved less
    unread: int = 0  # tokens that were sent and that the server did not read (A39)
    estimated: int = 0  # of those in use, what came since the server counted

    @property
    def is_estimate(self) -> bool:
        return self.source is not FigureSource.PROVIDER

    @property
    def percent(self) -> int | None:
        if not self.window:
            return None
        return min(100, round(self.used / self.window * 100))


class Noted(Struct, frozen=True):
    """What an answer leaves: `column` is what its session holds of anchors from then on, `lesson` is for the weights."""

    column: str
    lesson: Lesson | None


class Meter:
    """Of one session. Anchors have one place, the row of the session, whose column is given with each question."""

    def __init__(self) -> None:
        self._sent = SentRows()
        self._fixed: dict[str, Features] = {}  # by system prompt, for the same tools
        self._tools: tuple[Sequence[Mapping[str, object]], Features] = ((), NONE)
        self._adding: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Add up all rows beside other work, so that an estimate of another model is at hand when it is asked for."""
        self._adding = asyncio.create_task(self._add_up())

    # --- asked at any time

    def figure(self, rows: Sequence[Message], column: str, terms: Terms) -> ContextFigure:
        """For display: the request that a new prompt would make now. The same, live or reopened."""
        self._sent.follow(rows)
        if not self._sent.rows:
            return self._told(0, FigureSource.UNKNOWN, None, terms)
        anchors = self._fitting(column, terms)
        base = anchors.turn_base or anchors.last
        if base is None or base.unread:
            return self._told(self._estimated(terms), FigureSource.ESTIMATE, base, terms)
        counted = self._counted(base, with_thinking=anchors.keeps_thinking == base.route)
        used = counted + self._rest(base, terms)
        if anchors.last is not None and not anchors.last.unread:  # which has all of it, and thinking perhaps
            used = min(used, self._next_request(anchors.last, anchors, terms)[0])
        is_counted = base.is_exact and used == counted and self._is_all_counted(base, terms)
        source = FigureSource.PROVIDER if is_counted else FigureSource.PROVIDER_PLUS_ESTIMATE
        return self._told(used, source, base, terms, estimated=max(0, used - counted))

    def pressure(self, rows: Sequence[Message], column: str, terms: Terms) -> Pressure:
        """For the gates: the next request of this turn."""
        self._sent.follow(rows)
        anchors = self._fitting(column, terms)
        if anchors.last is not None and not anchors.last.unread:
            used, estimated = self._next_request(anchors.last, anchors, terms)
            return Pressure(used, is_anchored=True, unsure=int(estimated * DOUBT))
        thinking = self._thinking_since(self._sent.turn_start, anchors, terms)
        return Pressure(self._estimated(terms) + thinking, is_anchored=False)

    def last_prompt(self, column: str, terms: Terms) -> int:
        """The last real count of a request on this route, 0 for none."""
        last = decode(column).last
        return last.prompt if last is not None and last.route == route_fingerprint(terms.route) else 0

    def omits_usage(self, column: str, terms: Terms) -> bool:
        """Whether the last answer came from this route and without a reading."""
        return decode(column).omits_usage == route_fingerprint(terms.route)

    def estimate(self, rows: Sequence[Message], terms: Terms) -> int:
        """The tokens of the rows with all that goes along, where no count of a server is asked; without thinking."""
        self._sent.follow(rows)
        return self._estimated(terms)

    def fixed_tokens(self, terms: Terms) -> int:
        """The system prompt and the tools, which stand before all rows."""
        return terms.weights.tokens(self._features(terms.stable_system, terms))

    # --- what a server read

    def note_answer(
        self, rows: Sequence[Message], column: str, answer: Message, terms: Terms, *, is_compacted: bool = False
    ) -> Noted:
        """What is known from the row of this answer on; `rows` are those that it answers.

        Asked for the answers of the conversation itself, and for no other request. One that came without a reading
        takes away no anchor that fits; after one on whose way the server compacted, none does.
        """
        if is_compacted:
            return Noted("", None)
        self._sent.follow(rows)
        anchors, usage = decode(column), answer.usage
        if usage is None or usage.prompt == 0 or not self._sent.rows:
            return Noted(encode(without_reading(self._sent, anchors, route_fingerprint(terms.route))), None)
        found, lesson = read(self._asked(terms), anchors, answer, usage)
        return Noted(encode(found), lesson)

    # --- inside

    async def _add_up(self) -> None:
        is_more = True
        while is_more:
            is_more = self._sent.add_up(PART_ROWS)
            await asyncio.sleep(PART_PAUSE_S)

    def _told(
        self, used: int, source: FigureSource, base: Anchor | None, terms: Terms, estimated: int = 0
    ) -> ContextFigure:
        read_at, unread_tokens = (base.at, base.unread) if base is not None else (None, 0)
        return ContextFigure(
            used, terms.window, source, read_at, terms.threshold, terms.declared, unread_tokens, estimated
        )

    def _fitting(self, column: str, terms: Terms) -> Anchors:
        return fitting(self._sent, decode(column), route_fingerprint(terms.route))

    def _asked(self, terms: Terms) -> Asked:
        fixed, stable = (self._features(system, terms) for system in (terms.system, terms.stable_system))
        return Asked(self._sent, terms, fixed, stable)

    def _features(self, system: str, terms: Terms) -> Features:
        """Of all that stands before the rows."""
        if self._tools[0] is not terms.tools:
            self._tools = (terms.tools, of_tools(terms.tools))
            self._fixed.clear()
        if system not in self._fixed:
            if len(self._fixed) == MOST_PROMPTS:
                self._fixed.clear()
            self._fixed[system] = Features(messages=1) + of_text(system) + self._tools[1]
        return self._fixed[system]

    def _estimated(self, terms: Terms) -> int:
        return terms.weights.tokens(self._features(terms.stable_system, terms) + self._sent.total)

    def _next_request(self, anchor: Anchor, anchors: Anchors, terms: Terms) -> tuple[int, int]:
        """With the thinking of this turn, and with that of earlier ones where it is read again; what of it is estimated."""
        keeps = anchors.keeps_thinking == anchor.route
        stays = keeps or not self._sent.has_prompt_since(anchor.base_count)
        start = anchor.base_count + 1
        thinking = self._thinking_since(start if keeps else max(start, self._sent.turn_start), anchors, terms)
        estimated = self._rest(anchor, terms) + thinking
        return self._counted(anchor, with_thinking=stays) + estimated, estimated

    def _thinking_since(self, start: int, anchors: Anchors, terms: Terms) -> int:
        """What the server will read of it, of the answers that no reading holds."""
        drops = anchors.drops_thinking == route_fingerprint(terms.route)
        return 0 if drops else self._asked(terms).thinking_since(start).tokens

    def _counted(self, anchor: Anchor, *, with_thinking: bool) -> int:
        """What the reading says of the rows up to its answer."""
        thinking = resent(anchor) if with_thinking else 0
        answer = anchor.output - anchor.thinking + thinking if self._has_answer(anchor) else 0
        return anchor.prompt - (0 if with_thinking else anchor.carried) + answer

    def _rest(self, anchor: Anchor, terms: Terms) -> int:
        """An estimate of what came since, and of what changed before the rows."""
        weights, fixed = terms.weights, self._features(terms.stable_system, terms)
        changed = 0 if fixed == anchor.fixed else weights.tokens(fixed) - weights.tokens(anchor.fixed)
        return weights.tokens(self._sent.since(self._end(anchor))) + changed

    def _is_all_counted(self, anchor: Anchor, terms: Terms) -> bool:
        is_end = self._sent.since(self._end(anchor)) == NONE
        return is_end and self._features(terms.stable_system, terms) == anchor.fixed

    def _end(self, anchor: Anchor) -> int:
        """The place behind the answer."""
        return anchor.base_count + self._has_answer(anchor)

    def _has_answer(self, anchor: Anchor) -> bool:
        """Not in a branch that begins with what was asked, and without the answer."""
        following = self._sent.rows[anchor.base_count : anchor.base_count + 1]
        return any(row.role is Role.ASSISTANT for row in following)
