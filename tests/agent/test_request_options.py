"""What config.yaml says of a provider and a model is what reaches the wire."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.config.load import load_settings
from agent.config.secrets import Secrets
from agent.config.settings import Settings, Sources
from agent.config.settings_reader import read_settings
from agent.route import resolve
from agent.route_settings import request_extras
from session.models import ExitReason

MODEL = "reasoning_effort: high, max_tokens: 500, temperature: 0.5"

Configure = Callable[[str], Settings]


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    def write(text: str) -> Settings:
        (tmp_path / "config.yaml").write_text(text)
        return load_settings(tmp_path / "config.yaml", "config.yaml").settings

    return write


@pytest.fixture
def extras(configure: Configure) -> Callable[[str], dict[str, object]]:
    """What is added to the requests to model x of a provider that is described so."""

    def added(provider: str) -> dict[str, object]:
        settings = configure(f"providers: {{mine: {{base_url: 'http://h/v1', {provider}}}}}")
        return request_extras(settings, resolve("mine:x", settings, Secrets({}, {}, frozenset(), "")))

    return added


def test_the_options_of_a_model_have_the_names_of_chat_completions(extras):
    assert extras(f"models: {{x: {{{MODEL}}}}}") == {"reasoning_effort": "high", "max_tokens": 500, "temperature": 0.5}


def test_the_options_of_a_model_have_the_names_of_the_responses_api(extras):
    more = "extra_body: {reasoning: {summary: auto}}"
    assert extras(f"api_mode: responses, {more}, models: {{x: {{{MODEL}}}}}") == {
        "reasoning": {"effort": "high", "summary": "auto"},
        "max_output_tokens": 500,
        "temperature": 0.5,
    }


def test_the_longest_answer_has_the_name_that_the_server_takes(extras):
    switch = "compatibility: {max_tokens_field: max_completion_tokens}"
    assert extras(f"{switch}, models: {{x: {{max_tokens: 9}}}}") == {"max_completion_tokens": 9}


def test_a_models_own_word_stands_over_its_providers_and_its_overrides_over_all(extras):
    body = "extra_body: {temperature: 1, max_tokens: 1}"
    model = "{temperature: 0, max_tokens: 2, request_overrides: {max_tokens: 3}}"
    assert extras(f"{body}, models: {{x: {model}}}") == {"temperature": 0, "max_tokens": 3}


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("extra_headers: {Authorization: x}", "keys belong in .env"),
        ("extra_headers: {'X Y': x}", "letters, digits and dashes"),
        ('extra_headers: {X-Y: "a\\r\\nb"}', "one line of plain ASCII text"),
        ("proxy: 'http://me:word@h:1'", "without a name or password"),
        ("models: {x: {temperature: 3}}", "a number from 0 to 2"),
        ("models: {x: {reasoning_effort: huge}}", "one of: none, minimal, low"),
    ],
)
def test_an_option_that_no_request_could_carry_is_told(setting, said):
    text = f"providers: {{mine: {{base_url: 'http://h/v1', {setting}}}}}"
    (problem,) = read_settings(Sources("config.yaml", text)).problems
    assert said in problem.text
    assert "word" not in problem.text.replace("password", "")


def test_C25_a_project_never_says_by_which_way_a_person_reaches_a_server():
    project = (".hermes/config.yaml", "providers: {mine: {proxy: 'http://evil:1', ca_file: evil.pem}}")
    mine = "providers: {mine: {base_url: 'http://h/v1', proxy: 'http://mine:1'}}"
    for text in (mine, "providers: {mine: {base_url: 'http://h/v1'}}"):
        provider = read_settings(Sources("config.yaml", text, project=project)).settings.providers["mine"]
        assert "evil" not in provider.proxy + provider.ca_file


async def test_what_is_configured_reaches_the_wire_by_the_way_that_is_named(home, served, open_bench):
    home.mkdir(mode=0o700)
    config = home / "config.yaml"
    config.write_text(
        "model: {default: m, provider: served}\nprobe_local: false\nproviders:\n  served:\n"
        f"    base_url: http://models.invalid/v1\n    proxy: {served.url.removesuffix('/v1')}\n"
        f"    extra_headers: {{X-Title: mine}}\n    models: {{m: {{{MODEL}}}}}\n"
    )
    opened = await open_bench()
    served.reply(text="ok")
    assert (await opened.ask("hi")).ended.reason is ExitReason.COMPLETED
    sent = served.requests[0]
    assert "x-title: mine\r\n" in served.heads[0].lower()
    assert served.heads[0].startswith("POST http://models.invalid/v1/chat/completions ")
    assert (sent["reasoning_effort"], sent["max_tokens"], sent["temperature"]) == ("high", 500, 0.5)
