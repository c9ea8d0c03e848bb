"""How a tool call looks: one line with its state, and beneath it what came of it (`card_body.py`)."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from agent.literal import visible
from session.models import Approval
from tui.transcript.blocks import CardState, ToolCard
from tui.transcript.card_body import LINE_CHARS, QUIET, body_of
from tui.transcript.changes import outcome_of
from tui.transcript.drawing import Sheet
from tui.transcript.palette import Palette
from tui.transcript.wrap import Line, cells_of, crop

GLYPHS = {
    CardState.WAITING: "○",
    CardState.ASKING: "?",
    CardState.RUNNING: "●",
    CardState.OK: "✓",
    CardState.ERROR: "✗",
    CardState.NOT_RUN: "–",
    CardState.INTERRUPTED: "■",
}

APPROVED = {
    Approval.ALLOWED_ONCE: "allowed once",
    Approval.ALLOWED_SESSION: "allowed for this session",
    Approval.ALLOWED_ALWAYS: "always allowed",
    Approval.ANSWERED: "answered",
}
NOT_RUN = {
    Approval.DENIED: "denied",
    Approval.TIMED_OUT: "not run, nobody answered in time",
    Approval.CANCELLED: "not run, the question was withdrawn",
    Approval.DECLINED: "you declined to answer",
}


def draw_card(card: ToolCard, sheet: Sheet, is_expanded: bool) -> list[Strip]:
    bar = Segment("│ ", sheet.palette.faint)
    body = body_of(card, max(1, sheet.measure - 2), sheet.palette, is_expanded=is_expanded)
    return [*_head(card, sheet), *(sheet.strip([bar, *line]) for line in body)]


def _head(card: ToolCard, sheet: Sheet) -> list[Strip]:
    """The card's line: state, name, what is shown, and at the right how it ended (beneath, where it does not fit)."""
    palette = sheet.palette
    width = sheet.measure
    status = crop(status_of(card), width - 2)
    title: Line = [
        Segment(f"{GLYPHS[card.state]} ", _colour(card.state, palette)),
        Segment(crop(visible(card.name), width // 2), palette.strong),
        Segment("  ", palette.text),
    ]
    is_beside = cells_of(title) + len(status) + 16 <= width or not status
    room = width - cells_of(title) - (len(status) + 2 if is_beside and status else 0)
    title.append(Segment(crop(_first_line(card.shown), max(1, room)), palette.text))
    end = Segment(status, _status_colour(card.state, palette))
    if not is_beside:
        return [sheet.strip(title), sheet.strip([Segment("  ", palette.text), end])]
    gap = Segment(" " * (width - cells_of(title) - len(status)), palette.text)
    return [sheet.strip([*title, gap, end])]


def _first_line(text: str) -> str:
    line, newline, _ = visible(text[: 8 * LINE_CHARS]).strip().partition("\n")
    return f"{line} …" if newline else line


def status_of(card: ToolCard) -> str:
    """How the call stands, in words."""
    match card.state:
        case CardState.WAITING:
            return _joined(APPROVED.get(card.approval, ""), "waiting")
        case CardState.ASKING:
            return "waits for your answer"
        case CardState.RUNNING:
            return _joined("running", _told(card.running_s) if card.running_s else "")
        case CardState.NOT_RUN:
            why = NOT_RUN.get(card.approval, "not run")
            return f"{why}: {visible(card.cause)}" if card.cause else why
        case CardState.OK:
            return _joined(APPROVED.get(card.approval, ""), _size(card), _spent(card))
        case CardState.ERROR:
            failed = "failed" if card.exit_code is None else f"failed, exit {card.exit_code}"
            return _joined(failed, _spent(card))
        case CardState.INTERRUPTED:
            return _joined("interrupted", _spent(card))


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)


def _size(card: ToolCard) -> str:
    if card.name not in QUIET or not card.output:
        return outcome_of(card)
    lines = card.output.rstrip().count("\n") + 1
    return f"{lines:,} line{'' if lines == 1 else 's'}"


def _spent(card: ToolCard) -> str:
    seconds = card.duration_s
    if seconds < 0.05:
        return ""
    return f"{seconds:.1f} s" if seconds < 60 else _told(round(seconds))


def _told(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _colour(state: CardState, palette: Palette) -> Style:
    match state:
        case CardState.OK:
            return palette.ok
        case CardState.ERROR:
            return palette.error
        case CardState.ASKING | CardState.NOT_RUN | CardState.INTERRUPTED:
            return palette.warning
        case CardState.RUNNING:
            return palette.accent
        case CardState.WAITING:
            return palette.muted


def _status_colour(state: CardState, palette: Palette) -> Style:
    is_quiet = state in (CardState.OK, CardState.WAITING, CardState.RUNNING)
    return palette.muted if is_quiet else _colour(state, palette)
