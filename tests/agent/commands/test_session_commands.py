"""/stop, /queue, /steer, /status, /cwd, /tools, /todo and /reasoning: about the session that is seen, and no other."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent.approvals.shell_verdict import Mode
from agent.commands.builtin import COMMANDS
from agent.commands.table import OnScreen, Page, Reported, Said, ScreenAsked
from agent.events import CallStarted, QueueChanged, TurnEnded
from agent.session_run import SessionBusy
from agent.steer_note import MARK
from session.models import ExitReason, Level, Role


@pytest.fixture
def more_config() -> str:
    return "auxiliary: {titles: false}"


@pytest.fixture
def run(bench):
    acts = {command.name: command.act for command in COMMANDS}

    async def run(line: str):
        name, _, argument = line.partition(" ")
        return await acts[name](bench.hub, bench.session_id, argument)

    return run


def call(command: str, **more: object) -> dict[str, object]:
    arguments = json.dumps({"command": command, **more})
    return {"id": "call_1", "type": "function", "function": {"name": "terminal", "arguments": arguments}}


async def begun(bench, served, *calls: dict[str, object]) -> None:
    served.reply(*calls)
    await bench.hub.runtime(bench.session_id).set_mode(Mode.YOLO)
    bench.hub.submit(bench.session_id, "work")
    await bench.until(lambda event: isinstance(event, CallStarted))


async def test_complaint_58_stop_ends_the_turn_and_what_it_left_in_the_background(bench, served, run):
    served.reply(call("sleep 300", background=True))
    served.reply(text="it runs")
    await bench.hub.runtime(bench.session_id).set_mode(Mode.YOLO)
    await bench.ask("serve")
    served.hold('data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n')
    bench.hub.submit(bench.session_id, "go on")
    await asyncio.wait_for(served.waiting.wait(), 15)
    said = await run("stop")
    assert said.text == "Stopped: the turn, and 1 command in the background."
    ended = await bench.until(lambda event: isinstance(event, TurnEnded))
    assert ended[-1].reason is ExitReason.INTERRUPTED
    assert (await run("stop")).text == "Nothing of this session runs."


async def test_steer_reaches_the_model_that_works_and_an_idle_session_gets_a_prompt(bench, served, run):
    await begun(bench, served, call("while [ ! -e go ]; do sleep 0.02; done"))
    assert "behind the next result" in (await run("steer look at the tests")).text
    await bench.until(lambda event: isinstance(event, QueueChanged))
    assert "1 queued" in (await run("queue")).text
    served.reply(text="done")
    (bench.workspace / "go").touch()
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert served.requests[-1]["messages"][-1]["content"].endswith(f"{MARK}\nlook at the tests")
    served.reply(text="again")
    assert "sent as a prompt" in (await run("steer hello")).text
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert [row.content for row in bench.rows if row.role is Role.USER][-1] == "hello"


async def test_queue_sends_at_once_where_nothing_runs_and_waits_else(bench, served, run):
    gate = served.hold('data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n')
    await run("queue first")
    await asyncio.wait_for(served.waiting.wait(), 15)
    assert "sent when this turn has ended" in (await run("queue second")).text
    served.reply(text="two")
    gate.set()
    for _ in range(2):
        await bench.until(lambda event: isinstance(event, TurnEnded))
    assert [row.content for row in bench.rows if row.role is Role.USER] == ["first", "second"]


async def test_status_tells_what_holds(bench, served, run):
    served.reply(text="hello", usage=(1_234, 56))
    await bench.ask("hi")
    report = await run("status")
    assert isinstance(report, Reported)
    told = report.report.text
    for fact in (bench.session_id, "served", served.url, str(bench.workspace), "1,234", "56", "idle"):
        assert fact in told


async def test_cwd_moves_the_row_the_tools_and_the_prompt(bench, served, run, tmp_path):
    served.reply(text="hello")
    await bench.ask("hi")
    other = tmp_path / "other place"
    other.mkdir()
    assert (await run("cwd nowhere/at/all")).level is Level.WARNING
    said = await run(f'cwd "{other}"')
    assert said == Said(f"This session works in {other} from now on.")
    stored = bench.hub.profile.db.read(lambda tables: tables.sessions.get(bench.session_id)).result()
    assert (stored.cwd, stored.workspace) == (str(other), str(other))
    served.reply(call("pwd"))
    served.reply(text="there")
    await bench.hub.runtime(bench.session_id).set_mode(Mode.YOLO)
    await bench.ask("where?")
    assert str(other) in served.requests[-1]["messages"][0]["content"]
    assert any(str(other) in row.content for row in bench.rows if row.role is Role.TOOL)
    assert (await run("cwd ..")).text == f"This session works in {tmp_path} from now on."


async def test_cwd_is_refused_while_a_turn_runs(bench, served, run):
    gate = served.hold('data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n')
    bench.hub.submit(bench.session_id, "first")
    await asyncio.wait_for(served.waiting.wait(), 15)
    with pytest.raises(SessionBusy):
        await run("cwd /")
    gate.set()
    await bench.until(lambda event: isinstance(event, TurnEnded))


async def test_a_tool_that_is_off_is_offered_to_this_session_no_more_also_when_it_is_opened_again(
    bench, served, run, open_bench
):
    page = await run("tools")
    assert isinstance(page, Page) and "| `terminal` | on |" in page.markdown
    assert (await run("tools off shovel")).level is Level.WARNING
    await run("tools off terminal web_fetch")
    served.reply(call("echo hi"))
    served.reply(text="then not")
    await bench.ask("hi")
    names = {tool["function"]["name"] for tool in served.requests[0]["tools"]}
    assert "read_file" in names and not names & {"terminal", "web_fetch"}
    assert any("terminal" in row.content for row in bench.rows if row.role is Role.TOOL)  # there is no such tool
    later = await open_bench()
    runtime = await later.hub.open(bench.session_id)
    assert runtime.s.options.tools_off == {"terminal", "web_fetch"}
    assert later.hub.runtime(later.session_id).s.options.tools_off == frozenset()
    await run("tools on terminal web_fetch")
    served.reply(text="ok")
    await bench.ask("again")
    assert {tool["function"]["name"] for tool in served.requests[-1]["tools"]} == names | {"terminal", "web_fetch"}


async def test_how_much_a_model_thinks_is_this_sessions_own(bench, served, run):
    await run("reasoning high")
    served.reply(text="ok")
    await bench.ask("hi")
    other = bench.hub.create(bench.workspace).id
    served.reply(text="ok")
    bench.hub.submit(other, "hi")
    await bench.until(lambda event: isinstance(event, TurnEnded))
    await run("reasoning default")
    served.reply(text="ok")
    await bench.ask("hi")
    assert [request.get("reasoning_effort") for request in served.requests] == ["high", None, None]
    assert await run("reasoning hide") == ScreenAsked(OnScreen.HIDE_THINKING)
    assert (await run("reasoning loads")).level is Level.WARNING


async def test_todo_tells_the_steps_of_the_model(bench, served, run):
    assert "keeps no list" in (await run("todo")).text
    items = {"items": [{"content": "look", "status": "done"}, {"content": "build ``` it", "status": "in_progress"}]}
    function = {"name": "todo", "arguments": json.dumps(items)}
    served.reply({"id": "call_1", "type": "function", "function": function})
    served.reply(text="ok")
    await bench.ask("plan")
    page = await run("todo")
    assert isinstance(page, Page)
    assert "[x] look" in page.markdown and page.markdown.count("```") == 2
