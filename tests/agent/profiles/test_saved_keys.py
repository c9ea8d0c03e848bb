"""A key that is given while profiles are open: it holds with the next request of its own profile, and nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent.commands.key import keep_key
from agent.commands.parse import Call, read_line
from agent.commands.table import KeyAsked
from agent.hub import Hub
from agent.route import MissingKey
from session.models import Role

if TYPE_CHECKING:
    from conftest import World

LAUNCH, ROUTED = "default", "work"
HERMES = Path(sys.executable).with_name("hermes")
OLD = {LAUNCH: "sk-launch-old-1111", ROUTED: "sk-routed-old-2222"}
NEW = "sk-new-3333333"

Either = pytest.mark.parametrize("who", [LAUNCH, ROUTED])


async def both(world: World, **settings: object) -> dict[str, Hub]:
    for name in (LAUNCH, ROUTED):
        world.configure(name, "OWN_KEY")
        config = world.root(name) / "config.yaml"
        config.write_text(json.dumps(json.loads(config.read_text()) | settings))
        world.keep(name, OWN_KEY=OLD[name])
    return dict(zip((LAUNCH, ROUTED), await world.open(LAUNCH, ROUTED), strict=True))


async def give(hub: Hub, world: World, line: str, key: str) -> str:
    """What the screen does: run the command, and keep what is given for it."""
    call = read_line(line)
    assert isinstance(call, Call)
    asked = await call.command.act(hub, hub.create(world.work).id, call.argument)
    assert isinstance(asked, KeyAsked)
    return await keep_key(hub, asked, key)


def in_a_shell(world: World, who: str, *arguments: str, given: str = "") -> None:
    subprocess.run(
        [HERMES, "-p", who, "secrets", *arguments], env=world.environ, input=given.encode(), check=True, timeout=20
    )


@Either
async def test_the_next_request_of_a_profile_carries_its_new_key_and_no_other_profile_does(world: World, who: str):
    hubs = await both(world)
    before = dict(os.environ)
    other = ROUTED if who == LAUNCH else LAUNCH
    for hub in hubs.values():
        await world.turn(hub)
    said = await give(hubs[who], world, "/key", f" {NEW}\n")
    assert said == f"OWN_KEY is kept in {hubs[who].profile.secrets.file} and holds from the next request."
    for hub in hubs.values():
        await world.turn(hub)
    assert world.servers[who].keys == [OLD[who]] * 2 + [NEW] * 2
    assert set(world.servers[other].keys) == {OLD[other]}
    assert dict(os.environ) == before


async def test_a_key_given_in_the_launch_profile_is_not_there_for_one_that_is_opened_later(world: World):
    world.configure(LAUNCH, "OWN_KEY")
    world.configure(ROUTED, "OWN_KEY")
    (launch,) = await world.open(LAUNCH)
    await give(launch, world, "/key OWN_KEY", NEW)
    (routed,) = await world.open(ROUTED)
    with pytest.raises(MissingKey):
        routed.models.resolve("own:m", routed.choice.route)
    assert NEW not in routed.create(world.work).s.place.environ.values()


@Either
async def test_commands_get_a_new_key_only_in_its_own_profile_and_where_the_setting_says_so(world: World, who: str):
    hubs = await both(world, terminal={"env_passthrough": ["OWN_KEY"]})
    await give(hubs[who], world, "/key", NEW)
    got = {name: world.child(await world.turn(hub)).get("OWN_KEY") for name, hub in hubs.items()}
    assert got == {**OLD, who: NEW}


@Either
async def test_a_key_saved_or_taken_away_in_a_shell_is_taken_with_the_next_request(world: World, who: str):
    hub = (await both(world))[who]
    await world.turn(hub)
    in_a_shell(world, who, "set", "OWN_KEY", given=NEW)
    await world.turn(hub)
    in_a_shell(world, who, "unset", "OWN_KEY")
    rows = await world.turn(hub)
    assert world.servers[who].keys == [OLD[who]] * 2 + [NEW] * 2
    assert rows[-1].role is Role.NOTICE
    assert "needs a key. Give it with /key OWN_KEY" in rows[-1].content
    in_a_shell(world, who, "set", "OWN_KEY", given=NEW)
    assert (await world.turn(hub))[-1].content == "done"


async def test_a_model_can_be_named_as_soon_as_its_key_was_saved_in_a_shell(world: World):
    world.configure(LAUNCH, "OWN_KEY")
    (hub,) = await world.open(LAUNCH)
    runtime = hub.create(world.work)
    in_a_shell(world, LAUNCH, "set", "OWN_KEY", given=NEW)
    call = read_line("/model own:m")
    assert isinstance(call, Call)
    await call.command.act(hub, runtime.id, call.argument)
    assert runtime.s.route.provider == "own"
