"""Which model a session talks to: the one on its row, another for one turn only, and one that waits for a turn's end."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from agent.events import Notice
from agent.open_session import OpenSession
from session.models import ApiMode, Level, Route, Session
from session.tables import Tables


class Holds(StrEnum):
    """For how long the choice of a model holds."""

    SESSION = "session"
    ONCE = "once"  # for the next turn, however it ends
    GLOBAL = "global"  # for this session and every new one


class Coming(Struct, frozen=True):
    """A model that takes over when what runs has ended."""

    route: Route
    is_once: bool


class SessionModel:
    """Changes the route of one session, always as one value.

    A route for one turn is on no row: a process that dies in that turn leaves the session with the model it had.
    """

    def __init__(self, s: OpenSession) -> None:
        self._s = s
        self.route_of: Callable[[Session], Route] = lambda stored: stored.route or s.route  # where a stored one goes on
        s.hear_model = self.hear
        self._back: Route | None = None  # what answers again behind the turn that one route was chosen for
        self.coming: Coming | None = None
        self.is_unwritten = False  # the row names a model that is not to be had any more; the next turn corrects it

    @property
    def is_once(self) -> bool:
        """Whether another model answers behind the next turn, or the one that runs."""
        return self._back is not None

    @property
    def chosen(self) -> Route:
        """What the session talks to for good, whatever answers at the moment."""
        return self._back or self._s.parts.fallback.chosen(self._s.id, self._s.route)

    async def switch(self, route: Route, *, is_once: bool = False) -> None:
        """Another model from now on, or for the next turn."""
        s, chosen = self._s, self.chosen
        if not is_once:
            await self._write(route)
        s.parts.fallback.forget(s.id)
        self._back, self.coming = chosen if is_once else None, None
        s.route = route
        s.parts.look_up_window(route)

    def switch_later(self, route: Route, *, is_once: bool = False) -> None:
        """Another model as soon as what runs has ended."""
        self.coming = Coming(route, is_once)

    def hear(self, stored: Session) -> None:
        """Another process chose a model for the session, as its row says now. One for the next turn is still that."""
        s, route = self._s, self.route_of(stored)
        s.parts.fallback.forget(s.id)
        if self._back is not None:
            self._back = route
        else:
            s.route = route
        s.session = replace(s.session, route=stored.route)
        self._tell(f"Another hermes chose {_spoken(route)} for this session, which answers from now on.")

    # --- around a turn

    async def turn_begins(self) -> None:
        """The row names what answers from this turn on."""
        if self.is_unwritten:
            self.is_unwritten = False
            await self._write(self.chosen)

    async def turn_ended(self) -> None:
        """Back from a model for one turn, and on to one that waited for the end."""
        if self._back is not None:
            self._s.parts.fallback.forget(self._s.id)
            self._s.route, self._back = self._back, None
        await self.take_up()

    async def take_up(self) -> None:
        """Let the model take over that waited."""
        coming, self.coming = self.coming, None
        if coming is not None:
            await self.switch(coming.route, is_once=coming.is_once)

    async def _write(self, route: Route) -> None:
        """The choice made last holds. One of another process that it takes the place of is told, and never lost in silence."""
        s, known = self._s, self._s.session.route

        def put(tables: Tables) -> Route | None:
            stored = tables.sessions.get(s.id)
            tables.sessions.set_route(s.id, route)
            return stored.route if stored is not None else None

        before = await s.write(put) if s.is_stored else known
        s.session, self.is_unwritten = replace(s.session, route=route), False
        if before is not None and before not in (known, route):
            self._tell(
                f"Another hermes had just chosen {_spoken(before)} for this session. The later choice holds: {_spoken(route)}."
            )

    def _tell(self, text: str) -> None:
        s = self._s
        s.publish(Notice(s.stamp(), Level.WARNING, s.masking.text(text)))


def _spoken(route: Route) -> str:
    return "the built-in demo" if route.api_mode is ApiMode.DEMO else f"{route.model} at {route.provider}"
