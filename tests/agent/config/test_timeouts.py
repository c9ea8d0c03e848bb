"""The limits of a request as settings say them: numbers with a fraction, for all servers or for one."""

from __future__ import annotations

import pytest

from agent.config.settings import Settings, Sources
from agent.config.settings_reader import read_settings
from agent.providers.watch import Timeouts
from agent.route_settings import timeouts
from session.models import ApiMode, Route

ROUTE = Route("here", "m", "http://127.0.0.1:1/v1", ApiMode.CHAT)


def read(text: str):
    return read_settings(Sources("config.yaml", text))


def test_without_settings_the_defaults_of_the_table_and_of_the_code_are_the_same():
    assert timeouts(Settings(), ROUTE) == Timeouts()


def test_what_a_provider_says_stands_over_what_is_said_for_all():
    text = "timeouts: {idle: 60, total: 0}\nagent: {stream_drain_timeout: 0.5}\n"
    settings = read(
        f"{text}providers: {{here: {{base_url: 'http://127.0.0.1:1/v1', timeouts: {{idle: 7.5}}}}}}"
    ).settings
    assert timeouts(settings, ROUTE) == Timeouts(idle_s=7.5, total_s=0, drain_s=0.5)


@pytest.mark.parametrize("value", ["true", "no", "two", "-1", "61", "nan", ".inf", "1e400", "[2]"])
def test_what_is_no_number_of_seconds_is_told_and_the_default_holds(value: str):
    loaded = read(f"agent: {{stream_drain_timeout: {value}}}")
    assert loaded.settings.agent.stream_drain_timeout_s == 2.0
    (problem,) = loaded.problems
    assert "takes a number from 0 to 60; 2 is used." in problem.sentence


@pytest.mark.parametrize("names", ["[gpt-5]", "['openai:']", "[':x']", "['a b:c']"])
def test_a_fallback_names_its_provider_and_model(names: str):
    loaded = read(f"fallback: {names}")
    assert loaded.settings.fallback == ()
    assert "takes a list of models as provider:model" in loaded.problems[0].sentence
