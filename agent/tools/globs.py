"""Patterns of paths, as git and ripgrep read them, as regular expressions.

Nothing but the standard library is imported here: a search that runs apart from hermes uses it, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

_MOST_CHOICES = 1_000
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "a-fA-F0-9",
}


class BrokenGlob(ValueError):
    """The pattern says nothing. The text is the reason, as the end of a sentence."""


def path_filter(glob: str, *, ignores_case: bool = False) -> Callable[[str], bool]:
    """Whether a path, parted by "/", is meant: without a slash in the glob, by its last part alone.

    An empty glob means every path. Raises BrokenGlob.
    """
    if not glob:
        return lambda _: True
    glob = glob.removeprefix("./")
    by_name = "/" not in glob
    glob = glob.removeprefix("/")
    choices = list(islice(expanded(glob), _MOST_CHOICES + 1))
    if len(choices) > _MOST_CHOICES:
        raise BrokenGlob(f"its braces stand for more than {_MOST_CHOICES:,} patterns")
    regexes = [glob_regex(f"{one}**" if one.endswith("/") else one) for one in choices]
    if None in regexes:
        raise BrokenGlob("a bracket or a backslash in it is left open")
    match = re.compile("(?s:" + "|".join(filter(None, regexes)) + ")", re.IGNORECASE if ignores_case else 0).fullmatch
    return lambda path: match(path.rpartition("/")[2] if by_name else path) is not None


def glob_regex(glob: str) -> str | None:
    """A path pattern as a regular expression: `**` spans folders, `*` and `?` do not. None where it is broken.

    What stands between two stars is taken where it comes first, for good: a later place would not help, and a pattern
    with many stars would take for ever to fail.
    """
    parts = re.sub(r"(?<!\\)((?:\\\\)*)\\/", r"\1/", glob).split("/")  # an escaped slash is a slash
    runs: list[list[str]] = [[]]  # what stands between two `**`
    for part in parts:
        if len(part) > 1 and set(part) == {"*"}:
            runs.append([])
        elif (name := _name_regex(part)) is not None:
            runs[-1].append(name)
        else:
            return None
    first, *others = runs
    if not others:
        return "/".join(first)
    *middle, last = others
    front = "".join(f"{name}/" for name in first)
    between = "".join(f"(?>(?:[^/]+/)*?{'/'.join(run)}/)" for run in middle if run)
    return front + between + (f"(?:.+/)?{'/'.join(last)}" if last else ".+")


def _name_regex(part: str) -> str | None:
    pieces = [""]  # what stands between two stars
    at = 0
    while at < len(part):
        char, at = part[at], at + 1
        if char == "*":
            pieces += [""] if pieces[-1] or len(pieces) == 1 else []
        elif char == "?":
            pieces[-1] += "[^/]"
        elif char == "[":
            found = _class_regex(part, at)
            if found is None:
                return None
            piece, at = found
            pieces[-1] += piece
        elif char == "\\" and at == len(part):
            return None
        else:
            at += char == "\\"
            pieces[-1] += re.escape(part[at - 1])
    first, *others = pieces
    if not others:
        return first
    *middle, last = others
    return first + "".join(f"(?>[^/]*?{piece})" for piece in middle) + f"[^/]*{last}"


def _class_regex(part: str, at: int) -> tuple[str, int] | None:
    """The set that begins behind its bracket, and where it ends. A slash is in no set."""
    sign = "^/" if part[at : at + 1] in ("!", "^") and part[at : at + 1] else ""
    at += len(sign) > 0
    members: list[str] = []
    is_first = True
    while at < len(part) and (part[at] != "]" or is_first):
        is_first = False
        if (named := re.match(r"\[:(\w+):\]", part[at:])) and named[1] in _CLASSES:
            members.append(_CLASSES[named[1]])
            at += named.end()
            continue
        low, at = _member(part, at)
        if part[at : at + 1] == "-" and part[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(part, at + 1)
            members += [f"{re.escape(low)}-{re.escape(high)}"] if low <= high else []
        else:
            members.append(re.escape(low))
    if at >= len(part):
        return None
    inside = "".join(members)
    if not inside:
        return ("[^/]" if sign else "(?!)"), at + 1
    return f"(?!/)[{'^' if sign else ''}{inside}]", at + 1


def _member(part: str, at: int) -> tuple[str, int]:
    at += part[at] == "\\" and at + 1 < len(part)
    return part[at], at + 1


def expanded(glob: str) -> Iterator[str]:
    """What the braces of a glob stand for: `*.{ts,tsx}` is two."""
    match = re.search(r"\{([^{}]*)\}", glob)
    if match is None:
        yield glob
        return
    for choice in match[1].split(","):
        yield from expanded(f"{glob[: match.start()]}{choice}{glob[match.end() :]}")
