"""Running calls that may run, one or several at once: what they put out as it comes, one result each, in call order."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agent.call_limits import Limits, limits_of, shortened, spilled, too_long
from agent.call_repeats import note_on_repeats
from agent.config.masking import MaskedStream, Masking
from agent.deciding import UNRECORDED, Runnable, is_unrecordable
from agent.events import CallOutput, CallStarted, TurnEvent
from agent.masked_rows import masked_call
from agent.open_session import OpenSession
from agent.tools.base import BadArguments, CallContext, ToolResult
from session.errors import UserError
from session.models import CallOutcome, CallResult, Level, Role

log = logging.getLogger(__name__)

KEPT_OUTPUT = 20_000  # characters of a running call's output that an interrupt still tells the model


async def run_together(s: OpenSession, calls: Sequence[Runnable]) -> AsyncGenerator[TurnEvent, None]:
    """Run calls at once. Each is noted as started before it acts, and ends in exactly one row, in the order given."""
    running: list[_Running] = []
    news = asyncio.Event()
    try:
        for one in calls:
            await _mark_started(s, one)
            running.append(_Running(one, _Output(s.masking, news)))
            shown = s.masking.text(one.judged.shown)
            if not (one.changes and is_unrecordable(s, one.call)):
                yield CallStarted(s.stamp(), masked_call(s.masking, one.call), shown)
                running[-1].start(s)
            else:
                running[-1].result = ToolResult(UNRECORDED, CallOutcome.NOT_RUN)
        async for event in _followed(s, running, news):
            yield event
    except asyncio.CancelledError:
        await _stop(running)
        for one in running:
            if not one.is_stored:
                one.is_stored = True
                await s.append_result(*one.ending())
        raise
    except UserError:
        await _stop(running)
        raise
    finally:
        for one in running:
            one.cancel()


async def _followed(
    s: OpenSession, running: Sequence[_Running], news: asyncio.Event
) -> AsyncGenerator[TurnEvent, None]:
    left, notices = list(running), list[str]()
    while left:
        news.clear()
        for one in left:
            if text := one.output.take():
                yield CallOutput(s.stamp(), one.call_id, text)
        while left and left[0].is_done:
            ready = await _ready(s, left)
            if not ready:
                break
            del left[: len(ready)]
            for one, text in ready:
                one.is_stored = True
                yield await s.store_result(text, one.record)
                notices += _unsaid(s, one.notes)
        if left:
            await news.wait()
    for note in dict.fromkeys(notices):  # behind all results: nothing may stand between a call and its result
        yield await s.store_notice(Level.WARNING, note)


def _unsaid(s: OpenSession, notes: Sequence[str]) -> list[str]:
    """Once in a conversation is enough."""
    said = {row.content for row in s.rows if row.role is Role.NOTICE}
    return [note for note in notes if s.masking.text(note) not in said]


async def _mark_started(s: OpenSession, one: Runnable) -> None:
    call_id, approval, now = one.call.id, one.approval, time.time()
    await s.write(lambda tables: tables.calls.mark_started(s.id, call_id, approval, now))
    s.parts.grants.note_written(s.id, one.judged.touch.writes)


# --- what of a result the model gets


async def _ready(s: OpenSession, left: Sequence[_Running]) -> list[tuple[_Running, str]]:
    """Those in front that can be stored now, with what the model is told. Where not all has room in the turn, all are
    waited for, so that the longest ones are cut and not the last ones."""
    done: list[_Running] = []
    for one in left:
        if not one.is_done:
            break
        done.append(one)
    texts = [one.told(s) for one in done]
    used, limits = _used_chars(s), limits_of(s.terms.window)
    if len(done) < len(left) and used + sum(map(len, texts)) > limits.turn:
        return []
    cut = too_long([len(text) for text in texts], used, limits)
    return [
        (one, await _cut(s, one, text, limits) if at in cut else text)
        for at, (one, text) in enumerate(zip(done, texts, strict=True))
    ]


async def _cut(s: OpenSession, one: _Running, text: str, limits: Limits) -> str:
    """What read_file gave is in a file already; it is not read again from another one."""
    place, tool = s.place, one.call.judged.read.tool
    if tool.NAME == "read_file":
        place.seen.forget_shown(next(iter(one.call.judged.touch.reads), None))
        return shortened(text, min(limits.result, max(limits.turn - _used_chars(s), limits.result // 10)))
    name = "".join(char if char.isalnum() or char in "-_" else "-" for char in one.call_id)[:80]
    return await asyncio.to_thread(spilled, text, place.outputs / f"result-{name}.txt")


def _used_chars(s: OpenSession) -> int:
    """What the results of this turn take by now."""
    used = 0
    for row in reversed(s.rows):
        if row.role is Role.USER:
            break
        used += len(row.content) if row.role is Role.TOOL else 0
    return used


# --- one call


@dataclass(slots=True, eq=False)
class _Running:
    """A call on its way. `result` is set when it has ended by itself."""

    call: Runnable
    output: _Output
    result: ToolResult | None = None
    is_stored: bool = False
    notes: list[str] = field(default_factory=list[str])  # for the person
    _task: asyncio.Task[ToolResult] | None = None
    _began: float = field(default_factory=time.monotonic)
    _ended: float | None = None

    @property
    def call_id(self) -> str:
        return self.call.call.id

    @property
    def is_done(self) -> bool:
        return self.result is not None

    @property
    def record(self) -> CallResult:
        outcome = self.result.outcome if self.result is not None else CallOutcome.INTERRUPTED
        exit_code = self.result.exit_code if self.result is not None else None
        spent = (self._ended or time.monotonic()) - self._began
        one = self.call.call
        return CallResult(one.id, one.name, outcome, self.call.approval, exit_code, self.call.rule, spent)

    def start(self, s: OpenSession) -> None:
        self._began = time.monotonic()
        self._task = asyncio.create_task(_act(s, self))
        self._task.add_done_callback(self._end)

    def cancel(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()

    async def settled(self) -> None:
        if self._task is not None:
            await asyncio.wait([self._task])
            self._end(self._task)

    def told(self, s: OpenSession) -> str:
        """What the model reads of a call that has ended, before it is cut."""
        assert self.result is not None
        text = s.masking.text(f"{self._edited()}{self.result.text}")
        return text + note_on_repeats(s.rows, self.call.judged.read, text)

    def ending(self) -> tuple[str, CallResult]:
        """The row of a call at an interrupt: what it came to, or that it was stopped."""
        if self.result is not None:
            return self._edited() + self.result.text, self.record
        said = "Interrupted while it ran; what it had done by then stays done. Output so far:\n"
        return f"{self._edited()}{said}{self.output.whole()}", self.record

    def _edited(self) -> str:
        edited = self.call.judged.read.edited
        return f"The person changed the command before it ran. This is what ran:\n{edited}\n\n" if edited else ""

    def _end(self, task: asyncio.Task[ToolResult]) -> None:
        self._ended = self._ended or time.monotonic()
        if not task.cancelled() and self.result is None:
            self.result = task.result()
        self.output.news.set()


async def _stop(running: Sequence[_Running]) -> None:
    for one in running:
        one.cancel()
    for one in running:
        await one.settled()


async def _act(s: OpenSession, one: _Running) -> ToolResult:
    """Run a tool. What a tool did not foresee is an error of the call, told to the model and logged, never of the turn."""
    judged = one.call.judged
    ctx = CallContext(s.place, one.call_id, one.output.add, judged.touch, one.call.change)
    try:
        async with _recorded(s, one):
            return await judged.read.tool.run(judged.read.args, ctx)
    except BadArguments as error:
        return ToolResult(str(error), CallOutcome.NOT_RUN)
    except OSError as error:
        return ToolResult(f"{type(error).__name__}: {error}", CallOutcome.ERROR)
    except Exception as error:
        log.exception("tool %s failed", judged.read.tool.NAME)
        return ToolResult(f"The tool failed: {type(error).__name__}: {error}", CallOutcome.ERROR)


@asynccontextmanager
async def _recorded(s: OpenSession, one: _Running) -> AsyncGenerator[None, None]:
    """Have the files recorded around a call that may change some. Where that fails the call runs all the same."""
    touch, history = one.call.judged.touch, s.parts.history_for(s.session)
    if not one.call.changes or not (touch.writes or touch.runs):
        yield
        return
    try:
        await history.before(one.call_id, None if touch.runs else touch.writes)
    except UserError as error:
        one.notes.append(str(error))
    try:
        yield
    finally:
        try:
            await history.after(one.call_id)
        except UserError as error:
            one.notes.append(str(error))


class _Output:
    """Output of a running call between the tool that writes it and the turn that publishes it, without our secrets."""

    def __init__(self, masking: Masking, news: asyncio.Event) -> None:
        self.news = news
        self._kept = ""
        self._fresh: list[str] = []
        self._masked = MaskedStream(masking)

    def add(self, text: str) -> None:
        self._fresh.append(self._masked.add(text))
        self.news.set()

    def take(self) -> str:
        text = "".join(self._fresh)
        self._fresh.clear()
        self._kept = (self._kept + text)[-KEPT_OUTPUT:]
        return text

    def whole(self) -> str:
        """All that was written, as far as it is kept, when nothing more comes."""
        self._fresh.append(self._masked.finish())
        self.take()
        return self._kept
