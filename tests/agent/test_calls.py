"""Several calls of one answer: at once where that is safe, one result each and in their order, within bounds."""

from __future__ import annotations

import asyncio
import json
import os
import random

import pytest

from agent.approvals.inbox import Answer
from agent.approvals.shell_verdict import Mode
from agent.call_limits import Limits, limits_of, too_long
from agent.events import CallOutput, CallStarted, RequestOpened, RowStored, TurnEnded
from session.models import Approval, CallOutcome, ExitReason

ROUNDS = int(os.environ.get("HERMES_SOAK", "1")) * 25


def tool(name: str, id: str, **arguments: object) -> dict[str, object]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def shell(command: str, id: str) -> dict[str, object]:
    return tool("terminal", id, command=command)


def started_before_first_result(events) -> list[str]:
    stored = next(at for at, event in enumerate(events) if isinstance(event, RowStored) and event.row.result)
    return [event.call.id for event in events[:stored] if isinstance(event, CallStarted)]


# --- at once


async def test_T17_calls_that_only_read_run_at_once_and_one_that_fails_stops_no_other(bench, served, workspace):
    """The first one ends last: each waits for a file that stands there only once the test has seen all three begin."""
    (workspace / "c.txt").write_text("c\n")
    served.reply(
        shell("until test -e go; do sleep 0.01; done; echo a", "a"),
        tool("read_file", "b", path="missing"),
        tool("read_file", "c", path="c.txt"),
    )
    served.reply(text="done")
    bench.hub.submit(bench.session_id, "go")
    events = await bench.until(lambda event: isinstance(event, CallStarted) and event.call.id == "c")
    (workspace / "go").touch()
    events += await bench.until(lambda event: isinstance(event, TurnEnded))
    assert started_before_first_result(events) == ["a", "b", "c"]
    rows = [row for row in bench.rows if row.result]
    assert [row.result.call_id for row in rows] == ["a", "b", "c"]
    assert [row.result.outcome for row in rows] == [CallOutcome.OK, CallOutcome.ERROR, CallOutcome.OK]
    answered = [message["tool_call_id"] for message in served.requests[-1]["messages"] if message["role"] == "tool"]
    assert answered == ["a", "b", "c"]


async def test_writes_run_at_once_only_where_their_paths_are_apart(bench, served, workspace):
    await bench.hub.runtime(bench.session_id).set_mode(Mode.ACCEPT_EDITS)
    served.reply(
        tool("write_file", "a", path="one/x", content="1"),
        tool("write_file", "b", path="two/x", content="2"),
        tool("list_files", "c", path="two"),
        tool("read_file", "d", path="one/x"),
    )
    served.reply(text="done")
    turn = await bench.ask("go")
    assert started_before_first_result(turn.events) == ["a", "b"]
    assert [result.outcome for result, _ in turn.results] == [CallOutcome.OK] * 4
    assert "x" in turn.results[2][1] and turn.results[3][1] == "1|1"


async def test_a_call_that_is_asked_about_waits_for_those_before_it(bench, served, workspace):
    served.reply(
        tool("list_files", "a", path="."), shell("ls", "b"), shell("touch made", "c"), tool("list_files", "d", path=".")
    )
    served.reply(text="done")
    turn = await bench.ask("go", Approval.ALLOWED_ONCE)
    assert started_before_first_result(turn.events) == ["a", "b"]
    assert "made" not in turn.results[0][1] and "made" in turn.results[3][1]


async def test_an_interrupt_settles_all_that_run_at_once(bench, served):
    served.reply(
        shell("echo one; sleep 60", "a"),
        shell("echo two", "b"),
        shell("echo three; sleep 60", "c"),
        shell("touch late", "d"),
    )
    bench.hub.submit(bench.session_id, "go")
    said: set[str] = set()
    while said < {"a", "b", "c"}:
        for event in await bench.until(lambda event: isinstance(event, CallOutput)):
            said |= {event.call_id} if isinstance(event, CallOutput) else set()
    bench.hub.interrupt(bench.session_id)
    ended = (await bench.until(lambda event: isinstance(event, TurnEnded)))[-1]
    assert ended.reason is ExitReason.INTERRUPTED
    rows = [row for row in bench.rows if row.result]
    assert [row.result.call_id for row in rows] == ["a", "b", "c", "d"]
    outcomes = [row.result.outcome for row in rows]
    assert outcomes[0] is outcomes[2] is CallOutcome.INTERRUPTED and outcomes[3] is CallOutcome.NOT_RUN
    assert "one" in rows[0].content and "three" in rows[2].content
    stored = bench.hub.profile.db.read(lambda tables: tables.messages.all(bench.session_id)).result()
    assert stored == bench.rows


