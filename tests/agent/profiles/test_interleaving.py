"""Turns of two profiles in one process, in any order, the second opened while the first one works: no secret crosses."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from typing import TYPE_CHECKING

import pytest

from agent.hub import Hub

if TYPE_CHECKING:
    from conftest import World

ROUNDS = int(os.environ.get("HERMES_SOAK") or 8)
LAUNCH, ROUTED = "default", "work"
KEYS = {LAUNCH: "sk-launch-aaaaaaaa", ROUTED: "sk-routed-bbbbbbbb"}
KEPT = {LAUNCH: "kept-launch-cccccccc", ROUTED: "kept-routed-dddddddd"}  # in .env, for no server and no command
SECRETS = (*KEYS.values(), *KEPT.values())
PERSONS_OWN = {"GITHUB_TOKEN": "ghp-person-44444", "DATABASE_URL": "postgres://me:pw-person-7@db/x"}


async def look(world: World, name: str, hub: Hub) -> None:
    """A command of the profile sees the person's own variables where it is the launch profile's, and no key at all."""
    printed = world.child(await world.turn(hub))
    seen = {key: value for key, value in printed.items() if key in PERSONS_OWN or value in SECRETS}
    assert seen == (PERSONS_OWN if name == LAUNCH else {})
    assert printed["HERMES_HOME"] == str(world.root(name))


async def be_refused(world: World, name: str, hub: Hub) -> None:
    """An error names the profile's secrets, and so does the log, whichever profile was opened first."""
    rows = await world.turn(hub, f"refuse {KEPT[name]}")
    told = rows[-1].content
    assert "refuse [KEPT]" in told
    assert [secret for secret in SECRETS if secret in told] == []
    logging.getLogger("agent").error("%s was refused with %s and %s", name, KEYS[name], KEPT[name])


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_no_secret_crosses_and_the_launch_profile_loses_nothing(world: World, seed: int):
    chance = random.Random(seed)
    is_in_file = {name: chance.random() < 0.5 or name == ROUTED for name in KEYS}
    world.environ |= PERSONS_OWN | ({} if is_in_file[LAUNCH] else {"OWN_KEY": KEYS[LAUNCH]})
    for name, key in KEYS.items():
        world.configure(name, "OWN_KEY")
        world.keep(name, KEPT=KEPT[name], **({"OWN_KEY": key} if is_in_file[name] else {}))
    (launch,) = await world.open(LAUNCH)
    gate = world.servers[LAUNCH].held = asyncio.Event()
    turns = [asyncio.create_task(chance.choice((look, be_refused))(world, LAUNCH, launch))]
    async with asyncio.timeout(25):
        while not world.servers[LAUNCH].keys:
            await asyncio.sleep(0.001)
    (routed,) = await world.open(ROUTED)

    hubs = {LAUNCH: launch, ROUTED: routed}
    order = [
        *((what, who) for what in (look, be_refused) for who in hubs),
        *chance.choices([(look, LAUNCH), (look, ROUTED)], k=2),
    ]
    chance.shuffle(order)
    opens_gate_at = chance.randrange(len(order))
    for number, (what, name) in enumerate(order):
        turns.append(asyncio.create_task(what(world, name, hubs[name])))
        if number == opens_gate_at:
            gate.set()
        for _ in range(chance.randrange(40)):
            await asyncio.sleep(0)
    await asyncio.gather(*turns)

    for name, server in world.servers.items():
        assert set(server.keys) == {KEYS[name]}
        assert f"{name} was refused with [OWN_KEY] and [KEPT]" in world.log
    assert [secret for secret in SECRETS if secret in world.log] == []
