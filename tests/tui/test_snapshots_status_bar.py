"""Pictures of the status row at five widths: each fill of the context, and each mark."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Static

from agent.context.meter import ContextFigure, FigureSource
from agent.session_run import Live
from tui.app import HermesApp
from tui.themes import LOOKS
from tui.widgets.status_bar import Status, StatusBar

WINDOW, THRESHOLD = 128_000, 96_000


def at(percent: int, **more: object) -> ContextFigure:
    known = {"threshold": THRESHOLD, "source": FigureSource.PROVIDER, "window": WINDOW, **more}
    return ContextFigure(used=percent * WINDOW // 100, **known)


def idle(figure: ContextFigure) -> Status:
    return Status("gpt-oss-120b", Live.IDLE, figure, "atlas", hint="/help")


def working(figure: ContextFigure, **more: object) -> Status:
    told = {"working_s": 12, "hint": "esc interrupts", **more}
    return Status("gpt-oss-120b", Live.WORKING, figure, "atlas", **told)


ESTIMATE = FigureSource.PROVIDER_PLUS_ESTIMATE
ROWS = {
    "empty": idle(at(0, source=FigureSource.UNKNOWN)),
    "32 %": idle(at(32)),
    "55 %": idle(at(55)),
    "82 %, over the threshold": idle(at(82)),
    "97 %": idle(at(97)),
    "an estimate": idle(at(32, source=ESTIMATE)),
    "no compaction": idle(at(82, threshold=None)),
    "an unknown window": idle(ContextFigure(41_200, None, FigureSource.PROVIDER)),
    "declared 128k, served 32k": idle(ContextFigure(29_000, 32_000, ESTIMATE, declared=128_000, threshold=24_000)),
    "not all was read": idle(at(32, unread=3_900)),
    "a turn": working(at(55, source=ESTIMATE)),
    "a turn with a queue": working(at(82), queued=2),
    "a compaction": working(at(82), compacting_s=12),
}


class Rows(App[None]):
    """Each row beneath its name."""

    CSS_PATH = Path(inspect.getfile(HermesApp)).with_name("hermes.tcss")
    CSS = "Screen { background: $background; } Static { color: $foreground 45%; padding: 0 3; }"

    def __init__(self, theme: str) -> None:
        super().__init__()
        shown = LOOKS[theme][0].theme()
        self.register_theme(shown)
        self.theme = shown.name

    def compose(self) -> ComposeResult:
        for name, status in ROWS.items():
            yield Static(name, markup=False)
            bar = StatusBar()
            bar.tell(status)
            yield bar


@pytest.mark.parametrize(("width", "theme"), [*((cells, "dark") for cells in (40, 60, 80, 120, 160)), (80, "light")])
def test_status_row(theme: str, width: int, snap_compare: Callable[..., bool]):
    assert snap_compare(Rows(theme), terminal_size=(width, 2 * len(ROWS)))
