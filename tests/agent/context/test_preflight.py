"""What a person is told before another model goes on with a conversation."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from agent.config.settings import CompressionSettings, PriceSettings
from agent.context.features import NONE, of_row, of_text
from agent.context.of_session import preflight_of
from agent.context.preflight import DEAR, Switch, preflight
from agent.context.terms import Terms
from agent.context.threshold import budget
from agent.context.weights import ROUGH
from agent.providers.compatibility import Compatibility
from agent.request import wire_messages
from session.models import ApiMode, Message, Role, Route, ToolCall, Usage

FIXED = 3_000  # tokens
DEEPSEEK = Route("deepseek", "pro", "https://deepseek.invalid/v1", ApiMode.CHAT)
OPENROUTER = Route("openrouter", "k", "https://openrouter.invalid/v1", ApiMode.CHAT)
ITEMS = Route("openai", "gpt", "https://openai.invalid/v1", ApiMode.RESPONSES)
GROQ = Route("groq", "oss", "https://groq.invalid/v1", ApiMode.CHAT)
ECHO = Compatibility(echo_reasoning=True)
TRACE = "so " * 148_333 + "."  # 445,000 characters


def terms(route: Route, window: int | None = None, *, echoes: bool = False) -> Terms:
    threshold = budget(window, None, CompressionSettings()).threshold if window else None
    return Terms(replace(route, window=window), window, "", "", tuple, echoes, ROUGH, threshold)


def switched(
    rows: list[Message], old: Terms, new: Terms, price: PriceSettings | None = None, *, is_on: bool = True
) -> Switch:
    used = FIXED + tokens(rows)
    shared = budget(new.window, None, CompressionSettings()) if new.window else None
    new = new if is_on else replace(new, threshold=None)
    return preflight(rows, old, new, used, FIXED, shared, price)


def thought(text: str, extras: str, **fields) -> Message:
    call = ToolCall("c1", "terminal", "{}")
    return Message("s", Role.ASSISTANT, "I look.", 0.0, id=1, reasoning=text, extras=extras, calls=(call,), **fields)


def by_chat(provider: str) -> str:
    return json.dumps({"chat": {"provider": provider, "reasoning_field": "reasoning_content"}})


def by_responses(provider: str, model: str) -> str:
    items = [{"type": "reasoning", "id": "rs_1", "encrypted_content": "A" * 9_000}]
    return json.dumps({"responses": {"provider": provider, "model": model, "items": items}})


def tokens(rows: list[Message]) -> int:
    return ROUGH.tokens(sum(map(of_row, rows), NONE))


def conversation(wanted: int) -> list[Message]:
    """Turns of about so many tokens in all."""
    turn = [Message("s", Role.USER, "go on", 0.0), Message("s", Role.ASSISTANT, "a word, and another. " * 700, 0.0)]
    rows = turn * round(wanted / tokens(turn))
    return [replace(row, id=number) for number, row in enumerate(rows, start=1)]


def test_G10_a_switch_to_a_smaller_window_is_told_in_numbers_and_a_compaction_with_it():
    rows = [*conversation(600_000), thought(TRACE, by_chat("deepseek"))]
    told = switched(rows, terms(DEEPSEEK, 1_000_000, echoes=True), terms(OPENROUTER, 272_000, echoes=True))
    assert told.used == pytest.approx(600_000, rel=0.02)
    assert (told.window, told.threshold, told.fits) == (272_000, 204_000, False)
    assert told.compacted is not None
    assert told.compacted < 204_000 // 2
    assert told.dropped_thinking == ROUGH.tokens(of_text(TRACE)) > 50_000
    assert told.is_worth_asking


@pytest.mark.parametrize("switches", [Compatibility(), ECHO])
@pytest.mark.parametrize("extras", [by_chat("deepseek"), by_responses("openai", "gpt"), ""])
def test_G10_G11_the_thinking_of_another_model_is_not_sent(switches: Compatibility, extras: str):
    sent = wire_messages([thought(TRACE, extras)], "p", OPENROUTER, switches)
    assert len(str(sent)) < 1_000
    assert "AAAA" not in str(sent)


@pytest.mark.parametrize(
    ("extras", "old", "new", "is_dropped"),
    [
        (by_chat("deepseek"), terms(DEEPSEEK, echoes=True), terms(OPENROUTER, echoes=True), True),
        (by_chat("deepseek"), terms(DEEPSEEK, echoes=True), terms(GROQ), True),
        (by_chat("deepseek"), terms(DEEPSEEK, echoes=True), terms(ITEMS), True),
        (by_responses("openai", "gpt"), terms(ITEMS), terms(replace(ITEMS, model="mini")), True),
        (by_responses("openai", "gpt"), terms(ITEMS), terms(DEEPSEEK, echoes=True), True),
        # another model of the same server
        (
            by_chat("deepseek"),
            terms(DEEPSEEK, echoes=True),
            terms(replace(DEEPSEEK, model="flash"), echoes=True),
            False,
        ),
        (by_responses("openai", "gpt"), terms(ITEMS), terms(replace(ITEMS, base_url="https://other.invalid")), False),
        # nobody gets it now
        (by_chat("groq"), terms(GROQ), terms(DEEPSEEK, echoes=True), False),
        (by_chat("openrouter"), terms(DEEPSEEK, echoes=True), terms(GROQ), False),
        ("", terms(DEEPSEEK, echoes=True), terms(GROQ), False),
        ("[1]", terms(ITEMS), terms(GROQ), False),
    ],
)
def test_G11_thinking_that_only_the_old_route_got_back_is_told(extras: str, old: Terms, new: Terms, is_dropped: bool):
    told = switched([thought(TRACE, extras)], old, new)
    assert told.dropped_thinking == (ROUGH.tokens(of_text(TRACE)) if is_dropped else 0)


def test_G11_thinking_that_was_counted_is_told_as_counted():
    """What is encrypted shows no text."""
    row = thought("", by_responses("openai", "gpt"), usage=Usage(output=5_000, reasoning=4_000))
    assert switched([row], terms(ITEMS), terms(GROQ)).dropped_thinking == 4_000


def test_a_switch_without_consequences_is_not_asked_about():
    told = switched(conversation(40_000), terms(DEEPSEEK), terms(GROQ, 131_072))
    assert (told.fits, told.compacted, told.cost, told.is_worth_asking) == (True, None, None, False)


def test_what_would_be_compacted_is_asked_about_though_it_fits():
    told = switched(conversation(110_000), terms(DEEPSEEK), terms(GROQ, 131_072))
    assert (told.fits, told.is_over_threshold, told.is_worth_asking) == (True, True, True)
    assert told.compacted is not None


def test_where_compaction_is_off_only_what_does_not_fit_is_asked_about():
    assert not switched(conversation(110_000), terms(DEEPSEEK), terms(GROQ, 131_072), is_on=False).is_worth_asking
    told = switched(conversation(200_000), terms(DEEPSEEK), terms(GROQ, 131_072), is_on=False)
    assert told.is_worth_asking
    assert told.compacted is not None  # by hand


def test_what_no_compaction_makes_fit_is_told_so():
    told = switched(conversation(4_000), terms(DEEPSEEK), terms(GROQ, 2_048))
    assert (told.fits, told.compacted, told.is_worth_asking) == (False, None, True)
    assert "no compaction can help" in told.why_not


def test_a_last_answer_that_does_not_fit_is_summarised_when_the_next_prompt_is_there():
    told = switched(conversation(12_000), terms(DEEPSEEK), terms(GROQ, 8_192))
    assert told.threshold is not None and told.compacted is not None
    assert told.compacted < told.threshold


def test_of_an_unknown_window_nothing_is_claimed():
    told = switched(conversation(600_000), terms(DEEPSEEK), terms(GROQ, None))
    assert (told.window, told.fits, told.compacted, told.is_worth_asking) == (None, True, None, False)


@pytest.mark.parametrize(("dollars", "is_dear"), [(1.0, False), (10.0, True)])
def test_a_switch_that_costs_more_than_a_little_is_asked_about(dollars: float, is_dear: bool):
    told = switched(conversation(100_000), terms(DEEPSEEK), terms(GROQ, 1_000_000), PriceSettings(dollars, 1.0, 0.0))
    assert told.cost == pytest.approx(told.used * dollars / 1_000_000)  # nothing is in a cache of another model
    assert (told.is_worth_asking, (told.cost or 0) >= DEAR) == (is_dear, is_dear)


async def test_G10_before_a_switch_in_a_session_its_own_conversation_is_measured(bench, served):
    served.reply(text="a word, and another. " * 4_000, usage=(3_000, 20_000))
    await bench.ask("tell me a story")
    current = bench.hub.runtime(bench.session_id).s.route
    small = await preflight_of(bench.hub.runtime(bench.session_id).s, replace(current, model="small", window=8_192))
    assert (small.fits, small.is_worth_asking) == (False, True)
    large = await preflight_of(bench.hub.runtime(bench.session_id).s, replace(current, model="large", window=200_000))
    assert (large.used, large.fits, large.is_worth_asking) == (small.used, True, False)
    assert large.cost == 0.0  # the server is on this machine
    assert bench.hub.runtime(bench.session_id).s.route == current
