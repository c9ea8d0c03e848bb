"""The context figure rests on what the provider counted, and says what it rests on."""

from __future__ import annotations

from agent.context.estimate import text_tokens
from agent.context.meter import FigureSource, measure
from session.models import ApiMode, Message, Role, Route, Usage

ROUTE = Route("p", "m", "http://127.0.0.1", ApiMode.CHAT, window=1000)


def row(role: Role, content: str, usage: Usage | None = None) -> Message:
    return Message(session_id="s", role=role, content=content, created_at=0.0, usage=usage)


def test_A01_the_figure_is_what_the_provider_counted():
    figure = measure([row(Role.USER, "hi"), row(Role.ASSISTANT, "Hi", Usage(input=10, output=50))], ROUTE, "prompt")
    assert (figure.used, figure.source, figure.percent) == (60, FigureSource.PROVIDER, 6)


def test_what_came_after_the_reading_is_added_as_an_estimate():
    rows = [row(Role.ASSISTANT, "Hi", Usage(input=10, output=50)), row(Role.USER, "x" * 40)]
    figure = measure(rows, ROUTE, "prompt")
    assert (figure.used, figure.source) == (70, FigureSource.PROVIDER_PLUS_ESTIMATE)


def test_G01_cached_tokens_are_counted_once():
    figure = measure([row(Role.ASSISTANT, "", Usage(input=1000, cache_read=9000, output=0))], ROUTE, "")
    assert figure.used == 10_000


def test_G03_zeros_are_no_reading():
    figure = measure([row(Role.USER, "x" * 40), row(Role.ASSISTANT, "Hi", Usage())], ROUTE, "prompt")
    assert figure.source is FigureSource.ESTIMATE
    assert figure.used > 10


def test_a_notice_changes_nothing():
    rows = [row(Role.ASSISTANT, "Hi", Usage(input=10, output=50)), row(Role.NOTICE, "x" * 400)]
    assert measure(rows, ROUTE, "").source is FigureSource.PROVIDER


def test_G08_an_unknown_window_has_no_percent():
    route = Route("p", "m", "http://127.0.0.1", ApiMode.CHAT)
    assert measure([row(Role.USER, "hi")], route, "").percent is None


def test_an_empty_session_claims_nothing():
    assert measure([], ROUTE, "prompt").source is FigureSource.UNKNOWN


def test_cjk_counts_a_token_a_character_and_cyrillic_by_bytes():
    assert text_tokens("日本語") == 3
    assert text_tokens("привет") == 3
    assert text_tokens("") == 0
    assert text_tokens("a") == 1
