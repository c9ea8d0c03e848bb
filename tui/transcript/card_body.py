"""What stands beneath the line of a tool call: a change with its signs, a list of steps, or output."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style

from agent.literal import plain_output, visible
from tui.transcript.blocks import CardState, ToolCard
from tui.transcript.changes import MARKS, change_of, steps_of
from tui.transcript.palette import Palette
from tui.transcript.wrap import Line, Run, crop, wrap, wrap_hard

HEAD_LINES = 3
TAIL_LINES = 2
LIVE_LINES = 5
CHANGE_LINES = 10
STEPS = 12
EXPANDED_CHARS = 50_000
"""An expanded card shows this much from the start; the whole is in the store."""
LINE_CHARS = 400
"""A folded card looks at no more of a line, and at no more of the output than its shown lines could need."""

QUIET = frozenset({"read_file", "search_files", "list_files"})
"""Tools whose result was on disk before: folded, only its size is told."""


def body_of(card: ToolCard, width: int, palette: Palette, *, is_expanded: bool) -> list[Line]:
    """The lines in so many cells, fewer of them unless expanded."""
    if not is_expanded and card.state is CardState.NOT_RUN:
        return []  # the card's own line has said it
    if steps := steps_of(card):
        return _steps(steps, width, palette, len(steps) if is_expanded else STEPS)
    if change := change_of(card):
        return _whole_change(card, change, width, palette) if is_expanded else _change(change, width, palette)
    return _whole(card, width, palette) if is_expanded else _folded(card, width, palette)


# --- steps


def _steps(steps: Sequence[tuple[str, str]], width: int, palette: Palette, most: int) -> list[Line]:
    """From the first one that is not done, where there is no room for all."""
    first = next((at for at, (status, _) in enumerate(steps) if status != "done"), 0) if len(steps) > most else 0
    first = min(first, len(steps) - min(most, len(steps)))
    lines = [line for step in steps[first : first + most] for line in _step(*step, width, palette)]
    hidden = len(steps) - len(steps[first : first + most])
    return [*lines, _more(hidden, "steps", palette)] if hidden else lines


def _step(status: str, words: str, width: int, palette: Palette) -> list[Line]:
    style = {"done": palette.muted, "in_progress": palette.strong}.get(status, palette.text)
    indent = Segment("  ", palette.text)
    lines = wrap([(" ".join(visible(words[: 8 * LINE_CHARS]).split()), style)], max(1, width - 2))
    first, *rest = lines
    return [[Segment(MARKS[status], palette.accent), *first], *([indent, *line] for line in rest)]


# --- changes


def _change(lines: Sequence[str], width: int, palette: Palette) -> list[Line]:
    shown = lines if len(lines) <= CHANGE_LINES + 1 else lines[:CHANGE_LINES]
    drawn: list[Line] = [[Segment(crop(_still(line), width), _style_of(line, palette))] for line in shown]
    hidden = len(lines) - len(shown)
    return [*drawn, _more(hidden, "lines", palette)] if hidden else drawn


def _whole_change(card: ToolCard, lines: Sequence[str], width: int, palette: Palette) -> list[Line]:
    """All of it, beneath what the tool says besides."""
    said = card.output.partition("\n@@ ")[0][:EXPANDED_CHARS]
    runs: list[Run] = [(f"{visible(card.shown)}\n", palette.text)]
    if said:
        runs.append((f"{plain_output(said)}\n", palette.muted))
    left = EXPANDED_CHARS
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            break
        runs.append((f"{_still(line, len(line))}\n", _style_of(line, palette)))
    drawn = wrap_hard(runs, width)[:-1]
    hidden = sum(map(len, lines)) + len(lines) - EXPANDED_CHARS
    return [*drawn, _kept(hidden, palette)] if hidden > 0 else drawn


def _still(line: str, chars: int = LINE_CHARS) -> str:
    return visible(line[:chars]).replace("\n", " ")


def _style_of(line: str, palette: Palette) -> Style:
    match line[:1]:
        case "+":
            return palette.ok
        case "-":
            return palette.error
        case "@":
            return palette.accent
        case _:
            return palette.muted


# --- output


def _folded(card: ToolCard, width: int, palette: Palette) -> list[Line]:
    """The first and the last lines of the output, a row each; only the last ones while it runs."""
    if card.state is CardState.OK and card.name in QUIET:
        return []  # the card's own line has said it
    output = card.output.removesuffix(f"\nExit code: {card.exit_code}")  # for the model; the card's own line says it
    head, hidden, tail = _excerpt(output, is_live=not card.is_ended)
    lines: list[Line] = [[Segment(crop(line, width), palette.muted)] for line in head]
    if hidden:
        lines.append(_more(hidden, "lines", palette))
    return lines + [[Segment(crop(line, width), palette.muted)] for line in tail]


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


def _whole(card: ToolCard, width: int, palette: Palette) -> list[Line]:
    lines = wrap_hard([(visible(card.shown), palette.text)], width)
    if card.output:
        lines += wrap_hard([(plain_output(card.output[:EXPANDED_CHARS]).rstrip(), palette.muted)], width)
    hidden = len(card.output) - EXPANDED_CHARS
    return [*lines, _kept(hidden, palette)] if hidden > 0 else lines


def _more(hidden: int, what: str, palette: Palette) -> Line:
    return [Segment(f"… {hidden:,} more {what if hidden > 1 else what[:-1]}", palette.muted)]


def _kept(hidden: int, palette: Palette) -> Line:
    return [Segment(f"… {hidden:,} more characters are kept, not shown", palette.muted)]
