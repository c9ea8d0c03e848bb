"""The switches of a route: what is known of its server, over it what the config says, and which header its key goes in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.config.load import load_settings
from agent.config.secrets import Secrets
from agent.config.settings import Settings
from agent.providers.compatibility import STANDARD, CallIds, Compatibility, EmptyContent, MaxTokensField
from agent.providers.registry import DEMO_ROUTE, KEY_NAMES, KNOWN
from agent.route import RouteError, auxiliary_route, choose_route, resolve
from agent.route_settings import compatibility, key_headers
from session.models import Route

Switches = Callable[[str, str], Compatibility]


def keys(**from_file: str) -> Secrets:
    return Secrets(from_file, {}, KEY_NAMES, ".env")


ALL_KEYS = keys(**dict.fromkeys(KEY_NAMES, "k"))


@pytest.fixture
def configure(tmp_path: Path) -> Callable[..., Settings]:
    def write(text: str = "", **given: object) -> Settings:
        (tmp_path / "config.yaml").write_text(text)
        loaded = load_settings(tmp_path / "config.yaml", "config.yaml", **given)  # type: ignore[arg-type]
        assert [problem.sentence for problem in loaded.problems] == []
        return loaded.settings

    return write


@pytest.fixture
def switches(configure: Callable[..., Settings]) -> Switches:
    """Those of a model, with a config."""

    def of(model: str, text: str) -> Compatibility:
        settings = configure(text)
        return compatibility(settings, resolve(model, settings, ALL_KEYS))

    return of


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("deepseek", Compatibility(echo_reasoning=True, images=False)),
        ("moonshot", Compatibility(echo_reasoning=True)),
        ("groq", STANDARD),
        ("mistral", Compatibility(usage_option=False, call_ids=CallIds.NINE)),
        (
            "openai",
            Compatibility(
                max_tokens_field=MaxTokensField.MAX_COMPLETION_TOKENS, call_ids=CallIds.SHORT, server_compaction=True
            ),
        ),
    ],
)
def test_what_is_known_of_a_server_holds_without_a_config(
    switches: Switches, model: str, expected: Compatibility
) -> None:
    assert switches(model, "") == expected


def test_the_config_stands_over_what_is_known_and_a_model_over_its_server(switches: Switches) -> None:
    config = """
providers:
  mistral:
    compatibility: {usage_option: yes, empty_content: empty}
    models: {odd: {compatibility: {empty_content: omit, think_tags: no}}}
"""
    known = Compatibility(call_ids=CallIds.NINE)
    assert switches("mistral:any", config) == replace(known, empty_content=EmptyContent.EMPTY)
    assert switches("mistral:odd", config) == replace(known, empty_content=EmptyContent.OMIT, think_tags=False)


def test_a_server_of_ones_own_is_not_taken_for_the_known_one_whose_name_it_has(switches: Switches) -> None:
    assert switches("mistral:m", "providers: {mistral: {base_url: 'http://127.0.0.1:9/v1'}}") == STANDARD


def test_a_project_can_set_a_switch_of_a_server(configure: Callable[..., Settings]) -> None:
    settings = configure("", project=("p", "providers: {groq: {compatibility: {parallel_calls: false}}}"))
    route = resolve("groq", settings, ALL_KEYS)
    assert compatibility(settings, route) == Compatibility(parallel_calls=False)


AZURE = "providers: {azure: {base_url: 'https://mine.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21'}}"


def test_azure_gets_its_key_at_its_own_hosts_in_its_own_header(configure: Callable[..., Settings]) -> None:
    settings = configure(AZURE)
    route = resolve("azure:gpt", settings, ALL_KEYS)
    assert route.key_ref == "AZURE_OPENAI_API_KEY"
    assert key_headers(settings, route, "secret") == {"api-key": "secret"}


@pytest.mark.parametrize(
    ("provider", "base_url", "is_its_own"),
    [
        ("azure", "https://mine.openai.azure.com/openai/v1", True),
        ("azure", "https://mine.services.ai.azure.com/openai/v1", True),
        ("azure", "http://mine.openai.azure.com/openai/v1", False),
        ("azure", "https://mine.openai.azure.com.evil.example/openai/v1", False),
        ("azure", "https://evil.example/?x=.openai.azure.com", False),
        ("azure", "https://mine.openai.azure.com:8443/openai/v1", False),
        ("bedrock", "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1", True),
        ("bedrock", "https://bedrock-mantle.us-east-1.api.aws/v1", True),
        ("bedrock", "https://bedrock-runtime.bucket.s3.amazonaws.com/openai/v1", False),
        ("openai", "https://api.openai.com/v1", True),
        ("openai", "https://api.openai.com.evil.example/v1", False),
    ],
)
def test_a_known_key_goes_to_the_hosts_of_its_server_only(provider: str, base_url: str, is_its_own: bool) -> None:
    assert KNOWN[provider].is_at(base_url) is is_its_own


@pytest.mark.parametrize("provider", ["azure", "bedrock", "litellm"])
def test_a_server_at_ones_own_address_asks_for_it_with_an_example(provider: str) -> None:
    with pytest.raises(RouteError, match=f"Set providers.{provider}.base_url in config.yaml, for example http"):
        resolve(f"{provider}:m", Settings(), ALL_KEYS)


def test_only_an_api_version_may_follow_the_question_mark_of_an_address(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("providers: {p: {base_url: 'https://h/v1?key=sk-secret'}}")
    (problem,) = load_settings(tmp_path / "config.yaml", "config.yaml").problems
    assert "nothing but an api-version may follow a question mark" in problem.sentence
    assert "sk-secret" not in problem.sentence


def test_a_provider_of_which_only_switches_were_saved_does_not_draw_a_bare_model_to_it(
    configure: Callable[..., Settings],
) -> None:
    config = "model: gpt-4.1\nproviders: {mistral: {compatibility: {parallel_calls: no}}}"
    assert choose_route(configure(config), ALL_KEYS).route.provider == "openai"


# --- the auxiliary route

MAIN = Route("groq", "big", "https://api.groq.com/openai/v1", DEMO_ROUTE.api_mode, "GROQ_API_KEY")


def test_without_a_word_the_auxiliary_route_is_the_main_one() -> None:
    assert auxiliary_route(Settings(), ALL_KEYS, MAIN) is MAIN
    assert auxiliary_route(Settings(), ALL_KEYS, DEMO_ROUTE) is DEMO_ROUTE


@pytest.mark.parametrize(
    ("config", "provider", "model"),
    [
        ("{provider: mistral, model: small}", "mistral", "small"),
        ("{provider: mistral}", "mistral", "mistral-medium-latest"),
        ("{model: small}", "openai", "small"),
        ("{provider: auto, model: small}", "openai", "small"),
        ("{model: 'groq:small'}", "groq", "small"),
        ("{provider: demo}", "demo", "demo"),
    ],
)
def test_the_auxiliary_route_is_the_one_that_is_named(
    configure: Callable[..., Settings], config: str, provider: str, model: str
) -> None:
    settings = configure(f"auxiliary: {config}")
    route = auxiliary_route(settings, ALL_KEYS, resolve("openai", settings, ALL_KEYS))
    assert (route.provider, route.model) == (provider, model)


def test_an_auxiliary_route_that_cannot_be_had_is_told(configure: Callable[..., Settings]) -> None:
    with pytest.raises(RouteError, match="MISTRAL_API_KEY"):
        auxiliary_route(configure("auxiliary: {provider: mistral}"), keys(), MAIN)
