"""One turn: ask the model, run what it calls, ask again, until it answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from agent.calls import run_calls
from agent.events import TurnEvent
from agent.open_session import OpenSession, ending_of
from agent.providers.base import ErrorKind, ModelRequest, ProviderError, Reply
from agent.request import wire_messages
from session.models import ExitReason, Finish, Level, ToolCall


async def run_turn(s: OpenSession, text: str) -> AsyncGenerator[TurnEvent, None]:
    """Yields what happens, in order, from the stored prompt to the end of the turn.

    Raises ProviderError where the model can't be asked; the caller settles what was begun.
    """
    for event in await s.begin(text):
        yield event
    async for event in _converse(s):
        yield event


async def resume_turn(s: OpenSession, waiting: tuple[ToolCall, ...]) -> AsyncGenerator[TurnEvent, None]:
    """The rest of a turn whose process died while these calls waited for an answer: they are asked again."""
    yield await s.resume()
    async for event in run_calls(s, waiting):
        yield event
    async for event in _converse(s):
        yield event


async def _converse(s: OpenSession) -> AsyncGenerator[TurnEvent, None]:
    for _ in range(s.parts.settings.agent.max_turns):
        reply: Reply | None = None
        async with aclosing(s.parts.provider_for(s.route).stream(_request(s))) as parts:
            async for part in parts:
                if isinstance(part, Reply):
                    reply = part
                else:
                    yield s.live(part)
        reply = _answered(reply)
        for event in await s.store_reply(reply):
            yield event
        if not reply.calls:
            yield await s.end(ending_of(reply))
            return
        # The stored row holds the calls under ids that are unique in the session.
        async for event in run_calls(s, s.rows[-1].calls, reply.finish):
            yield event
    yield await s.store_notice(
        Level.WARNING,
        f"Stopped after {s.parts.settings.agent.max_turns} requests in one turn. Say “go on” to continue.",
    )
    yield await s.end(ExitReason.BUDGET)


def _request(s: OpenSession) -> ModelRequest:
    extras = s.parts.extras_for(s.route)
    return ModelRequest(s.route, wire_messages(s.rows, s.prompt), list(s.parts.tool_definitions), extras)


def _answered(reply: Reply | None) -> Reply:
    """The reply, if it says anything; one that was blocked or ran out of room says so by its finish."""
    is_told = reply is not None and reply.finish in (Finish.LENGTH, Finish.CONTENT_FILTER)
    if reply is None or not (reply.content or reply.refusal or reply.calls or is_told):
        raise ProviderError(
            ErrorKind.UNKNOWN, "The model ended its turn without an answer. Ask again, or try another model (/model)."
        )
    return reply
