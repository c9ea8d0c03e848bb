"""Asks what goes back to before something the person said, and shows what that comes to; nothing goes unless they say so."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from agent.literal import visible
from agent.rewinding import Preview, Scope
from tui.app_of import app_of
from tui.hints import hint
from tui.keys import REWIND_KEYS
from tui.screens.choosing import ChoosingScreen
from tui.screens.outline import OutlineScreen
from tui.transcript.wrap import crop
from tui.widgets.choices import Choice
from tui.widgets.restore_list import RestoreList
from tui.widgets.state_words import one_line

LOW_ROWS = 18
DECIDES = "{rewind.decide} takes the marked answer"
TICKING = ("{rewind.next} marks a conflict", "{rewind.tick} ticks it", "{rewind.tick_all} all")
LEAVES = ("{rewind.leave} cancels", "{rewind.page_up rewind.page_down} scroll")
AROUND_ROWS, AROUND_ROWS_LOW = 6, 5  # border, title, hint and what parts them, without the answers


class GoBack(Struct, frozen=True):
    """The person wants this; of the conflicts the files in `also`."""

    scope: Scope
    also: frozenset[str] = frozenset()


class BranchOff(Struct, frozen=True):
    """The person wants another way from there, and this one left as it is."""


Decision = GoBack | BranchOff | None
BACK: tuple[tuple[str, Decision], ...] = (
    ("Conversation and files", GoBack(Scope.BOTH)),
    ("Conversation only", GoBack(Scope.CONVERSATION)),
    ("Files only", GoBack(Scope.FILES)),
    ("Branch off there, this one stays", BranchOff()),
    ("Cancel", None),
)
AGAIN: tuple[tuple[str, Decision], ...] = (
    ("Send again, with the files as they were", GoBack(Scope.BOTH)),
    ("Send again, with the files as they are", GoBack(Scope.CONVERSATION)),
    ("Cancel", None),
)


class PromptChoice(OutlineScreen):
    """Which of the prompts to go back to; gives the id of its row."""

    TITLED = "Go back to before…"
    DOES = "{outline.decide} shows what that takes back · {outline.leave} leaves"


class RewindScreen(ChoosingScreen[Decision]):
    """Gives what was decided, None where nothing is to go."""

    LOW: ClassVar[int] = LOW_ROWS
    BINDINGS = REWIND_KEYS
    DEFAULT_CSS = """
    RewindScreen { align: center middle; background: $background 60%; }
    RewindScreen #box {
        width: 92%; max-width: 94; height: auto; max-height: 96%; background: $surface;
        border: round $accent; border-title-color: $text-accent; border-title-style: bold; padding: 0 1;
    }
    RewindScreen #prompt { height: 1; color: $foreground 68%; }
    RewindScreen VerticalScroll { height: auto; margin: 1 0; scrollbar-size-vertical: 1; }
    RewindScreen #state { height: 1; color: $foreground 68%; }
    RewindScreen.-low VerticalScroll { margin: 0; }
    """

    def __init__(self, seen: Preview, quiet_s: float, *, is_retry: bool = False) -> None:
        self._answers = AGAIN if is_retry else BACK
        super().__init__([Choice(label) for label, _ in self._answers], len(self._answers) - 1, quiet_s)
        self._seen = seen
        self._title = "Send again" if is_retry else "Go back to before"
        self._list = RestoreList(_leaving(seen.rows, is_retry=is_retry), seen.plan, seen.problem)
        self._body = VerticalScroll(self._list, can_focus=False)
        self._prompt = Static(id="prompt", markup=False)
        self._state = Static(id="state", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(visible(self._title))
            yield self._prompt
            yield self._body
            yield self.answers
            yield self._state
        self._offer()
        self._fit(app_of(self).size.height)

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self._fit(event.size.height)

    def take(self, index: int) -> None:
        match self._answers[index][1]:
            case GoBack(scope=scope):
                self.dismiss(GoBack(scope, frozenset(self._list.ticked)))
            case decision:
                self.dismiss(decision)

    def watch_is_armed(self, is_armed: bool) -> None:
        super().watch_is_armed(is_armed)
        self._tell()

    def action_choose(self, index: int) -> None:
        if index < len(self._answers):
            super().action_choose(index)

    def action_leave(self) -> None:
        self.action_choose(len(self._answers) - 1)

    def action_back_out(self) -> None:
        self.dismiss(None)

    def action_mark(self, step: int) -> None:
        line = self._list.move(step)
        self._body.scroll_to(y=max(0, line - 2), animate=False)

    def action_tick(self) -> None:
        self._list.tick()
        self._offer()

    def action_tick_all(self) -> None:
        self._list.tick_all()
        self._offer()

    def action_page(self, pages: int) -> None:
        move = self._body.scroll_page_down if pages > 0 else self._body.scroll_page_up
        move(animate=False)

    # --- inside

    def _offer(self) -> None:
        """What concerns files can be taken only where one would be restored."""
        count, files = self._list.restorable, len(self._seen.plan.files)
        note = "no file to restore" if not files else "only conflicts, and none is ticked"
        for index, (label, decision) in enumerate(self._answers):
            if isinstance(decision, GoBack) and decision.scope is not Scope.CONVERSATION:
                counted = f"{label} ({count:,})" if count else label
                self.answers.put(index, Choice(counted, note, is_open=count > 0))

    def _fit(self, rows: int) -> None:
        around = AROUND_ROWS_LOW if rows < LOW_ROWS else AROUND_ROWS + len(self._answers)
        self._body.styles.max_height = max(1, rows * 96 // 100 - around)
        self.call_after_refresh(self._tell)

    def _tell(self) -> None:
        width = self._prompt.size.width or 1
        self._prompt.update(Content(crop(f"“{one_line(self._seen.text)}”", width)))
        if not self.is_armed:
            self._state.update(Content("wait… keys count after a quiet moment"))
            return
        keys = (DECIDES, *(TICKING if self._list.conflicts else ()), *LEAVES)
        self._state.update(Content(hint(self, self._state.size.width, *keys)))


def _leaving(rows: int, *, is_retry: bool) -> str:
    what = "1 message leaves" if rows == 1 else f"{rows:,} messages leave"
    then = "The prompt is sent again." if is_retry else "/redo brings all of it back."
    return f"{what} the conversation. {then}"
