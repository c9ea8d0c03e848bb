"""One question to the model, until it is answered: by another one where the chosen one can't, with all that it took told."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from agent.context.checkpoint import may_compact_on_server
from agent.events import TurnEvent, UsageRead
from agent.ledger import account
from agent.open_session import OpenSession
from agent.providers.base import ErrorKind, ModelRequest, ProviderError, Reply, Restarting
from agent.request import wire_messages
from agent.route_settings import merged
from session.models import Finish, Level, Route, Usage


async def choose_route(s: OpenSession) -> AsyncGenerator[TurnEvent, None]:
    """Before the first question of a turn: back to the chosen model, or past it while it rests."""
    route = s.parts.fallback.first(s.id, s.route)
    if route != s.route:
        was, s.route = s.route, route
        yield await s.store_notice(Level.INFO, f"{_named(route)} answers now, in the place of {_named(was)}.")


async def ask(s: OpenSession) -> AsyncGenerator[TurnEvent | Reply, None]:
    """Yields what happens, then the reply. Raises ProviderError where no model of the chain answers.

    No call of a reply runs before the reply is whole, so that none has run when another model is asked.
    """
    tried: list[Route] = []
    while True:
        tried.append(s.route)
        try:
            async with aclosing(_ask_once(s)) as parts:
                async for part in parts:
                    yield part
            return
        except ProviderError as failure:
            error = failure
        if error.window is not None:
            await s.parts.windows.learn(tried[-1], error.window)
        if error.usage is not None:
            yield await _spend(s, tried[-1], error.usage)
        following = s.parts.fallback.next(s.id, tried, error) if s.route == tried[-1] else None
        if following is None:
            for sentence in s.parts.fallback.unusable(error):
                error.add(sentence)
            raise error
        s.route = following
        yield await s.store_notice(Level.WARNING, f"{error.sentence} {_named(following)} answers instead.")


async def _ask_once(s: OpenSession) -> AsyncGenerator[TurnEvent | Reply, None]:
    route = s.route
    reply: Reply | None = None
    async with aclosing(s.parts.provider_for(route).stream(_request(s))) as parts:
        async for part in parts:
            if isinstance(part, Reply):
                reply = part
                continue
            if isinstance(part, Restarting) and part.usage is not None:
                yield await _spend(s, route, part.usage)
            for event in s.live(part):
                yield event
    reply = _answered(reply)
    if reply.usage is not None:
        await s.parts.windows.note_read(route, reply.usage.prompt)
    yield reply


def _request(s: OpenSession) -> ModelRequest:
    extras, compatibility = s.parts.extras_for(s.route), s.parts.compatibility_for(s.route)
    messages = wire_messages(s.told(), s.prompt, s.route, compatibility)
    tools = list(s.parts.toolbox.definitions_without(s.options.tools_off))
    extras = merged(extras, s.options.extras(s.route))
    return ModelRequest(s.route, messages, tools, extras, compatibility, s.id, compact_at=_compact_at(s))


def _compact_at(s: OpenSession) -> int | None:
    """Where a server that can is to shorten the conversation itself: past the size at which we do, before its window."""
    terms = s.terms
    if terms.threshold is None or terms.window is None or not may_compact_on_server(s.parts.settings, s.route):
        return None
    return (terms.threshold + terms.window) // 2


def _answered(reply: Reply | None) -> Reply:
    """The reply, if it says anything; one that was blocked or ran out of room says so by its finish."""
    is_told = reply is not None and reply.finish in (Finish.LENGTH, Finish.CONTENT_FILTER)
    if reply is None or not (reply.content or reply.refusal or reply.calls or is_told):
        raise ProviderError(
            ErrorKind.UNKNOWN,
            "The model ended its turn without an answer. Ask again, or try another model (/model).",
            usage=reply.usage if reply is not None else None,
        )
    return reply


async def _spend(s: OpenSession, route: Route, usage: Usage) -> TurnEvent:
    """Account for a request that took tokens and came to nothing. It is no row, so that no context figure rests on it."""
    await account(s, route, usage)
    s.turn_usage += usage
    return UsageRead(s.stamp(), usage, s.turn_usage, s.context())


def _named(route: Route) -> str:
    return f"{route.model} at {route.provider}"
