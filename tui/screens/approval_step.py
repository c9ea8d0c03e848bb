"""A second look at a question about a call, over the first: what a yes for good saves, another command, words with a no."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from agent.approvals.inbox import Answer
from agent.hub import Hub
from session.models import ApprovalRequest
from tui.screens.choosing import ChoosingScreen
from tui.widgets.choices import Choice


class ApprovalStep(ChoosingScreen[Answer]):
    """Gives what was decided, None for nothing: then the question below waits again."""

    FREE: ClassVar[dict[str, str]] = {"ctrl+c": "back_out", "escape": "leave"}
    DEFAULT_CSS = """
    ApprovalStep { align: center middle; background: $background 60%; }
    ApprovalStep #box {
        width: 92%; max-width: 100; height: auto; max-height: 100%; background: $surface;
        border: round $warning; border-title-color: $text-warning; border-title-style: bold; padding: 0 1;
    }
    ApprovalStep Toast { display: none; }
    ApprovalStep #state { height: 1; margin: 1 0 0 0; color: $foreground 68%; }
    ApprovalStep.-low #state { margin: 0; }
    """

    def __init__(
        self,
        hub: Hub,
        request: ApprovalRequest,
        below: Callable[[str], None],
        choices: list[Choice],
        marked: int,
    ) -> None:
        """`below` lets the question under this follow its request."""
        super().__init__(choices, marked, hub.profile.settings.approvals.arm_ms / 1000)
        self.request = request
        self._hub = hub
        self._below = below

    def on_screen_resume(self) -> None:
        self.sync(self.request.session_id)

    def sync(self, shown: str) -> None:
        """Close when the request is settled, or another session is shown (C28)."""
        is_open = any(other.id == self.request.id for other in self._hub.pending())
        if self.is_current and not (is_open and shown == self.request.session_id):
            self.dismiss(None)
            self._below(shown)

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_back_out(self) -> None:
        self._hub.interrupt(self.request.session_id)
