"""The home folder: where a person's settings, keys and conversations live."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from agent.config.files import NotReadable, read_text
from agent.config.profile_name import DEFAULT, can_be_named, check_name
from session.errors import UserError

DEFAULT_FOLDER = ".hermes-tui"
PROFILES = "profiles"

# What hermes-agent, our neighbour, makes in its home beside files whose names we share (seen with 0.19.0).
NEIGHBOUR_NAMES = (
    "SOUL.md",
    "auth.json",
    "auth.lock",
    "audio_cache",
    "cron",
    "hooks",
    "image_cache",
    "memories",
    "pairing",
    "sandboxes",
    "sessions",
    "skills",
)


class HomeUnusable(UserError):
    """The home folder can't be used: it is no folder, or may not be read or written."""

    sentence = "The home folder {path} can't be used ({why}). Correct that, or set HERMES_HOME to another folder."


class HomeUnknown(UserError):
    """Neither HERMES_HOME nor a personal folder is known."""

    sentence = "No home folder is known: neither HERMES_HOME nor HOME is set. Set HERMES_HOME to a folder for hermes."


class NeighboursHome(UserError):
    """The folder belongs to hermes-agent."""

    sentence = (
        "{path} holds the files of hermes-agent ({found}). Nothing was changed. "
        "Set HERMES_HOME to another folder, or unset it to use ~/.hermes-tui."
    )


class NoSuchProfile(UserError):
    """No profile has this name."""

    sentence = (
        "There is no profile {name}. `hermes profile list` shows those there are; "
        "`hermes profile create {name}` makes it, `hermes profile use default` goes back to the first one."
    )


class ProfileDeleted(UserError, FileNotFoundError):
    """The profile was deleted, and nothing that still runs for it may make its folder again."""

    sentence = "The profile {name} was deleted. `hermes profile create {name}` makes a new one of this name."


class Home(Struct, frozen=True):
    """A profile's folder and where things are in it. `shown` is how a person writes the folder.

    The profile `default` lives in the home folder itself, each other one in `profiles/<name>` of it: a complete home
    of its own, which is told by where it lies. Nothing but `create` makes the folder.
    """

    root: Path
    shown: str

    @property
    def name(self) -> str:
        """The profile that lives here."""
        is_named = self.root.parent.name == PROFILES and can_be_named(self.root.name)
        return self.root.name if is_named else DEFAULT

    @property
    def base(self) -> Home:
        """The home of the profile `default`, in which all the others lie."""
        if self.name == DEFAULT:
            return self
        return Home(self.root.parent.parent, self.shown.removesuffix(f"/{PROFILES}/{self.name}"))

    def of(self, name: str) -> Home:
        """The home of another profile, whether there is one or not. Raises BadProfileName."""
        if name == DEFAULT:
            return self.base
        place = f"{PROFILES}/{check_name(name)}"
        return Home(self.base.root / place, f"{self.base.shown}/{place}")

    @property
    def profiles(self) -> Path:
        return self.base.root / PROFILES

    @property
    def sticky(self) -> Path:
        """The file that names the profile to start with."""
        return self.base.root / "profile"

    @property
    def tombstone(self) -> Path:
        """What stays of a deleted profile. Its folder can't be the name of one."""
        return self.profiles / ".deleted" / self.name

    @property
    def is_deleted(self) -> bool:
        return self.name != DEFAULT and self.tombstone.exists()

    @property
    def config(self) -> Path:
        return self.root / "config.yaml"

    @property
    def env(self) -> Path:
        return self.root / ".env"

    @property
    def db(self) -> Path:
        return self.root / "state.db"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def locks(self) -> Path:
        return self.root / "locks"

    @property
    def outputs(self) -> Path:
        return self.root / "outputs"

    @property
    def running(self) -> Path:
        """What is noted of commands while they run."""
        return self.root / "running"

    @property
    def themes(self) -> Path:
        """Where a person's own themes stand, if there are any."""
        return self.root / "themes"

    @property
    def checkpoints(self) -> Path:
        """File states before and after the calls of sessions, made when the first is recorded."""
        return self.root / "checkpoints"

    def create(self) -> None:
        """Make the folder, for its owner only, where it is missing. Raises HomeUnusable, ProfileDeleted."""
        self.refuse_deleted()
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise HomeUnusable(path=self.shown, why=_reason(error)) from error

    def create_folders(self) -> None:
        """Make the folders inside it. Raises HomeUnusable, ProfileDeleted."""
        self.refuse_deleted()
        try:
            for folder in (self.logs, self.locks, self.outputs):
                folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise HomeUnusable(path=self.shown, why=_reason(error)) from error

    def refuse_deleted(self) -> None:
        """Raises ProfileDeleted."""
        if self.is_deleted:
            raise ProfileDeleted(name=self.name)


