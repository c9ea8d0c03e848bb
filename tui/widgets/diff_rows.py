"""What a change makes of a text, as rows of a side-by-side or a unified view. Plain data, made off the loop."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise, zip_longest

from msgspec import Struct

from agent.literal import visible
from tui.transcript.wrap import expand_tabs
from tui.widgets.grapheme_area import boundary_after, boundary_before

CONTEXT = 3  # unchanged lines that are shown around a change
MOST_CHARS = 6_000_000  # of both texts together; more is not compared
_MARKED_CHARS = 2_000  # of a line in which what changed is marked
_MOST_PAIRS = 250_000  # lines times lines that are compared one by one
_NO_END = " ⟨no line end⟩"

Span = tuple[int, int, int, int]
"""Lines `[a:b]` of the old text that give way to lines `[c:d]` of the new one."""


class Row(Struct, frozen=True):
    """One row. `old` and `new` are line numbers from 1, 0 for none; `gap` is how many unchanged lines are left out here.

    `marked_old` and `marked_new` are the characters in which a changed line differs from its counterpart.
    """

    old: int = 0
    new: int = 0
    old_text: str = ""
    new_text: str = ""
    is_same: bool = False
    gap: int = 0
    marked_old: tuple[int, int] = (0, 0)
    marked_new: tuple[int, int] = (0, 0)


class FileDiff(Struct, frozen=True):
    """`split` has changed lines beside each other, `unified` beneath. `notes` tell what lines alone do not show."""

    split: tuple[Row, ...]
    unified: tuple[Row, ...]
    added: int
    removed: int
    notes: tuple[str, ...] = ()


def file_diff(before: str, after: str) -> FileDiff:
    """Linear but for small spans, in which lines are compared one by one."""
    old, new = _lines(before), _lines(after)
    spans = list(_changes(old, new))
    shown_old, shown_new = _shown(old, new)
    split = list(_rows(spans, shown_old, shown_new, len(new)))
    return FileDiff(
        tuple(split),
        tuple(_unified(split)),
        added=sum(d - c for _, _, c, d in spans),
        removed=sum(b - a for a, b, _, _ in spans),
        notes=tuple(_notes(old, new)),
    )


# --- which lines changed


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[Span]:
    """In the order of the text."""
    waiting: list[Span] = [(0, len(old), 0, len(new))]
    while waiting:
        a, b, c, d = _trimmed(old, new, waiting.pop())
        if a == b or c == d:
            if a < b or c < d:
                yield a, b, c, d
        elif (b - a) * (d - c) <= _MOST_PAIRS:
            yield from _compared(old, new, (a, b, c, d))
        elif anchors := _anchors(old, new, (a, b, c, d)):
            ends = [(a - 1, c - 1), *anchors, (b, d)]
            between = [(i + 1, k, j + 1, m) for (i, j), (k, m) in pairwise(ends)]
            waiting += reversed(between)
        else:
            yield a, b, c, d


def _trimmed(old: Sequence[str], new: Sequence[str], span: Span) -> Span:
    a, b, c, d = span
    while a < b and c < d and old[a] == new[c]:
        a, c = a + 1, c + 1
    while a < b and c < d and old[b - 1] == new[d - 1]:
        b, d = b - 1, d - 1
    return a, b, c, d


def _compared(old: Sequence[str], new: Sequence[str], span: Span) -> Iterator[Span]:
    a, b, c, d = span
    for kind, i, j, k, m in SequenceMatcher(None, old[a:b], new[c:d], autojunk=False).get_opcodes():
        if kind != "equal":
            yield a + i, a + j, c + k, c + m


def _anchors(old: Sequence[str], new: Sequence[str], span: Span) -> list[tuple[int, int]]:
    """Lines that stand once on either side, as many as are in the same order on both (patience diff)."""
    a, b, c, d = span
    counts_old, counts_new = Counter(old[a:b]), Counter(new[c:d])
    at_new = {line: at for at, line in enumerate(new[c:d], c) if counts_new[line] == 1}
    pairs = [(at, at_new[line]) for at, line in enumerate(old[a:b], a) if counts_old[line] == 1 and line in at_new]
    return _longest_rising(pairs)


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    tops: list[int] = []  # the smallest end of a rising run of each length
    at_top: list[int] = []
    before = [-1] * len(pairs)
    for at, (_, value) in enumerate(pairs):
        length = bisect_left(tops, value)
        before[at] = at_top[length - 1] if length else -1
        tops[length : length + 1] = [value]
        at_top[length : length + 1] = [at]
    run: list[tuple[int, int]] = []
    at = at_top[-1] if at_top else -1
    while at >= 0:
        run.append(pairs[at])
        at = before[at]
    return run[::-1]


# --- rows


def _rows(spans: Sequence[Span], old: Sequence[str], new: Sequence[str], length: int) -> Iterator[Row]:
    """Side by side, with the unchanged lines around each change."""
    done_old = done_new = 0
    for number, (a, b, c, d) in enumerate(spans):
        yield from _unchanged(new, done_old, done_new, c, is_first=not number, is_last=False)
        for k, m in zip_longest(range(a, b), range(c, d)):
            yield _changed(k, m, old, new)
        done_old, done_new = b, d
    if spans:
        yield from _unchanged(new, done_old, done_new, length, is_first=False, is_last=True)


def _unchanged(new: Sequence[str], i: int, k: int, end: int, *, is_first: bool, is_last: bool) -> Iterator[Row]:
    """Lines from `k` on up to `end`; the same stand at `i` in the old text."""
    head = k if is_first else min(end, k + CONTEXT)
    tail = end if is_last else max(head, end - CONTEXT)
    if tail - head == 1:
        tail = head  # a line takes no more room than the row that says that it is left out
    at = i - k
    yield from (Row(n + at + 1, n + 1, new[n], new[n], is_same=True) for n in range(k, head))
    if tail > head:
        yield Row(gap=tail - head)
    yield from (Row(n + at + 1, n + 1, new[n], new[n], is_same=True) for n in range(tail, end))


def _changed(k: int | None, m: int | None, old: Sequence[str], new: Sequence[str]) -> Row:
    if k is None or m is None:
        return Row(
            old=0 if k is None else k + 1,
            new=0 if m is None else m + 1,
            old_text="" if k is None else old[k],
            new_text="" if m is None else new[m],
        )
    marked_old, marked_new = _marked(old[k], new[m])
    return Row(k + 1, m + 1, old[k], new[m], marked_old=marked_old, marked_new=marked_new)


def _marked(old: str, new: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where two lines differ; nowhere, if they are long or have too little in common for that to say anything."""
    if max(len(old), len(new)) > _MARKED_CHARS:
        return (0, 0), (0, 0)
    front = _common(old, new)
    front = min(boundary_before(old, front), boundary_before(new, front))
    most = min(len(old), len(new)) - front
    back = min(most, _common(old[::-1], new[::-1]))
    words = len(old[:front].strip()) + len(old[len(old) - back :].strip())
    if words * 3 < max(len(old.strip()), len(new.strip())):
        return (0, 0), (0, 0)
    ends = [boundary_after(line, len(line) - back) for line in (old, new)]
    return (front, ends[0]), (front, ends[1])


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _unified(split: Sequence[Row]) -> Iterator[Row]:
    """All that went of a change, then all that came."""
    came: list[Row] = []
    for row in split:
        if row.is_same or row.gap:
            yield from came
            came = []
            yield row
            continue
        if row.old:
            yield Row(old=row.old, old_text=row.old_text, marked_old=row.marked_old)
        if row.new:
            came.append(Row(new=row.new, new_text=row.new_text, marked_new=row.marked_new))
    yield from came


