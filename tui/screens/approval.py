"""The view of one approval request. The request lives in the runtime: this shows it and passes on one answer."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from agent.approvals.inbox import Answer
from agent.hub import Hub
from agent.literal import caution, visible
from session.models import Approval, ApprovalRequest
from tui.app_of import app_of
from tui.keys import APPROVAL_KEYS
from tui.screens.choosing import LOW_ROWS, ChoosingScreen
from tui.widgets.choices import Choice
from tui.widgets.literal_view import LiteralView

CHOICES = [
    Choice("Allow once"),
    Choice("Allow for this session"),
    Choice("Always allow", note="not yet: nothing is remembered beyond the session", is_open=False),
    Choice("Deny"),
]
MEANINGS = [Approval.ALLOWED_ONCE, Approval.ALLOWED_SESSION, Approval.ALLOWED_ALWAYS, Approval.DENIED]
DENY = len(CHOICES) - 1
QUESTIONS = {"terminal": "Run this command?", "write_file": "Write this file?", "read_file": "Read this file?"}


class ApprovalScreen(ChoosingScreen[None]):
    """Deny is marked at first. Closes itself when the request is settled, here or elsewhere (C28)."""

    BINDINGS = APPROVAL_KEYS
    DEFAULT_CSS = """
    ApprovalScreen { align: center middle; background: $background 60%; }
    ApprovalScreen #box {
        width: 92%; max-width: 100; height: auto; max-height: 100%; background: $surface;
        border: round $warning; border-title-color: $text-warning; border-title-style: bold;
        border-subtitle-color: $foreground 68%; padding: 0 1;
    }
    ApprovalScreen #why { height: auto; max-height: 2; color: $foreground 68%; }
    ApprovalScreen #caution { height: auto; max-height: 2; color: $text-error; text-style: bold; margin: 0 0 1 0; }
    ApprovalScreen LiteralView { margin: 1 0; padding: 0 1; background: $background; scrollbar-background: $background; }
    ApprovalScreen Toast { display: none; }  /* nothing may cover what is decided on */
    ApprovalScreen #state { height: 1; margin: 1 0 0 0; color: $foreground 68%; }
    ApprovalScreen.-low LiteralView, ApprovalScreen.-low #state, ApprovalScreen.-low #caution { margin: 0; }
    ApprovalScreen.-low #why, ApprovalScreen.-low #caution { max-height: 1; }
    """

    def __init__(self, hub: Hub, request: ApprovalRequest, switch: Callable[[int], None]) -> None:
        """`switch` shows the session above (-1) or below (1); the request then waits."""
        super().__init__([*CHOICES], DENY, hub.profile.settings.approvals.arm_ms / 1000)
        self.request = request
        self._hub = hub
        self._switch = switch
        folder = hub.runtime(request.session_id).s.session.cwd
        self._why = f"Asked because it {request.why}. Folder: {folder}"
        self._caution = caution(request.shown)
        self._text = LiteralView(visible(request.shown, fold_blanks=True))
        self._text_rows = 1
        self._box = Vertical(id="box")
        self._state = Static(id="state", markup=False)

    def compose(self) -> ComposeResult:
        self._box.border_title = Content(QUESTIONS.get(self.request.tool, "Allow this call?"))
        with self._box:
            yield Static(Content(visible(self._why)), id="why", markup=False)
            yield self._text
            if self._caution:
                yield Static(Content(self._caution), id="caution", markup=False)
            yield self.answers
            yield self._state
        self._fit(app_of(self).size.height)

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size.height)
        self.call_after_refresh(self._tell)  # the box has its new width by then

    def on_screen_resume(self) -> None:
        self.sync(self.request.session_id)

    def sync(self, shown: str) -> None:
        """Follow the request: close when it is settled or `shown` is another session, say where it stands in line."""
        pending = self._hub.pending() if shown == self.request.session_id else []
        at = next((number for number, other in enumerate(pending, 1) if other.id == self.request.id), 0)
        if at and self.is_current:
            self._box.border_subtitle = Content(f"{at} of {len(pending)}" if len(pending) > 1 else "")
        elif self.is_current:
            self.dismiss()

    def take(self, index: int) -> None:
        if not self._hub.answer(self.request.id, Answer(MEANINGS[index])):
            app_of(self).notify("This question was settled before; your answer changed nothing.", markup=False)
        self.dismiss()

    def action_deny(self) -> None:
        self.action_choose(DENY)

    def action_switch(self, step: int) -> None:
        self._switch(step)

    def action_back_out(self) -> None:
        self._hub.interrupt(self.request.session_id)

    def action_scroll(self, pages: int) -> None:
        move = self._text.scroll_page_down if pages > 0 else self._text.scroll_page_up
        move(animate=False)

    def action_edge(self, side: int) -> None:
        go = self._text.scroll_end if side > 0 else self._text.scroll_home
        go(animate=False)

    def watch_is_armed(self, is_armed: bool) -> None:
        super().watch_is_armed(is_armed)
        self._tell()

    def _fit(self, height: int) -> None:
        """The text takes what the rest leaves, so that the choices are always in sight."""
        around, warned = (5, 1) if height < LOW_ROWS else (13, 3)
        self._text_rows = max(1, height - around - (warned if self._caution else 0))
        self._text.styles.max_height = self._text_rows
        self._tell()

    def _tell(self) -> None:
        if not self.is_armed:
            self._state.update(Content("wait… answers count after a quiet moment"))
            return
        told = "enter decides · esc denies"
        more = f"pgup/pgdn read all {self._text.line_count} lines" if self._text.line_count > self._text_rows else ""
        for key in (more, "↑↓ move"):
            if key and len(told) + len(key) + 3 <= self._state.size.width:
                told += f" · {key}"
        self._state.update(Content(told))
