"""What is known of a call that is asked about: its parts with their verdicts, its dangers, what it would touch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from agent.approvals.details import Details
from agent.approvals.shell_verdict import Decision, Part
from agent.literal import visible
from tui.transcript.wrap import chop, crop
from tui.widgets.state_words import one_line

MOST_PARTS, MOST_NAMES = 200, 40  # more are counted
_LABEL_CELLS, _NARROW_CELLS = 9, 24  # in a narrow place the word has a row of its own
_PART_ROWS = 2  # of a part's text; all of it stands above
_WORDS = {
    Decision.ALLOW: ("allowed", "$text-success"),
    Decision.ASK: ("asks", "$text-warning"),
    Decision.DENY: ("denied", "$text-error"),
    Decision.NEVER: ("never", "$text-error"),
}
_QUIET = "$foreground 68%"


class Fact(Struct, frozen=True):
    """One line of it: a word, what it is said of, and a note behind that. `is_whole`: it stands nowhere else in full."""

    word: str
    text: str
    note: str = ""
    style: str = _QUIET
    is_whole: bool = False


def facts_of(details: Details, *, names_dangers: bool = False) -> list[Fact]:
    """The parts first, those that ask in front where there are too many to show.

    `names_dangers` is for where the line of `danger` is not seen whole.
    """
    return [*(_dangers(details) if names_dangers else ()), *_parts(details.parts), *_touched(details)]


def danger(details: Details) -> str:
    """One line for all marks of danger, "" where there are none."""
    found = list(dict.fromkeys(mark.why for mark in details.marks))
    return f"Dangerous: it {'; it '.join(map(one_line, found))}." if found else ""


def _parts(parts: Sequence[Part]) -> Iterator[Fact]:
    shown = parts
    if len(parts) > MOST_PARTS:
        shown = sorted(parts, key=lambda part: part.verdict is Decision.ALLOW)[:MOST_PARTS]
    for part in shown:
        word, style = _WORDS[part.verdict]
        yield Fact(word, one_line(part.text), one_line(" · ".join(filter(None, (part.why, part.rule)))), style)
    if len(parts) > len(shown):
        yield Fact("", f"and {len(parts) - len(shown):,} more parts")


def _dangers(details: Details) -> Iterator[Fact]:
    for why in dict.fromkeys(mark.why for mark in details.marks):
        yield Fact("danger", f"it {one_line(why)}", "", "$text-error", is_whole=True)


def _touched(details: Details) -> Iterator[Fact]:
    written = () if details.after is not None and details.writes == (details.path,) else details.writes
    for word, names in (("reads", details.reads), ("writes", written), ("reaches", details.hosts)):
        for at, name in enumerate(names[:MOST_NAMES]):
            yield Fact("" if at else word, visible(name, fold_blanks=True).replace("\n", " "))
        if len(names) > MOST_NAMES:
            yield Fact("", f"and {len(names) - MOST_NAMES:,} more")


def fact_lines(facts: Sequence[Fact], width: int) -> Iterator[Content]:
    """The word in a column of its own; a note goes beneath where it does not fit behind."""
    label = _LABEL_CELLS if width >= _NARROW_CELLS else 0
    room = max(4, width - label)
    for fact in facts:
        pieces = [piece for piece, _ in chop(fact.text, room, room)] or [""]
        if len(pieces) > _PART_ROWS and not fact.is_whole:
            pieces = [*pieces[: _PART_ROWS - 1], crop("".join(pieces[_PART_ROWS - 1 : _PART_ROWS + 1]), room)]
        rows = [(piece, "") for piece in pieces]
        note = f"  {fact.note}" if fact.note else ""
        if cell_len(pieces[-1]) + cell_len(note) <= room:
            rows[-1] = (pieces[-1], note)
        else:
            rows += [("", piece) for piece, _ in chop(note, room, room)]
        if not label and fact.word:
            yield Content.assemble((fact.word, fact.style))
        for at, (text, rest) in enumerate(rows):
            word = "" if at or not label else fact.word
            yield Content.assemble((word.ljust(label), fact.style), (text, "$foreground"), (rest, _QUIET))


class CallFacts(Widget):
    """As high as its lines are at its width."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "CallFacts { height: auto; }"

    def __init__(self, facts: Sequence[Fact]) -> None:
        super().__init__()
        self.facts = facts

    def put(self, facts: Sequence[Fact]) -> None:
        if facts != self.facts:
            self.facts = facts
            self.refresh(layout=True)

    def rows(self, width: int) -> int:
        return sum(1 for _ in fact_lines(self.facts, width))

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return self.rows(width)

    def render(self) -> Content:
        return Content("\n").join(fact_lines(self.facts, self.content_size.width))
