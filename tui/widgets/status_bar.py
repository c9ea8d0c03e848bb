"""One row that says who answers, what happens and how full the context is. It never wraps; the least goes first."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace
from textual.content import Content
from textual.widget import Widget

from agent.approvals.shell_verdict import Mode
from agent.context.meter import ContextFigure
from agent.session_run import Live
from session.status import Status as Standing
from tui.transcript.wrap import crop
from tui.widgets.context_field import FORMS, QUIET, Span, cells_of, context_forms
from tui.widgets.state_words import one_line, telling

GAP = " · "
FAINT, LOUD = "$foreground 30%", "$text-warning"
CUT_CELLS = (12, 9, 6)  # of a model's name that is cut; with fewer it says nothing


class Status(Struct, frozen=True):
    """What the row tells. `working_s` counts only while a turn runs; `compacting_s` and `restoring` are None while
    nothing is compacted, and no file is changed back."""

    model: str
    state: Live
    context: ContextFigure
    folder: str
    working_s: int = 0
    compacting_s: int | None = None
    restoring: tuple[int, int] | None = None  # files, of how many
    queued: int = 0
    standing: Standing = Standing.COMPLETE  # in another process
    waiting: str = ""  # for the model, since when and how often; for which other process
    unstored: int | None = None  # messages in memory alone; None while the disk takes writes
    hint: str = ""
    cancels: str = "esc cancels"  # beside what can be left half done
    mode: str = ""  # how much is asked, where that is not as by default
    personality: str = ""


class Name(StrEnum):
    """The fields, in the order in which they stand."""

    STATE = "state"
    MODE = "mode"
    CANCEL = "cancel"
    UNSTORED = "unstored"
    WAITING = "waiting"
    MODEL = "model"
    PERSONALITY = "personality"
    CONTEXT = "context"
    QUEUED = "queued"
    FOLDER = "folder"
    HINT = "hint"  # at the right edge


class Field(Struct, frozen=True):
    """`forms` are its widths, the widest first. The first is the one that is shown."""

    name: Name
    forms: Sequence[Sequence[Span]]

    @property
    def shown(self) -> Sequence[Span]:
        return self.forms[0]


# What a row that is too wide gives up, the first first: a field takes its next form, or goes where it has no other.
GIVEN_UP = (
    Name.CONTEXT,  # the long bar becomes a short one
    Name.FOLDER,
    Name.CONTEXT,  # no bar
    Name.HINT,
    *[Name.PERSONALITY] * 2,
    Name.QUEUED,
    Name.CONTEXT,  # no window
    Name.CONTEXT,  # the percentage alone
    *[Name.MODEL] * (len(CUT_CELLS) + 1),
    *[Name.CONTEXT] * FORMS,
    Name.CANCEL,
    Name.WAITING,
    Name.UNSTORED,
    Name.MODE,
)


def elapsed(seconds: int) -> str:
    """12s, 3m 05s, 1h 02m."""
    minutes, rest = divmod(seconds, 60)
    if minutes < 1:
        return f"{rest}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s"


def fields(status: Status) -> list[Field]:
    model, personality = one_line(status.model), one_line(status.personality)
    unstored = "" if status.unstored is None else f"{status.unstored or ''} not stored".strip()
    found = [
        _field(Name.STATE, telling(status.state, standing=status.standing).style, _state(status)),
        _field(Name.MODE, LOUD if status.mode == Mode.YOLO else "$text-accent", status.mode),
        _field(Name.CANCEL, LOUD, status.cancels if _can_be_cancelled(status) else ""),
        _field(Name.UNSTORED, LOUD, unstored),
        _field(Name.WAITING, LOUD, status.waiting),
        _field(Name.MODEL, "$foreground", model, *(crop(model, cells) for cells in CUT_CELLS)),
        _field(Name.PERSONALITY, "$text-accent", personality, crop(personality, CUT_CELLS[0])),
        Field(Name.CONTEXT, context_forms(status.context)),
        _field(Name.QUEUED, "$text-accent", f"{status.queued} queued" if status.queued else ""),
        _field(Name.FOLDER, QUIET, one_line(status.folder)),
        _field(Name.HINT, QUIET, "" if _can_be_cancelled(status) else one_line(status.hint)),
    ]
    return [field for field in found if cells_of(field.shown)]


def _field(name: Name, style: str, *forms: str) -> Field:
    return Field(name, [[(text, style)] for text in forms])


def _can_be_cancelled(status: Status) -> bool:
    return status.compacting_s is not None or status.restoring is not None


def _state(status: Status) -> str:
    told = telling(status.state, standing=status.standing)
    if status.restoring is not None:
        done, total = status.restoring
        return f"{told.sign} restoring {done:,} of {total:,}" if total else f"{told.sign} restoring"
    if status.compacting_s is not None:
        return f"{told.sign} compacting {elapsed(status.compacting_s)}"
    counts = status.state in (Live.WORKING, Live.ASKING) and status.working_s > 0
    return f"{told.sign} {told.word}" + (f" {elapsed(status.working_s)}" if counts else "")


def fitted(found: Sequence[Field], width: int) -> Sequence[Field]:
    """The fields as they are shown in this width. Of the last one that is left it may need to be cut."""
    kept = found
    for name in GIVEN_UP:
        if _cells(kept) <= width:
            break
        narrower = [replace(field, forms=field.forms[1:]) if field.name is name else field for field in kept]
        kept = [field for field in narrower if field.forms]
    return _widened(kept, found, width)


def _widened(kept: Sequence[Field], found: Sequence[Field], width: int) -> Sequence[Field]:
    """What stays in the widest forms that the room allows: a field that went left some behind it."""
    whole = {field.name: field.forms for field in found}
    for at, field in enumerate(kept):
        room = width - _cells(kept) + cells_of(field.shown)
        wider = [form for form in whole[field.name] if cells_of(form) <= room] or field.forms
        kept = [*kept[:at], replace(field, forms=wider), *kept[at + 1 :]]
    return kept


def _cells(kept: Sequence[Field]) -> int:
    return sum(cells_of(field.shown) for field in kept) + len(GAP) * (len(kept) - 1)


def status_line(status: Status, width: int) -> Content:
    """The row at this width, the hint at the right edge."""
    kept = fitted(fields(status), width)
    hint = [field for field in kept if field.name is Name.HINT]
    parts: list[Span] = []
    for field in kept[: len(kept) - len(hint)]:
        parts += [(GAP, FAINT), *field.shown] if parts else field.shown
    if hint:
        parts += [(" " * (width - cells_of(parts) - cells_of(hint[0].shown)), QUIET), *hint[0].shown]
    if len(kept) == 1:
        parts = [(crop(text, max(1, width)), style) for text, style in parts]
    return Content.assemble(*parts)


class StatusBar(Widget):
    """Draws the row; is told what it says."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "StatusBar { height: 1; padding: 0 3; background: $background; }"

    _status: Status | None = None

    def tell(self, status: Status) -> None:
        if status != self._status:
            self._status = status
            self.refresh()

    def render(self) -> Content:
        return Content("") if self._status is None else status_line(self._status, self.content_size.width)
