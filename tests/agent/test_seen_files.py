"""A session remembers what it has read of which file, from call to call and from turn to turn."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agent.approvals.inbox import Answer
from session.models import Approval, CallOutcome


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"id": f"{name}-{len(args)}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}


async def test_T18_what_one_turn_read_the_next_may_replace(bench, served, workspace):
    (workspace / "f").write_text("old")
    served.reply(call("read_file", path="f"))
    served.reply(text="read")
    await bench.ask("read it")
    served.reply(call("write_file", path="f", content="new"))
    served.reply(text="written")
    turn = await bench.ask("write it", Approval.ALLOWED_ONCE)
    assert turn.results[0][0].outcome is CallOutcome.OK
    assert (workspace / "f").read_text() == "new"


async def test_T18_what_was_not_read_stays(bench, served, workspace):
    (workspace / "f").write_text("old")
    served.reply(call("write_file", path="f", content="new"))
    served.reply(text="not written")
    turn = await bench.ask("write it", Approval.ALLOWED_ONCE)
    assert "not been read in this session" in turn.results[0][1]
    assert (workspace / "f").read_text() == "old"


async def test_C18_a_folder_swapped_for_a_link_while_a_person_is_asked_is_not_followed(bench, served, workspace):
    out = workspace.parent / "out"
    out.mkdir()
    (workspace / "a").mkdir()
    served.reply(call("write_file", path="a/f", content="x"))
    served.reply(text="so it is")
    asking = asyncio.create_task(bench.ask("write it"))
    while not (waiting := bench.hub.pending()):
        await asyncio.sleep(0)
    (workspace / "a").rmdir()
    (workspace / "a").symlink_to(out)
    bench.hub.answer(waiting[0].id, Answer(Approval.ALLOWED_ONCE))
    turn = await asking
    assert "became a link after it was checked; nothing was done" in turn.results[0][1]
    assert not list(out.iterdir())
