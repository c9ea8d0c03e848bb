"""The process tool: what runs in the background is listed, read, waited for and stopped, and only by its own session."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.approvals.policy import Allow, judge
from agent.tools import process
from agent.tools.base import BadArguments, Touch
from agent.tools.process import TAIL_BYTES, _read
from session.models import CallOutcome


async def background(desk, command: str) -> int:
    told = await desk.shell(command, background=True)
    return int(told.text.split("process ")[1].split(".")[0])


async def test_what_runs_is_listed_with_all_it_started(desk, trail, eventually):
    pid = await background(desk, f"sleep {trail.seconds} & setsid sleep {trail.seconds} & wait; wait")
    await eventually(lambda: len(trail.alive()) >= 3)
    listed = (await desk.call("process", action="list")).text
    assert f"Process {pid} has been running for 0 s." in listed
    assert all(str(other) in listed for other in trail.alive())
    assert str(desk.logs[0]) in listed


async def test_a_list_of_nothing_says_so(desk):
    await desk.shell("true")
    assert "No command of this session runs" in (await desk.call("process", action="list")).text


async def test_a_command_that_was_left_behind_is_listed_and_stopped(desk, trail):
    await desk.shell(f"sleep {trail.seconds} & echo done")
    [pid] = trail.alive()
    assert f"{pid} (sleep {trail.seconds})" in (await desk.call("process", action="list")).text
    assert (await desk.call("process", action="stop", process=pid)).outcome is CallOutcome.OK
    assert trail.alive() == []
    assert "No command of this session" in (await desk.call("process", action="list")).text


async def test_stop_ends_the_whole_tree_and_gives_the_last_words(desk, trail, eventually):
    pid = await background(desk, f"trap '' TERM; setsid sleep {trail.seconds} & echo up; sleep {trail.seconds}; wait")
    await eventually(lambda: len(trail.alive()) >= 2)
    result = await desk.call("process", action="stop", process=pid)
    assert trail.alive() == []
    assert f"Process {pid} and all it started were ended." in result.text
    assert result.text.endswith("\nup")
    again = await desk.call("process", action="stop", process=pid)
    assert "There was nothing to stop." in again.text


async def test_wait_gives_the_exit_code_and_the_end_of_the_output(desk):
    pid = await background(desk, "sleep 0.2; echo built; exit 3")
    result = await desk.call("process", action="wait", process=pid)
    assert (result.exit_code, result.outcome) == (3, CallOutcome.ERROR)
    assert "Exit code: 3." in result.text
    assert result.text.endswith("built")


async def test_wait_is_bounded_and_can_be_interrupted(desk, trail):
    pid = await background(desk, f"sleep {trail.seconds}")
    began = time.monotonic()
    result = await desk.call("process", action="wait", process=pid, timeout=1)
    assert 1 <= time.monotonic() - began < 10
    assert f"Process {pid} has been running" in result.text
    waiting = asyncio.create_task(desk.call("process", action="wait", process=pid))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert trail.alive() != []


async def test_tail_goes_on_where_it_stopped(desk, eventually):
    (desk.place.cwd / "go").touch()
    pid = await background(desk, "echo one; while [ -e go ]; do sleep .01; done; echo two")
    await eventually(lambda: desk.logs[0].read_text() == "one\n")
    first = (await desk.call("process", action="tail", process=pid, offset=0)).text
    assert first.endswith("what comes later has offset 4:\none")
    (desk.place.cwd / "go").unlink()
    await desk.call("process", action="wait", process=pid)
    second = (await desk.call("process", action="tail", process=pid, offset=4)).text
    assert second.endswith("bytes 4 to 8 of 8; what comes later has offset 8:\ntwo")


async def test_a_tail_is_bounded_and_ends_with_the_last_line(desk):
    pid = await background(desk, "seq 1 100000")
    result = await desk.call("process", action="wait", process=pid)
    assert len(result.text) < TAIL_BYTES + 300
    assert result.text.endswith("\n99999\n100000")


@given(st.binary(max_size=200), st.integers(1, 30))
def test_T05_a_log_that_is_read_in_pieces_comes_whole(tmp_path_factory, data, width):
    """Whatever the bytes are and however little comes at once: in the end each byte was read once, as legal text."""
    log = tmp_path_factory.mktemp("log") / "log"
    data += b"\n"  # half of a character at the very end would wait for its other half
    log.write_bytes(data)
    edges = [0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "TAIL_BYTES", width + 3)
        while edges[-1] < len(data):
            text = _read(log, edges[-1])
            text.encode()
            begin, end = (int(word) for word in text.split(" of ")[0].split("bytes ")[1].split(" to "))
            assert begin == edges[-1] < end
            edges.append(end)
        _read(log, -1).encode()


async def test_another_session_neither_sees_nor_stops_it(desk, trail, eventually):
    pid = await background(desk, f"sleep {trail.seconds}")
    await eventually(trail.alive)  # bash may not have come to it yet
    desk.place = replace(desk.place, outputs=desk.place.outputs.parent / "other")
    assert "No command of this session" in (await desk.call("process", action="list")).text
    result = await desk.call("process", action="stop", process=pid)
    assert result.outcome is CallOutcome.ERROR
    assert f"There is no process {pid} among those of this session. There are: none." in result.text
    assert trail.alive() != []


async def test_only_so_many_run_at_once(desk, monkeypatch):
    monkeypatch.setattr("agent.tools.jobs.MOST_RUNNING", 2)
    first = await background(desk, "sleep 300")
    await background(desk, "sleep 300")
    refused = await desk.shell("touch ran", background=True)
    assert (refused.outcome, "2 commands run in the background" in refused.text) == (CallOutcome.ERROR, True)
    await desk.call("process", action="stop", process=first)
    await background(desk, "true")


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({}, "action"),
        ({"action": "kill"}, "action"),
        ({"action": "stop"}, "process"),
        ({"action": "stop", "process": "x"}, "process"),
        ({"action": "stop", "process": -1}, "process"),
        ({"action": "tail", "process": 1, "offset": -1}, "offset"),
        ({"action": "list", "data": "x"}, "data"),
    ],
)
async def test_A13_wrong_arguments_are_refused_by_name(desk, args, named):
    if named != "offset":
        with pytest.raises(BadArguments, match=f'"{named}"'):
            process.touches(args, desk.place)
    pid = await background(desk, "true")
    with pytest.raises(BadArguments, match=f'"{named}"'):
        await desk.call("process", **{**args, **({"process": pid} if named == "offset" else {})})


def test_it_runs_unasked_since_it_reaches_no_more_than_what_was_allowed(desk):
    touch = process.touches({"action": "stop", "process": 1}, desk.place)
    assert touch == Touch()
    assert judge("process", touch, desk.place) == Allow()
    assert process.shown({"action": "stop", "process": 1}) == "stop 1"
