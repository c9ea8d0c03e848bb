"""What a context figure rests on: a server's count of a request, and of which rows on which route it was."""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import sha256
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import astuple

from agent.context.features import Features
from session.models import Message, Route

MOST = 10**12  # tokens, rows or characters: more is no count
FINGERPRINT = r"\A[0-9a-f]{64}\Z"

Count = Annotated[int, Meta(ge=0, le=MOST)]
Positive = Annotated[int, Meta(gt=0, le=MOST)]
Fingerprint = Annotated[str, Meta(pattern=FINGERPRINT)]


class Anchor(Struct, frozen=True):
    """One reading: `prompt` tokens for a request, `output` for its answer, of which `thinking` were thinking.

    `base_count` rows had been sent by then, the answer not among them; `prefix` is their fingerprint, `route` that of
    where they went. `fixed` is what was sent beside them, without the personality.
    `carried` of the prompt was thinking of earlier answers, and `is_resent` tells whether this answer's goes along with
    the next request, too. `is_exact`: both were counted by the server, or there was none.
    `unread` tokens of what was sent were not read (A39): then nothing may rest on `prompt`.
    """

    prompt: Positive
    output: Count
    base_count: Positive
    prefix: Fingerprint
    route: Fingerprint
    at: float  # seconds since the epoch
    fixed: Features = Features()
    thinking: Count = 0
    carried: Count = 0
    is_resent: bool = False
    is_exact: bool = True
    unread: Count = 0

    @property
    def is_sound(self) -> bool:
        """Whether its numbers go together, as far as their types don't say."""
        parts_fit = self.thinking <= self.output and self.carried <= self.prompt
        return parts_fit and all(0 <= amount <= MOST for amount in astuple(self.fixed))


class Anchors(Struct, frozen=True, omit_defaults=True):
    """What a session's figures rest on: its `last` reading for what compaction decides, `turn_base` for what is shown.

    They differ where thinking inflates the later requests of a turn by an amount that nobody counted.
    `omits_usage` is the route whose last answer came without a reading. Most servers that get thinking back read it until
    the end of its turn: `keeps_thinking` is one that was seen to read it in later turns, too, `drops_thinking` one that
    was seen to read none of it. "" for none.
    """

    last: Anchor | None = None
    turn_base: Anchor | None = None
    omits_usage: str = ""
    keeps_thinking: str = ""
    drops_thinking: str = ""


NO_ANCHORS = Anchors()

_decoder = msgspec.json.Decoder(Anchors)


def encode(anchors: Anchors) -> str:
    """As the column of a session holds them; "" where there is nothing to keep."""
    return "" if anchors == NO_ANCHORS else msgspec.json.encode(anchors).decode()


@lru_cache(maxsize=64)  # asked for with every figure, and the same until the next answer
def decode(column: str) -> Anchors:
    """What a column holds; nothing where it is not what `encode` gives."""
    if not column:
        return NO_ANCHORS
    try:
        anchors = _decoder.decode(column)
    except (ValueError, RecursionError):  # msgspec's own errors are ValueErrors
        return NO_ANCHORS
    are_sound = all(one is None or one.is_sound for one in (anchors.last, anchors.turn_base))
    return anchors if are_sound else NO_ANCHORS


@lru_cache(maxsize=64)
def route_fingerprint(route: Route) -> str:
    """Which model counts. The names of people and keys, which an address can hold, are no part of it."""
    url = urlsplit(route.base_url)
    host = url.netloc.rpartition("@")[2].lower()
    place = f"{url.scheme.lower()}://{host}{url.path.rstrip('/')}"
    return sha256(json.dumps([route.provider, route.model, place, route.api_mode]).encode()).hexdigest()


def row_fingerprint(before: bytes, row: Message) -> bytes:
    """Of all rows up to this one; `before` is that of those before it.

    Only what a model gets and what the store gives back as it was: ids, times and thinking are no part of it.
    """
    fields = [row.role, row.content, row.refusal, row.sent, row.parts, row.result.call_id if row.result else ""]
    for call in row.calls:
        fields += (call.id, call.name, call.arguments)
    # Each with its length before it, so that no text can pass for the end of one field and the beginning of another.
    text = "".join([f"{len(field)}:{field}" for field in fields])
    return sha256(before + text.encode("utf-8", "surrogatepass")).digest()
