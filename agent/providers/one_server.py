"""What is the same in every provider that speaks to one server over HTTP: its client, a second try, how a body can't be read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from typing import ClassVar, Generic, Protocol, TypeVar

from agent.providers import errors
from agent.providers.base import ModelRequest, ProviderError
from agent.providers.errors import Asked
from agent.providers.faults import Fault
from agent.providers.http import KEYLESS, Connection, Endpoint, Network
from agent.providers.stream_body import Shape, StreamBody
from agent.providers.watch import Limits, Timeouts, Watch
from agent.providers.wire_json import as_list, as_object, as_text
from session.models import ApiMode, Partial, Usage

Found = TypeVar("Found")
Form = TypeVar("Form")
Part = TypeVar("Part")


class Answering(Protocol):
    """What has been understood of an answer."""

    @property
    def partial(self) -> Partial: ...
    @property
    def usage(self) -> Usage | None: ...


class OneServer(Generic[Found]):
    """A provider whichever protocol it speaks: one endpoint. The key goes to that endpoint and nowhere else."""

    api_mode: ClassVar[ApiMode] = ApiMode.CHAT

    def __init__(
        self,
        base_url: str,
        api_key: str = "",
        headers: Mapping[str, str] | None = None,
        limits: Limits = Timeouts,
        network: Network | None = None,
        *,
        is_typed: bool = False,
    ) -> None:
        self._endpoint = Endpoint(base_url, api_key.strip() or KEYLESS, dict(headers or {}), network or Network())
        self._limits = limits
        self._is_typed = is_typed  # requests take the SDK's own way (agent/providers/sdk_bypass.py)
        self._connection = Connection(self._endpoint, self.api_mode if is_typed else None)
        self._found: dict[str, Found] = {}  # by model: what it was found to take

    async def warm(self) -> None:
        """Pays for imports and the TLS context now, in a thread. A failure shows at the first request."""
        with suppress(ImportError, ValueError):
            await self._connection.client()

    async def aclose(self) -> None:
        await self._connection.aclose()

    def _refuse_other(self, request: ModelRequest) -> None:
        if request.route.base_url != self._endpoint.base_url:
            raise ValueError("a provider's key must not go to the base_url of another route")

    def _asked(self, request: ModelRequest, answer: Answering, watch: Watch) -> Asked:
        return Asked(self._endpoint, request.route, watch, answer.partial, answer.usage)


async def ask_in_form(
    ask: Callable[[Form], AsyncGenerator[Part, None]],
    form: Form,
    other_form: Callable[[ProviderError], Awaitable[Form | None]],
    took: Callable[[Form], None],
) -> AsyncGenerator[Part, None]:
    """Ask in one form; where a server refuses it, once more in another, never with the same body.

    `took` hears of the other form when that is answered. Raises ProviderError.
    """
    try:
        async with aclosing(ask(form)) as parts:
            async for part in parts:
                yield part
        return
    except ProviderError as error:
        other = await other_form(error)
        if other is None:
            raise
    async with aclosing(ask(other)) as parts:
        async for part in parts:
            took(other)
            yield part


def unreadable(asked: Asked, body: StreamBody, fault: Fault | None) -> ProviderError | None:
    """What keeps a body that has ended from being read as an answer, whatever is in it."""
    if fault is not None:
        return errors.from_fault(asked, fault)
    if body.shape is Shape.PAGE:
        return errors.bad_endpoint(asked, "it answered with a web page")
    if body.is_broken:
        return errors.cut(asked, "it sent something that is not JSON")
    return None


def used_ids(messages: list[dict[str, object]]) -> frozenset[str]:
    """The ids of all calls in the conversation: some servers count them from 0 in every answer."""
    made = (as_list(message["tool_calls"]) for message in messages if "tool_calls" in message)
    return frozenset(as_text(as_object(call).get("id")) for calls in made for call in calls)
