"""Tokens for each unit of content, learned for each model from what its server counted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from math import ceil, isfinite, sqrt

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from agent.context.features import Features
from session.db import SessionDB
from session.errors import UserError
from session.models import Route
from session.tables import Tables

KEY = "weights"  # in the store's `state`: a JSON object of Weights by provider:model, those learned last at the end
MOST_MODELS = 16

Vector = tuple[float, ...]

log = logging.getLogger(__name__)


class Prior(Struct, frozen=True):
    """What a unit costs with a tokenizer that nothing is known of: most likely, give or take, and in any case."""

    tokens: float
    spread: float
    least: float
    most: float


class Priors(Struct, frozen=True):
    """For each of `Features`: what six tokenizers of 32,000 to 200,000 tokens have in common."""

    words: Prior = Prior(0.92, 0.12, 0.5, 2.0)
    letters: Prior = Prior(0.03, 0.02, 0.0, 0.15)
    capitals: Prior = Prior(0.2, 0.08, 0.0, 0.6)
    digits: Prior = Prior(1.5, 0.5, 0.8, 3.2)
    marks: Prior = Prior(0.32, 0.06, 0.1, 0.7)
    lines: Prior = Prior(0.45, 0.25, 0.0, 1.5)
    indents: Prior = Prior(1.3, 0.2, 0.3, 3.0)
    cjk: Prior = Prior(0.78, 0.2, 0.4, 2.2)
    cyrillic: Prior = Prior(0.17, 0.04, 0.08, 0.6)
    other: Prior = Prior(0.27, 0.1, 0.1, 0.8)
    tools: Prior = Prior(0.25, 0.08, 0.08, 0.7)
    messages: Prior = Prior(5.0, 3.0, 0.0, 40.0)
    images: Prior = Prior(1500.0, 3000.0, 64.0, 32_768.0)


_PRIORS: tuple[Prior, ...] = astuple(Priors())
_DIMENSIONS = range(len(_PRIORS))
_COMMON = 0.15  # how much all texts may cost more or less at once: a small vocabulary makes more tokens of every text
_COMMON_TO = range(Priors.__struct_fields__.index("tools"))

# A unit is not always worth the same: 6 % of a count are left to chance, and a few tokens around it.
_NOISE = 0.06
_NOISE_TOKENS = 12.0
_FORGOTTEN = 0.004  # of what was sure, with each reading: a server may be updated
_SURPRISE = 2.5  # in standard deviations: what lies farther off counts for less
_FRAME_TOKENS = 2_000  # the most that a server writes of its own around a request


def _doubt(one: int, other: int) -> float:
    """The covariance of two at the beginning."""
    own = _PRIORS[one].spread ** 2 if one == other else 0.0
    is_common = one in _COMMON_TO and other in _COMMON_TO
    return own + (_COMMON**2 * _PRIORS[one].tokens * _PRIORS[other].tokens if is_common else 0.0)


class Weights(Struct, frozen=True):
    """`readings` is how many readings they were learned from; with none they are the rough rules.

    `each` is in the order of `Features`; `doubt` is their covariance, row by row.
    """

    readings: int = 0
    each: Vector = tuple(prior.tokens for prior in _PRIORS)
    doubt: tuple[Vector, ...] = tuple(tuple(_doubt(row, column) for column in _DIMENSIONS) for row in _DIMENSIONS)

    def tokens(self, features: Features) -> int:
        """Rounded up, never below 0."""
        return max(0, ceil(_product(self.each, astuple(features)) - 1e-6))

    def learned(self, features: Features, tokens: int) -> Weights:
        """With one more reading: recursive least squares, which blame what is least known for what was misjudged."""
        amounts: Vector = astuple(features)
        if not _is_possible(amounts, tokens):
            return self
        doubt = _aged(self.doubt)
        shared = [_product(row, amounts) for row in doubt]
        estimate = _product(self.each, amounts)
        surprise, expected = tokens - estimate, max(0.0, _product(shared, amounts))
        noise = (_NOISE * max(tokens, estimate)) ** 2 + _NOISE_TOKENS**2
        if (distance := abs(surprise) / sqrt(expected + noise)) > _SURPRISE:
            noise *= (distance / _SURPRISE) ** 2
        gains = [each / (expected + noise) for each in shared]
        return Weights(
            self.readings + 1,
            tuple(map(_bounded, _PRIORS, (old + gain * surprise for old, gain in zip(self.each, gains, strict=True)))),
            tuple(
                tuple(old - gain * other for old, other in zip(row, shared, strict=True))
                for row, gain in zip(doubt, gains, strict=True)
            ),
        )


ROUGH = Weights()


class LearnedWeights:
    """What is known of one profile's models. Kept in the store's `state`, learned again where that can't be read."""

    def __init__(self, db: SessionDB, stored: Mapping[str, Weights]) -> None:
        self._db = db
        self._learned = dict(stored)

    @classmethod
    async def load(cls, db: SessionDB) -> LearnedWeights:
        return cls(db, await asyncio.wrap_future(db.read(_stored)))

    def on(self, route: Route) -> Weights:
        return self._learned.get(_name(route), ROUGH)

    def learn(self, route: Route, features: Features, tokens: int) -> None:
        """The server counted `tokens` for this much: a whole first request, or what came between two readings.

        Takes effect at once; storing it is left to the store's own thread. A reading that can't be true of any
        tokenizer is not learned from.
        """
        before = self.on(route)
        after = before.learned(features, tokens)
        if after is not before:
            self._learned[_name(route)] = after
            self._store(_name(route), after)

    def _store(self, name: str, weights: Weights) -> None:
        """Other processes learn, too: of each model what was learned last is kept."""

        def store(tables: Tables) -> None:
            others = {other: kept for other, kept in _stored(tables).items() if other != name}
            kept = dict([*others.items(), (name, weights)][-MOST_MODELS:])
            tables.state.put(KEY, msgspec.json.encode({name: _rounded(one) for name, one in kept.items()}).decode())

        try:
            self._db.write(store).add_done_callback(_look_at)
        except UserError as error:  # the store was closed
            _warn(error)


