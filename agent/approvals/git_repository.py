"""Whether the settings of the repository that a git command would find start programs (C05).

A closed list of settings, since nearly a third of git's can name a program. Only files of the repository are looked at:
the person's own settings are theirs, while a repository may have come with an archive, or lie inside a cloned one.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from agent.approvals.shell_paths import Whereabouts
from agent.approvals.shell_word import word_set

_STEERS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_INDEX_FILE")
_MOST_BYTES = 100_000
_GITLINK = b"\x00\x00\xe0\x00"  # the mode of a submodule in the index
_SPLIT_INDEX, _SPARSE_INDEX = "sharedindex.", b"sdir\x00\x00\x00\x00"
_HEAD = re.compile(rb"ref:[ \t\r\n]{0,200}refs/|[0-9a-f]{40}")
# Git takes blanks around the name for a part of it.
_GITDIR = re.compile(r"gitdir: ([^\s\x00](?:[^\r\n\x00]*[^\s\x00])?)[\r\n]*")
_SECTION = re.compile(r'\[\s*([a-z0-9.-]+)(?:\s+"(?:[^"\\\n]*)")?\s*\]')
_SETTING = re.compile(r"([a-z][a-z0-9-]*)\s*(?:=\s*([^\\\n]*))?")
_HARMLESS = {
    "core": word_set(
        "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol "
        "safecrlf abbrev compression quotepath longpaths"
    ),
    "remote": word_set("url pushurl fetch push tagopt prune mirror gh-resolved"),
    "branch": word_set("remote merge rebase pushremote description autosetuprebase vscode-merge-base gh-merge-base"),
    "user": word_set("name email signingkey"),
    "pull": word_set("rebase ff"),
    "push": word_set("default autosetupremote followtags"),
    "fetch": word_set("prune prunetags"),
    "init": word_set("defaultbranch"),
    "rerere": word_set("enabled"),
    "advice": word_set("detachedhead"),
    "commit": word_set("gpgsign"),
    "extensions": word_set("objectformat refstorage"),
}

_known: dict[Path, tuple[tuple[int, int], str]] = {}


def why_repository_acts(where: Whereabouts) -> str:
    """Why git might start a program here, "" where it can't. Completes "it ..."."""
    environ = where.place.environ
    if steering := [name for name in environ if name in _STEERS or name.startswith("GIT_CONFIG")]:
        return f"uses the repository that {steering[0]} names"
    if where.is_lost:
        return "uses a repository that cannot be told"
    return next((why for folder in where.folders for found in _repositories(folder) if (why := _why_acts(found))), "")


def _repositories(folder: Path) -> list[Path]:
    """Every folder on the way up that git may take for a repository, the first that it must take being the last."""
    found: list[Path] = []
    for here in (folder, *folder.parents):
        # A repository without a work tree may lie in the middle of a cloned one. What else belongs to it can be elsewhere.
        if _exists(here / "HEAD"):
            found.append(here)
        if _exists(here / ".git"):
            found.append(here / ".git")
            if _is_taken(here / ".git"):
                break
    return found


def _is_taken(repository: Path) -> bool:
    """Whether git looks no further up: it passes by a `.git` that is not whole."""
    if repository.is_file():
        return True
    head = repository / "HEAD"
    try:
        is_whole = head.is_file() and not head.is_symlink() and _HEAD.match(head.read_bytes()) is not None
    except OSError:
        return False
    return is_whole and all(os.access(repository / name, os.X_OK) for name in ("objects", "refs"))


def _exists(path: Path) -> bool:
    """Also for a link to nothing: git takes one to a branch without a commit for a HEAD."""
    return os.path.lexists(path)


def _why_acts(repository: Path) -> str:
    if repository.is_file():
        return _why_linked(repository)
    if _exists(repository / "commondir"):
        return "uses a repository that shares another one's settings"
    if _exists(repository / "config.worktree"):
        return "uses a repository with settings of one work tree"
    hook = repository / "hooks" / "post-index-change"
    if os.access(hook, os.X_OK):
        return "uses a repository with a hook that reading starts"
    return _remembered(repository / "config", _why_settings) or _why_indexed(repository)


def _why_linked(file: Path) -> str:
    """A `.git` file names the repository. A work tree of `git worktree add` shares the settings of the main one."""
    try:
        named = _GITDIR.fullmatch(os.fsdecode(file.read_bytes()))
        if named is None:
            return "uses a repository that cannot be told"
        repository = Path(os.path.realpath(file.parent / named[1]))
        common = repository / "commondir"
        if not _exists(common):
            return _why_acts(repository) if repository.is_dir() else "uses a repository that cannot be told"
        is_usual = repository.parent.name == "worktrees" and common.is_file()
        if not is_usual or common.read_bytes().rstrip(b"\r\n") != b"../..":
            return "uses a repository that shares another one's settings"
    except OSError:
        return "uses a repository that cannot be read"
    if _exists(repository / "config.worktree"):
        return "uses a repository with settings of one work tree"
    return _why_acts(repository.parent.parent) or _why_indexed(repository)


def _why_indexed(repository: Path) -> str:
    """A part of the index may lie in another file."""
    try:
        if any(name.lower().startswith(_SPLIT_INDEX) for name in os.listdir(repository)):  # noqa: PTH208 - names only
            return "uses a repository whose index is split"
    except OSError:
        return "uses a repository that cannot be read"
    return _remembered(repository / "index", _why_index)


def _remembered(file: Path, judge: object) -> str:
    """What was found of a file, until it changes."""
    try:
        about = file.stat()
    except FileNotFoundError:
        return ""
    except OSError:
        return "uses a repository that cannot be read"
    if not stat.S_ISREG(about.st_mode):  # reading a pipe would wait
        return "uses a repository that cannot be read"
    stamp = (about.st_mtime_ns, about.st_size)
    known = _known.get(file)
    if known and known[0] == stamp:
        return known[1]
    why = _why_index(file) if judge is _why_index else _why_settings(file)
    _known[file] = (stamp, why)
    return why


def _why_index(file: Path) -> str:
    """Git looks into submodules, too, whose settings lie elsewhere. The bytes may stand for something else, seldom."""
    try:
        index = file.read_bytes()
    except OSError:
        return "uses a repository that cannot be read"
    return "uses a repository with submodules" if _GITLINK in index or _SPARSE_INDEX in index else ""


def _why_settings(file: Path) -> str:
    try:
        if file.stat().st_size > _MOST_BYTES:
            return "uses a repository whose settings are too long to judge"
        text = file.read_text("utf-8", "replace")
    except OSError:
        return "uses a repository that cannot be read"
    section = ""
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if match := _SECTION.fullmatch(stripped.lower()):
            section = match[1]
            continue
        setting = _SETTING.fullmatch(stripped.lower())
        if setting is None or setting[1] not in _HARMLESS.get(section, ()) or "ext::" in stripped:
            return f"uses a repository whose settings hold {section}.{setting[1] if setting else '?'}, which may start programs"
    return ""
