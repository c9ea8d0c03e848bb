"""A report over the screen, such as /usage and /compact preview."""

from __future__ import annotations

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget

from agent.commands.report import Report
from agent.literal import visible
from tui.hints import with_keys
from tui.keys import PAGE_KEYS
from tui.screens.modal import Modal
from tui.widgets.report_view import ReportView


class ReportScreen(Modal[None]):
    """Shows one report; any of Esc, Enter and q closes it."""

    BINDINGS = PAGE_KEYS
    DEFAULT_CSS = """
    ReportScreen { align: center middle; background: $background 60%; }
    ReportScreen #box {
        width: 92%; max-width: 94; height: auto; max-height: 96%; background: $background;
        border: round $border; border-title-color: $text-primary; border-title-style: bold;
        border-subtitle-color: $foreground 68%; padding: 0 1;
    }
    ReportScreen VerticalScroll { height: auto; max-height: 100%; scrollbar-size-vertical: 1; }
    """

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report
        self._body = VerticalScroll(can_focus=False)

    def parts(self) -> Iterator[Widget]:
        """What is shown, from above."""
        yield ReportView(self._report.parts)

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(visible(self._report.title))
            box.border_subtitle = Content(with_keys(self, "{page.close} closes"))
            with self._body:
                yield from self.parts()

    def action_scroll(self, lines: int) -> None:
        self._body.scroll_relative(y=lines, animate=False)

    def action_page(self, pages: int) -> None:
        move = self._body.scroll_page_down if pages > 0 else self._body.scroll_page_up
        move(animate=False)

    def action_close(self) -> None:
        self.dismiss()
