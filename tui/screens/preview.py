"""How a session began and where it stands, to see whether it is the one that is looked for."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from agent.session_names import one_line
from agent.stored_sessions import Preview
from tui.hints import with_keys
from tui.keys import PREVIEW_KEYS
from tui.screens.modal import Modal
from tui.transcript.view import TranscriptView
from tui.transcript.wrap import crop
from tui.widgets.state_words import day_told
from tui.widgets.state_words import one_line as literal

TITLE_CELLS = 60


class PreviewScreen(Modal[bool]):
    """Shows the first prompt and the last answer. Gives True where the session is to be opened."""

    BINDINGS = PREVIEW_KEYS
    DEFAULT_CSS = """
    PreviewScreen { align: center middle; background: $background 60%; }
    PreviewScreen #box {
        width: 90%; max-width: 92; height: 70%; background: $background;
        border: round $border; border-title-color: $text-primary; border-title-style: bold;
        border-subtitle-color: $foreground 68%;
    }
    """

    def __init__(self, preview: Preview) -> None:
        super().__init__()
        self._preview = preview
        self._view = TranscriptView()

    def compose(self) -> ComposeResult:
        session = self._preview.session
        day = day_told(session.last_activity_at)
        with Vertical(id="box") as box:
            box.border_title = Content(f"{crop(literal(one_line(session)), TITLE_CELLS)} · {day}")
            does = "first prompt and last answer · {preview.open} opens · {preview.leave} closes"
            box.border_subtitle = Content(with_keys(self, does))
            yield self._view

    def on_mount(self) -> None:
        self._view.formatting_ready()
        rows = [row for row in (self._preview.prompt, self._preview.answer) if row is not None]
        self._view.open(rows, "Nothing was said in this session that could be shown.")
        self.call_after_refresh(self._view.action_scroll_home)

    def action_scroll(self, lines: int) -> None:
        self._view.scroll_lines(lines)

    def action_page(self, pages: int) -> None:
        (self._view.action_page_down if pages > 0 else self._view.action_page_up)()

    def action_open(self) -> None:
        self.dismiss(True)

    def action_leave(self) -> None:
        self.dismiss(False)
