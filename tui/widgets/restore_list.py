"""What a rewind would do to files, a line each: the conflicts with a box to tick, and what is not covered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from agent.checkpoints.entry import Kind
from agent.checkpoints.plan import Did, PlannedFile, RestorePlan
from agent.literal import visible
from tui.transcript.wrap import crop
from tui.widgets.report_view import wrapped

SHOWN = 200  # of a kind; the rest is counted
VERB_CELLS = 11
VERBS = {Did.CREATED: "remove", Did.MODIFIED: "restore", Did.DELETED: "bring back"}
QUIET, WARNING, HEAD = "$foreground 68%", "$text-warning", "bold $text-primary"
DAMAGED = (
    "The record of what this session did is damaged at its beginning: what was changed before that is not restored."
)


class RestoreList(Widget):
    """As high as its lines. The screen moves the mark among the conflicts, and ticks them."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "RestoreList { height: auto; }"

    marked: reactive[int] = reactive(-1)

    def __init__(self, head: str, plan: RestorePlan, problem: str) -> None:
        """`head` is a sentence above it all; `problem` is why no file can be restored, "" where nothing is in the way."""
        super().__init__()
        self._head, self._plan, self._problem = head, plan, problem
        self._conflicts = plan.conflicts
        self.ticked: set[str] = set()

    @property
    def conflicts(self) -> int:
        """How many there are to tick."""
        return len(self._conflicts)

    @property
    def restorable(self) -> int:
        """How many files would be restored as they are ticked now."""
        return len(self._plan.files) - len(self._conflicts) + len(self.ticked)

    def tick(self) -> None:
        """The marked conflict, or no longer."""
        if 0 <= self.marked < len(self._conflicts):
            self.ticked ^= {self._conflicts[self.marked].path}
            self.refresh()

    def tick_all(self) -> None:
        """All conflicts, or none where all are ticked."""
        every = {file.path for file in self._conflicts}
        self.ticked = set() if self.ticked == every else every
        self.refresh()

    def move(self, step: int) -> int:
        """Mark the next conflict; the line that it stands in."""
        most = min(len(self._conflicts), SHOWN)
        if not most:
            return 0
        self.marked = (self.marked + step) % most if self.marked >= 0 else (0 if step > 0 else most - 1)
        before = self._above(self.content_size.width)
        return len(before) + 2 * self.marked

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self._lines(width))

    def render(self) -> Content:
        return Content("\n").join(self._lines(self.content_size.width))

    # --- inside

    def _lines(self, width: int) -> list[Content]:
        width = max(1, width)
        return [*self._above(width), *self._conflict_lines(width), *self._uncovered_lines(width)]

    def _above(self, width: int) -> list[Content]:
        """All that stands above the first conflict."""
        lines = [Content(line) for line in wrapped(self._head, width)]
        for problem in (self._problem, DAMAGED if self._plan.is_cut else ""):
            lines += [Content.styled(line, WARNING) for line in wrapped(visible(problem), width) if problem]
        unopposed = [file for file in self._plan.files if not file.conflict]
        if unopposed:
            lines += [Content(""), Content.styled(_head("Files that go back", len(unopposed)), HEAD)]
            lines += [_file_line("  ", file, width) for file in unopposed[:SHOWN]]
            lines += _more(len(unopposed))
        elif not (self._conflicts or self._problem):
            lines += [Content(""), Content.styled("This session changed no file since.", QUIET)]
        if self._conflicts:
            lines.append(Content(""))
            lines.append(Content.styled(_head("Conflicts, left alone unless you tick them", self.conflicts), HEAD))
        return lines

    def _conflict_lines(self, width: int) -> Iterator[Content]:
        for index, file in enumerate(self._conflicts[:SHOWN]):
            box = f"{'▸' if index == self.marked else ' '} [{'x' if file.path in self.ticked else ' '}] "
            line = _file_line(box, file, width)
            yield line.stylize("bold") if index == self.marked else line
            yield Content.styled(crop(f"      {visible(file.conflict)}", width), QUIET)
        yield from _more(self.conflicts)

    def _uncovered_lines(self, width: int) -> Iterator[Content]:
        left = self._plan.uncovered
        if not left:
            return
        yield Content("")
        yield Content.styled(_head("Not covered, left as they are", len(left)), HEAD)
        for one in left[:SHOWN]:
            path = "all else" if one.path == "." else _one_line(one.path)
            why = f" · {one.why}"
            room = max(8, width - 2 - len(why))
            yield Content.styled(crop(f"  {crop(path, room)}{why}", width), QUIET)
        yield from _more(len(left))


def _head(text: str, number: int) -> str:
    return f"{text} ({number:,})"


def _more(number: int) -> Sequence[Content]:
    return [Content.styled(f"  and {number - SHOWN:,} more", QUIET)] if number > SHOWN else []


def _file_line(box: str, file: PlannedFile, width: int) -> Content:
    verb = _verb(file)
    gap = " " * max(1, VERB_CELLS - cell_len(verb))
    path = _one_line(file.path) + ("/" if file.is_folder else "")
    room = max(1, width - cell_len(box) - len(verb) - len(gap))
    return Content.assemble(box, (verb, QUIET), gap, crop(path, room))


def _verb(file: PlannedFile) -> str:
    now, then = file.now, file.then
    if now is not None and then is not None and now.kind is then.kind is not Kind.OPAQUE:
        is_mode = now.content == then.content and now.mode != then.mode
        return f"mode {then.mode:o}" if is_mode else VERBS[file.did]
    return VERBS[file.did]


def _one_line(path: str) -> str:
    """Any path as one literal line; no blank in it is lost."""
    return visible(path).replace("\n", " ")
