"""One row that says who answers, what happens and how full the context is. It never wraps; the least fields go first."""

from __future__ import annotations

from msgspec import Struct
from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from agent.context.meter import ContextFigure
from agent.runtime import Live
from tui.transcript.wrap import crop
from tui.widgets.state_words import one_line, telling

GAP = " · "
WARN_PERCENT, ALARM_PERCENT = 80, 95


class Status(Struct, frozen=True):
    """What the row tells. `working_s` counts only while a turn runs."""

    model: str
    state: Live
    context: ContextFigure
    folder: str
    working_s: int = 0
    queued: int = 0
    hint: str = ""


class Field(Struct, frozen=True):
    """`rank` 0 stays longest."""

    text: str
    style: str
    rank: int


def tokens(count: int) -> str:
    """A count as people say it: 812, 41.2k, 1.5m."""
    for size, unit in ((1_000_000, "m"), (1_000, "k")):
        if count >= size * 0.99995:
            return f"{count / size:.1f}".removesuffix(".0") + unit
    return str(count)


def elapsed(seconds: int) -> str:
    """12s, 3m 05s, 1h 02m."""
    minutes, rest = divmod(seconds, 60)
    if minutes < 1:
        return f"{rest}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s"


def context_text(figure: ContextFigure) -> str:
    """`~` marks an estimate, `?` a window that nobody has told."""
    mark = "~" if figure.is_estimate and figure.used else ""
    share = "" if figure.percent is None else f" {figure.percent}%"
    return f"{mark}{tokens(figure.used)}/{tokens(figure.window) if figure.window else '?'}{share}"


def fields(status: Status) -> list[Field]:
    told = telling(status.state)
    counts = status.state in (Live.WORKING, Live.ASKING) and status.working_s > 0
    state = f"{told.sign} {told.word}" + (f" {elapsed(status.working_s)}" if counts else "")
    percent = status.context.percent or 0
    fullness = (
        "$text-error" if percent >= ALARM_PERCENT else "$text-warning" if percent >= WARN_PERCENT else "$foreground 68%"
    )
    found = [
        Field(state, told.style, 0),
        Field(one_line(status.model), "$foreground", 1),
        Field(context_text(status.context), fullness, 2),
        Field(f"{status.queued} queued" if status.queued else "", "$text-accent", 3),
        Field(one_line(status.folder), "$foreground 68%", 5),
        Field(one_line(status.hint), "$foreground 68%", 4),
    ]
    return [field for field in found if field.text]


def status_line(status: Status, width: int) -> Content:
    """The row at this width: whole fields, the hint at the right edge; only the last field left is cut."""
    kept = fields(status)
    while len(kept) > 1 and _cells(kept) > width:
        kept.remove(max(kept, key=lambda field: field.rank))
    first = kept[0]
    parts: list[str | tuple[str, str]] = [(crop(first.text, max(1, width)), first.style)]
    has_hint = kept[-1].rank == 4
    for field in kept[1:-1] if has_hint else kept[1:]:
        parts += [(GAP, "$foreground 30%"), (field.text, field.style)]
    if has_hint:
        room = width - _cells(kept) + len(GAP)
        parts += [" " * room, (kept[-1].text, kept[-1].style)]
    return Content.assemble(*parts)


def _cells(kept: list[Field]) -> int:
    return sum(cell_len(field.text) for field in kept) + len(GAP) * (len(kept) - 1)


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
