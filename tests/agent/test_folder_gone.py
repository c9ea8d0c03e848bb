"""The folder of a session is removed while hermes works there (E11)."""

from __future__ import annotations

import json

from session.models import Approval, CallOutcome, ExitReason


def command(text: str) -> dict[str, object]:
    return {"id": "x", "type": "function", "function": {"name": "terminal", "arguments": json.dumps({"command": text})}}


async def test_E11_a_command_in_a_folder_that_is_gone_is_a_plain_message_and_the_turn_goes_on(
    bench, served, workspace, open_bench
):
    served.reply(text="Hello.")
    await bench.ask("hi")
    workspace.rmdir()
    served.reply(command("touch made"))
    served.reply(text="It is gone.")
    turn = await bench.ask("make it", Approval.ALLOWED_ONCE)
    assert turn.ended.reason is ExitReason.COMPLETED
    [(result, text)] = turn.results
    assert (result.outcome, f"The folder {workspace} does not exist" in text) == (CallOutcome.ERROR, True)
    later = await open_bench()
    later.session_id = bench.session_id
    await later.hub.open(bench.session_id)
    served.reply(text="Still here.")
    assert (await later.ask("and now?")).ended.reason is ExitReason.COMPLETED
