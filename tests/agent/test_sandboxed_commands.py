"""Commands in the sandbox and on the way out of it: through the hub, with a served model."""

from __future__ import annotations

import json

import pytest

from agent.approvals.shell_verdict import Mode
from agent.events import RequestOpened
from agent.tools import sandbox
from session.models import Approval, CallOutcome


def shell(command: str, id: str, **more: object) -> dict[str, object]:
    arguments = json.dumps({"command": command, **more})
    return {"id": id, "type": "function", "function": {"name": "terminal", "arguments": arguments}}


@pytest.mark.parametrize("more_config", ["terminal: {sandbox: auto}"])
async def test_what_fails_inside_runs_outside_only_by_the_persons_word_each_time(bench, served, tmp_path):
    if why := sandbox.why_not(bench.hub.runtime(bench.session_id).s.place):
        pytest.skip(f"no command can run in a sandbox here: {why}")
    (tmp_path / "apart").mkdir()
    command = f"echo x >> {tmp_path}/apart/f"
    for id, more in (("c0", {}), ("c1", {"outside": True}), ("c2", {"outside": True})):
        served.reply(shell(command, id, **more))
    served.reply(text="done")
    await bench.hub.runtime(bench.session_id).set_mode(Mode.YOLO)
    turn = await bench.ask("go", Approval.ALLOWED_ALWAYS)
    whys = [event.request.why for event in turn.events if isinstance(event, RequestOpened)]
    assert ["failed inside with" in why for why in whys] == [True, True]
    approvals = [Approval.NOT_ASKED, Approval.ALLOWED_ONCE, Approval.ALLOWED_ONCE]
    assert [result.approval for result, _ in turn.results] == approvals
    assert [result.outcome for result, _ in turn.results] == [CallOutcome.ERROR, CallOutcome.OK, CallOutcome.OK]
    assert (tmp_path / "apart/f").read_text() == "x\nx\n"


@pytest.mark.parametrize("more_config", ["terminal: {sandbox: require}"])
async def test_where_no_sandbox_can_be_made_a_command_that_needs_one_is_refused_in_one_sentence(
    bench, served, workspace, monkeypatch
):
    monkeypatch.setattr(sandbox, "_tries", dict.fromkeys(("/usr/bin/bwrap", "/bin/bwrap"), "it is forbidden here"))
    served.reply(shell("echo x > f", "c0"))
    served.reply(text="done")
    turn = await bench.ask("go")
    [(result, text)] = turn.results
    assert (result.outcome, result.approval) == (CallOutcome.NOT_RUN, Approval.DENIED)
    assert text.startswith("Not run: denied, because the setting terminal.sandbox requires a sandbox, and ")
    assert not (workspace / "f").exists()
