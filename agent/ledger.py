"""What requests took that left no row behind."""

from __future__ import annotations

import time

from agent.open_session import OpenSession
from session.models import Route, Usage
from session.usage import day_of


async def account(s: OpenSession, route: Route, usage: Usage, task: str = "") -> None:
    """Put a request into the ledger of the store; `task` as the ledger names it."""
    day = day_of(time.time())
    await s.write(lambda tables: tables.usage.add(s.id, route.provider, route.model, day, task, usage))
