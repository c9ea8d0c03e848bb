"""`hermes chat -q`: one turn without a screen. The answer goes to stdout, everything else to stderr."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent.config.masking import Masking
from agent.events import AnswerRestarted, CallStarted, Notice, RowStored, TurnEnded, TurnEvent
from agent.hub import Hub
from agent.listener import Listener
from agent.open import open_hub
from agent.profile import Profile
from agent.runtime import Runtime
from session.errors import UserError
from session.models import ExitReason, Level, Message, Role
from tui.cli.console import answer, data, remark
from tui.cli.log_file import log, open_early, open_log
from tui.cli.opening import open_stored
from tui.cli.options import ChatOptions, folder
from tui.cli.trust import about_run
from tui.cli.turn_report import Failure, TurnReport, exit_code
from tui.ending import Asked, Ending

SHOWN_CHARS = 120  # of a tool call, on its one line


class NoPrompt(UserError):
    """The prompt is blank."""

    sentence = "There is nothing to send: the prompt is empty."


class NotConfirmed(UserError):
    """A paid provider that nobody named would be used, and there is nobody to ask."""

    sentence = "{why} It may cost money and nobody named it, so nothing was sent. Name it: --model {model}"


class StandIn(UserError):
    """The configured model can't be had. A script must not take the demo's words for its answer."""

    sentence = "{problem} Nothing was sent."


def run_chat(options: ChatOptions, environ: Mapping[str, str]) -> int:
    """One turn; returns the exit code. With --json exactly one object is printed, whatever happens."""
    chat = Chat(options)
    with Ending(last_words=chat.print_cut) as ending:
        try:
            report = chat.run(environ, ending)
        except (Asked, asyncio.CancelledError):
            report = chat.report(ExitReason.INTERRUPTED)
        except UserError as error:
            report = chat.failed(str(error))
        except Exception as error:  # noqa: BLE001 - --json owes an object for what nothing foresaw, too
            open_early(environ, options.profile)
            log.error("hermes chat failed", exc_info=error)
            report = chat.failed(f"hermes failed ({type(error).__name__}). `hermes logs` has the details.")
        chat.print(report)
        return exit_code(report.reason, ending.exit_code)


@dataclass(slots=True)
class Chat:
    """One run of `hermes chat`, as far as it has come."""

    options: ChatOptions
    _runtime: Runtime | None = None
    _rows_before: int = 0
    _is_printed: bool = False
    _shown: dict[str, str] = field(default_factory=dict[str, str])  # call id to what a person reads
    _last_notice: str = ""
    _masking: Masking = field(default_factory=Masking)

    def run(self, environ: Mapping[str, str], ending: Ending) -> TurnReport:
        """Raises UserError where nothing was sent."""
        prompt = self._prompt()
        cwd = folder(self.options.cwd)
        is_trusting = self.options.is_trusting
        place = cwd if is_trusting else None  # with nobody to ask, a project adds nothing
        profile = Profile.load(
            environ, name=self.options.profile, cwd=place, flags=self.options.flags, is_trusting=is_trusting
        )
        try:
            self._masking = profile.secrets.masking
            open_log(profile.home, profile.secrets.mask)
            if said := about_run(environ, cwd, is_trusting=is_trusting):
                self._remark(said)
            gc.freeze()
            gc.enable()
            return asyncio.run(self._converse(profile, prompt, cwd, ending))
        finally:
            profile.close()

    def report(self, reason: ExitReason, failure: Failure | None = None) -> TurnReport:
        """The turn as it stands."""
        if self._runtime is None:
            return TurnReport(reason, failure=failure)
        s = self._runtime.s
        rows = tuple(s.rows[self._rows_before :])
        session_id = s.id if s.is_stored else None
        return TurnReport(reason, session_id, rows, s.turn_usage, s.context(), failure)

    def failed(self, sentence: str) -> TurnReport:
        return self.report(ExitReason.ERROR, Failure("unknown", sentence))

    def print(self, report: TurnReport) -> None:
        if self._is_printed:
            return
        self._is_printed = True
        if self.options.as_json:
            data(report.as_json(self._masking))
        elif report.last is not None:
            answer(self._masking.text(report.last.content or report.last.refusal))
        if report.failure is not None and report.failure.message != self._last_notice:
            remark(f"hermes: {self._masking.text(report.failure.message)}")
        if report.session_id:
            self._remark(f"session: {report.session_id}")

    def print_cut(self) -> None:
        """The last words when the process must end before the turn was settled."""
        self.print(self.report(ExitReason.INTERRUPTED))

    # --- inside

    def _prompt(self) -> str:
        text = self.options.prompt
        if text == "-" and sys.stdin is not None:  # pyright: ignore[reportUnnecessaryComparison] - None when closed
            text = sys.stdin.buffer.read().decode("utf-8", "replace")
        if not text.strip() or text == "-":
            raise NoPrompt
        return text.encode("utf-8", "replace").decode()

    async def _converse(self, profile: Profile, prompt: str, cwd: Path, ending: Ending) -> TurnReport:
        task = asyncio.current_task()
        assert task is not None
        ending.listen(task.cancel)
        hub = await open_hub(profile, source="chat", is_attended=False, model=self.options.model)
        for sentence in hub.remarks:
            self._remark(sentence)
        try:
            return await self._turn(hub, prompt, cwd, ending)
        finally:
            ending.listen(lambda: None)
            await hub.close("hermes was ended")
            ending.unlisten()

    async def _turn(self, hub: Hub, prompt: str, cwd: Path, ending: Ending) -> TurnReport:
        runtime = self._runtime = await self._opened(hub, cwd)
        self._rows_before = len(runtime.s.rows)
        listener = hub.listen(runtime.id)
        self._check_route(hub, runtime)
        while runtime.is_busy:  # a turn that a dead process left waiting is finished first
            await self._until_end(listener)
            self._rows_before = len(runtime.s.rows)
        hub.submit(runtime.id, prompt)
        ending.listen(lambda: hub.interrupt(runtime.id))
        end = await self._until_end(listener)
        failed = end.reason not in (ExitReason.COMPLETED, ExitReason.INTERRUPTED) and bool(end.error)
        return self.report(end.reason, Failure(end.error_kind or "unknown", end.error) if failed else None)

    async def _opened(self, hub: Hub, cwd: Path) -> Runtime:
        if not self.options.session:
            return hub.create(cwd)
        return await open_stored(hub, self.options.session, self.options.model)

    def _check_route(self, hub: Hub, runtime: Runtime) -> None:
        """Raises StandIn or NotConfirmed: with nobody to ask, nothing is sent to where nobody meant it to go."""
        route = runtime.s.route
        if hub.choice.problem and route == hub.choice.route:
            raise StandIn(problem=hub.choice.problem)
        if hub.needs_confirmation(runtime.id):
            raise NotConfirmed(why=hub.choice.why, model=f"{route.provider}:{route.model}")

    async def _until_end(self, listener: Listener) -> TurnEnded:
        while True:
            await listener.wait()
            for event in listener.drain():
                self._show(event)
                if isinstance(event, TurnEnded):
                    return event

    def _show(self, event: TurnEvent) -> None:
        match event:
            case Notice(level=level, text=text):
                self._notice(level, text)
            case AnswerRestarted(attempt=attempt, attempts=attempts, reason=reason, wait_s=wait_s):
                self._remark(f"{reason} - asking again in {wait_s:.0f} s ({attempt} of {attempts})")
            case CallStarted(call=call, shown=shown):
                self._shown[call.id] = shown
            case RowStored(row=row) if row.role is Role.NOTICE:
                self._notice(row.level, row.content)
            case RowStored(row=row) if row.role is Role.TOOL:
                self._remark(self._card(row))
            case RowStored(row=row):
                self._shown.update((call.id, call.arguments) for call in row.calls)
            case _:
                pass

    def _notice(self, level: Level, text: str) -> None:
        if level is Level.ERROR:
            self._last_notice = text
            remark(f"hermes: {text}")
        else:
            self._remark(text)

    def _card(self, row: Message) -> str:
        """A tool call on one line: what ran, and what came of it."""
        assert row.result is not None
        shown = " ".join(self._shown.get(row.result.call_id, "").split())[:SHOWN_CHARS]
        ending = f"exit {row.result.exit_code}" if row.result.exit_code is not None else row.result.outcome
        cause = f", {row.result.approval}" if not row.result.approval.may_run else ""
        return f"[{row.result.tool}] {shown} -> {ending}{cause}"

    def _remark(self, text: str) -> None:
        if not self.options.quiet:
            remark(self._masking.text(text))
