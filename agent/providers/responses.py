"""The Responses provider: one request, its stream read by our own reader, one reply or one error.

A refusal is an answer: alone it ends the turn (content_filter, never asked again), beside text it stands with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from agent.providers import errors
from agent.providers.base import Delta, ModelRequest, ProviderError, Reply
from agent.providers.call_ids import with_call_ids
from agent.providers.errors import Asked
from agent.providers.exchange import read, ready_client
from agent.providers.http import failures
from agent.providers.one_server import OneServer, ask_in_form, unreadable, used_ids
from agent.providers.responses_answer import ResponsesAnswer
from agent.providers.responses_dialect import Dialect, dialect_of, response_arguments
from agent.providers.responses_input import Conversation, conversation
from agent.providers.sdk_bypass import posted, through_the_sdk, unwrapped
from agent.providers.stream_body import Shape, StreamBody
from agent.providers.warnings import warnings_of
from agent.providers.watch import Watch
from session.models import ApiMode


class Wording(Struct, frozen=True):
    """The conversation as it is told in a dialect."""

    dialect: Dialect
    said: Conversation


class ResponsesProvider(OneServer[Dialect]):
    """Speaks the Responses API to one endpoint."""

    api_mode: ClassVar[ApiMode] = ApiMode.RESPONSES

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """Yields parts as they come, then the reply; raises ProviderError. Cancelling closes the connection.

        A server that refuses what is said of its own thoughts is asked once more, in other words (B03, B07).
        """
        self._refuse_other(request)
        model = request.route.model
        dialect = self._found.get(model) or dialect_of(request.route)
        said = await _said(request, dialect)

        async def other(error: ProviderError) -> Wording | None:
            simpler = None if request.is_exact else dialect.simpler(error, request, said)
            return simpler and Wording(simpler, await _said(request, simpler))

        def took(accepted: Wording) -> None:
            self._found[model] = accepted.dialect

        asking = ask_in_form(lambda wording: self._ask(request, wording), Wording(dialect, said), other, took)
        async with aclosing(asking) as parts:
            async for part in parts:
                yield part

    async def _ask(self, request: ModelRequest, wording: Wording) -> AsyncGenerator[Delta | Reply, None]:
        answer = ResponsesAnswer()
        body = StreamBody(answer)
        watch = Watch(self._limits)
        client = await ready_client(self._connection, self._asked(request, answer, watch))
        try:
            arguments = response_arguments(request, wording.said, wording.dialect)
            if self._is_typed:
                create = client.responses.with_streaming_response.create
                opening = unwrapped(create(**through_the_sdk(arguments)))
            else:
                opening = posted(client, "/responses", arguments)
            async with aclosing(read(opening, body, watch)) as pieces:
                async for piece in pieces:
                    for part in body.feed(piece):
                        yield part
        except failures() as failure:
            if not body.is_over:
                # `from None`: the SDK's own message repeats the server's words, perhaps with the key in them.
                raise errors.from_failure(self._asked(request, answer, watch), failure) from None
        for part in body.end():
            yield part
        asked = self._asked(request, answer, watch)
        if error := _failed(asked, body, answer):
            raise error
        reply = answer.reply(request.route, used_ids(request.messages))
        if wording.said.is_compacted or reply.is_compacted:
            request = replace(request, messages=[])  # most of them were not read anew, which is as it should be
        yield replace(reply, warnings=warnings_of(self._endpoint.host, request, reply, watch.contact.sent_bytes))


async def _said(request: ModelRequest, dialect: Dialect) -> Conversation:
    """Beside the loop: a long conversation holds megabytes of sealed thoughts."""
    messages = with_call_ids(request.messages, request.compatibility.call_ids)
    return await asyncio.to_thread(conversation, messages, request.route, dialect.thoughts)


def _failed(asked: Asked, body: StreamBody, answer: ResponsesAnswer) -> ProviderError | None:
    """What keeps a body that has ended from being an answer."""
    if error := unreadable(asked, body, answer.fault):
        return error
    if answer.is_whole:
        return None
    if body.shape is Shape.JSON and not answer.has_events:
        return errors.bad_endpoint(asked, "it answered with JSON that is no response")
    if not answer.has_events:
        return errors.empty(asked)
    return errors.cut(asked, "the server gave up" if answer.has_finish else "the stream ended in the middle")
