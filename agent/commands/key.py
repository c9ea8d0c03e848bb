"""Keys that are given on the screen: which one is asked for, what is taken for one, and what is true once it is kept."""

from __future__ import annotations

from agent.commands.table import KeyAsked, Said
from agent.config.settings import SETTING_NAME
from agent.hub import Hub
from session.errors import UserError
from session.models import ApiMode, Route

LONGEST_CHARS = 100_000


class NotAName(UserError):
    """Something else than a name stands behind /key, perhaps the key itself."""

    sentence = (
        "/key takes the NAME of a key, in capitals such as OPENAI_API_KEY, and asks for the key itself, hidden. "
        "Nothing was saved."
    )


class NotAKey(UserError):
    """What was given can be no key."""

    sentence = "{what}, so nothing was saved."


def ask_key(hub: Hub, session_id: str, argument: str) -> KeyAsked | Said:
    """Which key to ask for: the named one, else the one that the session's model needs. Raises UserError."""
    route, secrets = hub.runtime(session_id).s.route, hub.profile.secrets
    name = argument or _needed(hub, route)
    if not name:
        return Said(f"{_spoken(route)} needs no key. Any other is given by its name: /key OPENAI_API_KEY")
    if argument and argument != route.key_ref and not SETTING_NAME.fullmatch(argument):
        raise NotAName
    secrets.check(name)
    taken = f" It takes the place of the one from {secrets.source(name)}." if secrets.has(name) else ""
    return KeyAsked(session_id, name, f"Nothing of it is shown. It is kept in {secrets.file}.{taken}")


async def keep_key(hub: Hub, asked: KeyAsked, given: str) -> str:
    """Save a key as it was typed or pasted; what is true then, as a sentence. Raises NotAKey, NotSaved."""
    secrets = hub.profile.secrets
    await secrets.save(asked.name, checked_key(given))
    kept = f"{asked.name} is kept in {secrets.file}"
    if await hub.take_up_key(asked.session_id, asked.name):
        return f"{kept}. From now on {_spoken(hub.choice.route)} answers here."
    return f"{kept} and holds from the next request."


def checked_key(given: str) -> str:
    """The key without the blanks around it. Raises NotAKey."""
    key = given.strip()
    lines = len(key.splitlines())
    if not key:
        raise NotAKey(what="Nothing was given")
    if len(key) > LONGEST_CHARS:
        raise NotAKey(what=f"What was given is longer than {LONGEST_CHARS:,} characters, which no key is")
    if lines > 1:
        raise NotAKey(what=f"A key is one line and {lines:,} were given")
    if not (key.isascii() and key.isprintable()):  # no header of a request takes another
        raise NotAKey(what="What was given holds characters that no key has (an accent, or a quote from a document?)")
    return key


def _needed(hub: Hub, route: Route) -> str:
    """The key of the model that answers, or of the one that the demo stands in for; "" for none."""
    if route.api_mode is ApiMode.DEMO and len(hub.choice.lacking) == 1:
        return hub.choice.lacking[0]
    return route.key_ref


def _spoken(route: Route) -> str:
    return "The built-in demo" if route.api_mode is ApiMode.DEMO else f"{route.model} at {route.provider}"
