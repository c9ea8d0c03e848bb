"""How a tool call looks: one line with its state, and as much of its output as is asked for."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from agent.literal import plain_output, visible
from session.models import Approval
from tui.transcript.blocks import CardState, ToolCard
from tui.transcript.drawing import Sheet
from tui.transcript.palette import Palette
from tui.transcript.wrap import Line, cells_of, crop, wrap_hard

HEAD_LINES = 3
TAIL_LINES = 2
LIVE_LINES = 5
EXPANDED_CHARS = 50_000
"""An expanded card shows this much from the start; the whole is in the store."""
LINE_CHARS = 400
"""A folded card looks at no more of a line, and at no more of the output than its shown lines could need."""

QUIET = frozenset({"read_file"})
"""Tools whose result was on disk before: folded, only its size is told."""

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
}
NOT_RUN = {
    Approval.DENIED: "denied",
    Approval.TIMED_OUT: "not run, nobody answered in time",
    Approval.CANCELLED: "not run, the question was withdrawn",
}


def draw_card(card: ToolCard, sheet: Sheet, is_expanded: bool) -> list[Strip]:
    strips = _head(card, sheet)
    if is_expanded:
        return strips + _body(_expanded(card, sheet), sheet)
    return strips + _body(_folded(card, sheet), sheet)


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
            return "running"
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
        return ""
    lines = card.output.rstrip().count("\n") + 1
    return f"{lines:,} line{'' if lines == 1 else 's'}"


def _spent(card: ToolCard) -> str:
    seconds = card.duration_s
    if seconds < 0.05:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


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


def _body(lines: list[Line], sheet: Sheet) -> list[Strip]:
    bar = Segment("│ ", sheet.palette.faint)
    return [sheet.strip([bar, *line]) for line in lines]


def _folded(card: ToolCard, sheet: Sheet) -> list[Line]:
    """The first and the last lines of the output, a row each; only the last ones while it runs."""
    if card.state is CardState.NOT_RUN or (card.state is CardState.OK and card.name in QUIET):
        return []  # the card's own line has said it
    output = card.output.removesuffix(f"\nExit code: {card.exit_code}")  # for the model; the card's own line says it
    head, hidden, tail = _excerpt(output, is_live=not card.is_ended)
    palette = sheet.palette
    lines: list[Line] = [[Segment(crop(line, sheet.measure - 2), palette.muted)] for line in head]
    if hidden:
        lines.append([Segment(f"… {hidden:,} more lines", palette.muted)])
    return lines + [[Segment(crop(line, sheet.measure - 2), palette.muted)] for line in tail]


def _excerpt(output: str, *, is_live: bool) -> tuple[list[str], int, list[str]]:
    """First lines, how many are left out, last lines; empty ones are passed over. Looks at both ends only."""
    most = LINE_CHARS * (HEAD_LINES + TAIL_LINES + 2)
    if is_live:
        return [], 0, _filled(output[-most:])[-LIVE_LINES:]
    if len(output) <= 2 * most:
        lines = _filled(output)
        if len(lines) <= HEAD_LINES + TAIL_LINES + 1:
            return lines, 0, []
        return lines[:HEAD_LINES], len(lines) - HEAD_LINES - TAIL_LINES, lines[-TAIL_LINES:]
    head = _filled(output[:most])[:HEAD_LINES]
    tail = _filled(output[-most:])[-TAIL_LINES:]
    return head, max(1, output.count("\n") + 1 - len(head) - len(tail)), tail


def _filled(output: str) -> list[str]:
    return [line for line in plain_output(output).split("\n") if line.strip()]


def _expanded(card: ToolCard, sheet: Sheet) -> list[Line]:
    palette = sheet.palette
    lines = wrap_hard([(visible(card.shown), palette.text)], sheet.measure - 2)
    if card.output:
        lines += wrap_hard([(plain_output(card.output[:EXPANDED_CHARS]).rstrip(), palette.muted)], sheet.measure - 2)
    hidden = len(card.output) - EXPANDED_CHARS
    if hidden > 0:
        lines.append([Segment(f"… {hidden:,} more characters are kept, not shown", palette.muted)])
    return lines
