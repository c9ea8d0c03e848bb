"""What a switch to another model would mean for a conversation, told before it is made."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agent.config.settings import PriceSettings
from agent.context.features import of_row, of_text
from agent.context.plan import plan
from agent.context.terms import Terms
from agent.context.threshold import Budget
from agent.prices import cost
from session.models import ApiMode, Message, Role, Route, Usage

DEAR = 0.50  # dollars from which on sending a conversation again is worth a question
# It is compacted when the next prompt is there: that one stays word for word, and not what was said before it.
NEXT = Message("", Role.USER, "go on", 0.0)


class Switch(Struct, frozen=True):
    """`used` are the tokens of the conversation as the new model would read it, an estimate. `window` None: unknown.

    `cost` is what sending it again costs, in dollars, None where no price is known. `compacted` is the size after a
    compaction for the new window, at most, None where it fits as it is, or where none would help: `why_not` says why.
    """

    route: Route
    used: int
    window: int | None
    threshold: int | None
    cost: float | None = None
    compacted: int | None = None
    why_not: str = ""
    dropped_thinking: int = 0  # tokens of thinking that the other model does not get

    @property
    def fits(self) -> bool:
        """Also where no window is known: nothing is claimed then."""
        return self.window is None or self.used <= self.window

    @property
    def is_over_threshold(self) -> bool:
        """Whether it would be compacted before the new model answers."""
        return self.threshold is not None and self.used >= self.threshold

    @property
    def is_worth_asking(self) -> bool:
        """Whether a person should know before it is made: it does not fit, would be compacted, or is dear."""
        return not self.fits or self.is_over_threshold or (self.cost is not None and self.cost >= DEAR)


def preflight(
    rows: Sequence[Message],
    old: Terms,
    new: Terms,
    used: int,
    fixed_tokens: int,
    shared: Budget | None,
    price: PriceSettings | None,
) -> Switch:
    """`old` and `new` are the terms of a session on the route that answers and on the other one.

    All else is of the other one: `used`, the tokens of the conversation with all that goes along, as `Meter.estimate`
    gives them; `fixed_tokens`, those that stand before all rows, as `Meter.fixed_tokens` does; `shared`, how its window is
    shared out, and `price`, each None where it is not known. Thinking is not in `used`: that of earlier turns is read no
    more, and that of another model never.
    """
    dropped = (row for row in rows if _gets(row, old) and not _gets(row, new))
    switch = Switch(
        new.route,
        used,
        new.window,
        new.threshold,
        cost=None if price is None else cost(Usage(input=used), price),
        dropped_thinking=sum(_thinking_tokens(row, old) for row in dropped),
    )
    if shared is None or (switch.fits and not switch.is_over_threshold):
        return switch
    found = plan([*rows, NEXT], shared, lambda row: new.weights.tokens(of_row(row)), fixed_tokens)
    if found.why_not:
        return replace(switch, why_not=found.why_not)
    return replace(switch, compacted=found.after)


class _Maker(Struct, frozen=True):
    """Whose something is. A server of Chat Completions is not told the model."""

    provider: str = ""
    model: str = ""


class _Extras(Struct, frozen=True):
    """As `Message.extras`, of either protocol."""

    chat: _Maker = _Maker()
    responses: _Maker = _Maker()


def _gets(row: Message, terms: Terms) -> bool:
    """Whether the thinking of an answer goes back with it: to whom it came from, and where that wants it (G11)."""
    if not (row.reasoning or row.extras):
        return False
    made_by, route = _makers(row.extras), terms.route
    if route.api_mode is ApiMode.RESPONSES:
        return made_by.responses == _Maker(route.provider, route.model)
    return terms.echoes and made_by.chat.provider == route.provider


def _makers(extras: str) -> _Extras:
    try:
        return msgspec.json.decode(extras or "{}", type=_Extras)
    except (msgspec.DecodeError, RecursionError):  # another program's
        return _Extras()


def _thinking_tokens(row: Message, terms: Terms) -> int:
    """As the server counted them, or else an estimate of the text."""
    counted = row.usage.reasoning if row.usage is not None else 0
    return counted or terms.weights.tokens(of_text(row.reasoning))
