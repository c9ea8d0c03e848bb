"""Which model answers while the chosen one can't: the chain of settings, and how long a failure keeps a route out.

A refusal is an answer, a policy's no holds elsewhere too, and what is too long is for a compaction: none of them leads on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from agent.providers.base import ErrorKind, ProviderError
from session.errors import UserError
from session.models import Route

LIMITED_S = 60.0  # how long a route rests whose limit or credit is used up
FAILED_S = 5.0  # and one that failed otherwise, so that the next turn does not go through the whole chain again

LIMITED = frozenset({ErrorKind.RATE_LIMIT, ErrorKind.UPSTREAM_RATE_LIMIT, ErrorKind.BILLING})
FINAL = frozenset(
    {
        ErrorKind.CONTENT_POLICY_BLOCKED,
        ErrorKind.PROVIDER_POLICY_BLOCKED,
        ErrorKind.CONTEXT_OVERFLOW,
        ErrorKind.PAYLOAD_TOO_LARGE,
        ErrorKind.IMAGE_TOO_LARGE,
    }
)


class StandIn(Struct, frozen=True):
    """A route that answers in a session in the place of the one that was chosen."""

    route: Route
    chosen: Route


class FallbackChain:
    """One for all sessions of a profile: a limit that one session meets holds for the others.

    `resolve` gives the route for a name and raises UserError where there is none, or no key for it.
    """

    def __init__(
        self, names: Sequence[str], resolve: Callable[[str], Route], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._names = names
        self._resolve = resolve
        self._clock = clock
        self._rests_until: dict[tuple[str, str], float] = {}
        self._stand_ins: dict[str, StandIn] = {}  # by session

    def first(self, session_id: str, current: Route) -> Route:
        """The route to ask first in a turn: the chosen one, unless it rests and another doesn't."""
        chosen = self.chosen(session_id, current)
        candidates = (route for route in (chosen, *self._others(chosen)) if not self._rests(route))
        return self._take(session_id, next(candidates, chosen), chosen)

    def next(self, session_id: str, tried: Sequence[Route], error: ProviderError) -> Route | None:
        """The route to ask now that the last of these failed, None where the failure stands."""
        if not leads_on(error):
            return None
        self._rest(tried[-1], error)
        chosen = self.chosen(session_id, tried[-1])
        for route in (chosen, *self._others(chosen)):
            if not self._rests(route) and not any(is_same(route, other) for other in tried):
                return self._take(session_id, route, chosen)
        return None

    def forget(self, session_id: str) -> None:
        """A model was chosen for a session: none stands in for another one any more, not even the chosen one itself."""
        self._stand_ins.pop(session_id, None)

    def chosen(self, session_id: str, current: Route) -> Route:
        """The route that was chosen in a session in which `current` answers."""
        stand_in = self._stand_ins.get(session_id)
        return stand_in.chosen if stand_in is not None and stand_in.route == current else current

    def unusable(self, error: ProviderError) -> list[str]:
        """What was passed over in the chain after this failure, and why, a sentence each."""
        said: list[str] = []
        if not leads_on(error):
            return said
        for name in self._names:
            try:
                self._resolve(name)
            except UserError as reason:
                said.append(f"The fallback {name} was passed over: {reason}")
        return said

    def _others(self, chosen: Route) -> Iterator[Route]:
        for name in self._names:
            try:
                route = self._resolve(name)
            except UserError:
                continue
            if not is_same(route, chosen):
                yield route

    def _take(self, session_id: str, route: Route, chosen: Route) -> Route:
        if route == chosen:
            self._stand_ins.pop(session_id, None)
        else:
            self._stand_ins[session_id] = StandIn(route, chosen)
        return route

    def _rest(self, route: Route, error: ProviderError) -> None:
        least_s = LIMITED_S if error.kind in LIMITED else FAILED_S
        self._rests_until[_place(route)] = self._clock() + max(least_s, error.retry_after_s or 0.0)

    def _rests(self, route: Route) -> bool:
        return self._rests_until.get(_place(route), 0.0) > self._clock()


def leads_on(error: ProviderError) -> bool:
    """Whether another model may be asked after this. The part of an answer is kept, never answered over (A34)."""
    return error.kind not in FINAL and not error.partial


def is_same(one: Route, other: Route) -> bool:
    """Whether two routes lead to the same model of the same provider, or server."""
    return one.model == other.model and (one.provider == other.provider or one.base_url == other.base_url)


def _place(route: Route) -> tuple[str, str]:
    return route.base_url, route.model