def find_home(environ: Mapping[str, str], name: str = "") -> Home:
    """The home of the profile that a person named, else of the one they use, else the launch home. Looks only.

    Raises NoSuchProfile, ProfileDeleted, BadProfileName and what `launch_home` raises.
    """
    launch = launch_home(environ)
    wanted = name or sticky_name(launch)
    home = launch if wanted in ("", launch.name) else launch.of(wanted)
    if home != launch:
        home.refuse_deleted()
        if not home.root.is_dir():
            raise NoSuchProfile(name=wanted)
        _check(home)
    return home


def sticky_name(launch: Home) -> str:
    """The profile that `hermes profile use` named, "" for none. A HERMES_HOME inside a profile names that one itself.

    Raises BadProfileName, HomeUnusable: to go on with another profile would be to use other keys than was meant.
    """
    if launch.name != DEFAULT:
        return ""
    try:
        name = (read_text(launch.sticky) or "").strip()
    except NotReadable as error:
        raise HomeUnusable(path=f"{launch.shown}/{launch.sticky.name}", why=str(error)) from error
    return name if name in ("", DEFAULT) else check_name(name)


def launch_home(environ: Mapping[str, str]) -> Home:
    """HERMES_HOME, else ~/.hermes-tui. Looks only. Raises HomeUnknown, HomeUnusable, NeighboursHome."""
    named = environ.get("HERMES_HOME", "").strip()
    person = _personal_folder(environ)
    root = _named_folder(named, person) if named else _default_folder(person)
    home = Home(root, _shown(root, person))
    _check(home)
    return home


def _named_folder(named: str, person: Path | None) -> Path:
    if named == "~" or named.startswith("~/"):
        if person is None:
            raise HomeUnknown
        return person / named[2:]
    return Path(named).absolute()


def _default_folder(person: Path | None) -> Path:
    if person is None:
        raise HomeUnknown
    return person / DEFAULT_FOLDER


def _personal_folder(environ: Mapping[str, str]) -> Path | None:
    """HOME, else what the user database says: a service or a container may run without HOME."""
    home = environ.get("HOME", "")
    if not home:
        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            return None
    return Path(home) if Path(home).is_absolute() else None


def _shown(root: Path, person: Path | None) -> str:
    if person is not None and root.is_relative_to(person):
        return f"~/{root.relative_to(person)}"
    return str(root)


def _check(home: Home) -> None:
    try:
        names = {entry.name for entry in os.scandir(home.root)}
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise HomeUnusable(path=home.shown, why=_reason(error)) from error
    if not os.access(home.root, os.R_OK | os.W_OK | os.X_OK):
        raise HomeUnusable(path=home.shown, why="you may not write in it")
    # Where there is a database, the store knows better whose it is, and refuses another program's untouched.
    found = [name for name in NEIGHBOUR_NAMES if name in names]
    if home.db.name not in names and len(found) >= 2:
        raise NeighboursHome(path=home.shown, found=", ".join(found[:3]))


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or type(error).__name__).lower() if isinstance(error, OSError) else "its name is not usable"
