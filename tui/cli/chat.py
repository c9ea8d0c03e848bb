"""`hermes chat -q`: one turn without a screen. The answer goes to stdout, everything else to stderr."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from agent.config.masking import Masking
from agent.events import TurnEnded
from agent.hub import Hub
from agent.image_files import Prompt
from agent.listener import Listener
from agent.open import open_hub
from agent.profile import Profile
from agent.providers.base import ErrorKind
from agent.runtime import Runtime
from agent.session_run import INTERRUPTED
from agent.tools.leftovers import leftovers, notice
from agent.workspace import about_folder
from session.errors import UserError
from session.models import ExitReason
from tui.cli.console import answer, data
from tui.cli.event_lines import event_line
from tui.cli.event_writer import EventWriter
from tui.cli.log_file import log, masked_error, open_early, open_log
from tui.cli.opening import open_stored, set_up
from tui.cli.options import ChatOptions, folder
from tui.cli.prompt_input import about_unread, read_prompt
from tui.cli.trust import about_run
from tui.cli.turn_remarks import Remarks
from tui.cli.turn_report import Failure, TurnReport, exit_code, result_line
from tui.ending import Asked, Ending

UNREAD = 128 + 13  # as of a program that SIGPIPE ended
TIME_IS_UP = "the time for the turn was up"


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
            report = chat.failed(masked_error(error, environ, options.profile))
        except Exception as error:  # noqa: BLE001 - --json owes an object for what nothing foresaw, too
            open_early(environ, options.profile)
            log.error("hermes chat failed", exc_info=error)
            report = chat.failed(f"hermes failed ({type(error).__name__}). `hermes logs` has the details.")
        chat.print(report)
        return exit_code(report.reason, ending.exit_code or chat.unread_code, is_stored=not chat.loss)


@dataclass(slots=True)
class Chat:
    """One run of `hermes chat`, as far as it has come."""

    options: ChatOptions
    _runtime: Runtime | None = None
    _rows_before: int = 0
    _is_printed: bool = False
    _is_late: bool = False
    _remarks: Remarks = field(init=False)
    _events: EventWriter = field(init=False)

    def __post_init__(self) -> None:
        self._remarks = Remarks(Masking(), is_quiet=self.options.quiet)
        self._events = EventWriter(self._stop)

    def run(self, environ: Mapping[str, str], ending: Ending) -> TurnReport:
        """Raises UserError where nothing was sent."""
        with ending.raising():
            prompt = read_prompt(self.options)
        cwd = folder(self.options.cwd)
        is_trusting = self.options.is_trusting
        place = cwd if is_trusting else None  # with nobody to ask, a project adds nothing
        profile = Profile.load(
            environ, name=self.options.profile, cwd=place, flags=self.options.flags, is_trusting=is_trusting
        )
        try:
            self._remarks.masking = profile.secrets.masking
            open_log(profile.home, profile.secrets.mask)
            if said := about_run(environ, cwd, is_trusting=is_trusting):
                self._remarks.say(said)
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

    @property
    def loss(self) -> str:
        """What is not in the store, "" for nothing. Final once the hub is closed."""
        return self._runtime.s.loss if self._runtime else ""

    @property
    def unread_code(self) -> int | None:
        """The exit code of a turn that was stopped because nobody reads its events any more."""
        return UNREAD if self._events.is_gone else None

    def print(self, report: TurnReport) -> None:
        if self._is_printed:
            return
        self._is_printed = True
        report, remarks = self._as_stored(report), self._remarks
        if self.options.as_events:
            data(result_line(report, remarks.masking))
        elif self.options.as_json:
            data(report.as_json(remarks.masking))
        elif report.last is not None:
            answer(remarks.masking.text(report.last.content or report.last.refusal))
        if report.failure is not None:
            remarks.fail(report.failure.message)
        if report.denied:
            remarks.deny(report.denied)
        if self.loss:
            remarks.fail(self.loss)
        if said := about_unread(self.options):
            remarks.say(said)
        if report.session_id:
            remarks.say(f"session: {report.session_id}")

    def print_cut(self) -> None:
        """The last words when the process must end before the turn was settled."""
        self.print(self.report(ExitReason.INTERRUPTED))

    # --- inside

    def _as_stored(self, report: TurnReport) -> TurnReport:
        """The report with what the store lacks of it, perhaps all of its session."""
        if self._runtime is None:
            return report
        backlog = self._runtime.s.backlog
        return replace(report, unstored=backlog.said, session_id=None if backlog.is_new else report.session_id)

    async def _converse(self, profile: Profile, prompt: Prompt, cwd: Path, ending: Ending) -> TurnReport:
        task = asyncio.current_task()
        assert task is not None
        ending.listen(task.cancel)
        hub = await open_hub(profile, source="chat", is_attended=False, model=self.options.model)
        for sentence in filter(None, (*hub.remarks, hub.ignored)):
            self._remarks.say(sentence)
        if left := await asyncio.to_thread(leftovers, profile.home.running):
            self._remarks.say(notice(left, "hermes processes stop"))
        try:
            return await self._turn(hub, prompt, cwd, ending)
        finally:
            ending.listen(lambda: None)
            await hub.close("hermes was ended")
            await self._events.finish()
            ending.unlisten()

    async def _turn(self, hub: Hub, prompt: Prompt, cwd: Path, ending: Ending) -> TurnReport:
        runtime = self._runtime = await self._opened(hub, cwd)
        self._rows_before = len(runtime.s.rows)
        listener = hub.listen(runtime.id)
        self._check_route(hub, runtime)
        if self.options.timeout_s is not None:
            asyncio.get_running_loop().call_later(self.options.timeout_s, self._run_out)
        while runtime.is_busy:  # a turn that a dead process left waiting is finished first
            await self._until_end(listener)
            self._rows_before = len(runtime.s.rows)
        if self._is_late:
            return self._ended_late()
        hub.submit(runtime.id, prompt.text, prompt.parts)
        ending.listen(lambda: hub.interrupt(runtime.id))
        end = await self._until_end(listener)
        if self._is_late and end.reason is ExitReason.INTERRUPTED and ending.number is None:
            return self._ended_late()
        failed = end.reason not in (ExitReason.COMPLETED, ExitReason.INTERRUPTED) and bool(end.error)
        return self.report(end.reason, Failure(end.error_kind or "unknown", end.error) if failed else None)

    def _run_out(self) -> None:
        self._is_late = True
        self._stop(TIME_IS_UP)

    def _stop(self, cause: str = INTERRUPTED) -> None:
        if self._runtime is not None:
            self._runtime.interrupt(cause)

    def _ended_late(self) -> TurnReport:
        said = f"The turn was stopped: it took longer than {self.options.timeout_s:g} s. What it said until then is stored."
        return self.report(ExitReason.ERROR, Failure(ErrorKind.TIMEOUT, said))

    async def _opened(self, hub: Hub, cwd: Path) -> Runtime:
        if self.options.session:
            runtime = await open_stored(hub, self.options.session, self.options.model)
            if said := about_folder(runtime.s.session):
                self._remarks.say(said)
        else:
            runtime = hub.create(cwd)
        await set_up(runtime, self.options.mode, self.options.personality)
        return runtime

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
                self._remarks.hear(event)
                if self.options.as_events:
                    self._events.add(event_line(event, self._remarks.masking))
                if isinstance(event, TurnEnded):
                    return event
