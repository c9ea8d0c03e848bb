"""A page of markdown over the screen, such as help."""

from __future__ import annotations

import time

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from session.models import Message, Role
from tui.hints import with_keys
from tui.keys import PAGE_KEYS
from tui.screens.modal import Modal
from tui.transcript.view import TranscriptView


class PageScreen(Modal[None]):
    """Shows one page; any of Esc, Enter and q closes it."""

    BINDINGS = PAGE_KEYS
    DEFAULT_CSS = """
    PageScreen { align: center middle; background: $background 60%; }
    PageScreen #box {
        width: 90%; max-width: 92; height: 90%; background: $background;
        border: round $border; border-title-color: $text-primary; border-title-style: bold;
        border-subtitle-color: $foreground 68%;
    }
    """

    def __init__(self, title: str, markdown: str) -> None:
        super().__init__()
        self._title = title
        self._markdown = markdown
        self._view = TranscriptView()

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = Content(with_keys(self, "{page.close} closes"))
            yield self._view

    def on_mount(self) -> None:
        self._view.formatting_ready()
        self._view.open([Message("", Role.ASSISTANT, self._markdown, time.time())])
        self.call_after_refresh(self._view.action_scroll_home)

    def action_scroll(self, lines: int) -> None:
        self._view.scroll_lines(lines)

    def action_page(self, pages: int) -> None:
        move = self._view.action_page_down if pages > 0 else self._view.action_page_up
        move()

    def action_close(self) -> None:
        self.dismiss()
