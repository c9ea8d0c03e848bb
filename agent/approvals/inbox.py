"""The questions that wait for a person. A request is answered once; whoever shows it only looks at it."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from session.models import Approval, ApprovalRequest


class Answer(Struct, frozen=True):
    """What was decided, and the cause where nobody decided.

    `reason` is what a person said to a no. `rules` are what is saved with `ALLOWED_ALWAYS`, as the offers wrote them, for
    this project or `is_everywhere`. `edited` is the command as the person rewrote it, None where it stands: it is judged
    anew, and the approval is for that text alone.
    """

    approval: Approval
    cause: str = ""
    reason: str = ""
    rules: tuple[str, ...] = ()
    is_everywhere: bool = False
    edited: str | None = None
    is_asked_anew: bool = False  # withdrawn because things changed under it: the call is judged again as they are now


class Inbox:
    """Open requests of every session, oldest first."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[ApprovalRequest, asyncio.Future[Answer]]] = {}

    async def wait(self, request: ApprovalRequest, timeout_s: float) -> Answer:
        """The answer to a request. `timeout_s` 0 waits for ever; silence is `TIMED_OUT`, never a yes or the person's no."""
        future = asyncio.get_running_loop().create_future()
        self._open[request.id] = (request, future)
        try:
            # Not wait_for: before Python 3.12 an interrupt in the moment of the answer gets lost in it.
            async with asyncio.timeout(timeout_s or None):
                return await future
        except TimeoutError:
            return Answer(Approval.TIMED_OUT, f"no answer within {timeout_s:g} s")
        finally:
            self._open.pop(request.id, None)

    def answer(self, request_id: str, answer: Answer) -> bool:
        """Settle a request. False when it is not open any more: the answer came too late and changes nothing (C28)."""
        entry = self._open.get(request_id)
        if entry is None or entry[1].done():
            return False
        entry[1].set_result(answer)
        return True

    def pending(self, session_id: str | None = None) -> list[ApprovalRequest]:
        """Unanswered requests, of one session or of all."""
        return [
            request
            for request, future in self._open.values()
            if not future.done() and session_id in (None, request.session_id)
        ]
