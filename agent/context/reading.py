"""Taking a reading: what a server's count of one request says of the conversation, and of the model."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from agent.context.anchor import Anchor, Anchors, route_fingerprint
from agent.context.estimate import least_tokens
from agent.context.features import Features
from agent.context.sent_rows import SentRows
from agent.context.terms import Terms
from agent.context.thinking import is_resent, split_output
from agent.providers.warnings import FEWEST_READ_TOKENS
from session.models import ApiMode, Message, Usage

TELLING_TOKENS = 256  # of thinking: with less of it, a reading can't tell whether it was read again


class Lesson(Struct, frozen=True):
    """This much content had so many tokens."""

    features: Features
    tokens: int


class Carried(Struct, frozen=True):
    """The thinking of earlier answers in a request. `is_exact`: as the server counted it."""

    tokens: int
    is_exact: bool


class Asked(Struct, frozen=True):
    """A request that was answered. `fixed` is what it had beside its rows, `stable` the same without the personality."""

    sent: SentRows
    terms: Terms
    fixed: Features
    stable: Features

    def estimated(self) -> int:
        return self.terms.weights.tokens(self.fixed + self.sent.total)

    def thinking_since(self, start: int) -> Carried:
        """The thinking that goes along of the answers from a row on: as it was counted, else an estimate."""
        if not self.terms.may_resend:
            return Carried(0, is_exact=True)
        counted = self.sent.counted_thinking_since(start)
        guessed = self.terms.weights.tokens(self.sent.thinking_since(start))
        return Carried(counted + guessed, is_exact=guessed == 0)


class Replay(Struct, frozen=True):
    """What a server was seen to do with thinking that it gets back, where it does not read it until the turn ends."""

    keeps: bool
    drops: bool


def fitting(sent: SentRows, anchors: Anchors, route: str) -> Anchors:
    """Those that hold for the rows as they are, on the route of this fingerprint."""
    last, turn_base = (
        one if one is not None and one.route == route and sent.begins_with(one.base_count, one.prefix) else None
        for one in (anchors.last, anchors.turn_base)
    )
    return replace(anchors, last=last, turn_base=turn_base)


def without_reading(sent: SentRows, anchors: Anchors, route: str) -> Anchors:
    """After an answer without a reading: what fits the rows stays, also for another route, which may come back."""
    last, turn_base = (
        one if one is not None and sent.begins_with(one.base_count, one.prefix) else None
        for one in (anchors.last, anchors.turn_base)
    )
    return replace(anchors, last=last, turn_base=turn_base, omits_usage=route)


def read(asked: Asked, anchors: Anchors, answer: Message, usage: Usage) -> tuple[Anchors, Lesson | None]:
    """The anchors from this answer on, and what its reading teaches."""
    route = route_fingerprint(asked.terms.route)
    held = fitting(asked.sent, anchors, route)
    replay = _replay(asked, held, usage, route)
    previous = held.last
    if previous is not None and held.drops_thinking == route and not replay.drops:
        previous = replace(previous, is_resent=True)  # and was read, as it turns out
        held = replace(held, last=previous)
    carried = Carried(0, is_exact=True) if replay.drops else _carried(asked, previous, keeps=replay.keeps)
    anchor = _anchor(asked, previous, answer, usage, carried)
    if replay.drops:
        anchor = replace(anchor, is_resent=False)
    base = held.turn_base
    advances = anchor.unread or carried.is_exact or base is None or base.unread or _begins_turn(asked.sent, previous)
    keeps, drops = (route if seen else "" for seen in (replay.keeps, replay.drops))
    found = Anchors(anchor, anchor if advances else base, "", keeps, drops)
    return found, _lesson(asked, held, anchor, carried)


def resent(anchor: Anchor) -> int:
    """The thinking of its answer that goes along with the next request."""
    return anchor.thinking if anchor.is_resent else 0


# --- inside


def _anchor(asked: Asked, previous: Anchor | None, answer: Message, usage: Usage, carried: Carried) -> Anchor:
    output = split_output(answer, usage, asked.terms.weights)
    count = len(asked.sent.rows)
    return Anchor(
        prompt=usage.prompt,
        output=output.said + output.thinking,
        base_count=count,
        prefix=asked.sent.fingerprint(count),
        route=route_fingerprint(asked.terms.route),
        at=answer.created_at,
        fixed=asked.stable,
        thinking=output.thinking,
        carried=min(carried.tokens, usage.prompt),
        is_resent=is_resent(answer, asked.terms.route, echoes=asked.terms.echoes),
        is_exact=output.is_exact and carried.is_exact,
        unread=_unread_tokens(asked, previous, usage),
    )


def _begins_turn(sent: SentRows, previous: Anchor | None) -> bool:
    return previous is None or sent.has_prompt_since(previous.base_count)


def _carried(asked: Asked, previous: Anchor | None, *, keeps: bool) -> Carried:
    """What the last reading knows of it, and what the answers that it does not hold say themselves.

    Those came without a reading, or no reading fits their conversation any more, as after a compaction within a turn.
    """
    ends_here = not keeps and _begins_turn(asked.sent, previous)
    known = 0 if previous is None or ends_here else previous.carried + resent(previous)
    start = 0 if previous is None else previous.base_count + 1
    others = asked.thinking_since(start if keeps else max(start, asked.sent.turn_start))
    is_exact = others.is_exact and (not known or (previous is not None and previous.is_exact))
    return Carried(known + others.tokens, is_exact)


def _replay(asked: Asked, held: Anchors, usage: Usage, route: str) -> Replay:
    """By how much the prompt has grown, where there was enough thinking to tell."""
    known = Replay(held.keeps_thinking == route, held.drops_thinking == route)
    previous, sent = held.last, asked.sent
    if previous is None or previous.unread or not (previous.is_resent or known.drops):
        return known
    said = asked.terms.weights.tokens(sent.since(previous.base_count))
    is_new_turn = sent.has_prompt_since(previous.base_count)
    gone = previous.carried if is_new_turn else 0
    if previous.thinking + gone < max(TELLING_TOKENS, said // 2 if previous.is_exact else said):
        return known
    grown = usage.prompt - previous.prompt
    was_read = abs(grown - said - previous.thinking) < abs(grown - said + gone)
    return Replay(was_read, known.drops and not was_read) if is_new_turn else Replay(known.keeps, not was_read)


def _unread_tokens(asked: Asked, previous: Anchor | None, usage: Usage) -> int:
    """A39: of a prompt that is longer than its window, Ollama reads a part. Told by the rule of the warning."""
    if usage.cache_read or usage.cache_write or usage.prompt < FEWEST_READ_TOKENS:
        return 0
    if previous is not None and not previous.unread:  # a long conversation is not measured as a whole for this
        sent_tokens = previous.prompt + asked.terms.weights.tokens(asked.sent.since(previous.base_count))
    else:
        sent_tokens = asked.estimated()
    suspicious = usage.prompt * 4 // 3
    if suspicious >= sent_tokens or suspicious >= least_tokens(asked.terms.system) + asked.sent.least:
        return 0
    return sent_tokens - usage.prompt


def _lesson(asked: Asked, held: Anchors, anchor: Anchor, carried: Carried) -> Lesson | None:
    """A whole request, or what came between two: the answer to the earlier one and all behind it."""
    previous = held.last
    if anchor.unread:
        return None
    if previous is None:
        return _whole_lesson(asked, anchor) if carried.is_exact else None
    if not carried.is_exact:
        return _lesson_with_thinking(asked, previous, anchor)
    for one in (previous, held.turn_base):  # of a turn whose thinking nobody counted, the first prompt had none
        if one is not None and _is_comparable(one, anchor) and (one.is_exact or not one.carried):
            tokens = anchor.prompt - anchor.carried - (one.prompt - one.carried)
            return Lesson(asked.sent.since(one.base_count), tokens) if tokens > 0 else None
    return None


def _whole_lesson(asked: Asked, anchor: Anchor) -> Lesson | None:
    """What a server takes of its own items, thinking and what it compacted itself, nobody knows but by a reading."""
    has_items = any(row.extras for row in asked.sent.rows)
    return None if has_items else Lesson(asked.fixed + asked.sent.total, anchor.prompt - anchor.carried)


def _lesson_with_thinking(asked: Asked, previous: Anchor, anchor: Anchor) -> Lesson | None:
    """Within a turn the thinking that nobody counted is a text like any other: it is sent back as it came."""
    tokens = anchor.prompt - previous.prompt
    is_text = previous.is_resent and asked.terms.route.api_mode is ApiMode.CHAT
    if not is_text or not _is_comparable(previous, anchor) or _begins_turn(asked.sent, previous) or tokens <= 0:
        return None
    start = previous.base_count
    return Lesson(asked.sent.since(start) + asked.sent.thinking_since(start), tokens)


def _is_comparable(one: Anchor, other: Anchor) -> bool:
    return not one.unread and one.fixed == other.fixed
