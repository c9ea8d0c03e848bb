"""Search and replace in a text: where an edit is meant, and what it makes of that place and of nothing else.

An edit is written with LF, whatever the file's line ends are. It is looked for as it is written; only if that is nowhere,
with ever more tolerance. At any step, more than one place is an error, never a guess (T06-T09).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, islice

from msgspec import Struct

from agent.tools.nearest import what_is_near

_SHOWN_PLACES, _MOST_COUNTED = 10, 1_000
_LIKE_ASCII = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        **dict.fromkeys("\u00a0\u2007\u2009\u202f", " "),
    }
)
_MOST_COMPARED = 4_000_000  # characters of one text times those of the other


class Edit(Struct, frozen=True):
    old: str
    new: str
    is_for_all: bool = False
    is_at_end: bool = False


class Edited(Struct, frozen=True):
    """`places` is how many were changed; `tolerance` says what was overlooked to find them, "" for nothing."""

    text: str
    places: int
    tolerance: str = ""


class CannotEdit(Exception):
    """The edit fits nowhere, or not only in one place. The text is a sentence or two for the model."""


class _Spot(Struct, frozen=True):
    """A place in the text with unified line ends. `lacks_end`: the line end that was looked for is not there, at the end.

    `added` and `taken` are the indentation that the file has beyond the edit's, or less.
    """

    start: int
    end: int
    lacks_end: bool = False
    added: str = ""
    taken: str = ""

    def indented(self, line: str) -> str:
        if not line.strip():
            return line
        return self.added + (line[len(self.taken) :] if line.startswith(self.taken) else line.lstrip())


class Unified:
    """A text with each line end as LF, and the way back. CR alone ends lines only where there is no LF at all."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.is_cr = "\r" in raw and "\n" not in raw
        self.text = self.unify(raw)
        self._pairs = [match.start() - before for before, match in enumerate(re.finditer("\r\n", raw))]

    def unify(self, text: str) -> str:
        text = text.replace("\r\n", "\n")
        return text.replace("\r", "\n") if self.is_cr else text

    def raw_at(self, position: int) -> int:
        return position + bisect_left(self._pairs, position)

    def line_number(self, position: int) -> int:
        return self.text.count("\n", 0, position) + 1

    def split(self, start: int, end: int) -> tuple[list[str], list[str]]:
        """The lines of a part, and the line end behind each but the last."""
        parts = re.split("(\r)" if self.is_cr else "(\r?\n)", self.raw[start:end])
        return parts[::2], parts[1::2]

    def line_end(self, position: int) -> str:
        """How the line here ends; at the end of the text, how the one before does."""
        here = self.text.find("\n", position)
        if here < 0:
            here = self.text.rfind("\n", 0, position)
        return self.raw[self.raw_at(here) : self.raw_at(here + 1)] if here >= 0 else "\n"


def edited(raw: str, edit: Edit) -> Edited:
    """The text after one edit. Raises CannotEdit."""
    text = Unified(raw)
    old, new = text.unify(edit.old), text.unify(edit.new)
    if not edit.old:
        return Edited(_filled(text, edit, new), 1)
    if old == new:
        return _other_line_ends(raw, edit)
    spots, tolerance = _found(text, old, edit)
    if not spots and edit.old in text.text:  # a lone CR before a line end, which alone looks like CRLF
        old, new = edit.old, edit.new
        spots, tolerance = _found(text, old, edit)
    if not spots:
        raise CannotEdit(f'"old" was not found. {what_is_near(text.text, old, new)}')
    if len(spots) > 1:
        spots = _several(text, old, edit, spots, tolerance)
    changed = _replaced(text, spots, old, new)
    return Edited(_with_final_end(text, changed) if edit.is_at_end else changed, len(spots), tolerance)


def _filled(text: Unified, edit: Edit, new: str) -> str:
    """An edit without `old`: the content of an empty file, or lines behind the last one."""
    if not text.raw:
        return edit.new
    if not edit.is_at_end:
        raise CannotEdit('"old" is empty, and the file is not. To add lines at its end, set at_end.')
    line_end = text.line_end(len(text.text))
    gap = "" if text.text.endswith("\n") else line_end
    return _with_final_end(text, text.raw + gap + new.replace("\n", line_end))


