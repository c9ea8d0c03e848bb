"""What a server counts of a request: the prompt that its chat template would make of the body, in tokens."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from session.models import ApiMode
from tests.honesty.models import Model, Thinking, ToolStyle
from tests.honesty.tokenizer import tokens

Body = dict[str, Any]


@dataclass(frozen=True)
class Call:
    name: str
    arguments: str


@dataclass(frozen=True)
class Said:
    """One message as a template sees it, whichever protocol it came by."""

    role: str
    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    images: int = 0


@dataclass(frozen=True)
class Answer:
    """What a model is to say."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = field(default=())


def prompt_tokens(model: Model, body: Body) -> int:
    """Of a Chat Completions or a Responses request. Thinking counts where it came back, and only behind the last prompt."""
    said = _of_items(body) if model.api_mode is ApiMode.RESPONSES else [_of_message(one) for one in body["messages"]]
    asked = max((place for place, one in enumerate(said) if one.role == "user"), default=-1)
    messages = sum(_message_tokens(model, one, place > asked) for place, one in enumerate(said))
    return model.bos + _tool_tokens(model, body.get("tools", ())) + messages + model.frame - 1  # … the answer's head


def thinking_tokens(model: Model, answer: Answer) -> int:
    is_thought = answer.thinking and model.thinking is not Thinking.NONE
    return tokens(answer.thinking) + 2 if is_thought else 0


def output_tokens(model: Model, answer: Answer) -> int:
    """All that is made for an answer, its thinking and its end included."""
    return thinking_tokens(model, answer) + tokens(answer.text) + _call_tokens(model, answer.calls) + 1


def sealed(thinking: str) -> str:
    """As a server that keeps nothing hands its thoughts out."""
    return base64.b64encode(thinking.encode()).decode()


def _message_tokens(model: Model, said: Said, has_thinking: bool) -> int:
    thought = Answer(thinking=said.thinking) if has_thinking and model.is_echoed else Answer()
    content = tokens(said.text) + said.images * model.image_tokens
    return model.frame + content + _call_tokens(model, said.calls) + thinking_tokens(model, thought)


def _call_tokens(model: Model, calls: Iterable[Call]) -> int:
    return sum(model.call_frame + tokens(call.name) + tokens(call.arguments) for call in calls)


def _tool_tokens(model: Model, tools: Sequence[Body]) -> int:
    if not tools:
        return 0
    told = [tool.get("function", tool) for tool in tools]
    if model.tool_style is ToolStyle.JSON:
        shown = [json.dumps({"type": "function", "function": _pick(one)}) for one in told]
        return 60 + sum(tokens(one) + 1 for one in shown)
    return 12 + sum(map(tokens, map(_declaration, told)))


def _pick(tool: Body) -> Body:
    return {name: tool[name] for name in ("name", "description", "parameters")}


def _declaration(tool: Body) -> str:
    """`type name = (_: { … }) => any;` with a comment for each description."""
    fields = tool["parameters"]["properties"].items()
    lines = [f"// {one.get('description', '')}\n{name}?: {one.get('type', 'any')},\n" for name, one in fields]
    return f"// {tool['description']}\ntype {tool['name']} = (_: {{\n{''.join(lines)}}}) => any;\n\n"


def _of_message(message: Body) -> Said:
    text, images = _content(message.get("content"))
    calls = [one["function"] for one in message.get("tool_calls") or ()]
    thinking = message.get("reasoning_content") or ""
    return Said(message["role"], text, thinking, tuple(Call(one["name"], one["arguments"]) for one in calls), images)


def _of_items(body: Body) -> list[Said]:
    """The items of an answer (thought, words, calls) make one message of the assistant."""
    said = [Said("system", body["instructions"])] if body.get("instructions") else []
    answer: list[Body] = []
    for item in [*body["input"], {"type": "end"}]:
        if _is_of_answer(item):
            answer.append(item)
            continue
        if answer:
            said.append(_joined(answer))
            answer = []
        said += _other_item(item)
    return said


def _is_of_answer(item: Body) -> bool:
    return item["type"] in ("reasoning", "function_call") or item.get("role") == "assistant"


def _joined(items: Sequence[Body]) -> Said:
    words = [_content(item["content"])[0] for item in items if item["type"] == "message"]
    thoughts = [base64.b64decode(item["encrypted_content"]).decode() for item in items if item["type"] == "reasoning"]
    calls = [Call(item["name"], item["arguments"]) for item in items if item["type"] == "function_call"]
    return Said("assistant", "\n\n".join(words), "\n\n".join(thoughts), tuple(calls))


def _other_item(item: Body) -> Iterator[Said]:
    match item["type"]:
        case "function_call_output":
            yield Said("tool", item["output"])
        case "message":
            text, images = _content(item["content"])
            yield Said(item["role"], text, images=images)
        case _:
            return


def _content(content: Any) -> tuple[str, int]:
    """The text and the number of images."""
    if not isinstance(content, list):
        return content or "", 0
    words = [part["text"] for part in content if part["type"] in ("text", "input_text", "output_text")]
    return "\n".join(words), sum(part["type"] in ("image_url", "input_image") for part in content)