def _stored(tables: Tables) -> dict[str, Weights]:
    try:
        found = msgspec.json.decode(tables.state.get(KEY) or "{}", type=dict[str, Weights])
    except ValueError:  # msgspec's own errors are ValueErrors
        return {}
    return {name: weights for name, weights in found.items() if _is_whole(weights)}


def _is_whole(weights: Weights) -> bool:
    """Not from another version, which may count other things."""
    rows = (weights.each, *weights.doubt)
    return len(rows) == len(_PRIORS) + 1 and all(len(row) == len(_PRIORS) and all(map(isfinite, row)) for row in rows)


def _rounded(weights: Weights) -> Weights:
    """As is precise enough to be written down."""
    each, *doubt = (tuple(float(f"{value:.6g}") for value in row) for row in (weights.each, *weights.doubt))
    return Weights(weights.readings, each, tuple(doubt))


def _look_at(writing: Future[None]) -> None:
    if isinstance(error := writing.exception(), UserError):
        _warn(error)


def _warn(error: UserError) -> None:
    """It holds in this process, and is learned again in the next."""
    log.warning("what was learned of a model was not stored: %s", error)


def _is_possible(amounts: Sequence[float], tokens: int) -> bool:
    least = sum(prior.least * amount for prior, amount in zip(_PRIORS, amounts, strict=True))
    most = sum(prior.most * amount for prior, amount in zip(_PRIORS, amounts, strict=True))
    return tokens > 0 and min(amounts) >= 0 and max(amounts) > 0 and least <= tokens <= most + _FRAME_TOKENS


def _aged(doubt: tuple[Vector, ...]) -> list[list[float]]:
    """A little less sure than it was, never less than at the beginning."""
    aged = [list(row) for row in doubt]
    for place in _DIMENSIONS:
        most = ROUGH.doubt[place][place]
        aged[place][place] = min(most, aged[place][place] + _FORGOTTEN * most)
    return aged


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(map(float.__mul__, one, map(float, other)))


def _bounded(prior: Prior, tokens: float) -> float:
    return min(prior.most, max(prior.least, tokens))


def _name(route: Route) -> str:
    return f"{route.provider}:{route.model}"
