"""Everything the doctor looks at, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from agent.config.dotenv_file import read_names
from agent.config.home import Home, find_home, launch_home
from agent.config.profiles import listing
from agent.config.secrets import Secrets
from agent.config.settings import Settings
from agent.config.trust import Trust
from agent.doctor.configuration import examine_project, examine_secrets, examine_settings, read_loaded
from agent.doctor.finding import Finding, Grade
from agent.doctor.home_folder import AREA as HOME
from agent.doctor.home_folder import examine_home
from agent.doctor.machine import examine_machine
from agent.doctor.servers import examine_servers, servers, unasked
from agent.doctor.store import examine_store
from agent.profile import seen_from
from agent.providers.keys import key_names
from session.errors import UserError


def examine(environ: Mapping[str, str], profile: str, project: Path, *, is_offline: bool) -> Iterator[Finding]:
    """What there is to say. Blocks, for some seconds at most; nothing is changed, and no key is in what is told."""
    yield from examine_machine(environ)
    try:
        home = find_home(environ, profile)
    except UserError as error:
        yield Finding(HOME, Grade.PROBLEM, str(error))
        return
    yield from examine_home(home)
    yield from examine_store(home)
    yield from _examine_files(home, environ, project, is_offline=is_offline)


def _examine_files(home: Home, environ: Mapping[str, str], project: Path, *, is_offline: bool) -> Iterator[Finding]:
    loaded = read_loaded(home, environ, project)
    shown = f"{home.shown}/{home.env.name}"
    values, problems = read_names(home.env, shown)
    names = key_names(loaded.settings)
    secrets = Secrets(values, seen_from(home, environ, names), names, shown)
    for finding in (
        *examine_settings(home, loaded),
        *examine_secrets(home, values, problems),
        *_examine_rotation(home, environ, names, secrets),
        *examine_project(Trust.of(launch_home(environ)), project),
        *_examine_servers(loaded.settings, secrets, is_offline=is_offline),
    ):
        yield replace(finding, text=secrets.mask(finding.text), fix=secrets.mask(finding.fix))


def _examine_rotation(home: Home, environ: Mapping[str, str], names: set[str], secrets: Secrets) -> Iterator[Finding]:
    """Which keys can't be changed under a running hermes: those that only the environment has."""
    try:
        is_one_of_several = home.root == launch_home(environ).root and len(listing(home.base)) > 1
    except UserError as error:
        yield Finding(HOME, Grade.PROBLEM, str(error))
        return
    if not is_one_of_several:
        return
    only_there = sorted(name for name in names if name in secrets.names and not secrets.is_set_here(name))
    if only_there:
        said = f"The profile {home.name} has {', '.join(only_there)} from the environment alone"
        effect = "while several profiles are open, that stays as it was when hermes started."
        yield Finding("secrets", Grade.NOTE, f"{said}; {effect}", "restart hermes after changing it")


def _examine_servers(settings: Settings, secrets: Secrets, *, is_offline: bool) -> list[Finding]:
    wanted = servers(settings, secrets)
    if is_offline:
        return list(unasked(wanted))
    return asyncio.run(examine_servers(wanted, settings, secrets))
