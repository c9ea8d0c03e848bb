"""The one place that stores and answers how large a model's context is, where its server has told it.

A server tells it by refusing more. That holds over what the settings say, since the server decides; it is forgotten when
more than that was read after all, as when a local server was started with a larger context. Where the settings say nothing,
its list of models may (G08). A window that nobody has told is unknown, and never guessed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from agent.providers.local import NoModelList, bearer, list_models
from session.db import SessionDB
from session.errors import UserError
from session.models import ApiMode, Route
from session.tables import Tables

KEY = "windows"  # in the store's `state`: a JSON object of tokens by provider:model
ASKING_S = 5.0

log = logging.getLogger(__name__)


class Windows:
    """What is known of the windows of one profile's models."""

    def __init__(self, db: SessionDB, told: Mapping[str, int]) -> None:
        self._db = db
        self._told = dict(told)
        self._stated: dict[tuple[str, str], int | None] = {}  # by server and model that was asked about in this process
        self._asking: set[asyncio.Task[None]] = set()

    @classmethod
    async def load(cls, db: SessionDB) -> Windows:
        return cls(db, await asyncio.wrap_future(db.read(_stored)))

    def on(self, route: Route) -> Route:
        """The route with its window as the server told it, where that is smaller or the only word."""
        window = self._stated.get(_place(route)) if route.window is None else route.window
        told = self._told.get(_name(route))
        known = [size for size in (window, told) if size is not None]
        return replace(route, window=min(known, default=None))

    def look_up(self, route: Route, key: str | None) -> asyncio.Task[None] | None:
        """Ask a server for its list of models where a window is not known, once in this process. Nobody needs to wait."""
        if route.api_mode is ApiMode.DEMO or self.on(route).window is not None or _place(route) in self._stated:
            return None
        self._stated[_place(route)] = None
        task = asyncio.create_task(self._ask(route, key))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)
        return task

    async def close(self) -> None:
        """Nothing is asked any more."""
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    async def learn(self, route: Route, tokens: int) -> None:
        """The server refused more than this."""
        name = _name(route)
        if self._told.get(name) != tokens:
            self._told[name] = tokens
            await self._store(lambda told: {**told, name: tokens})

    async def note_read(self, route: Route, tokens: int) -> None:
        """The server read this many at once."""
        name = _name(route)
        if tokens > self._told.get(name, tokens):
            del self._told[name]
            await self._store(lambda told: {other: size for other, size in told.items() if other != name})

    async def _ask(self, route: Route, key: str | None) -> None:
        try:
            models = await list_models(route.base_url, bearer(key), ASKING_S)
        except NoModelList:
            return
        self._stated[_place(route)] = next((model.window for model in models if model.id == route.model), None)

    async def _store(self, change: Callable[[dict[str, int]], dict[str, int]]) -> None:
        """Other processes learn, too: what is stored is changed, not replaced."""

        def store(tables: Tables) -> None:
            tables.state.put(KEY, msgspec.json.encode(change(_stored(tables))).decode())

        try:
            await asyncio.wrap_future(self._db.write(store))
        except UserError as error:  # it holds in this process, and is learned again in the next
            log.warning("a window was not stored: %s", error)


def _stored(tables: Tables) -> dict[str, int]:
    try:
        return msgspec.json.decode(tables.state.get(KEY) or "{}", type=dict[str, int])
    except ValueError:  # msgspec's own errors are ValueErrors
        return {}


def _name(route: Route) -> str:
    return f"{route.provider}:{route.model}"


def _place(route: Route) -> tuple[str, str]:
    return route.base_url, route.model