def _other_line_ends(raw: str, edit: Edit) -> Edited:
    """An edit of nothing but line ends has to name them as they are."""
    places = raw.count(edit.old)
    if edit.old == edit.new:
        raise CannotEdit('"old" and "new" are the same.')
    if not places or (places > 1 and not edit.is_for_all):
        raise CannotEdit(f'"old" and "new" differ in line ends alone, and "old" is there {places} times as written.')
    return Edited(raw.replace(edit.old, edit.new), places)


def _found(text: Unified, old: str, edit: Edit) -> tuple[list[_Spot], str]:
    for find, tolerance in _LADDER:
        spots = (spot for spot in find(text, old) if not edit.is_at_end or _is_last(text, spot))
        if found := list(spots if edit.is_for_all else islice(spots, _MOST_COUNTED + 1)):
            return found, tolerance
    return [], ""


def _is_last(text: Unified, spot: _Spot) -> bool:
    rest = len(text.text) - spot.end
    return not rest or (rest == 1 and text.text.endswith("\n"))


def _several(text: Unified, old: str, edit: Edit, spots: Sequence[_Spot], tolerance: str) -> list[_Spot]:
    """What to do of several places: all of them if that was asked for and nothing was overlooked to find them."""
    if edit.is_for_all and not tolerance:
        return list(_apart(spots))
    numbers = [str(text.line_number(spot.start)) for spot in spots[:_SHOWN_PLACES]]
    more = " and others" if len(spots) > _SHOWN_PLACES else ""
    times = f"more than {_MOST_COUNTED:,}" if len(spots) > _MOST_COUNTED and not edit.is_for_all else f"{len(spots):,}"
    said = f'"old" is there {times} times, at lines {", ".join(numbers)}{more}'
    if edit.is_for_all:
        raise CannotEdit(f"{said}, but only {tolerance}. replace_all takes only what is there as written.")
    raise CannotEdit(
        f"{said}. Add lines around the place that is meant, or set at_end for the last lines of the file, or replace_all."
    )


def _apart(spots: Sequence[_Spot]) -> Iterator[_Spot]:
    end = 0
    for spot in spots:
        if spot.start >= end:
            yield spot
            end = spot.end


# --- the ladder, from nothing overlooked to the most


def _as_written(text: Unified, old: str) -> Iterator[_Spot]:
    yield from (_Spot(start, start + len(old)) for start in _positions(text.text, old))
    rest = old[:-1]
    if rest and old.endswith("\n") and not text.text.endswith("\n") and text.text.endswith(rest):
        yield _Spot(len(text.text) - len(rest), len(text.text), lacks_end=True)


def _but_for_trailing_blanks(text: Unified, old: str) -> Iterator[_Spot]:
    return (spot for spot, _ in _line_spots(text, old, str.rstrip))


def _but_for_indentation(text: Unified, old: str) -> Iterator[_Spot]:
    shifted = (_shifted(spot, lines, _body(old)) for spot, lines in _line_spots(text, old, str.strip))
    return (spot for spot in shifted if spot is not None)


def _but_for_typography(text: Unified, old: str) -> Iterator[_Spot]:
    wanted = old.translate(_LIKE_ASCII)
    return (_Spot(start, start + len(old)) for start in _positions(text.text.translate(_LIKE_ASCII), wanted))


_LADDER: tuple[tuple[Callable[[Unified, str], Iterator[_Spot]], str], ...] = (
    (_as_written, ""),
    (_but_for_trailing_blanks, "but for blanks at the ends of lines"),
    (_but_for_indentation, "but for the indentation, which was kept as in the file"),
    (_but_for_typography, "but for typographic quotes, dashes or spaces"),
)


def _positions(text: str, wanted: str) -> Iterator[int]:
    """Every place, also where they overlap."""
    start = text.find(wanted)
    while start >= 0:
        yield start
        start = text.find(wanted, start + 1)


def _body(old: str) -> list[str]:
    return old.removesuffix("\n").split("\n")


