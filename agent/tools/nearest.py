"""What may help where an edit fits nowhere: what is nearly it, or why it cannot be found."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher

_SHOWN_LINES, _SHOWN_CHARS = 8, 200
_COMPARED_LINES = 20_000
_LEAST_ALIKE = 0.6
_TELLING_CHARS = 10  # less may stand anywhere
_NUMBERED = re.compile(r"\s*-?\d+\|")


def what_is_near(text: str, old: str, new: str) -> str:
    """A sentence or two, and the lines that are most like `old`. All three with LF as the line end."""
    if all(_NUMBERED.match(line) for line in old.removesuffix("\n").split("\n")):
        return "Leave out the line numbers that read_file puts in front of each line."
    if len(new.strip()) >= _TELLING_CHARS and (at := text.find(new)) >= 0:
        return f'"new" is there already, at line {_number(text, at)}: this edit may have been made before.'
    lines, wanted = text.split("\n"), old.removesuffix("\n").split("\n")
    first = _by_equal_lines(lines, wanted)
    if first is None:
        first = _by_alike_line(lines, wanted)
    if first is None:
        return "Nothing in the file is like it; read the file again."
    shown = lines[first : first + min(len(wanted), _SHOWN_LINES)]
    numbered = (f"{number}|{line[:_SHOWN_CHARS]}" for number, line in enumerate(shown, first + 1))
    return "The file has, as the most alike:\n" + "\n".join(numbered)


def _by_equal_lines(lines: list[str], wanted: list[str]) -> int | None:
    """The beginning that most of the wanted lines speak for, wherever they stand as they are but for blanks around."""
    places: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if key := line.strip():
            places.setdefault(key, []).append(number)
    votes = Counter(at - number for number, line in enumerate(wanted) for at in places.get(line.strip(), ())[:100])
    return max(0, votes.most_common(1)[0][0]) if votes else None


def _by_alike_line(lines: list[str], wanted: list[str]) -> int | None:
    """The same by the one line that is most like the longest of the wanted ones."""
    number, longest = max(enumerate(wanted), key=lambda pair: len(pair[1].strip()))
    matcher = SequenceMatcher(None, b=longest.strip()[:_SHOWN_CHARS], autojunk=False)
    best, best_ratio = None, _LEAST_ALIKE
    for at, line in enumerate(lines[:_COMPARED_LINES]):
        matcher.set_seq1(line.strip()[:_SHOWN_CHARS])
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio:
            ratio = matcher.ratio()
            best, best_ratio = (at, ratio) if ratio > best_ratio else (best, best_ratio)
    return None if best is None else max(0, best - number)


def _number(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
