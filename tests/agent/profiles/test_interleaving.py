"""Turns of two profiles in one process, in any order, the second opened while the first one works: no secret crosses."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import World

LAUNCH, ROUTED = "default", "work"
KEYS = {LAUNCH: "sk-launch-aaaaaaaa", ROUTED: "sk-routed-bbbbbbbb"}
PERSONS_OWN = {"GITHUB_TOKEN": "ghp-person-44444", "DATABASE_URL": "postgres://me:pw-person-7@db/x"}


@pytest.mark.parametrize("seed", range(8))
async def test_no_secret_crosses_and_the_launch_profile_loses_nothing(world: World, seed: int):
    chance = random.Random(seed)
    is_in_file = {name: chance.random() < 0.5 or name == ROUTED for name in KEYS}
    world.environ |= PERSONS_OWN | ({} if is_in_file[LAUNCH] else {"OWN_KEY": KEYS[LAUNCH]})
    for name, key in KEYS.items():
        world.configure(name, "OWN_KEY")
        world.keep(name, **({"OWN_KEY": key} if is_in_file[name] else {}))
    (launch,) = await world.open(LAUNCH)
    gate = world.servers[LAUNCH].held = asyncio.Event()
    in_flight = asyncio.create_task(world.turn(launch))
    async with asyncio.timeout(10):
        while not world.servers[LAUNCH].keys:
            await asyncio.sleep(0.001)
    (routed,) = await world.open(ROUTED)

    hubs = {LAUNCH: launch, ROUTED: routed}
    order = [LAUNCH, ROUTED, *chance.choices((LAUNCH, ROUTED), k=4)]
    chance.shuffle(order)
    opens_gate_at = chance.randrange(len(order))
    turns = [(LAUNCH, in_flight)]
    for number, name in enumerate(order):
        turns.append((name, asyncio.create_task(world.turn(hubs[name]))))
        if number == opens_gate_at:
            gate.set()
        for _ in range(chance.randrange(40)):
            await asyncio.sleep(0)

    for name, turn in turns:
        printed = world.child(await turn)
        other = ROUTED if name == LAUNCH else LAUNCH
        assert KEYS[other] not in printed.values()
        seen = {key: value for key, value in printed.items() if key in PERSONS_OWN}
        assert seen == (PERSONS_OWN if name == LAUNCH else {})
        assert printed["HERMES_HOME"] == str(world.root(name))
    for name, server in world.servers.items():
        assert set(server.keys) == {KEYS[name]}
    assert [key for key in KEYS.values() if key in world.log] == []
