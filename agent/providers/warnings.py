"""What a person should know about an answer that is whole all the same, in one sentence each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from agent.context.estimate import least_tokens, text_tokens
from agent.providers.base import ModelRequest, Reply
from agent.providers.wire_json import as_list, as_object, as_text, parsed
from session.models import Usage

# A server that leaves the cached beginning out of its count reads only the newest message, which is seldom this long;
# one that cuts the prompt fills its window, and no window is smaller.
FEWEST_READ_TOKENS = 1_000
SMALLEST_WINDOW = 4_096

_FENCE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_CALL_MARK = re.compile(
    r"<tool_call>|<function[=_ ]|<\|tool_calls?|\[TOOL_CALLS\]|<\|python_tag\|>|<\N{FULLWIDTH VERTICAL LINE}tool"
)
_NAME_WITHIN = 200  # characters behind such a mark


def warnings_of(host: str, request: ModelRequest, reply: Reply, sent_bytes: int) -> tuple[str, ...]:
    """All that there is to say of this reply to this request, whose body had so many bytes."""
    return (*_read_too_little(host, request, reply.usage, sent_bytes), *_wrote_a_call(host, request, reply))


def _read_too_little(host: str, request: ModelRequest, usage: Usage | None, sent_bytes: int) -> Iterator[str]:
    """A39: Ollama cuts a prompt that is longer than its window, and answers as if nothing were missing.

    Nothing is said unless even the fewest tokens that this text can be are a third more than were read. They are only
    counted, which takes a while, where the usual four characters a token say as much, and these where the bytes of the body do.
    """
    if usage is None or usage.cache_read or usage.cache_write or usage.prompt < FEWEST_READ_TOKENS:
        return
    suspicious = usage.prompt * 4 // 3
    if suspicious >= sent_bytes // 4:
        return
    texts = list(_texts(request.messages))
    if suspicious >= sum(map(len, texts)) // 4 or suspicious >= sum(map(least_tokens, texts)):
        return
    window = _window_for(sum(map(text_tokens, texts)))
    yield (
        f"{host} read far fewer tokens than were sent, so the model did not see the whole conversation. Give it a larger "
        f"context (in Ollama: num_ctx {window} or more), or choose another model with /model."
    )


def _window_for(tokens: int) -> int:
    """Room for these tokens and an answer; in steps, so that the same is said until the conversation has doubled."""
    window = SMALLEST_WINDOW
    while window < tokens * 5 // 4:
        window *= 2
    return window


def _texts(messages: list[dict[str, object]]) -> Iterator[str]:
    """What was sent for certain: a server may leave out the tools, thinking and images."""
    for message in messages:
        content = message.get("content")
        yield as_text(content)
        yield from (as_text(as_object(part).get("text")) for part in as_list(content))
        yield from (as_text(as_object(as_object(call).get("function")).get("arguments")) for call in as_list(message.get("tool_calls")))  # fmt: skip


def _wrote_a_call(host: str, request: ModelRequest, reply: Reply) -> Iterator[str]:
    """B10: a call that the server did not recognise as one is text, is shown as text, and never runs."""
    tools = {as_text(as_object(tool.get("function", tool)).get("name")) for tool in request.tools} - {""}
    if reply.calls or not (name := _called_in(reply.content, tools)):
        return
    yield (
        f"The model wrote a call of {name} as text, so nothing was run: {host} has no tool parser for this model. Start the "
        "server with one (vLLM: --enable-auto-tool-choice and --tool-call-parser, llama.cpp: --jinja), or choose another "
        "model with /model."
    )


def _called_in(text: str, tools: Collection[str]) -> str:
    """The tool that a text calls, "" for none. What stands in a code block is told, not called."""
    plain = _FENCE.sub("", text)
    for mark in _CALL_MARK.finditer(plain):
        behind = plain[mark.start() : mark.end() + _NAME_WITHIN]
        if found := next((name for name in tools if re.search(rf"\b{re.escape(name)}\b", behind)), ""):
            return found
    if not plain.lstrip().startswith("{"):
        return ""
    try:
        value = as_object(parsed(plain.strip()))
    except ValueError:
        return ""
    name = as_text(value.get("name"))
    return name if name in tools and ("arguments" in value or "parameters" in value) else ""
