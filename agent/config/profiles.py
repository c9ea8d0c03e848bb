"""The profiles that lie in one home: listing, making, copying, choosing, renaming and deleting them.

Every function blocks, takes the home of the profile `default` and raises UserError. What is written here is written
by the person's command alone; a profile that is open in a running hermes is neither renamed nor deleted from outside.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from msgspec import Struct

from agent.config.home import Home, HomeUnusable, NoSuchProfile
from agent.config.locked_file import replace_file
from agent.config.profile_lock import nobody_has
from agent.config.profile_name import DEFAULT, can_be_named, check_name
from session.db import SessionDB
from session.errors import UserError

COPIED = ("config.yaml", ".env", "SOUL.md", "memories")  # never state.db: conversations stay where they were had


class ProfileExists(UserError):
    """The name is taken."""

    sentence = "There is a profile {name} already. Nothing was changed."


class NotForDefault(UserError):
    """The first profile is the home folder itself."""

    sentence = "The profile default lives in the home folder itself and can't be {done}."


class NotMoved(UserError):
    """The profile has its new name, but not everywhere."""

    sentence = (
        "The profile {old} is now {new}, but its old name still stands where it could not be changed: {why} "
        "To finish, run: hermes profile migrate-identity {old} {new}"
    )


class ProfileEntry(Struct, frozen=True):
    """A profile as a list shows it. `is_used`: it is the one that a plain `hermes` starts with."""

    name: str
    folder: str
    is_used: bool


def listing(base: Home) -> list[ProfileEntry]:
    """All profiles: the first one, then the others by name."""
    used = in_use(base)
    return [ProfileEntry(home.name, str(home.root), home.name == used) for home in homes(base)]


def homes(base: Home) -> Iterator[Home]:
    yield base
    try:
        names = sorted(entry.name for entry in os.scandir(base.profiles) if entry.is_dir())
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unusable(base, error) from error
    found = (base.of(name) for name in names if can_be_named(name))
    yield from (home for home in found if not home.is_deleted)


def in_use(base: Home) -> str:
    """The profile that a plain `hermes` starts with, as the file says, whatever stands in it."""
    try:
        name = base.sticky.read_text("utf-8", "replace").strip()
    except OSError:
        return DEFAULT
    return name or DEFAULT


def create(base: Home, name: str) -> Home:
    """A new, empty profile, also where one of this name was deleted."""
    home = base.of(check_name(name))
    return _put(home, _begun(home))


def clone(base: Home, source: str, name: str) -> Home:
    """A new profile with the settings, keys and memories of another one."""
    origin, home = existing(base, source), base.of(check_name(name))
    begun = _begun(home)
    try:
        for copied in COPIED:
            _copy(origin.root / copied, begun / copied)
    except OSError as error:
        shutil.rmtree(begun, ignore_errors=True)
        raise _unusable(home, error) from error
    return _put(home, begun)


def use(base: Home, name: str) -> None:
    """The profile that a plain `hermes` starts with from now on."""
    existing(base, name)
    try:
        if name == DEFAULT:
            base.sticky.unlink(missing_ok=True)
        else:
            _use(base, name)
    except OSError as error:
        raise _unusable(base, error) from error


def rename(base: Home, old: str, new: str) -> Home:
    """Give a profile that is not open another name, everywhere it stands. Raises NotMoved where that was half done."""
    home = _named(base, old, "renamed")
    check_renaming(base, old, new)
    with nobody_has(home):
        move(base, old, new)
    rewrite(base, old, new)
    return base.of(new)


def check_renaming(base: Home, old: str, new: str) -> None:
    """Everything that could stand in the way, before anything is changed."""
    from session.rename import rename_profile

    _named(base, old, "renamed")
    target = base.of(check_name(new))
    if target.root.exists():
        raise ProfileExists(name=new)
    for path in _stores(base):
        rename_profile(path, old, new, is_rehearsal=True)


def move(base: Home, old: str, new: str) -> None:
    """Move the folder of a profile whose whole lock is held; nothing of it may be open."""
    home, target = base.of(old), base.of(new)
    try:
        home.root.rename(target.root)  # refused by the system where the new name came to be meanwhile
        target.tombstone.unlink(missing_ok=True)
    except OSError as error:
        raise _unusable(home, error) from error


def rewrite(base: Home, old: str, new: str) -> None:
    """Put the new name in the place of the old one wherever it is stored. Raises NotMoved; may be repeated."""
    from session.rename import rename_profile

    failures: list[str] = []
    for path in _stores(base):
        try:
            rename_profile(path, old, new)
        except UserError as error:
            failures.append(str(error))
    try:
        if in_use(base) == old:
            _use(base, new)
    except UserError as error:
        failures.append(str(error))
    if failures:
        raise NotMoved(old=old, new=new, why=" ".join(failures))


def migrate_identity(base: Home, old: str, new: str) -> None:
    """Finish a renaming whose folder has moved. The old profile need not exist any more; a second time does nothing."""
    check_name(old)
    existing(base, check_name(new))
    rewrite(base, old, new)


def delete(base: Home, name: str) -> None:
    """Remove a profile that is not open, with everything in it. What stays keeps others from making it again."""
    home = _named(base, name, "deleted")
    gone = base.profiles / f".deleting-{name}-{uuid4().hex[:8]}"
    try:
        with nobody_has(home):
            home.tombstone.parent.mkdir(mode=0o700, exist_ok=True)
            home.tombstone.touch(mode=0o600)
            _take_away(home, gone)
        if in_use(base) == name:
            base.sticky.unlink(missing_ok=True)
        _remove(gone)
    except OSError as error:
        raise _unusable(home, error) from error


def _remove(gone: Path) -> None:
    """Everything in it, also where the profile's folder was a link: what was asked is that no key of it stays."""
    shutil.rmtree(os.path.realpath(gone))
    if gone.is_symlink():
        gone.unlink()


