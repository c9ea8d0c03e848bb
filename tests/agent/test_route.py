"""Which model answers: what was asked for first, then a key, a local server, the demo; and never a guess for a broken config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.config.load import load_settings
from agent.config.secrets import Secrets
from agent.config.settings import Settings, Sources
from agent.config.settings_reader import read_settings
from agent.providers.local import LocalServer
from agent.providers.registry import DEMO_ROUTE, HOSTED, KEY_NAMES, KNOWN, KnownModel
from agent.route import RouteError, choose_route, resolve
from agent.route_settings import request_extras
from session.models import ApiMode, Route

Configure = Callable[[str], Settings]

MINE = """\
model: {default: big, provider: mine}
providers:
  mine:
    base_url: http://127.0.0.1:9000/v1
    key_env: MY_KEY
    context_length: 32000
    extra_body: {seed: 7, chat_template_kwargs: {enable_thinking: true, style: x}}
    models:
      big: {context_length: 64000, request_overrides: {temperature: 0.2, chat_template_kwargs: {enable_thinking: false}}}
"""

OLLAMA = LocalServer(
    "ollama", "Ollama", "http://127.0.0.1:11434/v1", (KnownModel("nomic-embed-text"), KnownModel("llama3.2:3b", 8192))
)


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    def write(text: str) -> Settings:
        (tmp_path / "config.yaml").write_text(text)
        return load_settings(tmp_path / "config.yaml", "~/.hermes-tui/config.yaml").settings

    return write


def keys(environ: Mapping[str, str] | None = None, **from_file: str) -> Secrets:
    return Secrets(from_file, environ or {}, KEY_NAMES, "~/.hermes-tui/.env")


# --- the first choice


def test_a_model_named_on_the_command_line_comes_before_the_config(configure: Configure):
    choice = choose_route(configure(MINE), keys(MY_KEY="k", GROQ_API_KEY="k"), "groq:some-model")
    assert (choice.route.provider, choice.route.model, choice.is_paid_guess) == ("groq", "some-model", False)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "big at mine answers, as c.yaml says."),
        ({"project": ("p.yaml", "model: little")}, "little at mine answers, as p.yaml says."),
        ({"environ": {"HERMES_MODEL_DEFAULT": "little"}}, "little at mine answers, as the environment says."),
        ({"flags": {"agent.max_turns": "3"}}, "big at mine answers, as c.yaml says."),
        ({"flags": {"model": "demo"}}, "The built-in demo answers, as the command line says."),
    ],
)
def test_it_is_said_which_source_chose_the_model(given: dict[str, Any], why: str):
    assert choose_route(read_settings(Sources("c.yaml", MINE, **given)).settings, keys(MY_KEY="k")).why == why


def test_the_config_comes_before_a_key_and_a_local_server(configure: Configure):
    choice = choose_route(configure(MINE), keys({"OPENAI_API_KEY": "k", "MY_KEY": "k"}), local=[OLLAMA])
    assert choice.route == Route("mine", "big", "http://127.0.0.1:9000/v1", ApiMode.CHAT, "MY_KEY", 64000)
    assert choice.is_paid_guess is False


def test_a_key_in_the_environment_is_a_guess_that_wants_a_word():
    choice = choose_route(Settings(), keys({"OPENAI_API_KEY": "k"}), local=[OLLAMA])
    assert (choice.route.provider, choice.route.key_ref, choice.is_paid_guess) == ("openai", "OPENAI_API_KEY", True)
    assert choice.route.base_url == "https://api.openai.com/v1"
    assert "OPENAI_API_KEY is set in the environment" in choice.why
    assert "/model" in choice.how_to_change


def test_a_key_that_was_put_into_our_own_file_is_no_guess():
    choice = choose_route(Settings(), keys(GROQ_API_KEY="k"))
    assert (choice.route.provider, choice.is_paid_guess) == ("groq", False)
    assert "~/.hermes-tui/.env" in choice.why


def test_keys_are_preferred_in_the_order_of_the_table():
    environ = {provider.key_env: "k" for provider in HOSTED}
    chosen: list[str] = []
    while environ:
        route = choose_route(Settings(), keys(environ)).route
        chosen.append(route.provider)
        del environ[route.key_ref]
    assert chosen == [provider.name for provider in HOSTED]
    assert chosen[:2] == ["openai", "openrouter"]


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_a_blank_key_is_no_key(blank: str):
    assert choose_route(Settings(), keys({"OPENAI_API_KEY": blank})).route == DEMO_ROUTE


def test_a_local_server_comes_before_the_demo_with_a_model_that_can_chat():
    choice = choose_route(Settings(), keys(), local=[OLLAMA])
    assert choice.route == Route("ollama", "llama3.2:3b", "http://127.0.0.1:11434/v1", ApiMode.CHAT, "", 8192)
    assert (choice.is_paid_guess, "Ollama runs on this machine" in choice.why) == (False, True)


def test_a_local_server_that_only_embeds_is_passed_over():
    server = LocalServer("ollama", "Ollama", "http://127.0.0.1:11434/v1", (KnownModel("nomic-embed-text"),))
    assert choose_route(Settings(), keys(), local=[server]).route == DEMO_ROUTE


def test_with_nothing_at_hand_the_demo_answers_and_says_so():
    choice = choose_route(Settings(file="~/.hermes-tui/config.yaml"), keys())
    assert (choice.route, choice.problem) == (DEMO_ROUTE, "")
    assert "built-in demo" in choice.why
    assert "~/.hermes-tui/config.yaml" in choice.how_to_change


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("model: {default: [", "not valid YAML"),
        ("model: {default: big, provider: nowhere}", "There is no provider nowhere"),
        ("model: {default: gpt-4.1, provider: openrouter}", "OPENROUTER_API_KEY"),
        ("model: {provider: mine}\nproviders: {mine: {models: {big: }}}", "providers.mine.base_url"),
        ("model: {provider: mine}\nproviders: {mine: {base_url: 'http://h/v1'}}", "No model of mine is named"),
        ("model: {default: m, provider: openai}\nproviders: {openai: {base_url: 'htp:/proxy'}}", "base_url"),
        ("model: {default: m, provider: openai}\nproviders: {openai: {key_env: sk-12-3}}", "key_env"),
        ("model: []", "model takes"),
        ("model: {default: gpt-4o, provider: [openai]}", "model.provider takes text"),
        ("model: unheard-of", "No provider is known for the model unheard-of"),
    ],
)
def test_a_config_that_cannot_be_followed_leads_to_the_demo_never_to_another_server(
    configure: Configure, config: str, said: str
):
    choice = choose_route(configure(config), keys({"OPENAI_API_KEY": "k"}), local=[OLLAMA])
    assert choice.route == DEMO_ROUTE
    assert said in choice.problem


@pytest.mark.parametrize(
    ("config", "chosen"),
    [
        ("model: openai:gpt-4o", "openai:gpt-4o"),
        ("model: {default: gpt-4o}", "openai:gpt-4o"),
        ("model: {provider: openai}", "openai:gpt-4.1"),
        ("model: {default: gpt-4o, provider: auto}", "openai:gpt-4o"),
        ("model: demo", "demo:demo"),
        ("model: {provider: demo}", "demo:demo"),
        ("model: x\nproviders: {mine: {base_url: 'http://h/v1'}}", "mine:x"),
        ("providers: {mine: {base_url: 'http://h/v1', models: {x: }}}", "mine:x"),
        ("model: {provider: ollama}", "ollama:llama3.2:3b"),
    ],
)
def test_the_config_may_say_it_in_short(configure: Configure, config: str, chosen: str):
    choice = choose_route(configure(config), keys({"OPENAI_API_KEY": "k"}), local=[OLLAMA])
    assert (f"{choice.route.provider}:{choice.route.model}", choice.problem) == (chosen, "")


def test_a_known_name_with_another_address_does_not_get_the_known_key(configure: Configure):
    settings = configure(
        "model: {default: m, provider: openai}\nproviders: {openai: {base_url: 'http://proxy.example/v1'}}"
    )
    route = choose_route(settings, keys({"OPENAI_API_KEY": "k"})).route
    assert (route.base_url, route.key_ref, route.window) == ("http://proxy.example/v1", "", None)


# --- /model


@pytest.mark.parametrize(
    ("wanted", "provider", "model"),
    [
        ("demo", "demo", "demo"),
        ("openai:gpt-4o", "openai", "gpt-4o"),
        ("openai", "openai", "gpt-4.1"),
        ("ollama:llama3.2:3b", "ollama", "llama3.2:3b"),
        ("mine:a/b:free", "mine", "a/b:free"),
        ("  big ", "mine", "big"),
        ("deepseek/deepseek-r1:free", "mine", "deepseek/deepseek-r1:free"),
    ],
)
def test_a_name_resolves_to_one_route(configure: Configure, wanted: str, provider: str, model: str):
    settings, secrets = configure(MINE), keys(MY_KEY="k", OPENAI_API_KEY="k")
    current = resolve("mine:big", settings, secrets)
    route = resolve(wanted, settings, secrets, current, [OLLAMA])
    assert (route.provider, route.model) == (provider, model)


def test_a_bare_model_from_the_demo_finds_who_has_it(configure: Configure):
    settings, secrets = configure(MINE), keys(MY_KEY="k", GROQ_API_KEY="k")
    assert resolve("big", settings, secrets, DEMO_ROUTE).provider == "mine"
    assert resolve("openai/gpt-oss-120b", settings, secrets, DEMO_ROUTE).provider == "groq"
    assert resolve("llama3.2:3b", settings, secrets, DEMO_ROUTE, [OLLAMA]).provider == "ollama"


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("opnai:gpt-4.1", "There is no provider opnai. Did you mean openai?"),
        ("foo:bar", "There is no provider foo. Known are openai, openrouter"),
        ("openrouter:x", "/key OPENROUTER_API_KEY on the screen or hermes secrets set OPENROUTER_API_KEY in a shell"),
        ("lmstudio", "No model of lmstudio is named"),
        ("", "Name a model as provider:model"),
        ("a\nb", "Name a model as provider:model"),
        ("x" * 300, "Name a model as provider:model"),
        ("{provider}", "No provider is known for the model {provider}"),
    ],
)
def test_a_name_that_leads_nowhere_is_one_sentence(wanted: str, said: str):
    with pytest.raises(RouteError) as caught:
        resolve(wanted, Settings(), keys(OPENAI_API_KEY="k"), DEMO_ROUTE)
    assert said in str(caught.value)


def test_a_typing_error_in_a_provider_is_not_sent_as_a_model_of_the_current_one(configure: Configure):
    settings, secrets = configure(MINE), keys(MY_KEY="k")
    with pytest.raises(RouteError, match="Did you mean openrouter"):
        resolve("openruter:x", settings, secrets, resolve("mine:big", settings, secrets))


# --- what else a route carries


def test_the_window_is_what_was_said_most_closely(configure: Configure):
    settings, secrets = configure(MINE), keys(MY_KEY="k", OPENAI_API_KEY="k", NOUS_API_KEY="k")
    windows = {
        name: resolve(name, settings, secrets, local=[OLLAMA]).window
        for name in ("mine:big", "mine:other", "ollama:llama3.2:3b", "openai:gpt-4o", "openai:other", "nous")
    }
    assert windows == {
        "mine:big": 64000,
        "mine:other": 32000,
        "ollama:llama3.2:3b": 8192,
        "openai:gpt-4o": 128_000,
        "openai:other": None,
        "nous": None,
    }


def test_a_models_overrides_are_laid_over_its_providers_body(configure: Configure):
    settings, secrets = configure(MINE), keys(MY_KEY="k")
    assert request_extras(settings, resolve("mine:big", settings, secrets)) == {
        "seed": 7,
        "temperature": 0.2,
        "chat_template_kwargs": {"enable_thinking": False, "style": "x"},
    }
    assert request_extras(settings, DEMO_ROUTE) == {}


def test_no_route_holds_a_key(configure: Configure):
    route = resolve("mine:big", configure(MINE), keys(MY_KEY="sk-very-secret"))
    assert "sk-very-secret" not in repr(route)


def test_a_provider_may_be_set_to_responses(configure: Configure):
    settings = configure("providers: {mine: {base_url: 'http://h/v1', api_mode: responses, models: {x: }}}")
    assert choose_route(settings, keys()).route.api_mode is ApiMode.RESPONSES


def test_the_table_is_usable_as_it_stands():
    places = [provider.base_url for provider in KNOWN.values() if provider.base_url]
    assert len(places) == len(set(places))
    for provider in HOSTED:
        route = resolve(provider.name, Settings(), keys({provider.key_env: "k"}))
        assert route.base_url.startswith("https://")
        assert route.key_ref == provider.key_env
