"""What a provider is: a request in; deltas and exactly one reply out, or one error."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct, field

from session.models import Finish, Partial, Route, ToolCall, Usage


class ModelRequest(Struct, frozen=True):
    """One question to a model: chat-shaped messages (the system prompt first) and tool schemas, plain JSON only."""

    route: Route
    messages: list[dict[str, object]]
    tools: list[dict[str, object]]
    extra_body: Mapping[str, object] = field(default_factory=dict[str, object])


class TextPart(Struct, frozen=True):
    """More of the answer."""

    text: str


class ReasoningPart(Struct, frozen=True):
    """More of the model's thinking."""

    text: str


class RefusalPart(Struct, frozen=True):
    """More of a refusal."""

    text: str


class Restarting(Struct, frozen=True):
    """The stream broke; it is asked again after `wait_s`, and everything this request yielded so far is void."""

    attempt: int
    attempts: int
    reason: str
    wait_s: float


Delta = TextPart | ReasoningPart | RefusalPart | Restarting


class Reply(Struct, frozen=True):
    """A whole answer. `usage` is None when the provider gave no reading."""

    content: str
    reasoning: str
    refusal: str
    calls: tuple[ToolCall, ...]
    finish: Finish
    usage: Usage | None
    model: str = ""
    id: str = ""


class ErrorKind(StrEnum):
    """Why a provider failed."""

    AUTH = "auth"
    AUTH_PERMANENT = "auth_permanent"
    BILLING = "billing"
    RATE_LIMIT = "rate_limit"
    UPSTREAM_RATE_LIMIT = "upstream_rate_limit"
    UPSTREAM_BLOCKED = "upstream_blocked"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"  # every failure of the transport: no connection, no answer in time, a stream that broke
    SSL_CERT_VERIFICATION = "ssl_cert_verification"
    CONTEXT_OVERFLOW = "context_overflow"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    IMAGE_TOO_LARGE = "image_too_large"
    MODEL_NOT_FOUND = "model_not_found"
    PROVIDER_POLICY_BLOCKED = "provider_policy_blocked"
    CONTENT_POLICY_BLOCKED = "content_policy_blocked"
    FORMAT_ERROR = "format_error"
    UNKNOWN = "unknown"


NOTHING = Partial()


class ProviderError(Exception):
    """A request failed. `str()` is one sentence for the person: what happened and what to do; it holds no secret.

    `is_cut`: the stream broke off in the middle (as opposed to an error that the server named). `partial` is what had
    arrived. `may_retry`: asking again can help. `retry_after_s` is the server's own wish, None when it gave none.
    """

    def __init__(
        self,
        kind: ErrorKind,
        sentence: str,
        *,
        may_retry: bool = False,
        retry_after_s: float | None = None,
        is_cut: bool = False,
        partial: Partial = NOTHING,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence
        self.may_retry = may_retry
        self.retry_after_s = retry_after_s
        self.is_cut = is_cut
        self.partial = partial
        self.usage = usage


class Provider(Protocol):
    """Speaks to one model server. Streams deltas and ends with exactly one Reply, or raises ProviderError."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]: ...

    async def aclose(self) -> None:
        """Release connections. Safe to call twice."""
        ...
