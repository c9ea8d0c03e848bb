"""A session that was imported goes on where the config here says, and nowhere else."""

from __future__ import annotations

import asyncio

from session.models import ApiMode, Route, Session, TitleSource


async def stored(bench, route: Route | None):
    session = Session(
        "imported", "chat", "", TitleSource.DERIVED, str(bench.workspace), str(bench.workspace), 1.0, 1.0, route
    )
    await asyncio.wrap_future(bench.hub.profile.db.write(lambda tables: tables.sessions.create(session)))
    return (await bench.hub.open("imported")).s.route


async def test_a_model_without_an_address_is_looked_up_by_its_name(bench):
    here = bench.hub.models.resolve("served:big", bench.hub.choice.route)
    assert await stored(bench, Route("served", "big", "", ApiMode.CHAT)) == here


async def test_a_model_of_a_provider_unknown_here_gives_way_to_the_one_chosen_here(bench):
    assert await stored(bench, Route("elsewhere", "m", "", ApiMode.CHAT)) == bench.hub.choice.route