async def test_time_that_a_person_takes_is_no_time_of_the_call(bench, served):
    served.reply(shell("touch a", "a"))
    served.reply(text="done")
    bench.hub.submit(bench.session_id, "go")
    [opened] = [
        event for event in await bench.until(lambda e: isinstance(e, RequestOpened)) if isinstance(event, RequestOpened)
    ]
    waited_s = 0.5
    asyncio.get_running_loop().call_later(waited_s, bench.hub.answer, opened.request.id, Answer(Approval.ALLOWED_ONCE))
    began = asyncio.get_running_loop().time()
    await bench.until(lambda event: isinstance(event, CallStarted))
    await bench.until(lambda event: isinstance(event, TurnEnded))
    took_s = asyncio.get_running_loop().time() - began
    [row] = [row for row in bench.rows if row.result]
    assert row.result.duration_s <= took_s - waited_s + 0.01


# --- loops


async def test_T20_the_third_same_call_in_a_row_is_told_to_the_model(bench, served, workspace):
    (workspace / "x").write_text("x\n")
    for at in range(5):
        served.reply(tool("read_file", f"c{at}", path="x"))
    served.reply(text="done")
    turn = await bench.ask("go")
    noted = ["This very call was made" in text for _, text in turn.results]
    assert noted == [False, False, True, True, True]
    assert "3 times" in turn.results[2][1] and "5 times" in turn.results[4][1]


async def test_T20_two_calls_in_turn_that_change_nothing_are_noticed_too(bench, served):
    for at in range(3):
        served.reply(shell("echo a", f"a{at}"))
        served.reply(shell("echo b", f"b{at}"))
    served.reply(text="done")
    turn = await bench.ask("go")
    assert [("This very call" in text) for _, text in turn.results] == [False] * 4 + [True] * 2


async def test_T20_a_check_between_changes_is_no_loop_and_a_new_prompt_begins_anew(bench, served, workspace):
    await bench.hub.runtime(bench.session_id).set_mode(Mode.YOLO)
    for at in range(4):
        served.reply(shell("ls -m", f"check{at}"))
        served.reply(shell(f"touch f{at}", f"change{at}"))
    served.reply(text="done")
    turn = await bench.ask("go")
    assert not any("This very call" in text for _, text in turn.results)
    for _ in range(2):
        for at in range(2):
            served.reply(shell("pwd", f"again{at}"))
        served.reply(text="done")
        turn = await bench.ask("again")
        assert not any("This very call" in text for _, text in turn.results)


# --- how much of it


def test_what_a_small_window_gets_is_smaller():
    assert limits_of(None) == limits_of(1_000_000) == Limits(100_000, 200_000)
    assert limits_of(100_000) == Limits(60_000, 120_000)
    assert limits_of(4_000) == Limits(8_000, 16_000)


def test_the_longest_results_give_way_first():
    limits = Limits(100_000, 200_000)
    assert too_long([90_000, 50_000, 1_000], 0, limits) == set()
    assert too_long([90_000, 95_000, 50_000], 0, limits) == {1}
    assert too_long([150_000, 10], 0, limits) == {0}
    assert too_long([500, 40_000], 199_000, limits) == {1}
    assert too_long([500, 400], 300_000, limits) == set()


async def test_a_turn_gives_a_model_a_bounded_text_and_the_rest_stands_in_files(bench, served, workspace):
    """Four results of 49,000 characters fit; of what comes then, only the beginning is told, and it can be read on."""
    for at in range(6):
        (workspace / f"b{at}").write_text(f"line {at}\n" * 6_900 + f"end {at}\n")
    served.reply(*(shell(f"cat b{at}", f"c{at}") for at in range(3)))
    served.reply(*(shell(f"cat b{at}", f"c{at}") for at in range(3, 6)))
    served.reply(text="done")
    turn = await bench.ask("go")
    sizes = [len(text) for _, text in turn.results]
    assert sum(sizes) <= 200_000 + 6 * 2_000
    cut = [text for _, text in turn.results if "too many for the room" in text]
    assert len(cut) == 2 and all(len(text) < 2_000 for text in cut)
    path = cut[-1].partition("All of it is in ")[2].partition(":")[0]
    with open(path) as kept:  # noqa: PTH123
        assert f"end {path[-5]}" in kept.read()
    assert os.stat(path).st_mode & 0o077 == 0  # noqa: PTH116
    served.reply(tool("read_file", "back", path=path, offset=-2))
    served.reply(text="done")
    back = await bench.ask("read it")
    assert [result.approval for result, _ in back.results] == [Approval.NOT_ASKED]


