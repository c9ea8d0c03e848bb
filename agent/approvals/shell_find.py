"""`find`, whose words are a language of their own: the tests and actions that only look."""

from __future__ import annotations

from collections.abc import Sequence

from agent.approvals.shell_paths import Whereabouts
from agent.approvals.shell_word import word_set

_BARE = word_set(
    "-P ! ( ) , -not -a -and -o -or -print -print0 -ls -prune -quit -true -false -empty -readable -writable "
    "-executable -depth -mount -xdev -noleaf -daystart -nouser -nogroup"
)
_VALUED = word_set(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -size -mtime -mmin "
    "-atime -amin -ctime -cmin -perm -user -group -uid -gid -maxdepth -mindepth -printf -links -inum -newermt"
)
_FILES = frozenset(("-newer", "-samefile"))


def why_not_find(words: Sequence[str], where: Whereabouts) -> str:
    """Why a search may do more than to look, "" where it cannot. -exec, -delete and -fprint are on no list."""
    starts = _starts(words)
    at = len(starts)
    while at < len(words):
        word = words[at]
        if word in _VALUED or word in _FILES:
            if at + 1 >= len(words):
                return f"uses {word} without a value"
            if word in _FILES and (why := where.why_not(words[at + 1])):
                return why
            at += 1
        elif word not in _BARE:
            return f"uses {word}"
        at += 1
    return next((why for path in starts or ["."] if (why := where.why_not(path))), "")


def _starts(words: Sequence[str]) -> list[str]:
    starts: list[str] = []
    for word in words:
        if word.startswith("-") or word in ("(", "!", ",", ")"):
            break
        starts.append(word)
    return starts
