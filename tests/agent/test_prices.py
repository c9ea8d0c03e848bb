"""What requests cost where a price is set, and that none is made up where none is."""

from __future__ import annotations

import pytest

from agent.config.settings import ModelEntry, PriceSettings, ProviderSettings, Settings
from agent.prices import FREE, cost, cost_of, price_of
from session.models import Usage
from session.usage import Spent

SONNET = PriceSettings(3.0, 15.0, 0.3, 3.75)
SETTINGS = Settings(
    providers={
        "anthropic": ProviderSettings(
            models={"sonnet": ModelEntry(price=SONNET), "half": ModelEntry(price=PriceSettings(3.0))}
        ),
        "here": ProviderSettings(base_url="http://127.0.0.1:9000/v1", models={"dear": ModelEntry(price=SONNET)}),
        "v6": ProviderSettings(base_url="http://[::1]:9000/v1"),
        "named": ProviderSettings(base_url="http://localhost/v1"),
        "house": ProviderSettings(base_url="http://192.168.1.4:8000/v1"),
        "ollama": ProviderSettings(base_url="https://ollama.example.com/v1"),
        "litellm": ProviderSettings(base_url="http://127.0.0.1:4000/v1"),
        "odd": ProviderSettings(base_url="http://[not-an-address/v1"),
    }
)


@pytest.mark.parametrize(
    ("provider", "model", "price"),
    [
        ("anthropic", "sonnet", SONNET),
        ("anthropic", "opus", None),
        ("anthropic", "half", None),  # without a price of what it writes, nothing can be told
        ("openai", "gpt-4.1", None),
        ("demo", "demo", FREE),
        ("here", "any", FREE),
        ("here", "dear", SONNET),
        ("v6", "any", FREE),
        ("named", "any", FREE),
        ("lmstudio", "any", FREE),
        ("ollama", "any", None),  # its name alone puts it on no machine
        ("house", "any", None),  # somebody pays for it, perhaps
        ("litellm", "any", None),  # it passes on to others
        ("odd", "any", None),
        ("gone", "any", None),
    ],
)
def test_a_price_is_what_the_settings_say_and_nothing_costs_nothing_but_what_runs_here(provider, model, price):
    assert price_of(SETTINGS, provider, model) == price


def test_each_kind_of_token_has_its_price():
    million = 1_000_000
    assert cost(Usage(input=million), SONNET) == 3.0
    assert cost(Usage(cache_read=million), SONNET) == 0.3
    assert cost(Usage(cache_write=million), SONNET) == 3.75
    assert cost(Usage(output=million, reasoning=million), SONNET) == 15.0  # thinking is in the output already
    assert cost(Usage(200_000, 10_000, 800_000, 40_000, 2_000), SONNET) == pytest.approx(0.6 + 0.15 + 0.24 + 0.15)


def test_without_a_price_of_their_own_cached_tokens_cost_what_others_do():
    assert cost(Usage(1_000, 0, 1_000, 1_000), PriceSettings(10.0, 20.0)) == pytest.approx(0.03)


def test_a_line_of_the_ledger_without_a_price_has_no_cost():
    used = Usage(input=1_000_000)
    models = (("anthropic", "sonnet"), ("demo", "demo"), ("openai", "gpt-4.1"))
    assert [cost_of(SETTINGS, Spent(*model, "", 1, used)) for model in models] == [3.0, 0.0, None]
