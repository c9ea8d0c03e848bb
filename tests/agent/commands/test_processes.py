"""`/processes`: what runs is told, and stopped by its number."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import psutil
import pytest

from agent.commands.processes import processes
from agent.commands.table import Page, Said
from agent.tools.base import CallContext
from agent.tools.shell_run import run_in_background
from session.models import Level


@pytest.fixture
async def sleeping(bench) -> int:
    """A command in the background of some session."""
    place = bench.hub.create(Path(bench.workspace)).s.place
    told = await run_in_background("echo '```'; exec sleep 300", place.cwd, CallContext(place, "c", lambda text: None))
    return int(re.search(r"process (\d+)", told.text)[1])


async def test_what_runs_is_told_and_stopped_by_its_number(bench, sleeping):
    told = await processes(bench.hub, "", "")
    assert isinstance(told, Page)
    assert f"Process {sleeping} has been running" in told.markdown
    assert told.markdown.count("```") == 2
    assert await processes(bench.hub, "", f"stop {sleeping}") == Said("It was ended with all that it started.")
    assert not psutil.pid_exists(sleeping)


@pytest.mark.parametrize("argument", ["stop", "stop 1", "stop x", "kill 3", "stop 3 4"])
async def test_what_is_not_there_stops_nothing(bench, sleeping, argument):
    said = await processes(bench.hub, "", argument)
    assert isinstance(said, Said)
    assert said.level is Level.WARNING
    assert psutil.pid_exists(sleeping)


async def test_without_any_it_says_what_can_not_be_found(bench):
    said = await processes(bench.hub, "", "")
    assert isinstance(said, Said)
    assert "can't be found" in said.text


async def test_a_notice_comes_after_the_first_frame_only_where_something_was_left(bench):
    async with asyncio.timeout(15):
        assert not any("left running" in said for said in await bench.hub.look_around())
