"""Nothing that a command started outlives hermes, however hermes ends; what does all the same is found and offered."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from agent.tools import jobs, supervised
from agent.tools.call_record import CallRecords, read_records
from agent.tools.leftovers import Leftover, leftovers, notice, stop
from agent.tools.process_tree import RunningProcess, _signal
from session.models import CallOutcome

ROUNDS = int(os.environ.get("HERMES_SOAK") or 0) * 2 or 4  # 100 of each in a soak of 50
AT_ONCE = 4
SEED = 20_261_130
CHILDREN = """
trap '' TERM
(trap '' TERM; sleep {s}; sleep {s}) &
(trap 'sleep {s} & wait' TERM; sleep {s} & wait) &
setsid sleep {s} &
(setsid sleep {s} </dev/null >/dev/null 2>&1 &)
(cd /; trap '' TERM HUP; setsid sh -c 'sleep {s} & sleep {s} & wait' </dev/null >/dev/null 2>&1 &)
(env -i setsid sleep {s} </dev/null >/dev/null 2>&1 &)
(env -i sleep {s} &)
set -m; sleep {s} &
echo up
sleep {s}; sleep {s}
"""
# Where nothing adopts orphans: what left its session with an empty environment is not found there.
FINDABLE = "\n".join(line for line in CHILDREN.splitlines() if "env -i" not in line)


@pytest.fixture
def children(trail) -> str:
    return CHILDREN.format(s=trail.seconds)


@pytest.fixture
async def hermes(tmp_path: Path) -> AsyncIterator[Callable[[str], Any]]:
    """Starts a hermes in a process of its own."""
    started: list[asyncio.subprocess.Process] = []

    async def start(command: str) -> asyncio.subprocess.Process:
        script = str(Path(__file__).parent / "watched_hermes.py")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, script, str(tmp_path), command),
            stdout=asyncio.subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[3])},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture(autouse=True)
def nothing_stays(trail):
    yield
    for pid in trail.alive():
        os.kill(pid, signal.SIGKILL)


async def has_begun(process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None
    async with asyncio.timeout(20):
        assert await process.stdout.readline() == b"up\n"


async def kill(process: asyncio.subprocess.Process, *others: int) -> None:
    process.send_signal(signal.SIGSTOP)  # it would end the rest itself when it saw that
    for other in others:
        os.kill(other, signal.SIGKILL)
    process.kill()
    await process.wait()


def supervisors(process: asyncio.subprocess.Process) -> list[int]:
    """The keeper of a hermes, and what it forked: all that run our program, not a command."""
    below = psutil.Process(process.pid).children(recursive=True)
    return [one.pid for one in below if is_supervisor(one)]


def pids(found: list[Leftover]) -> set[int]:
    return {one.pid for leftover in found for one in leftover.processes}


def is_supervisor(process: psutil.Process) -> bool:
    try:
        return "agent.tools.supervisor" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


@pytest.mark.soak
@pytest.mark.parametrize("number", range(ROUNDS))
async def test_T04_a_killed_hermes_leaves_nothing_behind(hermes, trail, children, eventually, tmp_path, number):
    """At any moment, also while a command is being started."""
    dice = random.Random(SEED + number)
    process = await hermes(children)
    if number % 2:
        await has_begun(process)
    else:
        await asyncio.sleep(dice.uniform(0.1, 0.8))
    await asyncio.sleep(dice.uniform(0, 0.02))
    await kill(process)
    # Together: a look at all processes is no picture of one moment, and a shell that is told to end may start another.
    await eventually(lambda: not (trail.alive() or leftovers(tmp_path / "running")), bound_s=10)
    assert list(read_records(tmp_path / "running")) == []
    await asyncio.sleep(0.05)
    assert trail.alive() == []


@pytest.mark.soak
@pytest.mark.timeout(60)
@pytest.mark.parametrize("number", range(ROUNDS // AT_ONCE))
@pytest.mark.parametrize("ending", ["timeout", "interrupt", "quit"])
async def test_T04_a_call_that_ends_early_leaves_nothing_behind(desk, trail, children, eventually, ending, number):
    calls = [asyncio.create_task(desk.shell(children, timeout=3)) for _ in range(AT_ONCE)]
    if ending == "timeout":
        results = await asyncio.gather(*calls)
        assert all("It and all it started were ended." in result.text for result in results)
    else:
        await eventually(lambda: desk.live.count("up\n") == AT_ONCE)
    if ending == "interrupt":
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        await eventually(lambda: not trail.alive(), bound_s=5)
    if ending == "quit":
        await desk.shell(children, background=True)
        await jobs.end_all(desk.place.outputs)
        await asyncio.wait(calls)
    assert trail.alive() == []


async def test_T04_what_outlives_even_its_supervisor_is_found_and_stopped_at_the_next_start(
    hermes, trail, tmp_path, eventually
):
    """Both were killed: the command dies with its supervisor, what it started is found by its mark."""
    process = await hermes(FINDABLE.format(s=trail.seconds))
    await has_begun(process)
    running = tmp_path / "running"
    assert leftovers(running) == []  # its hermes lives
    await kill(process, *supervisors(process))
    await eventually(lambda: pids(leftovers(running)) == set(trail.alive()) != set())
    found = leftovers(running)
    said = notice(found, "hermes processes stop")
    assert all(str(pid) in said for pid in trail.alive())
    assert said.endswith("To stop them: hermes processes stop")
    assert await asyncio.to_thread(stop, running, found) == []
    assert trail.alive() == []
    assert leftovers(running) == [] == list(read_records(running))


async def test_T04_what_left_its_session_and_emptied_its_environment_is_not_found_then(
    hermes, trail, tmp_path, eventually
):
    """The one limit, and it is said: with its supervisor killed as well, nothing tells whose it was."""
    process = await hermes(f"(env -i setsid sleep {trail.seconds} >/dev/null 2>&1 &) ; echo up; exec sleep 300")
    await has_begun(process)
    await kill(process, *supervisors(process))
    await eventually(lambda: not leftovers(tmp_path / "running"))
    assert trail.alive() != []


async def test_T04_a_command_is_ended_all_the_same_when_its_supervisor_was_killed(desk, trail, eventually):
    call = asyncio.create_task(desk.shell(FINDABLE.format(s=trail.seconds)))
    await eventually(lambda: desk.live == "up\n")
    [job] = jobs.under(desk.place.outputs)
    supervisor = psutil.Process(job.pid).ppid()
    os.kill(supervisor, signal.SIGKILL)
    result = await call
    assert result.exit_code == 137
    await jobs.end_all(desk.place.outputs)
    await eventually(lambda: not trail.alive())


async def test_T04_commands_run_on_when_the_keeper_was_killed(desk, eventually):
    keepers = lambda: [one for one in psutil.Process().children() if "supervisor" in " ".join(one.cmdline())]  # noqa: E731
    assert (await desk.shell("echo one")).exit_code == 0
    for keeper in keepers():
        keeper.kill()
        keeper.wait()
    assert (await desk.shell("echo two")).text == "two\nExit code: 0"
    assert len(keepers()) == 1


async def test_T04_a_tree_is_ended_where_nothing_adopts_orphans(desk, trail, monkeypatch):
    """As on macOS: neither /proc nor handles, and orphans come to nobody."""
    keeper = supervised._KEEPER.replace("import sys;", "import sys; sys.platform = 'other';", 1)
    monkeypatch.setattr(supervised, "_KEEPER", keeper)
    monkeypatch.setattr(supervised, "_keeper", supervised._Keeper())
    monkeypatch.setattr(sys, "platform", "other")
    assert (await desk.shell("echo one; exit 4")).exit_code == 4
    result = await desk.shell(FINDABLE.format(s=trail.seconds), timeout=1)
    assert "Timed out after 1 s. It and all it started were ended." in result.text
    assert trail.alive() == []
    left = await desk.shell(f"setsid sleep {trail.seconds} & echo $!")
    assert f"Still running: {trail.alive()[0]} (sleep" in left.text
    await jobs.end_all(desk.place.outputs)
    assert trail.alive() == []


async def test_a_record_stands_while_anything_of_a_command_lives_and_holds_no_secret(desk, trail, tmp_path, eventually):
    running = tmp_path / "running"
    records = CallRecords(running, "s1", lambda text: text.replace("sk-1234567", "•KEY•"))
    desk.place = desk.place.__class__(
        *(desk.place.cwd, desk.place.root, desk.place.environ, desk.place.outputs), records=records
    )
    await desk.shell("echo one")
    await eventually(lambda: not list(read_records(running)))
    await desk.shell(f"echo sk-1234567; sleep {trail.seconds} & setsid sleep {trail.seconds} & echo two")
    await eventually(lambda: len(list(read_records(running))) == 1)
    [record] = read_records(running)
    assert (record.session_id, record.command[:11]) == ("s1", "echo •KEY•;")
    assert "sk-1234567" not in (running / f"{record.mark}.json").read_text()
    assert (running.stat().st_mode & 0o777, (running / f"{record.mark}.json").stat().st_mode & 0o777) == (0o700, 0o600)
    first, second = trail.alive()
    os.kill(first, signal.SIGTERM)
    await eventually(lambda: trail.alive() == [second])
    assert len(list(read_records(running))) == 1
    os.kill(second, signal.SIGTERM)
    await eventually(lambda: not list(running.iterdir()))


async def test_a_command_runs_where_it_can_not_be_noted(desk, tmp_path):
    (tmp_path / "running").write_text("no folder")
    desk.place = desk.place.__class__(
        *(desk.place.cwd, desk.place.root, desk.place.environ, desk.place.outputs),
        records=CallRecords(tmp_path / "running", "s1", str),
    )
    assert (await desk.shell("echo one")).outcome is CallOutcome.OK


async def test_a_record_of_another_boot_or_machine_signals_nobody(desk, trail, tmp_path):
    """Where the boot differs its processes are gone; of another machine nothing can be said, and its record stays."""
    from msgspec import json
    from msgspec.structs import replace

    stranger = await asyncio.create_subprocess_exec("sleep", trail.seconds, env={"HERMES_CALL": "m1"})
    records = CallRecords(tmp_path / "running", "s1", str)
    for mark, change in (("m1", {"boot": "another"}), ("m2", {"host": "another", "pid": 1})):
        record = records.begin(mark, "x")
        there = replace(record, hermes=replace(record.hermes, **change))
        (tmp_path / "running" / f"{mark}.json").write_bytes(json.encode(there))
    assert leftovers(tmp_path / "running") == []
    assert [record.mark for record in read_records(tmp_path / "running")] == ["m2"]
    stranger.kill()
    await stranger.wait()


async def test_T04_a_process_is_signalled_only_while_it_is_the_one_that_was_found(trail):
    """Its number may be another's by now: then its start is another one."""
    stranger = await asyncio.create_subprocess_exec("sleep", trail.seconds, start_new_session=True)
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(RunningProcess(stranger.pid, "1", stranger.pid, ""), number)
    await asyncio.sleep(0.05)
    assert trail.alive() == [stranger.pid]
    stranger.kill()
    await stranger.wait()


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"mark": "../../x"}', b"\xff"])
def test_a_record_that_is_none_is_passed_over(tmp_path, raw):
    (tmp_path / "x.json").write_bytes(raw)
    assert list(read_records(tmp_path)) == []