# --- how a line reads


def _lines(text: str) -> list[str]:
    """With their ends. Only a newline ends a line: a lone CR is shown within it."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _shown(old: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[str]]:
    # Where every line of both sides ends in CR LF, a note says so once.
    is_hidden = _ends(old) | _ends(new) == {"CR LF"}
    return [_line(line, is_hidden) for line in old], [_line(line, is_hidden) for line in new]


def _line(line: str, is_cr_hidden: bool) -> str:
    text = line.removesuffix("\n")
    end = "" if text != line else _NO_END
    if is_cr_hidden and not end:
        text = text.removesuffix("\r")
    if text.isascii() and text.isprintable() and len(text) < 40:
        return text + end
    return expand_tabs(visible(text, fold_blanks=True)).replace("\n", " ") + end


def _ends(lines: Sequence[str]) -> set[str]:
    return {"CR LF" if line.endswith("\r\n") else "LF" for line in lines if line.endswith("\n")}


def _notes(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    before, after = (" and ".join(sorted(_ends(lines))) for lines in (old, new))
    if before and after and before != after:
        yield f"line ends change from {before} to {after}"
    elif after not in ("", "LF"):
        yield f"lines end in {after}"
    if new and not new[-1].endswith("\n"):
        yield "no line end at the end"
    elif old and new and not old[-1].endswith("\n"):
        yield "a line end is added at the end"
