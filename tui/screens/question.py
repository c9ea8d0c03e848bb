"""A question of the model's, and the person's answer: a choice, their own words, or none. It never allows anything."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from agent.approvals.inbox import Answer
from agent.hub import Hub
from agent.literal import visible
from agent.tools import ask_user
from session.models import Approval, ApprovalRequest
from tui.app_of import app_of
from tui.hints import hint
from tui.keys import QUESTION_KEYS
from tui.screens.choosing import LOW_ROWS, ChoosingScreen, titled
from tui.widgets.answer_field import ROWS, AnswerField
from tui.widgets.choices import Choice
from tui.widgets.literal_view import LiteralView

OWN_WORDS = "In your own words"
NO_ANSWER = "No answer"
LONG_CHARS = 44  # a choice that may not fit into its row stands in the text above, too


class QuestionScreen(ChoosingScreen[None]):
    """The field for the person's own words is marked at first, else no answer: a stray Enter answers nothing.

    It closes itself when the request is settled, here or elsewhere (C28). `drafts` keeps what is written by request;
    what is written and not sent when the question is over goes to `keep`.
    """

    BINDINGS = QUESTION_KEYS
    DEFAULT_CSS = """
    QuestionScreen { align: center middle; background: $background 60%; }
    QuestionScreen #box {
        width: 92%; max-width: 100; height: auto; max-height: 100%; background: $surface;
        border: round $accent; border-title-color: $text-accent; border-title-style: bold;
        border-subtitle-color: $foreground 68%; padding: 0 1;
    }
    QuestionScreen LiteralView { margin: 0 0 1 0; }
    QuestionScreen AnswerField { margin: 1 0 0 0; }
    QuestionScreen Toast { display: none; }
    QuestionScreen #state { height: 1; color: $foreground 68%; }
    QuestionScreen.-low LiteralView, QuestionScreen.-low AnswerField { margin: 0; }
    QuestionScreen.-low AnswerField { border: none !important; }
    """

    def __init__(
        self,
        hub: Hub,
        request: ApprovalRequest,
        switch: Callable[[int], None],
        drafts: dict[str, str],
        keep: Callable[[str], None],
        name: str = "",
    ) -> None:
        """`switch` shows the session above (-1) or below (1); the request then waits.

        `name` is that of the session where another one is shown.
        """
        self._question = question = ask_user.decoded(request.details, request.shown)
        rows = [*map(visible, question.choices), *([OWN_WORDS] if question.allows_text else []), NO_ANSWER]
        self._own_words = len(question.choices) if question.allows_text else -1
        self._no_answer = len(rows) - 1
        marked = self._own_words if question.allows_text else self._no_answer
        super().__init__(list(map(Choice, rows)), marked, hub.profile.settings.approvals.arm_ms / 1000)
        self.request = request
        self._hub, self._switch, self._drafts, self._keep = hub, switch, drafts, keep
        self._asker = name
        self._text = LiteralView(visible(_told(question), fold_blanks=True), is_prose=True)
        self._text_rows = 1
        self._field = AnswerField(self, self._send)
        self._box = Vertical(id="box")
        self._state = Static(id="state", markup=False)

    def compose(self) -> ComposeResult:
        self._box.border_title = Content(titled("The model asks you", self._asker))
        with self._box:
            yield self._text
            yield self.answers
            if self._question.allows_text:
                yield self._field
            yield self._state
        self._fit(app_of(self).size.height)

    def on_mount(self) -> None:
        if self._question.allows_text:
            self._field.set_draft(self._drafts.get(self.request.id, ""))
            self._field.focus()

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size.height)

    def laid_out(self) -> None:
        self._tell()

    def on_screen_resume(self) -> None:
        self.sync(self.request.session_id)

    def sync(self, shown: str) -> None:
        """Follow the request: close when it is settled or `shown` is another session, say where it stands in line."""
        waiting = self._hub.pending()
        at = next((number for number, other in enumerate(waiting, 1) if other.id == self.request.id), 0)
        if not self.is_current:
            return
        if at and shown == self.request.session_id:
            self._box.border_subtitle = Content(f"{at} of {len(waiting)}" if len(waiting) > 1 else "")
            return
        if not at:
            self._put_away()
        self.dismiss()

    def take(self, index: int) -> None:
        if index == self._no_answer:
            self._settle(Answer(Approval.DECLINED))
        elif index == self._own_words:
            self._settle(Answer(Approval.ANSWERED, self._field.text.strip()))
        else:
            self._settle(Answer(Approval.ANSWERED, self._question.choices[index]))

    def action_choose(self, index: int) -> None:
        if index != self._own_words or self._field.text.strip():
            super().action_choose(index)
        elif self.is_armed:
            self.answers.marked = index
            self._tell()

    def action_decline(self) -> None:
        self.action_choose(self._no_answer)

    def action_move(self, step: int) -> None:
        super().action_move(step)
        self._tell()

    def action_switch(self, step: int) -> None:
        self._switch(step)

    def action_back_out(self) -> None:
        self._hub.interrupt(self.request.session_id)

    def action_scroll(self, pages: int) -> None:
        move = self._text.scroll_page_down if pages > 0 else self._text.scroll_page_up
        move(animate=False)

    def watch_is_armed(self, is_armed: bool) -> None:
        super().watch_is_armed(is_armed)
        self._tell()

    # --- what the field hears

    def admits(self, at_s: float) -> bool:
        return self._admits(at_s)

    def typed(self) -> None:
        self.answers.marked = self._own_words

    def moved(self, step: int) -> None:
        self.action_move(step)

    def on_text_area_changed(self) -> None:
        self._drafts[self.request.id] = self._field.text
        self._tell()

    def _send(self, text: str) -> None:
        """Enter in the field: it decides as the marked answer says, which is the text unless another was gone to."""
        self.action_decide()

    # --- inside

    def _settle(self, answer: Answer) -> None:
        if not self._hub.answer(self.request.id, answer):
            app_of(self).notify("This question was settled before; your answer changed nothing.", markup=False)
        elif answer.cause == self._field.text.strip():
            self._drafts.pop(self.request.id, None)
            self._field.clear()
        self._put_away()
        self.dismiss()

    def _put_away(self) -> None:
        """Nothing that was written is lost with the question."""
        self._drafts.pop(self.request.id, None)
        if text := self._field.text.strip():
            self._keep(text)

    def _fit(self, height: int) -> None:
        """The text takes what the rest leaves, so that the answers are always in sight."""
        is_low = height < LOW_ROWS
        self._field.rows = 1 if is_low else ROWS
        field_rows = (1 if is_low else ROWS + 3) if self._question.allows_text else 0
        answer_rows = 1 if is_low else len(self.answers.choices) + 1
        self._text_rows = max(1, height - 3 - field_rows - answer_rows)
        self._text.styles.max_height = self._text_rows
        self._tell()

    def _tell(self) -> None:
        if not self.is_armed:
            self._state.update(Content("wait… answers count after a quiet moment"), layout=False)
            return
        lacks_text = self.answers.marked == self._own_words and not self._field.text.strip()
        answers = "write an answer" if lacks_text else "{question.decide} answers"
        is_cut, pages = self._text.line_count > self._text_rows, "{question.page_up question.page_down}"
        more = f"{pages} read all {self._text.line_count} lines" if is_cut else ""
        keys = answers, "{question.decline} gives none", more, "{question.above question.below} move"
        self._state.update(Content(hint(self, self._state.size.width, *keys)), layout=False)


def _told(question: ask_user.Question) -> str:
    if all(len(choice) <= LONG_CHARS for choice in question.choices):
        return question.text
    return "\n".join([question.text, "", *(f"{at}  {choice}" for at, choice in enumerate(question.choices, 1))])
