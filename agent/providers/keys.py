"""Which key goes to which model server, by the name of its variable, and which commands give one."""

from __future__ import annotations

from agent.config.key_cmd import KeyCommand
from agent.config.problem import Problem
from agent.config.settings import ProviderSettings, Settings
from agent.providers.registry import KEY_NAMES, KNOWN


def key_name(provider: str, own: ProviderSettings) -> str:
    """The name of the key that a server gets, "" for none.

    A server of the person's own never gets the key of the known one whose name it took. A command that names no variable
    gives its key under the name of its own setting.
    """
    known = KNOWN.get(provider)
    is_known_place = known is not None and (not own.base_url or known.is_at(own.base_url))
    of_known = known.key_env if known is not None and is_known_place else ""
    return own.key_env or of_known or (key_cmd_setting(provider) if own.key_cmd else "")


def key_cmd_setting(provider: str) -> str:
    return f"providers.{provider}.key_cmd"


def key_names(settings: Settings) -> set[str]:
    """The variables that hold keys of model servers."""
    of_aliases = (alias.key_env for alias in settings.model_aliases.values())
    return {*KEY_NAMES, *of_aliases, *(key_name(name, own) for name, own in settings.providers.items())} - {""}


def key_commands(settings: Settings) -> tuple[dict[str, KeyCommand], tuple[Problem, ...]]:
    """The commands that give keys, by the name of the key; a name for which several stand gets none of them.

    To take the first would send the key of one server to another one.
    """
    given: dict[str, list[KeyCommand]] = {}
    for provider, own in settings.providers.items():
        if own.key_cmd and not own.flaw:
            command = KeyCommand(key_cmd_setting(provider), own.key_cmd, own.key_cmd_ttl_s)
            given.setdefault(key_name(provider, own), []).append(command)
    commands = {name: asked[0] for name, asked in given.items() if len({one.command for one in asked}) == 1}
    return commands, tuple(_shared(settings.file, name, given[name]) for name in given.keys() - commands.keys())


def _shared(file: str, name: str, asked: list[KeyCommand]) -> Problem:
    settings = " and ".join(one.setting for one in asked)
    return Problem(file, f"{settings} differ but both give {name}, so neither is used; give each server a key_env.")
