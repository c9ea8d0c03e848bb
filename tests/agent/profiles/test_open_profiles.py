"""Several profiles open in one process: opened once, closed each by itself, renamed by the process that has them."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agent.config import profiles
from agent.config.home import ProfileDeleted, find_home, launch_home
from agent.config.profile_lock import ProfileOpen
from agent.config.profiles import NotForDefault, NotMoved, ProfileExists
from agent.profiles import NamedByHome, StillWorking
from session.errors import ClosedDatabase
from session.models import Role

if TYPE_CHECKING:
    from conftest import World

LAUNCH, ROUTED = "default", "work"
HOLD = "import sys; from agent.profile import Profile; p = Profile.load({'HERMES_HOME': sys.argv[1]}, name='work'); print(flush=True); sys.stdin.read()"


async def working(world: World, *names: str):
    for name in (LAUNCH, ROUTED):
        world.configure(name, "OWN_KEY")
        world.keep(name, OWN_KEY=f"sk-{name}-123456")
    return await world.open(*names)


async def test_a_profile_is_opened_once_however_often_it_is_asked_for(world: World):
    await working(world, LAUNCH)
    assert world.profiles is not None
    one, other = await asyncio.gather(world.profiles.open(ROUTED), world.profiles.open(ROUTED))
    assert one is other


async def test_closing_lets_go_of_every_profile_and_raises_the_first_failure(world: World, monkeypatch):
    hubs = await working(world, LAUNCH, ROUTED)
    assert world.profiles is not None

    async def broken(cause: str) -> None:
        raise OSError("the first")

    monkeypatch.setattr(hubs[0], "close", broken)
    with pytest.raises(OSError, match="the first"):
        await world.profiles.close("the test ended")
    for hub in hubs:
        with pytest.raises(ClosedDatabase):
            hub.profile.db.read(lambda tables: None)
    base = launch_home(world.environ)
    profiles.delete(base, ROUTED)  # nothing holds it any more


async def test_closing_one_profile_ends_its_own_commands_only(world: World):
    launch, routed = await working(world, LAUNCH, ROUTED)
    started = {}
    for hub in (launch, routed):
        from agent.tools.base import CallContext
        from agent.tools.shell_run import run_in_background

        place = hub.create(world.work).s.place
        told = await run_in_background("sleep 60", world.work, CallContext(place, "c", lambda text: None))
        started[hub] = int(told.text.split("process ")[1].split(".")[0])
    await routed.close("it was closed")
    assert not is_running(started[routed])
    assert is_running(started[launch])


def is_running(pid: int) -> bool:
    return subprocess.run(["kill", "-0", str(pid)], stderr=subprocess.DEVNULL, check=False).returncode == 0


async def test_an_open_profile_is_renamed_in_memory_and_on_disk(world: World):
    _, hub = await working(world, LAUNCH, ROUTED)
    rows = await world.turn(hub)
    session_id = next(row.session_id for row in rows if row.role is Role.USER)
    assert world.profiles is not None
    renamed = await world.profiles.rename(ROUTED, "office")
    assert (renamed.profile.name, renamed.profile.secrets.get("OWN_KEY")) == ("office", f"sk-{ROUTED}-123456")
    assert not world.root(ROUTED).exists()
    again = await renamed.open(session_id)
    assert [row.content for row in again.s.rows] == [row.content for row in rows]
    assert await world.profiles.open("office") is renamed


async def test_a_profile_is_not_renamed_while_a_turn_runs_in_it(world: World):
    _, hub = await working(world, LAUNCH, ROUTED)
    gate = world.servers[ROUTED].held = asyncio.Event()
    turn = asyncio.create_task(world.turn(hub))
    while not world.servers[ROUTED].keys:
        await asyncio.sleep(0.001)
    assert world.profiles is not None
    with pytest.raises(StillWorking):
        await world.profiles.rename(ROUTED, "office")
    gate.set()
    assert (await turn)[-1].content == "done"


async def test_the_profile_that_HERMES_HOME_names_is_not_renamed_from_within(world: World):
    world.environ["HERMES_HOME"] = str(world.root(ROUTED))
    await working(world, ROUTED)
    assert world.profiles is not None
    with pytest.raises(NamedByHome, match="without HERMES_HOME"):
        await world.profiles.rename(ROUTED, "office")


async def test_the_first_profile_has_no_other_name(world: World):
    await working(world, LAUNCH)
    assert world.profiles is not None
    with pytest.raises(NotForDefault):
        await world.profiles.rename(LAUNCH, "office")


async def test_a_rename_onto_another_profile_changes_nothing_and_it_stays_open(world: World):
    _, hub = await working(world, LAUNCH, ROUTED)
    profiles.create(launch_home(world.environ), "office")
    assert world.profiles is not None
    with pytest.raises(ProfileExists):
        await world.profiles.rename(ROUTED, "office")
    assert await world.profiles.open(ROUTED) is hub
    assert (await world.turn(hub))[-1].content == "done"


async def test_a_profile_that_another_process_has_open_too_is_not_renamed(world: World):
    _, hub = await working(world, LAUNCH, ROUTED)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(world.base)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        await asyncio.to_thread(other.stdout.readline)
        assert world.profiles is not None
        with pytest.raises(ProfileOpen, match=str(other.pid)):
            await world.profiles.rename(ROUTED, "office")
        assert (await world.turn(hub))[-1].content == "done"
        other.communicate(timeout=10)


async def test_after_half_a_rename_the_profile_is_open_under_its_new_name(world: World, monkeypatch):
    await working(world, LAUNCH, ROUTED)
    third = profiles.create(launch_home(world.environ), "third")
    move = profiles.move

    def and_then_a_store_becomes_unusable(*names) -> None:
        move(*names)
        with sqlite3.connect(third.db) as db:
            db.execute("PRAGMA user_version = 999")

    monkeypatch.setattr(profiles, "move", and_then_a_store_becomes_unusable)
    assert world.profiles is not None
    with pytest.raises(NotMoved, match=f"{third.db}.* hermes profile migrate-identity work office$"):
        await world.profiles.rename(ROUTED, "office")
    assert (await world.profiles.open("office")).profile.name == "office"


async def test_a_deleted_profile_is_made_again_by_no_writer(world: World):
    (_, hub) = await working(world, LAUNCH, ROUTED)
    home = hub.profile.home
    place = hub.create(world.work).s.place
    assert world.profiles is not None
    await world.profiles.close("the test ended")
    profiles.delete(launch_home(world.environ), ROUTED)
    from agent.tools.output import OutputLog
    from session.db import SessionDB
    from session.errors import UnusableDatabase
    from tui.cli.log_file import UnusableLog, open_log

    with pytest.raises(ProfileDeleted):
        home.create()
    with pytest.raises(FileNotFoundError):
        home.create_folders()
    with pytest.raises(ProfileDeleted):
        find_home(world.environ, ROUTED)
    with pytest.raises(UnusableDatabase):
        SessionDB.open(home.db)
    with pytest.raises(UnusableLog):
        open_log(home, str)
    spill = OutputLog(place.outputs / "x.log")
    await spill.open()
    assert "No such file" in spill.whereabouts
    assert not home.root.exists()


@pytest.mark.parametrize("is_renamed", [True, False])
async def test_a_profile_that_is_closed_or_renamed_ends_its_runs_and_none_of_its_sessions(
    world: World, is_renamed: bool
):
    _, hub = await working(world, LAUNCH, ROUTED)
    rows = await world.turn(hub)
    from agent.tools.base import CallContext
    from agent.tools.shell_run import run_in_background

    place = hub.runtime(rows[0].session_id).s.place
    told = await run_in_background("sleep 60", world.work, CallContext(place, "c", lambda text: None))
    assert world.profiles is not None
    if is_renamed:
        hub = await world.profiles.rename(ROUTED, "office")
    else:
        await world.profiles.close("hermes was closed")
        world.profiles = None
        _, hub = await working(world, LAUNCH, ROUTED)
    assert not is_running(int(told.text.split("process ")[1].split(".")[0]))
    [stored] = hub.profile.db.read(lambda tables: tables.sessions.listing()).result()
    assert (stored.id, stored.ended_at, stored.end_reason) == (rows[0].session_id, None, None)
