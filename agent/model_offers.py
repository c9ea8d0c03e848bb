"""What a person without a model can take at once: servers on this machine, and keys that lie ready."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from agent.config.secrets import Secrets
from agent.providers.local import LocalServer
from agent.providers.registry import HOSTED, LOCAL
from agent.route import Choice
from session.models import ApiMode


class Offer(Struct, frozen=True):
    """A model that can be had: `name` as `resolve` takes it, `label` as a person reads it. No key is in either."""

    name: str
    label: str


class Offers(Struct, frozen=True):
    """`about` says in a few words why somebody has to choose; `key` is the one that the configured model lacks."""

    about: str
    offers: tuple[Offer, ...]
    key: str = ""


def lacks_model(choice: Choice) -> bool:
    """Whether the demo answers only because nothing else could be had."""
    return choice.route.api_mode is ApiMode.DEMO and bool(choice.problem or choice.lacking)


def offers_for(choice: Choice, secrets: Secrets, local: Sequence[LocalServer], *, was_looked: bool) -> Offers:
    """`was_looked`: servers on this machine were looked for, and those in `local` answered."""
    key = choice.lacking[0] if choice.problem and len(choice.lacking) == 1 else ""
    about = choice.problem or "hermes needs a model to talk to. Nothing is sent anywhere before you choose one."
    if was_looked and not local:
        names = ", ".join(known.label for known in LOCAL)
        about += f" No server answers on this machine; these were looked for: {names}."
    return Offers(about, (*_of_servers(local), *_of_keys(secrets)), key)


def _of_servers(local: Sequence[LocalServer]) -> Iterator[Offer]:
    for server in local:
        if (model := server.first_model) is not None:
            yield Offer(f"{server.name}:{model.id}", f"{server.label} on this machine: {model.id}")


def _of_keys(secrets: Secrets) -> Iterator[Offer]:
    for known in HOSTED:
        if secrets.has(known.key_env):
            model = known.models[0].id
            where = secrets.source(known.key_env)
            yield Offer(f"{known.name}:{model}", f"{known.label}, with {known.key_env} from {where}: {model}")
