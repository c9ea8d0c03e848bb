"""What a person wrote: settings, keys by name, and what this folder's project would add."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from agent.config.files import NotReadable, read_text
from agent.config.home import Home, launch_home
from agent.config.problem import Problem
from agent.config.project_files import CONFIG, USED
from agent.config.settings import Loaded, Sources
from agent.config.trust import Standing, Trust
from agent.doctor.finding import Finding, Grade


def read_loaded(home: Home, environ: Mapping[str, str], project: Path) -> Loaded:
    """The settings as the screen would have them in this folder, read anew: `load_settings` writes down what it read."""
    from agent.config.settings_reader import read_settings
    from agent.config.table import environment_names

    text = Trust.of(launch_home(environ)).trusted_text(project, CONFIG)
    given = {name: value for name, value in environ.items() if value and name in environment_names()}
    shown = f"{home.shown}/{home.config.name}"
    brought = None if text is None else (str(project / CONFIG), text)
    try:
        return read_settings(Sources(shown, read_text(home.config), "", brought, given))
    except NotReadable as error:
        return read_settings(Sources(shown, None, str(error), brought, given))


def examine_settings(home: Home, loaded: Loaded) -> Iterator[Finding]:
    shown = f"{home.shown}/{home.config.name}"
    yield from (_found("config", problem, loaded.settings.unread) for problem in loaded.problems)
    if not home.config.exists():
        yield Finding("config", Grade.OK, f"There is no {shown}; the defaults hold.")
    elif not loaded.problems:
        yield Finding("config", Grade.OK, f"{shown} has no mistakes.")


def examine_secrets(home: Home, names: Mapping[str, str], problems: tuple[Problem, ...]) -> Iterator[Finding]:
    """`names` are what .env sets; only which they are is told."""
    shown = f"{home.shown}/{home.env.name}"
    yield from (_found("secrets", problem) for problem in problems)
    if names:
        yield Finding("secrets", Grade.OK, f"{shown} sets {', '.join(sorted(names))}.")
    elif not os.path.lexists(home.env):
        yield Finding("secrets", Grade.OK, f"There is no {shown}.")


def examine_project(trust: Trust, project: Path) -> Iterator[Finding]:
    if trust.flaw:
        yield Finding("project", Grade.PROBLEM, trust.flaw)
    acting = [item for item in trust.would_act(project) if item.kind in USED]
    if not acting:
        yield Finding("project", Grade.OK, f"{project} brings nothing that would act.")
    for item in acting:
        match item.standing:
            case Standing.TRUSTED:
                yield Finding("project", Grade.OK, f"{item.path} is trusted.")
            case Standing.REFUSED:
                yield Finding("project", Grade.WARNING, f"{item.path} {item.refusal}.")
            case Standing.NEW | Standing.CHANGED:
                said = f"{item.path} is {item.standing} and is ignored."
                yield Finding("project", Grade.NOTE, said, "hermes trust add, if you want it to act")


def _found(area: str, problem: Problem, unread: str = "") -> Finding:
    if problem.sentence == unread:
        return Finding(area, Grade.PROBLEM, problem.sentence)
    return Finding(area, Grade.NOTE if problem.is_remark else Grade.WARNING, problem.sentence)
