"""Room for the next request of a turn: when a conversation is compacted, and when that is given up."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from agent.config.settings import CompressionSettings
from agent.context.compaction import compact, is_said, remember
from agent.context.gates import Gate, Known, Verdict, judge
from agent.context.record import Record, record_of
from agent.context.summary import window_sentence
from agent.events import CompactionEnded, TurnEvent, Why
from agent.open_session import OpenSession
from agent.providers.base import ErrorKind, ProviderError, Reply
from session.models import Level

OFF = "Compaction is off (compression.enabled); /compact makes the conversation smaller."
IN_VAIN = (
    "It was compacted {times} in this turn and is still too long: start a new one with /new, or send less at once."
)


class Room:
    """One turn's. A request that its server refused for its size is never sent again as it was (A22, A37)."""

    def __init__(self, s: OpenSession) -> None:
        self._s = s
        self._attempts = 0  # that failed, at the threshold
        self._refusal: ProviderError | None = None  # what the server said of the last request
        self._refusals = 0

    async def make(self, gate: Gate) -> AsyncGenerator[TurnEvent, None]:
        """Before a request. Raises the refusal of the last one where it could not be made smaller."""
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            async with aclosing(self._after(refusal)) as events:
                async for event in events:
                    yield event
        elif self._is_due(gate):
            async with aclosing(self._at_threshold()) as events:
                async for event in events:
                    yield event

    async def refused(self, error: ProviderError) -> None:
        """Take in that the last request failed. Raises the error where a smaller one would not help."""
        if error.kind is not ErrorKind.CONTEXT_OVERFLOW or error.partial:
            raise error
        if not self._settings.enabled:
            error.add(OFF)
            raise error
        if self._refusals >= self._settings.max_attempts:
            times = "once" if self._refusals == 1 else f"{self._refusals} times"
            raise self._told(error, IN_VAIN.format(times=times))
        self._refusal, self._refusals = error, self._refusals + 1
        await self._learn(error)

    async def answered(self, reply: Reply) -> None:
        """Take in what the server counted of the last request."""
        s = self._s
        prompt = reply.usage.prompt if reply.usage is not None else 0
        await remember(s, self._record.read(prompt, s.terms.threshold))

    # --- inside

    async def _after(self, refusal: ProviderError) -> AsyncGenerator[TurnEvent, None]:
        s, error, revision = self._s, "", self._s.session.revision
        async with aclosing(compact(s, Why.REFUSED)) as events:
            async for event in events:
                error = event.error if isinstance(event, CompactionEnded) else error
                yield event
        declared = window_sentence(s, s.route)
        if s.session.revision == revision:
            raise self._told(refusal, error)
        if declared and not is_said(s, declared):
            yield await s.store_notice(Level.WARNING, declared)

    async def _at_threshold(self) -> AsyncGenerator[TurnEvent, None]:
        s, record, revision = self._s, self._record, self._s.session.revision
        if self._attempts >= self._settings.max_attempts or record.waits(time.time()):
            return
        if record.blocked:
            if not is_said(s, record.blocked):
                yield await s.store_notice(Level.WARNING, record.blocked)
            return
        async with aclosing(compact(s, Why.FULL)) as events:
            async for event in events:
                yield event
        self._attempts += s.session.revision == revision

    def _is_due(self, gate: Gate) -> bool:
        s = self._s
        terms = s.terms
        known = Known(
            window=terms.window,
            threshold=terms.threshold,
            last_prompt=s.meter.last_prompt(s.session.anchors, terms),
            awaits_reading=self._record.awaits_reading,
            omits_usage=s.meter.omits_usage(s.session.anchors, terms),
        )
        pressure = s.pressure()
        asked = {gate, Gate.PRE_CALL} if gate is Gate.POST_TOOLS else {gate}  # results end, and a request is next
        return any(judge(one, pressure, known) is Verdict.COMPACT for one in asked)

    async def _learn(self, error: ProviderError) -> None:
        """Where the server did not say how large its window is, it is smaller than what was sent (G09)."""
        s = self._s
        sent_tokens, window = s.pressure().used, s.terms.window
        if error.window is None and (window is None or sent_tokens < window):
            await s.parts.windows.learn(s.route, sent_tokens)

    def _told(self, error: ProviderError, sentence: str) -> ProviderError:
        for more in (sentence, window_sentence(self._s, self._s.route)):
            if more:
                error.add(more)
        return error

    @property
    def _record(self) -> Record:
        return record_of(self._s.session.compaction)

    @property
    def _settings(self) -> CompressionSettings:
        return self._s.parts.settings.compression
