"""What a person is told on stderr of a turn without a screen: notices, a line for each call, what was not allowed."""

from __future__ import annotations

from collections.abc import Sequence

from agent.config.masking import Masking
from agent.events import AnswerRestarted, CallStarted, Notice, RowStored, TurnEvent
from session.models import Level, Message, Role
from tui.cli.console import remark

SHOWN_CHARS = 120  # of a tool call, on its one line


class Remarks:
    """The words beside the answer, without a known secret. A quiet run tells errors and denials alone."""

    def __init__(self, masking: Masking, *, is_quiet: bool) -> None:
        self.masking = masking
        self._is_quiet = is_quiet
        self._shown: dict[str, str] = {}  # call id to what a person reads
        self._last_error = ""

    def say(self, text: str) -> None:
        """Something that a quiet run leaves out."""
        if not self._is_quiet:
            remark(self.masking.text(text))

    def fail(self, sentence: str) -> None:
        """What went wrong, once."""
        if sentence != self._last_error:
            self._last_error = sentence
            remark(f"hermes: {self.masking.text(sentence)}")

    def hear(self, event: TurnEvent) -> None:
        match event:
            case Notice(level=level, text=text):
                self._notice(level, text)
            case AnswerRestarted(attempt=attempt, attempts=attempts, reason=reason, wait_s=wait_s):
                self.say(f"{reason} - asking again in {wait_s:.0f} s ({attempt} of {attempts})")
            case CallStarted(call=call, shown=shown):
                self._shown[call.id] = shown
            case RowStored(row=row) if row.role is Role.NOTICE:
                self._notice(row.level, row.content)
            case RowStored(row=row) if row.role is Role.TOOL:
                self.say(self._card(row))
            case RowStored(row=row):
                self._shown.update((call.id, call.arguments) for call in row.calls)
            case _:
                pass

    def deny(self, denied: Sequence[Message]) -> None:
        """Also in a quiet run: whoever reads the answer should know what it was made without (C03)."""
        calls = [" ".join(self._shown.get(row.result.call_id, row.result.tool).split()) for row in denied if row.result]
        number = "1 call was" if len(calls) == 1 else f"{len(calls)} calls were"
        told = "; ".join(call[:SHOWN_CHARS] for call in calls)
        remark(
            self.masking.text(
                f"hermes: {number} not allowed to run: {told}. What may run unasked: hermes approvals list"
            )
        )

    def _notice(self, level: Level, text: str) -> None:
        if level is Level.ERROR:
            self.fail(text)
        else:
            self.say(text)

    def _card(self, row: Message) -> str:
        """A tool call on one line: what ran, and what came of it."""
        assert row.result is not None
        shown = " ".join(self._shown.get(row.result.call_id, "").split())[:SHOWN_CHARS]
        ending = f"exit {row.result.exit_code}" if row.result.exit_code is not None else row.result.outcome
        cause = f", {row.result.approval}" if not row.result.approval.may_run else ""
        return f"[{row.result.tool}] {shown} -> {ending}{cause}"
