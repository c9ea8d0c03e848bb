"""What a person allowed or denied is on the disk before anything follows from it."""

from __future__ import annotations

import json

import pytest

from agent.approvals.inbox import Answer
from agent.events import RequestOpened, TurnEnded
from session.models import Approval

FULL, NORMAL = "PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL"


@pytest.fixture
def synced(bench) -> list[str]:
    """The first words of each statement that is committed in a synced transaction."""
    told: list[str] = []
    level = [NORMAL]

    def hear(statement: str) -> None:
        if statement in (FULL, NORMAL):
            level[0] = statement
        elif level[0] == FULL:
            told.append(" ".join(statement.split()[:3]))

    bench.hub.profile.db.aside(lambda connection: connection._raw.set_trace_callback(hear)).result()
    return told


async def test_a_request_and_its_answer_survive_a_power_cut_and_plain_rows_do_not_pay_for_it(bench, served, synced):
    command = json.dumps({"command": "touch it"})
    served.reply({"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": command}})
    served.reply(text="Done.")
    bench.hub.submit(bench.session_id, "run it")
    opened = (await bench.until(lambda event: isinstance(event, RequestOpened)))[-1]
    assert "INSERT INTO approval_requests" in synced
    bench.hub.answer(opened.request.id, Answer(Approval.ALLOWED_ONCE))
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert "UPDATE approval_requests SET" in synced
    assert not any("messages" in statement for statement in synced)
