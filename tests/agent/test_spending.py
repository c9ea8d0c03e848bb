"""What was spent, in a session and in all of them, with its price where one is known."""

from __future__ import annotations

import pytest

from agent.spending import cached_share, cost, read_spending, total
from session.models import Usage


@pytest.fixture
def more_config() -> str:
    return "auxiliary: {titles: false}"


async def test_what_was_spent_is_told_by_model_and_day(bench, served):
    served.reply(text="One.", usage=(1_000, 20))
    served.reply(text="Two.", usage=(2_000, 30))
    for text in ("a", "b"):
        await bench.ask(text)
    spending = await read_spending(bench.hub.runtime(bench.session_id).s.parts, bench.session_id)
    (line,) = spending.session
    assert (line.spent.model, line.spent.requests, line.spent.usage) == ("m", 2, Usage(input=3_000, output=50))
    (today,) = spending.days.values()
    assert total(today) == Usage(input=3_000, output=50)
    assert cost(spending.session) == 0.0, "a server on this machine costs nothing"


async def test_a_call_counts_also_where_its_server_counts_no_tokens(bench, served):
    served.reply(text="One.", usage=(0, 0))
    await bench.ask("a")
    (line,) = (await read_spending(bench.hub.runtime(bench.session_id).s.parts, bench.session_id)).session
    assert (line.spent.requests, line.spent.usage) == (1, Usage())


async def test_a_session_that_asked_nothing_spent_nothing(bench):
    spending = await read_spending(bench.hub.runtime(bench.session_id).s.parts, bench.session_id)
    assert (spending.session, spending.days, total(spending.session)) == ([], {}, Usage())


def test_the_share_from_a_cache_is_that_of_what_was_read():
    assert cached_share(Usage(input=100, cache_read=300, output=1_000)) == 0.75
    assert cached_share(Usage(output=5)) is None
