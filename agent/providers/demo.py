"""The built-in demo: a provider without key, network or model, so that a first run on a bare machine has an answer."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterator

from agent.context.estimate import text_tokens
from agent.providers.base import (
    Delta,
    ErrorKind,
    ModelRequest,
    ProviderError,
    ReasoningPart,
    Reply,
    TextPart,
)
from agent.providers.demo_results import calls_of, text_of
from agent.providers.demo_script import Fail, Say, Step, Use, answer_to
from agent.providers.demo_text import FAILURE
from agent.providers.registry import DEMO
from session.models import Finish, Partial, ToolCall, Usage

MAX_PIECES = 250  # a long text comes in bigger pieces rather than for longer


class DemoProvider:
    """Answers a small language by rule, streaming as a model would. The same conversation gets the same answer.

    `delay_s` is the pause before each piece; `home` is how the person writes the home folder.
    """

    def __init__(self, delay_s: float = 0.012, home: str = "~/.hermes-tui") -> None:
        self._delay_s = delay_s
        self._home = home

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """Yields thinking and text, then the reply. Raises ProviderError only when it is asked to fail."""
        answer = answer_to(request.messages, self._home)
        for piece in pieces(answer.thought):
            await asyncio.sleep(self._delay_s)
            yield ReasoningPart(piece)
        match answer:
            case Fail(thought):
                raise ProviderError(ErrorKind.SERVER_ERROR, FAILURE, partial=Partial(reasoning=thought))
            case Say(_, text):
                steps: tuple[Step, ...] = ()
            case Use(_, text, steps):
                pass
        for piece in pieces(text):
            await asyncio.sleep(self._delay_s)
            yield TextPart(piece)
        yield _reply(request, answer.thought, text, steps)

    async def aclose(self) -> None:
        """There is nothing to release."""


def pieces(text: str) -> Iterator[str]:
    """A text word by word, in at most MAX_PIECES pieces; together they are the text."""
    words = re.findall(r"\s*\S+|\s+", text)
    step = -(-len(words) // MAX_PIECES) or 1
    for start in range(0, len(words), step):
        yield "".join(words[start : start + step])


def _reply(request: ModelRequest, thought: str, text: str, steps: tuple[Step, ...]) -> Reply:
    made = sum(len(calls_of(message)) for message in request.messages)
    calls = tuple(
        ToolCall(f"demo_{number}", step.tool, step.raw_arguments) for number, step in enumerate(steps, made + 1)
    )
    return Reply(
        content=text,
        reasoning=thought,
        refusal="",
        calls=calls,
        finish=Finish.TOOL_CALLS if calls else Finish.STOP,
        usage=_usage(request, thought, text, calls),
        model=DEMO,
    )


def _usage(request: ModelRequest, thought: str, text: str, calls: tuple[ToolCall, ...]) -> Usage:
    """What a server would have counted, estimated: everything in the request, everything in the answer."""
    asked = sum(text_tokens(text_of(message)) + _call_tokens(message) for message in request.messages)
    tools = text_tokens(json.dumps(request.tools)) if request.tools else 0
    reasoning = text_tokens(thought)
    called = sum(text_tokens(call.name) + text_tokens(call.arguments) for call in calls)
    return Usage(input=asked + tools, output=text_tokens(text) + called + reasoning, reasoning=reasoning)


def _call_tokens(message: dict[str, object]) -> int:
    calls = calls_of(message)
    return text_tokens(json.dumps(calls, ensure_ascii=False)) if calls else 0
