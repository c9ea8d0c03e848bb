"""What a server wants otherwise than the protocol says: one record of switches, and what is known of the servers we know."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class EmptyContent(StrEnum):
    """How the content of an answer that only calls tools is sent back. Servers refuse now one, now another (A30)."""

    NULL = "null"
    EMPTY = "empty"  # the text ""
    OMIT = "omit"  # no such key


class MaxTokensField(StrEnum):
    """Under which name the longest answer is asked for."""

    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"


class CallIds(StrEnum):
    """Which ids of calls a server takes back."""

    ANY = "any"
    SHORT = "short"  # at most 40 letters, digits, "_" and "-"
    NINE = "nine"  # exactly nine letters and digits


class KeyHeader(StrEnum):
    """Where the key goes."""

    AUTHORIZATION = "authorization"  # "Bearer KEY"
    API_KEY = "api-key"  # the key alone, as Azure takes it


class Compatibility(Struct, frozen=True):
    """The switches of one route. `echo_reasoning`: thinking is sent back with the answer it belongs to (A25).

    `think_tags`: a <think> at the very beginning of an answer is thinking (A27). `usage_option`: the server takes
    `stream_options`. `parallel_calls`: without it the model is asked to call one tool at a time. `server_compaction`: a
    Responses server that, when asked so, shortens the conversation itself. `images`: False where it is known to take none.
    """

    echo_reasoning: bool = False
    empty_content: EmptyContent = EmptyContent.NULL
    think_tags: bool = True
    max_tokens_field: MaxTokensField = MaxTokensField.MAX_TOKENS
    usage_option: bool = True
    parallel_calls: bool = True
    key_header: KeyHeader = KeyHeader.AUTHORIZATION
    call_ids: CallIds = CallIds.ANY
    server_compaction: bool = False
    images: bool = True


STANDARD = Compatibility()

# By the name of the provider. DeepSeek and Moonshot refuse a conversation whose thinking is missing from its calls; the
# signed thinking that OpenRouter passes on is only good for the next request if it comes back. Groq refuses thinking that
# comes back, which is the protocol's default. Mistral refuses stream_options (422) and counts tokens anyway. The ids of
# calls: agent/providers/call_ids.py.
KNOWN_SWITCHES = {
    "openai": Compatibility(
        max_tokens_field=MaxTokensField.MAX_COMPLETION_TOKENS, call_ids=CallIds.SHORT, server_compaction=True
    ),
    "anthropic": Compatibility(call_ids=CallIds.SHORT),
    "openrouter": Compatibility(echo_reasoning=True),
    "deepseek": Compatibility(echo_reasoning=True, images=False),
    "moonshot": Compatibility(echo_reasoning=True),
    "mistral": Compatibility(usage_option=False, call_ids=CallIds.NINE),
    "azure": Compatibility(
        max_tokens_field=MaxTokensField.MAX_COMPLETION_TOKENS, key_header=KeyHeader.API_KEY, call_ids=CallIds.SHORT
    ),
}
