"""One turn: ask the model, run what it calls, ask again, until it answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path

from agent.asking import ask, choose_route
from agent.calls import run_calls
from agent.context.compaction import is_said
from agent.context.gates import Gate
from agent.context.room import Room
from agent.events import TurnEvent
from agent.image_files import parts_of
from agent.images import left_out
from agent.open_session import OpenSession
from agent.providers.base import ProviderError, Reply
from agent.steering import steer
from session.models import ExitReason, Finish, Level, ToolCall


async def run_turn(
    s: OpenSession, text: str, queued_id: int = 0, parts: str = "", images: Sequence[str] = ()
) -> AsyncGenerator[TurnEvent, None]:
    """Yields what happens, in order, from the stored prompt to the end of the turn.

    `queued_id` is the row in which the text waited, whose place the prompt takes; 0 for none. `parts` are the prompt's,
    or they are made of its text and the files of `images`. Raises NoImage before anything is stored, and ProviderError
    where the model can't be asked; the caller settles what was begun.
    """
    if images:
        parts = await asyncio.to_thread(parts_of, text, [Path(path) for path in images])
    for event in await s.begin(text, queued_id, parts):
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
    async for event in choose_route(s):
        yield event
    for text in _unsaid(s, left_out(s.rows)):
        yield await s.store_notice(Level.WARNING, text)
    room, gate = Room(s), Gate.PREFLIGHT
    for _ in range(s.parts.settings.agent.max_turns):
        for event in await steer(s):
            yield event
        reply: Reply | None = None
        async with aclosing(_ask_in(room, s, gate)) as parts:
            async for part in parts:
                if isinstance(part, Reply):
                    reply = part
                else:
                    yield part
        assert reply is not None
        events, calls = await s.store_reply(reply)
        for event in events:
            yield event
        await room.answered(reply)
        for text in _unsaid(s, reply.warnings):
            yield await s.store_notice(Level.WARNING, text)
        if not calls:
            ended = await s.end(_ending_of(reply))
            s.parts.titles.begin(s)
            yield ended
            return
        async for event in run_calls(s, calls, reply.finish):
            yield event
        gate = Gate.POST_TOOLS
    yield await s.store_notice(
        Level.WARNING,
        f"Stopped after {s.parts.settings.agent.max_turns} requests in one turn. Say “go on” to continue.",
    )
    yield await s.end(ExitReason.BUDGET)


async def _ask_in(room: Room, s: OpenSession, gate: Gate) -> AsyncGenerator[TurnEvent | Reply, None]:
    """Ask with as much of the conversation as fits: made smaller before, and again where the server refuses its size."""
    while True:
        async with aclosing(room.make(gate)) as made:
            async for event in made:
                yield event
        try:
            async with aclosing(ask(s)) as parts:
                async for part in parts:
                    yield part
            return
        except ProviderError as error:
            await room.refused(error)


def _unsaid(s: OpenSession, warnings: Iterable[str]) -> list[str]:
    """Those that the conversation does not tell yet."""
    return [text for text in warnings if not is_said(s, text)]


def _ending_of(reply: Reply) -> ExitReason:
    """How a turn ends with an answer that calls no tool."""
    match reply.finish:
        case Finish.LENGTH:
            return ExitReason.LENGTH
        case Finish.CONTENT_FILTER:
            return ExitReason.REFUSED
        case _:
            return ExitReason.COMPLETED
