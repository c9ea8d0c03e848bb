"""The model of every new session, as config.yaml says it: saved whole, and looked at again."""

from __future__ import annotations

from collections.abc import Sequence

from agent.config.config_file import set_model
from agent.profile import Profile
from agent.providers.local import LocalServer
from agent.route import Choice, choose_route
from session.models import Route


def save_default(profile: Profile, route: Route, local: Sequence[LocalServer] = ()) -> tuple[Choice | None, str]:
    """What a new session talks to now, or None and why that is another model all the same.

    A name of the person's own with an address of its own is saved by that name, all else as provider and model. Blocks.
    Raises UserError: nothing is changed then.
    """
    file = f"{profile.home.shown}/{profile.home.config.name}"
    aliases, providers = profile.settings.model_aliases, profile.settings.providers
    is_alias = route.provider in aliases and route.provider not in providers
    provider, name = ("", route.provider) if is_alias else (route.provider, route.model)
    set_model(profile.home.config, provider, name, file)
    settings = profile.read_settings().settings
    chosen = choose_route(settings, profile.secrets, local=local)
    if (chosen.route.provider, chosen.route.model) != (route.provider, route.model):
        return None, f"It is saved in {file}, but {settings.model_source} names another one for new sessions here."
    return chosen, ""
