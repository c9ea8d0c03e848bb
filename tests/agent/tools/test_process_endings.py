"""Nothing that a command started outlives its time: timeout, cancellation, the end of hermes."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import psutil
import pytest

from agent.tools import jobs
from agent.tools.process_tree import GRACE_S
from session.models import CallOutcome

TREES = {
    "child and grandchild": "sh -c 'sleep {s} & sleep {s}'",
    "children that ignore TERM": "(trap '' TERM; sleep {s}; sleep {s}) & trap '' TERM; sleep {s}; sleep {s}",
    "a child in a session of its own": "setsid sleep {s} & sleep {s}",
    "a child in a group of its own": "set -m; sleep {s} & sleep {s}",
    "a child without environment": "env -i sleep {s} & sleep {s}",
    "a child that forks again when ended": "trap 'sleep {s} & wait' TERM; sleep {s} & wait",
}


@pytest.fixture(params=TREES.values(), ids=TREES.keys())
def tree(request, trail):
    return request.param.format(s=trail.seconds)


async def test_T04_timeout_ends_the_whole_tree(desk, trail, tree):
    result = await desk.shell(tree, timeout=1)
    assert trail.alive() == []
    assert result.outcome is CallOutcome.ERROR
    assert result.exit_code is None
    assert "Timed out after 1 s" in result.text


async def test_T04_cancellation_releases_soon_and_ends_the_whole_tree(desk, trail, tree, eventually):
    call = asyncio.create_task(desk.shell(tree))
    await eventually(trail.alive)
    cancelled_at = time.monotonic()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - cancelled_at < GRACE_S  # which the processes get, and nobody waits for
    await eventually(lambda: not trail.alive())


async def test_T04_cancellation_while_starting_leaves_nothing(desk, trail):
    for wait_s in (0, 0.0005, 0.001, 0.002, 0.004):
        call = asyncio.create_task(desk.shell(f"sleep {trail.seconds} & sleep {trail.seconds}"))
        await asyncio.sleep(wait_s)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    await jobs.end_all(desk.place.outputs)
    assert trail.alive() == []


async def test_T04_the_end_of_hermes_ends_background_and_left_commands(desk, trail, eventually):
    await desk.shell(f"sleep {trail.seconds}", background=True)
    await desk.shell(f"trap '' TERM; sleep {trail.seconds}; sleep {trail.seconds}", background=True)
    await desk.shell(f"setsid sleep {trail.seconds} >/dev/null 2>&1 & env -i sleep {trail.seconds} &")
    foreground = asyncio.create_task(desk.shell(f"echo up; sleep {trail.seconds}"))
    await eventually(lambda: desk.live == "up\n")
    await jobs.end_all(desk.place.outputs)
    assert trail.alive() == []
    assert (await foreground).exit_code == 143


async def test_T04_a_stranger_is_never_ended(desk, trail):
    stranger = await asyncio.create_subprocess_exec("sleep", trail.seconds)
    await desk.shell("sleep 300", timeout=1)
    await jobs.end_all(desk.place.outputs)
    assert trail.alive() == [stranger.pid]
    stranger.kill()
    await stranger.wait()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sleep {s} & echo done", "done"),
        ("(while :; do echo x; sleep .1; done; : {s}) & sleep .3; echo fg", "fg"),
        ("setsid sleep {s} & echo s", "s"),
        (f"{sys.executable} -m http.server 0 -d /{{s}} & echo pid", "pid"),
        ("setsid sleep {s} >/dev/null 2>&1 & echo quiet", "quiet"),
    ],
)
async def test_T03_a_child_that_keeps_the_pipe_does_not_keep_the_call(desk, trail, command, said):
    started = time.monotonic()
    result = await desk.shell(command.format(s=trail.seconds))
    assert time.monotonic() - started < 10
    assert said in result.text.splitlines()
    assert result.exit_code == 0
    [pid, *_] = trail.alive()
    assert f"Still running: {pid}" in result.text
    assert f"kill {pid}" in result.text


async def test_T03_a_left_child_goes_on_writing_to_the_log(desk, trail, eventually):
    """Its pipe is still read: a server that logs is not ended by a closed pipe."""
    (desk.place.cwd / "go").touch()
    result = await desk.shell(f"(while [ -e go ]; do sleep .02; done; echo later; sleep {trail.seconds}) & echo now")
    [log] = desk.logs
    assert str(log) in result.text
    (desk.place.cwd / "go").unlink()
    await eventually(lambda: log.read_text() == "now\nlater\n")
    assert trail.alive() != []


async def test_background_tells_process_and_log_at_once(desk, trail, eventually):
    started = time.monotonic()
    result = await desk.shell(f"echo up; sleep {trail.seconds}", background=True)
    assert time.monotonic() - started < 10
    [log] = desk.logs
    assert str(log) in result.text
    await eventually(lambda: log.read_text() == "up\n")
    leaders = [process.pid for process in psutil.Process().children(recursive=True) if process.pid in trail.alive()]
    assert [str(pid) in result.text for pid in leaders] == [True]


@pytest.mark.skipif(not Path("/bin/ps").exists(), reason="no /bin/ps")
async def test_T04_the_tree_is_found_without_proc_too(desk, trail, monkeypatch):
    monkeypatch.setattr(sys, "platform", "other")
    result = await desk.shell(f"setsid sleep {trail.seconds} & echo $!", timeout=5)
    [pid] = trail.alive()
    assert f"{pid} (sleep {trail.seconds})" in result.text
    await jobs.end_all(desk.place.outputs)
    assert trail.alive() == []