def _line_spots(text: Unified, old: str, key: Callable[[str], str]) -> Iterator[tuple[_Spot, list[str]]]:
    """Where the whole lines of `old` stand by this key, and those lines as they are."""
    wanted = [key(line) for line in _body(old)]
    if not any(wanted):
        return
    lines = text.text.split("\n")
    keys = [key(line) for line in lines]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    for first in range(len(lines) - len(wanted) + 1):
        behind = first + len(wanted)
        if keys[first] != wanted[0] or keys[first:behind] != wanted:
            continue
        end = starts[behind] - 1
        if not old.endswith("\n"):
            spot = _Spot(starts[first], end)
        elif behind < len(lines):
            spot = _Spot(starts[first], end + 1)
        else:
            spot = _Spot(starts[first], end, lacks_end=True)
        yield spot, lines[first:behind]


def _shifted(spot: _Spot, lines: Sequence[str], wanted: Sequence[str]) -> _Spot | None:
    """The spot with its shift, None where the lines are not all shifted the same way."""
    pairs = [(_indent(here), _indent(old)) for here, old in zip(lines, wanted, strict=True) if here.strip()]
    added = {here[: len(here) - len(old)] if here.endswith(old) else None for here, old in pairs}
    taken = {old[: len(old) - len(here)] if old.endswith(here) else None for here, old in pairs}
    match list(added), list(taken):
        case [str(shift)], _:
            return _Spot(spot.start, spot.end, spot.lacks_end, added=shift)
        case _, [str(shift)]:
            return _Spot(spot.start, spot.end, spot.lacks_end, taken=shift)
        case _:
            return None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


# --- what becomes of a place


def _replaced(text: Unified, spots: Sequence[_Spot], old: str, new: str) -> str:
    pieces: list[str] = []
    done = 0
    for spot in spots:
        start, end = text.raw_at(spot.start), text.raw_at(spot.end)
        pieces += (text.raw[done:start], _merged(text, spot, old, new))
        done = end
    return "".join((*pieces, text.raw[done:]))


def _merged(text: Unified, spot: _Spot, old: str, new: str) -> str:
    """The place with the lines that the edit changes. Those it repeats stay byte for byte, as do line ends."""
    lines, ends = text.split(text.raw_at(spot.start), text.raw_at(spot.end))
    olds, news = old.split("\n"), new.split("\n")
    if spot.lacks_end:
        olds.pop()
        news = news[:-1] if new.endswith("\n") else news
    merged: list[tuple[str, str]] = []
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, olds, news, autojunk=False).get_opcodes():
        kept = [*ends[i1:i2], *[""] * (j2 - j1)]
        if kind == "equal":
            merged += zip(lines[i1:i2], kept, strict=False)
        else:
            before, here = "\n".join(olds[i1:i2]), "\n".join(lines[i1:i2])
            written = _with_own_characters(before, here, "\n".join(news[j1:j2])).split("\n") if j2 > j1 else []
            merged += zip(map(spot.indented, written), kept, strict=False)
    return _joined(merged, text.line_end(spot.start))


def _with_own_characters(old: str, here: str, new: str) -> str:
    """What is new, with typographic characters of the file where the edit repeats them in its own spelling."""
    is_respelled = old != here and old.translate(_LIKE_ASCII) == here.translate(_LIKE_ASCII)
    if not is_respelled or len(old) * len(new) > _MOST_COMPARED:
        return new
    pieces: list[str] = []
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        pieces.append(here[i1:i2] if kind == "equal" else new[j1:j2])
    return "".join(pieces)


def _joined(lines: Sequence[tuple[str, str]], line_end: str) -> str:
    """Lines, each with the end that it had; a new one ends like the one before."""
    pieces: list[str] = []
    for number, (line, own_end) in enumerate(lines, start=1):
        line_end = own_end or line_end
        pieces += (line, line_end) if number < len(lines) else (line,)
    return "".join(pieces)


def _with_final_end(text: Unified, changed: str) -> str:
    """At the end of a file, whether its last line is ended stays as it was."""
    line_end = text.line_end(len(text.text))
    if text.text.endswith("\n"):
        return changed if changed.endswith(line_end) or not changed else changed + line_end
    return re.sub(r"\r\Z" if text.is_cr else r"\r?\n\Z", "", changed)
