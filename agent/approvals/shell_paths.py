"""Which files a command may look at unasked, by where its paths lead from each folder it may stand in."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice, product
from pathlib import Path

from agent.tools.base import Workplace

_MOST_MATCHES = 500
_DEEPEST_GLOB, _MOST_GLOBS = 2, 20
_MOST_LINKS = 40
_MOST_FOLDERS = 16
# What these show differs from process to process: it can't be told here where they lead for the command.
_PER_PROCESS = ("/proc", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr")

_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", "gcloud"})
_SECRET_NAMES = frozenset(
    {".netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", "credentials", "credentials.json"}
)
_SECRET_STARTS = (".env", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "secrets.")
_SECRET_ENDS = (".pem", ".key", ".p12", ".pfx", ".kdbx", ".keystore")
# A program about keys is named like a file of them.
_SOURCES = re.compile(r"\.(?:c|cc|cpp|cs|css|go|h|hpp|html|java|jsx?|kt|lua|md|php|pyi?|rb|rs|rst|scala|swift|tsx?)$")
# The environment of a process holds its keys, those of hermes among them.
_OF_A_PROCESS = re.compile(r"/proc/.+/(?:environ|mem)")
_HARMLESS_ENDS = (".pub", ".example", ".sample", ".template", ".dist")


class Whereabouts:
    """The folders that a command line may be in, as it goes on. `is_lost` once one of them cannot be told."""

    def __init__(self, place: Workplace) -> None:
        self.place = place
        self.folders: tuple[Path, ...] = (place.cwd,)
        self.is_lost = False
        self.is_astray = False  # it may be in a folder that is none of these
        self._globs = 0
        self._secrets: list[str] = []  # shared with copies
        self._ours = (os.path.realpath(place.root), os.path.realpath(place.outputs))

    def enter(self, target: str | None) -> None:
        """A `cd`: it may fail, or run in a subshell, so the folders it starts from stay.

        Bash takes `..` off the path it came by, programs take it off the folder behind the links: both are kept.
        """
        if target is None:
            self.is_lost = True
            return
        found = dict.fromkeys(self.folders)
        for folder in (*self.folders, *self._named_by_environment()):
            there = Path(os.path.normpath(folder / target))
            found |= dict.fromkeys((there, Path(leads_to(str(folder / target)) or there)))
        if len(found) > _MOST_FOLDERS:
            self.is_lost = self.is_astray = True
        else:
            self.folders = tuple(found)

    def _named_by_environment(self) -> tuple[Path, ...]:
        """The path by which bash thinks that it is here, where that goes through a link."""
        pwd = self.place.environ.get("PWD", "")
        is_here = pwd.startswith("/") and leads_to(pwd) == leads_to(str(self.place.cwd))
        return (Path(pwd),) if is_here else ()

    def why_not(self, path: str, *, is_read: bool = True) -> str:
        """Why a path may not be looked at unasked, "" where it may. Completes "it ..."."""
        if self.is_lost:
            return "changes to a folder that cannot be told"
        for folder in self.folders:
            if why := self._why_not_from(folder, path, is_read=is_read):
                return why
        return ""

    def take_secrets(self) -> bool:
        """Whether the command, or a redirection, reads what looks like a secret; from the next one on anew."""
        is_found = bool(self._secrets)
        self._secrets.clear()
        return is_found

    def expanded(self, pattern: str) -> tuple[str, ...] | None:
        """What a glob stands for now, in every folder; None where that is too much to look through, or cannot be told."""
        deep = sum(any(char in part for char in "*?") for part in pattern.split("/"))
        self._globs += 1
        if self.is_lost or self._globs > _MOST_GLOBS or deep > _DEEPEST_GLOB or not self.is_local(pattern):
            return None
        found: dict[str, None] = {}
        for folder in self.folders:
            try:
                if _differs_by_locale(pattern, folder):
                    return None
                # Path.glob takes hidden files for matches, and bash does not.
                for each in _with_dots(pattern):
                    found |= dict.fromkeys(islice(glob.iglob(each, root_dir=folder), _MOST_MATCHES + 1))  # noqa: PTH207
            except OSError:
                return None
        if len(found) > _MOST_MATCHES:
            return None
        # Where nothing matches in one of the folders, bash leaves the pattern as it is.
        return (*found, *_unescaped(pattern)) if len(self.folders) > 1 or not found else tuple(found)

    def is_local(self, pattern: str) -> bool:
        """Whether a glob stays below the folder, and means what it means by default."""
        return not (pattern.startswith("/") or ".." in pattern or "GLOBIGNORE" in self.place.environ)

    def _why_not_from(self, folder: Path, path: str, *, is_read: bool) -> str:
        leads = leads_to(f"{folder}/{path}" if not path.startswith("/") else path)
        if leads is None:
            if is_read and is_secret(os.path.normpath(folder / path)):
                self._secrets.append(path)
            return f"reaches {path}, which differs from process to process"
        is_guarded = is_read and is_secret(leads)
        if is_guarded:
            self._secrets.append(leads)
        if not self._is_ours(leads):
            return f"{'reads' if is_read else 'goes'} outside the workspace ({leads})"
        if is_guarded:
            return f"reads what looks like a secret ({leads.rpartition('/')[2]})"
        return ""

    def _is_ours(self, leads: str) -> bool:
        return any(leads == root or leads.startswith(f"{root}/") for root in self._ours)


def leads_to(path: str) -> str | None:
    """The path behind all symlinks; None for one that goes through a folder that each process sees differently."""
    rest = path.split("/")[::-1]
    here = ""
    links = 0
    while rest:
        name = rest.pop()
        if name in ("", "."):
            continue
        if name == "..":
            here = here.rpartition("/")[0]
            continue
        step = f"{here}/{name}"
        if step in _PER_PROCESS:
            return None
        try:
            target = os.readlink(step)  # noqa: PTH115 - once for every step of every path
        except (OSError, ValueError):
            here = step
            continue
        links += 1
        if links > _MOST_LINKS:
            return None
        here = "" if target.startswith("/") else here
        rest += target.split("/")[::-1]
    return here or "/"


def is_secret(path: str) -> bool:
    """Whether a path looks like one that holds keys or passwords."""
    parts = path.lower().split("/")
    name = parts[-1]
    if not _SECRET_FOLDERS.isdisjoint(parts) or _OF_A_PROCESS.fullmatch(path):
        return True
    if name.endswith(_HARMLESS_ENDS) or (name.startswith("secrets.") and _SOURCES.search(name)):
        return False
    return name in _SECRET_NAMES or name.startswith(_SECRET_STARTS) or name.endswith(_SECRET_ENDS)


def _unescaped(pattern: str) -> tuple[str]:
    return (pattern.replace("[*]", "*").replace("[?]", "?").replace("[[]", "["),)


def _with_dots(pattern: str) -> Iterator[str]:
    """The pattern, and what it stands for besides: before version 5.2 bash finds `.` and `..` by `.*`."""
    choices = [
        (part, *(name for name in (".", "..") if part[:1] == "." and part != name and fnmatchcase(name, part)))
        for part in pattern.split("/")
    ]
    return ("/".join(parts) for parts in product(*choices))


def _differs_by_locale(pattern: str, folder: Path) -> bool:
    """Whether `?` is matched with names that have other characters in another locale, which may be that of bash."""
    parts = pattern.split("/")
    for at, part in enumerate(parts):
        if "?" in part or "[" in part:
            beside = glob.iglob("/".join((*parts[:at], "*")), root_dir=folder, include_hidden=True)  # noqa: PTH207
            names = [name.rpartition("/")[2] for name in islice(beside, _MOST_MATCHES + 1)]
            if len(names) > _MOST_MATCHES or not all(name.isascii() for name in names):
                return True
    return False
