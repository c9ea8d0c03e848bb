"""The small requests with which a server is tried out: words, a tool, and conversations of a tool's use."""

from __future__ import annotations

from collections.abc import Sequence

Wire = dict[str, object]

PLAIN = "Reply with the single word: ready"
ONE_CALL = "Call the tool note once, with the word ready."
TWO_CALLS = "Call the tool note twice in one answer: with the word one, and with the word two."
THOUGHT = "The tool note is what was asked for."

TOOLS: list[Wire] = [
    {
        "type": "function",
        "function": {
            "name": "note",
            "description": "Notes a word down.",
            "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
        },
    }
]


def asked(text: str) -> list[Wire]:
    return [{"role": "user", "content": text}]


def after_calls(words: Sequence[str], said: Wire) -> list[Wire]:
    """A conversation in which note was called for each word and has answered.

    `said` is what else stands in the answer with the calls; its content is the provider's to put there.
    """
    ids = [f"call_{number}" for number, _ in enumerate(words, 1)]
    calls = [_call(call_id, word) for call_id, word in zip(ids, words, strict=True)]
    results: list[Wire] = [{"role": "tool", "tool_call_id": call_id, "content": "noted"} for call_id in ids]
    return [
        *asked(ONE_CALL if len(words) == 1 else TWO_CALLS),
        {"role": "assistant", "content": None, **said, "tool_calls": calls},
        *results,
    ]


def _call(call_id: str, word: str) -> Wire:
    return {"id": call_id, "type": "function", "function": {"name": "note", "arguments": f'{{"word": "{word}"}}'}}
