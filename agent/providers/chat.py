"""The Chat Completions provider: one request, its stream read by our own reader, one reply or one error."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec.structs import replace

from agent.providers import errors
from agent.providers.base import Delta, ModelRequest, ProviderError, Reply
from agent.providers.body import ChatBody
from agent.providers.compatibility import EmptyContent
from agent.providers.errors import Asked
from agent.providers.exchange import read, ready_client
from agent.providers.http import failures
from agent.providers.one_server import OneServer, ask_in_form, unreadable, used_ids
from agent.providers.sdk_bypass import posted, stream_arguments, through_the_sdk, unwrapped
from agent.providers.stream_body import Shape, StreamBody
from agent.providers.tool_only import other_form, with_content
from agent.providers.warnings import warnings_of
from agent.providers.watch import Watch
from agent.providers.wire_json import as_object, as_text


class ChatProvider(OneServer[EmptyContent]):
    """Speaks Chat Completions to one endpoint."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """Yields parts as they come, then the reply; raises ProviderError. Cancelling closes the connection.

        A server that refuses the content of an answer that only called tools is asked once more, with the other one (A30).
        """
        self._refuse_other(request)
        model = request.route.model
        form = self._found.get(model, request.compatibility.empty_content)

        async def other(error: ProviderError) -> EmptyContent | None:
            return None if request.is_exact else other_form(error, request.messages, form)

        def took(accepted: EmptyContent) -> None:
            self._found[model] = accepted

        asking = ask_in_form(lambda form: self._ask(_with_form(request, form)), form, other, took)
        async with aclosing(asking) as parts:
            async for part in parts:
                yield part

    async def _ask(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        said = ChatBody(_tool_names(request.tools), request.compatibility.think_tags)
        body = StreamBody(said)
        watch = Watch(self._limits)
        client = await ready_client(self._connection, self._asked(request, said.answer, watch))
        try:
            arguments = stream_arguments(request)
            if self._is_typed:
                create = client.chat.completions.with_streaming_response.create
                opening = unwrapped(create(**through_the_sdk(arguments)))
            else:
                opening = posted(client, "/chat/completions", arguments)
            async with aclosing(read(opening, body, watch)) as pieces:
                async for piece in pieces:
                    for part in body.feed(piece):
                        yield part
        except failures() as failure:
            if not (body.is_over or body.has_finish):
                # `from None`: the SDK's own message repeats the server's words, perhaps with the key in them.
                raise errors.from_failure(self._asked(request, said.answer, watch), failure) from None
        for part in (*body.end(), *said.answer.end()):
            yield part
        yield self._reply(self._asked(request, said.answer, watch), request, body, said)

    def _reply(self, asked: Asked, request: ModelRequest, body: StreamBody, said: ChatBody) -> Reply:
        if error := _failed(asked, body, said):
            raise error
        reply = said.answer.reply(used_ids(request.messages), request.route.provider)
        warnings = warnings_of(self._endpoint.host, request, reply, asked.watch.contact.sent_bytes)
        if said.afterthought is not None:
            warnings = (errors.behind(asked, said.afterthought), *warnings)
        return replace(reply, warnings=warnings)


def _failed(asked: Asked, body: StreamBody, said: ChatBody) -> ProviderError | None:
    """What keeps a body that has ended from being an answer."""
    if error := unreadable(asked, body, said.fault):
        return error
    if said.answer.has_failed:
        return errors.cut(asked, "the server gave up")
    if said.answer.has_finish or (said.is_done and said.answer):
        return None
    if body.shape is Shape.JSON:
        return errors.bad_endpoint(asked, "it answered with JSON that is no completion")
    if said.is_done or not said.has_events:
        return errors.empty(asked)
    return errors.cut(asked, "the stream ended in the middle")


def _with_form(request: ModelRequest, form: EmptyContent) -> ModelRequest:
    return replace(request, messages=with_content(request.messages, form))


def _tool_names(tools: list[dict[str, object]]) -> frozenset[str]:
    return frozenset(as_text(as_object(tool.get("function")).get("name")) for tool in tools)
