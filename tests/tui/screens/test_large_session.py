"""A conversation of any size is on the screen at once: what is drawn is what is in sight."""

from __future__ import annotations

import time

from session.models import Approval, CallOutcome, CallResult, Finish, Message, Role, Session, TitleSource, ToolCall

MESSAGES = 9_000
LINES = "".join(f"line {number} of the build\n" for number in range(52_000))  # 1.4 MB
MOST_CPU_S = 1.0


def rows(session_id: str) -> list[Message]:
    """Two calls with huge outputs stand at the end, where they are drawn first."""
    said = [
        Message(session_id, (Role.USER, Role.ASSISTANT)[number % 2], f"message {number} " + "and so on " * 20, 1e9)
        for number in range(MESSAGES - 4)
    ]
    calls = tuple(ToolCall(f"call_{at}", "terminal", '{"command": "make"}') for at in range(2))
    asked = Message(session_id, Role.ASSISTANT, "", 1e9, calls=calls, finish=Finish.TOOL_CALLS)
    told = [
        Message(
            session_id,
            *(Role.TOOL, output, 1e9),
            result=CallResult(call.id, call.name, CallOutcome.OK, Approval.ALLOWED_ONCE, 0),
        )
        for call, output in zip(calls, (LINES, "x" * 200_000), strict=True)
    ]
    return [*said, asked, *told, Message(session_id, Role.ASSISTANT, "All of it is built.", 1e9, finish=Finish.STOP)]


async def test_D12_a_session_with_huge_outputs_is_drawn_in_less_than_a_second(desk):
    """CPU time, which a busy machine does not stretch as much."""
    async with desk() as d:
        here = d.main.runtime.s.session
        large = Session("large", "tui", "Large", TitleSource.PERSON, here.cwd, here.workspace, 1e9, 1e9, here.route)
        d.hub.profile.db.write(
            lambda tables: (tables.sessions.create(large), [tables.messages.append(row) for row in rows("large")])
        ).result()
        began = time.process_time()
        await d.hub.open("large")
        d.main.show("large")
        await d.until(lambda: "All of it is built." in d.text)
        spent = time.process_time() - began
        assert "more lines" in d.text and "message 8995" in d.text
        assert spent < MOST_CPU_S
