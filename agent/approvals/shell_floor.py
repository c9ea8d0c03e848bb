"""What is on the floor whatever the mode: the disks themselves, and the folders without which there is no system or home."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from agent.approvals.shell_word import UNKNOWN, word_set
from agent.tools.base import Workplace

Words = Sequence[str]

_SYSTEM = word_set(
    "/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /opt /proc /root /sbin /srv /sys /usr /usr/bin /usr/lib "
    "/usr/local /usr/sbin /var /var/lib /Applications /Library /System /Users /private /private/etc "
    "/private/var"
)
_RAW_DEVICE = re.compile(
    r"/dev/(?:[shv]d[a-z]|nvme\d|mmcblk\d|disk\d|rdisk\d|disk/|xvd[a-z]|md\d|dm-\d|mapper/|loop\d|mem|kmem|port)\S*"
    r"|/proc/sysrq-trigger"
)
_GLOB, _WILD, _LITERAL = re.compile(r"[*?\[]"), re.compile(r"\[[^\]]*\]|[*?]"), re.compile(r"\w")
_SOMEBODYS_HOME = re.compile(r"~[a-z_][\w.-]*/*(?:\*/*)?")
_DELETERS = re.compile(r"\b(?:rm|shred|unlink|srm)\b")
# What `find` is given that leaves it all that is there, as far as it matters.
_FIND_WIDE = word_set("-delete -depth -d -xdev -mount -print -print0 -noleaf -true -follow -or -and -o -a ( ) , -not !")
_FIND_VALUED = word_set("-type -mindepth -maxdepth")
_FIND_NAMED = word_set("-name -iname -path -ipath -wholename")
_FIND_RUNS = word_set("-exec -execdir -ok -okdir")


def is_device(path: str, place: Workplace) -> bool:
    """Whether a path, however it is written, is a disk, the memory or the switch of the kernel."""
    return _RAW_DEVICE.fullmatch(absolute(path, place).rstrip("/")) is not None


def is_essential(target: str, place: Workplace) -> bool:
    """`/`, a folder of the system, the home; also a glob that takes in one, or all that is right in one; `~/.` and such.

    `~/old-*` names some of what is there, which a person may want: that is asked about.
    """
    if UNKNOWN in target:
        return False
    if _SOMEBODYS_HOME.fullmatch(target):
        return True
    essential = _SYSTEM | {os.path.normpath(place.environ.get("HOME", "") or "/")}
    if _GLOB.search(target) and any(fnmatchcase(folder, absolute(target, place).rstrip("/")) for folder in essential):
        return True
    folder = target
    while (last := folder.rstrip("/").rpartition("/")[2]) and _GLOB.search(last):
        if _LITERAL.search(_WILD.sub("", last)):
            return False
        folder = folder.rstrip("/")
        folder = folder[: folder.rfind("/") + 1]
    plain = absolute(folder or ".", place).rstrip("/") or "/"
    return plain in essential or os.path.realpath(plain) in essential


def finds_all(words: Words) -> list[str]:
    """The folders of a `find` with no test that leaves anything out; none where there is one."""
    start = next((at for at, word in enumerate(words) if re.match(r"-[a-zA-Z]{2}|[(!]", word)), len(words))
    at = start
    while at < len(words):
        if words[at] in _FIND_RUNS:
            at += next((end for end, word in enumerate(words[at:]) if word in (";", "+")), len(words) - at)
        elif words[at] in _FIND_VALUED or (words[at] in _FIND_NAMED and [*words[at + 1 : at + 2]] == ["*"]):
            at += 1
        elif words[at] not in _FIND_WIDE:
            return []
        at += 1
    return [word for word in words[:start] if not word.startswith("-")] or ["."]


def deletes_found(words: Words) -> bool:
    """Whether a `find` deletes what it comes across, by itself or by what it runs."""
    runs = next((at for at, word in enumerate(words) if word in _FIND_RUNS), len(words))
    return "-delete" in words or any(_DELETERS.search(word) for word in words[runs:])


def is_recursive_call(words: Words, letters: str = "rR") -> bool:
    """Whether rm, chmod and the like go into folders; a long option may be shortened."""
    return any(
        len(word) > 3 and "--recursive".startswith(word)
        if word.startswith("--")
        else word.startswith("-") and any(letter in word for letter in letters)
        for word in words
    )


def absolute(path: str, place: Workplace) -> str:
    """The path from the root, with a slash behind it where it has one."""
    if path.startswith("~/") or path == "~":
        path = place.environ.get("HOME", "~") + path[1:]
    plain = "/" + os.path.normpath(Path(place.cwd, path.replace(UNKNOWN, "?"))).lstrip("/")
    return plain + "/" if path.endswith("/") and plain != "/" else plain
