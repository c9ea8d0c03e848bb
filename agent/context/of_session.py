"""What a person can ask of the context of an open session."""

from __future__ import annotations

import asyncio

from agent.context.preflight import Switch, preflight
from agent.context.split import ContextSplit, split
from agent.open_session import OpenSession
from agent.prices import price_of
from session.models import Route


def split_of(s: OpenSession) -> ContextSplit:
    """What fills it, by category."""
    terms = s.terms
    return split(s.context(), terms, s.meter.estimate(s.rows, terms) - s.meter.fixed_tokens(terms))


async def preflight_of(s: OpenSession, route: Route) -> Switch:
    """What going on with another model would mean for the conversation as it is."""
    old, new = s.terms, s.terms_on(route)
    used, fixed = s.meter.estimate(s.rows, new), s.meter.fixed_tokens(new)
    price = price_of(s.parts.settings, route.provider, route.model)
    return await asyncio.to_thread(preflight, list(s.rows), old, new, used, fixed, s.parts.budget(route), price)
