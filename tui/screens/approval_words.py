"""Second looks with a text field: a no with its reason, and a command that is rewritten before it may run."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from agent.approvals.details import decoded
from agent.approvals.inbox import Answer
from agent.hub import Hub
from agent.literal import caution, visible
from session.models import Approval, ApprovalRequest
from tui.app_of import app_of
from tui.hints import hint
from tui.keys import WORDS_KEYS
from tui.screens.approval_step import ApprovalStep
from tui.widgets.choices import Choice
from tui.widgets.composer import Composer

DO, BACK = 0, 1


class WordsField(Composer):
    """Keys in it edit it and nothing else (C22). Each begins the quiet time of the answers anew."""

    DEFAULT_CSS = """
    WordsField, WordsField.-textual-compact { margin: 0; }
    """

    def __init__(self, heard: Callable[[], None], send: Callable[[str], None], placeholder: str) -> None:
        super().__init__(send, lambda: None)
        self.placeholder = placeholder
        self.rows = 1  # at most
        self._heard = heard

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        lines = self.wrapped_document.height if self.text else 1
        return max(1, min(lines, self.rows))

    async def on_key(self, event: events.Key) -> None:
        """Before the composer's own, which this does not take the place of."""
        self._heard()


class WordsStep(ApprovalStep):
    """A field over two answers. Tab leads from the one to the other; `FIRST` is the answer that is marked then."""

    BINDINGS = WORDS_KEYS
    FREE: ClassVar[dict[str, str]] = {**ApprovalStep.FREE, "tab": "turn", "shift+tab": "turn"}
    FIRST: ClassVar[int] = BACK
    HEADING: ClassVar[str]
    DO_LABEL: ClassVar[str]
    INTRO: ClassVar[str]
    PLACEHOLDER: ClassVar[str]
    DEFAULT_CSS = """
    WordsStep #intro { height: auto; max-height: 2; color: $foreground 68%; margin: 0 0 1 0; }
    WordsStep #caution { height: auto; max-height: 2; color: $text-error; text-style: bold; }
    WordsStep Choices { margin: 1 0 0 0; }
    WordsStep.-low #intro { display: none; }
    WordsStep.-low WordsField { border: none !important; }
    WordsStep.-low Choices { margin: 0; }
    """

    def __init__(self, hub: Hub, request: ApprovalRequest, below: Callable[[str], None], text: str = "") -> None:
        super().__init__(hub, request, below, [Choice(self.DO_LABEL), Choice("Back to the question")], self.FIRST)
        self.field = WordsField(self._heard, self.entered, self.PLACEHOLDER)
        self._first = text
        self._is_at_answers = False
        self._caution = Static(id="caution", markup=False)
        self._state = Static(id="state", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(self.HEADING)
            yield Static(Content(self.INTRO), id="intro", markup=False)
            yield self.field
            yield self._caution
            yield self.answers
            yield self._state
        self._fit(app_of(self).size.height)

    def on_mount(self) -> None:
        self.field.set_draft(self._first)
        self.field.focus()
        self.look()

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size.height)
        if not self._is_at_answers:
            self.call_after_refresh(self.field.focus)  # it was lost while nothing was shown

    def laid_out(self) -> None:
        self.tell()

    def on_text_area_changed(self) -> None:
        self.look()

    def why_not(self, text: str) -> str:
        """Why this text can't be answered with, "" where it can."""
        return "" if text.strip() else "nothing is written yet"

    def entered(self, text: str) -> None:
        """Enter in the field."""
        raise NotImplementedError

    def look(self) -> None:
        why_not = self.why_not(self.field.text)
        self.answers.put(DO, Choice(self.DO_LABEL, why_not, is_open=not why_not))
        warned = caution(self.field.text)
        self._caution.display = bool(warned)
        self._caution.update(Content(warned))
        self.tell()

    def to_answers(self) -> None:
        self._is_at_answers = True
        self.answers.marked = self.FIRST
        self.set_focus(None)
        self._wait_anew()

    def to_field(self) -> None:
        self._is_at_answers = False
        self.field.focus()
        self.tell()

    def action_turn(self) -> None:
        if self._is_at_answers:
            self.to_field()
        else:
            self.to_answers()

    def action_leave(self) -> None:
        if self._is_at_answers:
            self.to_field()
        else:
            self.dismiss(None)

    def watch_is_armed(self, is_armed: bool) -> None:
        super().watch_is_armed(is_armed)
        self.tell()

    def tell(self) -> None:
        self._state.update(Content(hint(self, self._state.size.width, *self._told())), layout=False)

    def field_keys(self) -> tuple[str, ...]:
        raise NotImplementedError

    def _told(self) -> tuple[str, ...]:
        if not self._is_at_answers:
            return self.field_keys()
        if not self.is_armed:
            return ("wait… keys count in a moment",)
        return "{words.decide} takes the marked answer", "{words.leave} back to the text"

    def _heard(self) -> None:
        self._wait_anew()

    def _fit(self, height: int) -> None:
        self.field.rows = max(1, height - 5 if height < self.LOW else height - 13)
        self.field.refresh(layout=True)


class ReasonStep(WordsStep):
    """A no never needs a second press: Enter behind a reason denies."""

    FIRST = DO
    HEADING = "Deny with a reason"
    DO_LABEL = "Deny with this reason"
    INTRO = "The model is told these words as yours. The call does not run."
    PLACEHOLDER = "Why not, or what to do instead"

    def entered(self, text: str) -> None:
        if text.strip():
            self.take(DO)

    def take(self, index: int) -> None:
        self.dismiss(Answer(Approval.DENIED, reason=self.field.text.strip()) if index == DO else None)

    def field_keys(self) -> tuple[str, ...]:
        return (
            "{composer.send} denies with this reason" if self.field.text.strip() else "write a reason",
            "{words.leave} back",
            "{words.turn} answers",
        )


class EditStep(WordsStep):
    """Enter only leads to the answers: what runs is allowed by a press of its own, and judged anew before it runs."""

    HEADING = "Edit the command"
    DO_LABEL = "Allow once, as it stands here"
    INTRO = "What you make of it is judged anew, and the model is told."
    PLACEHOLDER = "The command"

    def __init__(self, hub: Hub, request: ApprovalRequest, below: Callable[[str], None]) -> None:
        self._command = decoded(request.details).command
        super().__init__(hub, request, below, self._command)

    def why_not(self, text: str) -> str:
        if visible(text) != text:
            return "take out first what does not show"
        return super().why_not(text)

    def entered(self, text: str) -> None:
        self.to_answers()

    def take(self, index: int) -> None:
        text = self.field.text
        edited = None if text == self._command else text
        self.dismiss(Answer(Approval.ALLOWED_ONCE, edited=edited) if index == DO else None)

    def field_keys(self) -> tuple[str, ...]:
        return "{composer.send} goes to the answers", "{words.leave} back", "{composer.new_line} new line"
