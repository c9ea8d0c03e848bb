"""Complaint 69: what a server tells of its limits, and of when they begin anew, reaches the person; nothing is made up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from agent.providers.base import ErrorKind
from agent.providers.quotas import at_time, limits_in

HOUR_S = 3600.0
LATE = {"x-ratelimit-limit-requests": "100", "x-ratelimit-remaining-requests": "0"}


def failing(**more: object) -> str:
    return json.dumps({"error": {"message": "Limit reached", **more}})


def lines(headers: dict[str, str]) -> list[str]:
    return [f"{name}: {value}" for name, value in headers.items()]


def in_an_hour() -> float:
    return time.time() + HOUR_S


AS_WRITTEN: dict[str, Callable[[], str]] = {
    "units": lambda: "1h0m0s",
    "seconds": lambda: "3600",
    "milliseconds": lambda: "3600000ms",
    "a moment": lambda: str(in_an_hour()),
    "a moment in milliseconds": lambda: str(round(in_an_hour() * 1000)),
    "a date": lambda: datetime.fromtimestamp(in_an_hour(), UTC).isoformat(),
}


@pytest.mark.parametrize("form", AS_WRITTEN)
def test_a_moment_is_read_as_servers_write_it(form: str):
    (limit,) = limits_in({**LATE, "x-ratelimit-reset-requests": AS_WRITTEN[form]()})
    assert (limit.what, limit.most, limit.left) == ("requests", 100, 0)
    assert limit.resets_at == pytest.approx(in_an_hour(), abs=30)
    assert str(limit) == f"0 of 100 requests left, resets {at_time(limit.resets_at)}"


@pytest.mark.parametrize(
    "header",
    [{}, {"x-ratelimit-reset-requests": "soon"}, {"x-ratelimit-reset-requests": "nan"}]
    + [{"x-ratelimit-reset-requests": wrong} for wrong in ("1e400", "-5", "9" * 60, "2020-01-01T00:00:00Z")],
)
def test_what_is_no_moment_is_none(header: dict[str, str]):
    (limit,) = limits_in({**LATE, **header})
    assert (limit.resets_at, str(limit)) == (None, "0 of 100 requests left")


def test_those_of_anthropic_and_of_a_proxy_are_read_and_others_are_none():
    told = limits_in({"anthropic-ratelimit-input-tokens-remaining": "20000", "x-ratelimit-remaining": "7"})
    assert list(map(str, told)) == ["20,000 tokens in left", "7 left"]
    assert limits_in({"date": "today", "x-ratelimit-limit-requests": "100"}) == ()


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({**LATE, "x-ratelimit-reset-requests": "1h"}, failing()),
        ({}, failing(type="usage_limit_reached", resets_in_seconds=3600)),
        ({}, failing(details=[{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3600s"}])),
        ({}, failing(metadata={"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "3600"}})),
    ],
)
async def test_complaint_69_a_limit_that_is_reached_says_when_it_resets(wire, ask, headers, body):
    wire.answer("429 Too Many Requests", body, *lines(headers))
    error = (await ask()).error
    assert (error.kind, error.may_retry) == (ErrorKind.RATE_LIMIT, False)
    assert any(f"The limit resets {at_time(time.time() + HOUR_S - late)}: choose" in error.sentence for late in (0, 60))


async def test_a_limit_of_which_nothing_is_told_has_no_time(wire, ask):
    wire.answer(
        "429 Too Many Requests", failing(), "x-ratelimit-remaining-requests: 5", "x-ratelimit-reset-requests: 9h"
    )
    error = (await ask()).error
    assert "reset" not in error.sentence
    assert (error.may_retry, error.retry_after_s) == (True, None)


@pytest.mark.parametrize(
    ("key", "begins"), [("sk-wrong-0123", "Give test another one"), ("", "No key was sent. Give test")]
)
async def test_a_refused_key_names_the_provider_and_the_command_that_takes_another(wire, ask, key, begins):
    wire.answer("401 Unauthorized", failing())
    sentence = (await ask(key=key)).error.sentence
    assert f"refused the API key (401): Limit reached. {begins}" in sentence
    assert "with /key TEST_KEY on the screen, or hermes secrets set TEST_KEY in a shell." in sentence