async def test_in_a_small_window_a_file_is_cut_and_not_kept_a_second_time(bench, served, home, workspace, open_bench):
    (home / "config.yaml").write_text(
        (home / "config.yaml").read_text().replace("base_url:", "context_length: 16000, base_url:")
    )
    (workspace / "big").write_text("".join(f"{at} {'x' * 90}\n" for at in range(400)))
    again = await open_bench()
    served.reply(tool("read_file", "a", path="big"))
    served.reply(text="done")
    turn = await again.ask("go")
    [(_, text)] = turn.results
    assert len(text) < 10_000 and "Ask for fewer lines" in text and "1|0 xxx" in text


# --- the files around a call


async def test_what_calls_change_is_recorded_also_by_a_command_that_is_interrupted(bench, served, workspace):
    (workspace / "b").write_text("old\n")
    (workspace / "c").write_text("old\n")
    await bench.hub.runtime(bench.session_id).set_mode(Mode.YOLO)
    served.reply(
        tool("write_file", "one", path="a", content="x"),
        tool("list_files", "two", path="."),
        shell("rm b; echo new > c; echo done; sleep 60", "three"),
    )
    bench.hub.submit(bench.session_id, "go")
    await bench.until(lambda event: isinstance(event, CallOutput))
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    s = bench.hub.runtime(bench.session_id).s
    plan = await s.parts.history_for(s.session).changes_since(["one", "three"])
    assert {file.path: (file.now is None, file.then is None) for file in plan.files} == {
        "a": (False, True), "b": (True, False), "c": (False, False),
    }  # fmt: skip


# --- any order of things


@pytest.mark.timeout(60 + ROUNDS)
async def test_whatever_is_answered_and_interrupted_each_call_has_one_result_in_its_order(bench, served, workspace):
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    (workspace / "x").write_text("x\n")
    kinds = (
        lambda id_: tool("read_file", id_, path="x"),
        lambda id_: tool("read_file", id_, path="missing"),
        lambda id_: tool("write_file", id_, path=f"new-{id_}", content="x"),
        lambda id_: shell("echo a; sleep 0.01", id_),
        lambda id_: shell(f"touch ran-{id_}", id_),
        lambda id_: shell("rm -rf /", id_),
        lambda id_: tool("nothing", id_),
        lambda id_: {"id": id_, "type": "function", "function": {"name": "terminal", "arguments": "{"}},
    )
    answers = (Approval.ALLOWED_ONCE, Approval.ALLOWED_SESSION, Approval.ALLOWED_ALWAYS, Approval.DENIED)
    for number in range(ROUNDS):
        served.script.clear()
        ids = [f"r{number}c{at}" for at in range(chance.randrange(1, 7))]
        served.reply(*(chance.choice(kinds)(id_) for id_ in ids))
        served.reply(text="done")
        runtime = bench.hub.runtime(bench.session_id)
        await runtime.set_mode(chance.choice((Mode.ASK, Mode.ASK, Mode.ACCEPT_EDITS, Mode.PLAN)))
        bench.hub.submit(bench.session_id, "go")
        stops_after = chance.choice((None, chance.randrange(3_000)))
        steps = 0
        async with asyncio.timeout(20):
            while runtime.is_busy:
                steps += 1
                await asyncio.sleep(0 if steps % 10 else 0.001)
                bench.listener.drain()
                for request in bench.hub.pending():
                    if chance.random() < 0.05:
                        bench.hub.answer(request.id, Answer(chance.choice(answers)))
                if chance.random() < 0.002:
                    await runtime.set_mode(chance.choice((Mode.ASK, Mode.PLAN)))
                if steps == stops_after:
                    bench.hub.interrupt(bench.session_id)
        stored = bench.hub.profile.db.read(lambda tables: tables.messages.all(bench.session_id)).result()
        assert stored == bench.rows
        calls = [call.id for row in stored for call in row.calls]
        assert [row.result.call_id for row in stored if row.result] == calls
        assert bench.hub.pending() == []
        for row in (row for row in stored if row.result and row.result.outcome is CallOutcome.NOT_RUN):
            assert not (workspace / f"ran-{row.result.call_id}").exists()
            assert not (workspace / f"new-{row.result.call_id}").exists()
