"""What a person settled for one session alone: how much its model thinks, and which tools it does not get."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from session.models import ApiMode, Route
from session.state import OPTIONS
from session.tables import Tables


class SessionOptions(Struct, frozen=True):
    """`effort` is "" where the settings say it."""

    effort: str = ""
    tools_off: frozenset[str] = frozenset()

    def extras(self, route: Route) -> dict[str, object]:
        """What they add to the body of a request."""
        if not self.effort:
            return {}
        return (
            {"reasoning_effort": self.effort}
            if route.api_mode is ApiMode.CHAT
            else {"reasoning": {"effort": self.effort}}
        )

    def turned(self, tools: list[str], *, is_on: bool) -> SessionOptions:
        """The same with some tools on, or off."""
        off = self.tools_off - set(tools) if is_on else self.tools_off | set(tools)
        return replace(self, tools_off=frozenset(off))


def read_options(tables: Tables, session_id: str) -> SessionOptions:
    """As they are stored; those that can't be read are none."""
    stored = tables.state.get(f"{OPTIONS}{session_id}")
    try:
        return msgspec.json.decode(stored, type=SessionOptions) if stored else SessionOptions()
    except msgspec.DecodeError:
        return SessionOptions()


def store_options(tables: Tables, session_id: str, options: SessionOptions) -> None:
    if options == SessionOptions():
        tables.state.remove(f"{OPTIONS}{session_id}")
    else:
        tables.state.put(f"{OPTIONS}{session_id}", msgspec.json.encode(options).decode())
