"""Whose settings, keys and conversations: one home and everything read from it.

Together with agent/open.py the only place that looks at the environment; all others are given what they need. There is
no key of the process: a key is asked for at some profile's `Secrets`, and a child's environment is made by them alone,
so that neither can be had without saying whose it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from agent.config.dotenv_file import read_names
from agent.config.home import Home, find_home, launch_home
from agent.config.load import load_settings
from agent.config.private_files import tighten_home
from agent.config.problem import Problem
from agent.config.profile_lock import ProfileLock
from agent.config.scope import without_credentials
from agent.config.secrets import Secrets, load_secrets
from agent.config.settings import Loaded, Settings
from agent.providers.keys import key_commands, key_names
from agent.workspace import find_workspace
from session.db import SessionDB

if TYPE_CHECKING:
    from agent.config.trust import Trust

PROJECT_CONFIG = ".hermes/config.yaml"
NO_FLAGS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Profile:
    """One home, opened.

    `environ` is what it may see of the environment the process was started with: all of it where the process was
    started for this home; without every credential where it is routed, which is told by its home and nothing else.
    `ignored` says what the project at hand brings without being trusted, "" for nothing.
    """

    name: str
    home: Home
    settings: Settings
    secrets: Secrets
    db: SessionDB
    problems: tuple[Problem, ...]
    environ: Mapping[str, str] = field(repr=False)
    lock: ProfileLock = field(repr=False)
    read_settings: Callable[[], Loaded] = field(repr=False)  # anew, as they are on the disk now; blocks
    trust: Callable[[], Trust | None] = field(
        repr=False
    )  # which projects may act; None: none does, whatever is recorded
    is_routed: bool = False
    ignored: str = ""

    @classmethod
    def load(
        cls,
        environ: Mapping[str, str],
        *,
        name: str = "",
        cwd: Path | None = None,
        flags: Mapping[str, str] = NO_FLAGS,
        is_trusting: bool = False,
    ) -> Profile:
        """Open a profile beside the home that an environment names; `name` "" is the one in use.

        `cwd` is where it will work: what a trusted project says there holds, too; `is_trusting` trusts it for this run.
        Blocks for some milliseconds; nothing but UserError is expected.

        The database comes first: where it belongs to another program, nothing else is made in the folder.
        """
        home = find_home(environ, name)
        home.create()
        db = SessionDB.open(home.db)
        try:
            lock = ProfileLock.share(home)
            try:
                return _opened(home, db, lock, dict(environ), _Ask(cwd, flags, is_trusting))
            except BaseException:
                lock.release()
                raise
        except BaseException:
            db.close()
            raise

    def close(self) -> None:
        """Let go of the store and of the home; a second time does nothing. Blocks."""
        try:
            self.db.close()
        finally:
            self.lock.release()


@dataclass(frozen=True, slots=True)
class _Ask:
    """What the command line adds to the files."""

    cwd: Path | None
    flags: Mapping[str, str]
    is_trusting: bool


def _opened(home: Home, db: SessionDB, lock: ProfileLock, environ: Mapping[str, str], ask: _Ask) -> Profile:
    launch = launch_home(environ)
    trust = _trust(launch, ask)
    project, ignored = _project(trust, ask)

    def read_settings() -> Loaded:
        shown = f"{home.shown}/{home.config.name}"
        return load_settings(home.config, shown, project=project, environ=environ, flags=ask.flags)

    loaded = read_settings()
    is_routed = home.root != launch.root
    names = key_names(loaded.settings)
    seen = seen_from(home, environ, names)
    commands, shared = key_commands(loaded.settings)
    secrets, problems = load_secrets(
        home.env,
        seen,
        names,
        f"{home.shown}/{home.env.name}",
        commands=commands,
        passthrough=loaded.settings.terminal.env_passthrough,
        is_routed=is_routed,
    )
    problems = (*tighten_home(home), *loaded.problems, *shared, *problems)
    return Profile(
        home.name, home, loaded.settings, secrets, db, problems, seen, lock, read_settings, trust, is_routed, ignored
    )


def seen_from(home: Home, environ: Mapping[str, str], names: Iterable[str]) -> Mapping[str, str]:
    """What a profile may see of the process's environment; `names` hold the keys of its own model servers. Looks only.

    A hermes that the commands of a routed profile start is one of the same profile.
    """
    launch = launch_home(environ)
    if home.root == launch.root:
        return environ
    shown = f"{launch.shown}/{launch.config.name}"
    launch_names = key_names(load_settings(launch.config, shown, is_remembered=False).settings)
    secrets = Secrets(read_names(launch.env)[0], environ, launch_names)
    scrubbed = without_credentials(environ, {*names, *launch_names}, secrets)
    return {**scrubbed, "HERMES_HOME": str(home.root)}


def _trust(launch: Home, ask: _Ask) -> Callable[[], Trust | None]:
    """The trust of this process, read in when it is first asked for."""

    @cache
    def trust() -> Trust | None:
        if ask.cwd is None:
            return None
        from agent.config.trust import Trust

        return Trust.of(launch)

    return trust


def _project(trusted: Callable[[], Trust | None], ask: _Ask) -> tuple[tuple[str, str] | None, str]:
    """The project's own config where it is trusted, and what to say where something of it is not."""
    if ask.cwd is None:
        return None, ""
    folder = find_workspace(ask.cwd)
    if not ask.is_trusting and not (folder / PROJECT_CONFIG).exists():
        return None, ""  # as nearly always; a start need not pay for the rest
    trust = trusted()
    assert trust is not None
    if ask.is_trusting:
        trust.add_for_this_run(folder)
    text = trust.trusted_text(folder, PROJECT_CONFIG)
    project = None if text is None else (str(folder / PROJECT_CONFIG), text)
    return project, trust.flaw or trust.ignored(folder)
