"""How each block looks, except answers (`flow.py`) and cards (`cards.py`): blocks in, strips out."""

from __future__ import annotations

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from agent.config.display_settings import ReasoningShown
from agent.literal import visible
from session.models import Finish, Level
from tui.transcript.blocks import Activity, NoticeBlock, Prompt, Reasoning, Refusal, Summary
from tui.transcript.palette import Palette
from tui.transcript.wrap import Line, Run, cells_of, crop, wrap

MARGIN = 2
MEASURE = 100
FOLDED_PROMPT_LINES = 12
REASONING_LINES = 2

ENDINGS = {
    Finish.LENGTH: "Cut off: the model reached its output limit.",
    Finish.CONTENT_FILTER: "Stopped by the provider’s content filter.",
    Finish.CUT: "Cut off: the answer is not complete.",
    Finish.ERROR: "Failed: the server reported an error before the answer was complete.",
    Finish.INTERRUPTED: "Interrupted before the answer was complete.",
}


class Sheet(Struct, frozen=True):
    """What blocks are drawn on: the cells of a whole row, the colours, and how much of thinking is shown."""

    cells: int
    palette: Palette
    reasoning: ReasoningShown = ReasoningShown.FOLDED

    @property
    def width(self) -> int:
        """Cells between the margins."""
        return max(1, self.cells - 2 * MARGIN)

    @property
    def measure(self) -> int:
        """Cells of running text."""
        return min(self.width, MEASURE)

    def strip(self, line: Line) -> Strip:
        """A row with its margin, on the page's background."""
        return self.row([Segment(" " * MARGIN, self.palette.text), *line], self.palette.text)

    def row(self, line: Line, ground: Style) -> Strip:
        """A row from its first cell on, filled up with `ground`."""
        spare = self.cells - cells_of(line)
        if spare > 0:
            line = [*line, Segment(" " * spare, ground)]
        return Strip(line, self.cells) if spare >= 0 else Strip(line).crop(0, self.cells)

    def text(self, runs: list[Run], width: int | None = None) -> list[Strip]:
        return [self.strip(line) for line in wrap(runs, width or self.measure)]


def draw_prompt(block: Prompt, sheet: Sheet, is_expanded: bool) -> list[Strip]:
    palette = sheet.palette
    lines = wrap([(visible(block.text), palette.prompt)], sheet.measure)
    hidden = len(lines) - FOLDED_PROMPT_LINES
    if hidden > 1 and not is_expanded:
        more: Line = [Segment(f"… {hidden:,} more lines", palette.block_label)]
        lines = [*lines[:FOLDED_PROMPT_LINES], more]
    bar = [Segment("▌", palette.prompt_bar), Segment(" ", palette.prompt)]
    return [sheet.row([*bar, *line], palette.prompt) for line in lines]


def draw_reasoning(block: Reasoning, sheet: Sheet, is_expanded: bool) -> list[Strip]:
    """Two lines of it unless expanded, the first ones or the latest while it is being written, or its title alone."""
    palette = sheet.palette
    style = palette.muted + Style(italic=True)
    text = block.text.strip()
    bar = Segment("┆ ", palette.faint)
    width = max(1, sheet.measure - 2)
    enough = 4 * width * REASONING_LINES
    title = "Thinking" if block.is_open else "Thought"
    if is_expanded:
        lines = wrap([(visible(text), style)], width)
        head = f"▾ {title}"
    else:
        part = text[-enough:] if block.is_open else text[:enough]
        lines = wrap([(" ".join(visible(part).split()), style)], width)
        is_all = len(lines) <= REASONING_LINES and len(part) == len(text)
        lines = lines[-REASONING_LINES:] if block.is_open else lines[:REASONING_LINES]
        if sheet.reasoning is ReasoningShown.HIDDEN:
            lines, is_all = [], False
        head = title if is_all else f"▸ {title} · {len(text):,} characters"
    return [sheet.strip([Segment(head, palette.muted)]), *(sheet.strip([bar, *line]) for line in lines)]


def draw_summary(block: Summary, sheet: Sheet, is_expanded: bool) -> list[Strip]:
    """A rule across the page, since the model reads nothing above it any more, and the summary's first lines."""
    palette = sheet.palette
    text = visible(block.text.strip())
    lines = wrap([(text if is_expanded else " ".join(text.split()), palette.muted)], sheet.measure)
    label = f"{'▾' if is_expanded else '▸'} Summary of what was said before · {len(text):,} characters "
    label = crop(label, sheet.measure)
    rule = "─" * max(0, sheet.measure - cell_len(label))
    head: Line = [Segment(label, palette.muted), Segment(rule, palette.faint)]
    shown = lines if is_expanded else lines[:REASONING_LINES]
    return [sheet.strip(line) for line in (head, *shown)]


def draw_refusal(block: Refusal, sheet: Sheet) -> list[Strip]:
    palette = sheet.palette
    label = palette.warning + Style(bold=True)
    return sheet.text([("Refused: ", label), (visible(block.text), palette.text)])


def draw_notice(block: NoticeBlock, sheet: Sheet) -> list[Strip]:
    palette = sheet.palette
    text = visible(block.text)
    match block.level:
        case Level.INFO:
            return sheet.text([(text, palette.muted)])
        case Level.WARNING:
            return sheet.text([("Note: ", palette.warning + Style(bold=True)), (text, palette.text)])
        case Level.ERROR:
            return sheet.text([("Error: ", palette.error + Style(bold=True)), (text, palette.text)])


def draw_activity(block: Activity, sheet: Sheet) -> list[Strip]:
    return sheet.text([(f"{visible(block.text)} …", sheet.palette.muted)])


def draw_ending(finish: Finish, sheet: Sheet) -> list[Strip]:
    """The line under an answer that did not end by itself."""
    sentence = ENDINGS.get(finish)
    return sheet.text([("■ " + sentence, sheet.palette.warning)]) if sentence else []


def draw_source(text: str, sheet: Sheet) -> list[Strip]:
    """An answer as its source, until formatting is at hand."""
    return sheet.text([(visible(text.replace("\r\n", "\n")), sheet.palette.text)])


def draw_intro(text: str, sheet: Sheet, rows: int) -> list[Strip]:
    """What an empty transcript says; its first line stands out. The empty lines go where `rows` are too few."""
    title, _, rest = visible(text).partition("\n")
    strips = sheet.text([(f"\n{title}", sheet.palette.heading), (f"\n{rest}" if rest else "", sheet.palette.muted)])
    return strips if len(strips) <= rows else [strip for strip in strips if not strip.text.isspace()]
