"""What of rows and texts costs tokens: what a request says of them, by what it is made of."""

from __future__ import annotations

import base64
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context.features import MOST_CHARS, NONE, Features, of_row, of_text, of_tools
from agent.context.weights import ROUGH
from agent.images import LARGEST_IMAGE_BYTES
from agent.request import wire_messages
from session.models import Approval, CallOutcome, CallResult, Message, Role, ToolCall

PIXEL = "data:image/png;base64," + base64.b64encode(b"not much of an image").decode()


def row(role: Role, content: str = "", **fields) -> Message:
    return Message(session_id="s", role=role, content=content, created_at=0.0, **fields)


def result(call_id: str, text: str) -> Message:
    return row(Role.TOOL, text, result=CallResult(call_id, "look", CallOutcome.OK, Approval.NOT_ASKED))


def image(url: str) -> dict[str, object]:
    return {"type": "image_url", "image_url": {"url": url}}


def of_wire(message: dict) -> Features:
    """As `of_row`, of a message as it is sent."""
    content = message["content"] or ""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    found = of_text("\n".join(part["text"] for part in parts if part["type"] == "text"))
    for call in message.get("tool_calls", ()):
        found += Features(messages=1) + of_text(f"{call['function']['name']} {call['function']['arguments']}")
    return found + Features(messages=1, images=sum(part["type"] == "image_url" for part in parts))


texts = st.text(max_size=30)
prompts = st.one_of(
    st.builds(lambda text, sent: row(Role.USER, text, sent=sent), texts, st.sampled_from(["", "expanded text"])),
    texts.map(lambda text: row(Role.USER, text, parts=json.dumps([{"type": "text", "text": text}, image(PIXEL)]))),
)
answers = st.builds(
    lambda text, refusal, raw: [
        row(
            Role.ASSISTANT,
            text,
            refusal=refusal,
            reasoning="a long thought",
            calls=tuple(ToolCall(f"{i}", "look", one) for i, one in enumerate(raw)),
        ),
        *(result(f"{i}", "seen") for i, _ in enumerate(raw)),
        row(Role.NOTICE, "a note to the person"),
    ],
    texts,
    texts,
    st.lists(st.sampled_from(["{}", '{"path": "a b.py"}', '{"path"', "null"]), max_size=3),
)


@given(prompts, answers)
def test_what_counts_is_what_a_request_says(asked: Message, answered: list[Message]):
    rows = [asked, *answered]
    sent = wire_messages(rows, "")[1:]
    assert sum(map(of_row, rows), NONE) == sum(map(of_wire, sent), NONE)


def test_thinking_counts_where_it_is_asked_for():
    answer = row(Role.ASSISTANT, "four", reasoning="two and two", extras='{"responses": {"items": []}}')
    assert of_row(answer) == Features(messages=1) + of_text("four")
    assert of_row(answer, with_thinking=True) == of_row(answer) + of_text("two and two")


@pytest.mark.parametrize(
    "silent",
    [row(Role.NOTICE, "note"), row(Role.ASSISTANT, reasoning="hm"), row(Role.USER, "lost", is_damaged=True)],
    ids=["notice", "empty answer", "damaged"],
)
def test_a_row_that_is_not_sent_costs_nothing(silent: Message):
    assert of_row(silent, with_thinking=True) == NONE


def test_an_image_is_counted_and_never_measured_by_its_bytes():
    small, large = image(PIXEL), image("data:image/png;base64," + "A" * 40_000)
    rows = [row(Role.USER, parts=json.dumps([{"type": "text", "text": "what is it?"}, one])) for one in (small, large)]
    assert of_row(rows[0]) == of_row(rows[1]) == Features(messages=1, images=1) + of_text("what is it?")


def test_an_image_that_is_too_large_to_be_sent_is_the_words_in_its_place():
    huge = image("data:image/png;base64," + "A" * (LARGEST_IMAGE_BYTES * 4 // 3 + 4))
    found = of_row(row(Role.USER, parts=json.dumps([huge])))
    assert (found.images, found.words > 5) == (0, True)


def test_a_text_is_told_by_its_pieces():
    assert of_text("Read camelCase, snake_case") == Features(words=5, letters=22, capitals=2, marks=4)
    assert of_text("1 22 333 4444 1234567") == Features(digits=8)
    assert of_text("if x:\n    y = 1\n\tz\n") == Features(words=4, letters=5, digits=1, marks=4, lines=4, indents=1)


def test_scripts_are_told_apart():
    assert of_text("日本語、ｶﾅ한글") == Features(cjk=8)
    assert of_text("привет мир") == Features(cyrillic=18)
    assert of_text("Ελλάδα") == Features(other=12)
    assert of_text("🙂") == Features(other=4)


@pytest.mark.parametrize("mark", "-=*#_~.")
def test_a_rule_across_the_page_costs_little_however_long(mark: str):
    assert ROUGH.tokens(of_text(mark * 80)) <= 4
    assert ROUGH.tokens(of_text(mark * 800)) <= 20


@given(st.text())
def test_any_text_costs_something_and_nothing_is_negative(text: str):
    found = of_text(text)
    assert min(found.words, found.digits, found.marks, found.lines, found.cjk, found.cyrillic, found.other) >= 0
    assert bool(text.strip(" ")) <= (ROUGH.tokens(found) > 0)


@given(texts, texts)
def test_amounts_add_up_and_can_be_taken_away(one: str, other: str):
    assert of_text(one) + of_text(other) - of_text(other) == of_text(one)


def test_a_text_of_megabytes_is_judged_by_a_sample():
    dice = random.Random(1)
    kinds = [
        "The words of a sentence. ",
        '{"key": 12345, "on": true}\n',
        "日本語の文章です。",
        "def f(x):\n    return x\n",
    ]
    text = "".join(dice.choice(kinds) * dice.randint(1, 40) for _ in range(10_000))
    whole = sum((of_text(text[at : at + MOST_CHARS]) for at in range(0, len(text), MOST_CHARS)), NONE)
    assert len(text) > 20 * MOST_CHARS
    assert ROUGH.tokens(of_text(text)) == pytest.approx(ROUGH.tokens(whole), rel=0.1)


def test_tools_count_with_all_that_is_told_of_them():
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
    told = {"name": "look", "description": "Look at a file.", "parameters": parameters}
    chars = len("look" + "Look at a file." + json.dumps(parameters, separators=(",", ":")))
    assert of_tools([{"type": "function", "function": told}, told]) == Features(tools=2 * chars)
    assert of_tools([]) == NONE
