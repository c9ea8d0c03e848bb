"""What is asked of a Responses server beside the conversation, and what is tried when it refuses that."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from agent.providers.base import ErrorKind, ModelRequest, ProviderError
from agent.providers.registry import KNOWN
from agent.providers.responses_input import Conversation, function_tools
from agent.providers.responses_items import COMPACTION
from agent.providers.responses_replay import Thoughts
from session.models import Route

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from openai import Omit
    from openai.types.responses import ResponseIncludable, ResponseInputItemParam, ToolParam
    from openai.types.responses.response_create_params import ContextManagement

log = logging.getLogger(__name__)

SEALED = "reasoning.encrypted_content"

_UNTHINKING = ("gpt-3", "gpt-4", "chatgpt-4")  # models of OpenAI that do not think, and refuse to be asked for thoughts
_NO_SEALED = re.compile(r"encrypted content is not supported|\binclude\b", re.IGNORECASE)
_NO_COMPACTION = re.compile(r"context_management|compact_threshold", re.IGNORECASE)
_NO_THOUGHT = re.compile(
    r"\breasoning\b|encrypted|\brs_|required following item|type of '?item|item with id", re.IGNORECASE
)


class Dialect(Struct, frozen=True):
    """What a server takes. `is_stateless`: it is told to store nothing. `asks_sealed`: for thoughts to give back.

    `may_compact`: it may be asked to shorten the conversation.
    """

    is_stateless: bool = False
    asks_sealed: bool = False
    may_compact: bool = True
    thoughts: Thoughts = Thoughts.ALL

    def simpler(self, error: ProviderError, request: ModelRequest, said: Conversation) -> Dialect | None:
        """What to try in its place when a server refused a request for what it was asked beside it, None for another cause.

        B03, B07: each session stays usable whatever a server wants of its own thoughts, at the worst without them.
        """
        if error.kind not in (ErrorKind.FORMAT_ERROR, ErrorKind.MODEL_NOT_FOUND):
            return None
        if self.may_compact and _compaction(request) and _NO_COMPACTION.search(error.sentence):
            return replace(self, may_compact=False)
        if self.asks_sealed and _NO_SEALED.search(error.sentence):
            return replace(self, asks_sealed=False)
        if said.has_thoughts and _NO_THOUGHT.search(error.sentence):
            return replace(self, thoughts=Thoughts.NONE)
        return None


def dialect_of(route: Route) -> Dialect:
    """OpenAI itself stores nothing of ours, and seals its thoughts; other servers are asked so by `extra_body`."""
    if not _is_openai(route.base_url):
        return Dialect()
    thinks = not route.model.lower().startswith(_UNTHINKING)
    return Dialect(is_stateless=True, asks_sealed=thinks, thoughts=Thoughts.SEALED)


class ResponseArguments(TypedDict):
    """The arguments of the SDK's `create` for one streamed response, in the order in which its body has them."""

    model: str
    stream: Literal[True]
    context_management: list[ContextManagement] | Omit
    include: list[ResponseIncludable] | Omit
    input: list[ResponseInputItemParam]
    instructions: str | Omit
    parallel_tool_calls: bool | Omit
    store: bool | Omit
    tools: Iterable[ToolParam] | Omit
    extra_body: dict[str, object]


def response_arguments(request: ModelRequest, said: Conversation, dialect: Dialect) -> ResponseArguments:
    """The request as the SDK takes it; what `request.extra_body` says wins over anything of ours.

    The big fields go past the SDK's typed walk, with the same bytes on the wire (agent/providers/sdk_bypass.py).
    """
    from openai import omit

    is_one_by_one = bool(request.tools) and not request.compatibility.parallel_calls
    body: dict[str, object] = {"input": said.input}
    if request.tools:
        body["tools"] = function_tools(request.tools)
    return {
        "model": request.route.model,
        "stream": True,
        "context_management": (_compaction(request) if dialect.may_compact else None) or omit,
        "include": [SEALED] if dialect.asks_sealed else omit,
        "input": [],
        "instructions": said.instructions or omit,
        "parallel_tool_calls": False if is_one_by_one else omit,
        "store": False if dialect.is_stateless else omit,
        "tools": [] if request.tools else omit,
        "extra_body": body | _takeable(request),
    }


def _compaction(request: ModelRequest) -> list[ContextManagement]:
    """OpenAI shortens the conversation itself once its tokens pass the threshold, and says so with a sealed item."""
    is_asked = request.compact_at is not None and request.compatibility.server_compaction
    if not is_asked or "context_management" in request.extra_body:
        return []
    return [{"type": COMPACTION, "compact_threshold": request.compact_at}]


def _takeable(request: ModelRequest) -> dict[str, object]:
    """What the config adds. ChatGPT's own endpoint for Codex refuses a request that says how long to keep a cache."""
    extra = dict(request.extra_body)
    if _is_codex(request.route.base_url) and extra.pop("prompt_cache_retention", None) is not None:
        log.info("prompt_cache_retention of the config is not sent to %s", request.route.provider)
    return extra


def _is_codex(base_url: str) -> bool:
    url = urlsplit(base_url)
    return url.hostname == "chatgpt.com" and url.path.rstrip("/") == "/backend-api/codex"


def _is_openai(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    is_own = host == "api.openai.com" or host.endswith(".api.openai.com")
    return is_own or _is_codex(base_url) or KNOWN["azure"].is_at(base_url)
