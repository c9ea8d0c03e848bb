"""What fills the context: the window as a grid of a hundred cells, and what compacting would do."""

from __future__ import annotations

from collections.abc import Iterator

from textual.widget import Widget

from agent.commands.table import ContextAsked
from tui.screens.report import ReportScreen
from tui.widgets.context_grid import ContextGrid
from tui.widgets.report_view import ReportView


class ContextScreen(ReportScreen):
    """The report of /context with its table of shares drawn as a grid."""

    DEFAULT_CSS = "ContextScreen ContextGrid { margin: 1 0; }"

    def __init__(self, asked: ContextAsked) -> None:
        super().__init__(asked.report)
        self._asked = asked

    def parts(self) -> Iterator[Widget]:
        yield ReportView(self._asked.above)
        yield ContextGrid(self._asked.split)
        yield ReportView(self._asked.below)
