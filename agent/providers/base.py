"""What a provider is: a request in; deltas and exactly one reply out, or one error."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct, field

from agent.providers.compatibility import STANDARD, Compatibility
from session.models import Finish, Partial, Route, ToolCall, Usage

EXTRAS = "_extras"  # where a message of a request carries the extras of its row


class ModelRequest(Struct, frozen=True):
    """One question to a model: chat-shaped messages (the system prompt first) and tool schemas, plain JSON only.

    `session` and `attempt` are for the wire log alone: whose question it is, and how often it was asked, from 1 on.
    One that `is_exact` is never asked a second time in another form: what the server says of this one is the answer.
    `compact_at` asks a server that can (`compatibility.server_compaction`) to shorten the conversation itself from so many
    tokens on, None not to.
    """

    route: Route
    messages: list[dict[str, object]]
    tools: list[dict[str, object]]
    extra_body: Mapping[str, object] = field(default_factory=dict[str, object])
    compatibility: Compatibility = STANDARD
    session: str = ""
    attempt: int = 1
    is_exact: bool = False
    compact_at: int | None = None


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
    """The stream broke; it is asked again after `wait_s`, and everything this request yielded so far is void.

    `usage` is what the attempt that failed took, None when the server did not say.
    """

    attempt: int
    attempts: int
    reason: str
    wait_s: float
    usage: Usage | None = None


Delta = TextPart | ReasoningPart | RefusalPart | Restarting


class Reply(Struct, frozen=True):
    """A whole answer. `usage` is None when the provider gave no reading.

    `extras` is a JSON object, "" for none: what the server wants back with this answer, kept as it came.
    `warnings` are sentences for the person about an answer that is whole all the same. `is_compacted`: the server has
    shortened the conversation on the way, so that no former reading of its size holds for the next request.
    """

    content: str
    reasoning: str
    refusal: str
    calls: tuple[ToolCall, ...]
    finish: Finish
    usage: Usage | None
    model: str = ""
    id: str = ""
    extras: str = ""
    warnings: tuple[str, ...] = ()
    is_compacted: bool = False


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
    EMPTY_ANSWER = "empty_answer"
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


class Contact(Struct, frozen=True):
    """How far a failed request came: to which host and port, how large it was, whether an answer had begun.

    `has_events`: something of that answer was read, text or not.
    """

    host: str = ""
    sent_bytes: int = 0
    is_open: bool = False
    has_events: bool = False


UNTRIED = Contact()


class ProviderError(Exception):
    """A request failed. `str()` is one sentence for the person: what happened and what to do; it holds no secret.

    `is_cut`: the stream broke off in the middle (as opposed to an error that the server named). `partial` is what had
    arrived. `may_retry`: asking again can help. `retry_after_s` is the server's own wish, None when it gave none.
    `window` is the model's context in tokens where an overflow told it.
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
        window: int | None = None,
        contact: Contact = UNTRIED,
    ) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence
        self.may_retry = may_retry
        self.retry_after_s = retry_after_s
        self.is_cut = is_cut
        self.partial = partial
        self.usage = usage
        self.window = window
        self.contact = contact

    def add(self, sentence: str) -> None:
        """Say more to the person."""
        self.sentence = f"{self.sentence} {sentence}"
        self.args = (self.sentence,)


class Provider(Protocol):
    """Speaks to one model server. Streams deltas and ends with exactly one Reply, or raises ProviderError."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]: ...

    async def aclose(self) -> None:
        """Release connections. Safe to call twice."""
        ...
