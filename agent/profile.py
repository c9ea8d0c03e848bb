"""Whose settings, keys and conversations: one home and everything read from it.

Together with agent/open.py the only place that looks at the environment; all others are given what they need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.config.home import Home, find_home
from agent.config.problem import Problem
from agent.config.secrets import Secrets, load_secrets
from agent.config.settings import Settings, load_settings
from agent.providers.registry import KEY_NAMES
from session.db import SessionDB


@dataclass(frozen=True, slots=True)
class Profile:
    """One home, opened. `environ` is the environment the process was started with."""

    name: str
    home: Home
    settings: Settings
    secrets: Secrets
    db: SessionDB
    problems: tuple[Problem, ...]
    environ: Mapping[str, str] = field(repr=False)

    @classmethod
    def load(cls, environ: Mapping[str, str]) -> Profile:
        """Open the home that an environment names. Blocks for some milliseconds; nothing but UserError is expected.

        The database comes first: where it belongs to another program, nothing else is made in the folder.
        """
        home = find_home(environ)
        home.create()
        db = SessionDB.open(home.db)
        try:
            return _opened(home, db, dict(environ))
        except BaseException:
            db.close()
            raise


def _opened(home: Home, db: SessionDB, environ: Mapping[str, str]) -> Profile:
    home.create_folders()
    loaded = load_settings(home.config, f"{home.shown}/{home.config.name}")
    key_names = {*KEY_NAMES, *(provider.key_env for provider in loaded.settings.providers.values())} - {""}
    secrets, problems = load_secrets(home.env, environ, key_names, f"{home.shown}/{home.env.name}")
    return Profile("default", home, loaded.settings, secrets, db, (*loaded.problems, *problems), environ)
