"""What requests cost, where a person has said it in the settings: no price is ever guessed."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from agent.config.settings import ModelEntry, PriceSettings, ProviderSettings, Settings
from agent.providers.registry import DEMO, KNOWN
from session.models import Usage
from session.usage import Spent

FREE = PriceSettings(0.0, 0.0, 0.0, 0.0)
PASSES_ON = frozenset({"litellm"})  # on this machine, to servers that may cost money
MILLION = 1_000_000


def price_of(settings: Settings, provider: str, model: str) -> PriceSettings | None:
    """What a model costs, None where nobody has said it. The demo costs nothing, nor does a server on this machine."""
    own = settings.providers.get(provider, ProviderSettings())
    price = own.models.get(model, ModelEntry()).price
    if price.input is not None and price.output is not None:
        return price
    return FREE if provider == DEMO or _is_here(provider, own) else None


def cost(usage: Usage, price: PriceSettings) -> float:
    """In dollars. The price must name input and output. Thinking is a part of the output."""
    read, written = price.input or 0.0, price.output or 0.0
    dollars = (
        usage.input * read
        + usage.cache_read * (read if price.cache_read is None else price.cache_read)
        + usage.cache_write * (read if price.cache_write is None else price.cache_write)
        + usage.output * written
    )
    return dollars / MILLION


def cost_of(settings: Settings, spent: Spent) -> float | None:
    """What a line of the ledger cost in dollars, None where no price is known."""
    price = price_of(settings, spent.provider, spent.model)
    return None if price is None else cost(spent.usage, price)


def _is_here(provider: str, own: ProviderSettings) -> bool:
    known = KNOWN.get(provider)
    base_url = own.base_url or (known.base_url if known else "")
    return provider not in PASSES_ON and is_loopback(base_url)


def is_loopback(base_url: str) -> bool:
    """Whether an address is one of this machine."""
    try:
        host = urlsplit(base_url).hostname or ""
        return host == "localhost" or host.endswith(".localhost") or ip_address(host).is_loopback
    except ValueError:
        return False