def _take_away(home: Home, gone: Path) -> None:
    """At once for everyone; what is slow comes after. Where it can't be done, the profile is as little deleted as told."""
    try:
        home.root.rename(gone)
    except OSError:
        home.tombstone.unlink()
        raise


def removable(base: Home, name: str) -> Home:
    """The home that `delete` would remove."""
    return _named(base, name, "deleted")


def existing(base: Home, name: str) -> Home:
    home = base.of(name)
    if home.is_deleted or not home.root.is_dir():
        raise NoSuchProfile(name=name)
    return home


# --- inside


def _named(base: Home, name: str, done: str) -> Home:
    if name == DEFAULT:
        raise NotForDefault(done=done)
    return existing(base, name)


def _begun(home: Home) -> Path:
    """A folder beside the profile's place, with an empty store in it: a profile is whole when it comes to be."""
    if home.root.exists() and not home.is_deleted:
        raise ProfileExists(name=home.name)
    begun = home.profiles / f".making-{home.name}-{uuid4().hex[:8]}"
    home.base.create()
    try:
        home.profiles.mkdir(mode=0o700, exist_ok=True)
        begun.mkdir(mode=0o700)
    except OSError as error:
        raise _unusable(home, error) from error
    SessionDB.open(begun / home.db.name).close()
    return begun


def _put(home: Home, begun: Path) -> Home:
    try:
        if home.root.exists():
            shutil.rmtree(home.root)  # a deleting that was cut short left it
        begun.rename(home.root)
        home.tombstone.unlink(missing_ok=True)
    except OSError as error:
        shutil.rmtree(begun, ignore_errors=True)
        raise _unusable(home, error) from error
    home.create_folders()
    return home


def _copy(origin: Path, copy: Path) -> None:
    """A file for its owner only, a folder with all in it, nothing where there is neither. Links are not followed."""
    if origin.is_dir() and not origin.is_symlink():
        shutil.copytree(origin, copy, symlinks=True)
        copy.chmod(0o700)
    elif origin.is_file():
        descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(origin.read_bytes())


def _stores(base: Home) -> list[Path]:
    """The places that hold names of profiles, beside the file of the one in use: each profile's store."""
    return [home.db for home in homes(base) if home.db.is_file()]


def _use(base: Home, name: str) -> None:
    replace_file(base.sticky, f"{name}\n".encode(), f"{base.shown}/{base.sticky.name}")


def _unusable(home: Home, error: OSError) -> UserError:
    if isinstance(error, UserError):
        return error
    return HomeUnusable(path=home.shown, why=(error.strerror or type(error).__name__).lower())
