"""A person without a model: what can be had at once, what a choice comes to, and what limits the server tells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.commands.model import switch_or_ask
from agent.session_model import Holds
from session.models import ApiMode

KEY = "sk-lies-ready-0123456789"


@pytest.fixture
def configure(home: Path) -> Callable[[str], None]:
    def write(text: str) -> None:
        home.mkdir(mode=0o700, exist_ok=True)
        (home / "config.yaml").write_text(f"probe_local: false\n{text}")

    return write


LACKS = (
    "model: {default: m, provider: work}\nproviders: {work: {base_url: 'http://127.0.0.1:9/v1', key_env: WORK_KEY}}\n"
)


async def test_keys_that_lie_ready_are_offered_by_name_and_the_one_that_is_lacking_is_asked_for(
    configure: Any, open_bench: Any, home: Path
):
    configure(LACKS)
    (home / ".env").write_text(f"GROQ_API_KEY={KEY}\n")
    bench = await open_bench()
    offers = await bench.hub.models.offers()
    assert (bench.hub.models.lacks_one, offers.key) == (True, "WORK_KEY")
    (offer,) = offers.offers
    assert offer.label.startswith("Groq, with GROQ_API_KEY from ")
    assert KEY not in f"{offers}"
    assert "needs a key" in offers.about


async def test_what_is_chosen_is_true_from_then_on_and_nothing_else_is_told(
    configure: Any, open_bench: Any, served: Any
):
    configure(f"providers: {{served: {{base_url: '{served.url}'}}}}\n")
    bench = await open_bench()
    assert bench.hub.models.lacks_one
    route = bench.hub.models.resolve("served:m", bench.hub.choice.route)
    await switch_or_ask(bench.hub, bench.session_id, route, Holds.GLOBAL)
    assert not bench.hub.models.lacks_one
    served.reply(text="here")
    turn = await bench.ask("hello")
    assert [row.content for row in turn.rows] == ["hello", "here"]
    assert bench.hub.create(bench.workspace).s.route == route


async def test_the_demo_is_there_for_who_chooses_it(configure: Any, open_bench: Any):
    configure("")
    bench = await open_bench()
    await switch_or_ask(bench.hub, bench.session_id, bench.hub.models.resolve("demo", bench.hub.choice.route))
    assert not bench.hub.models.lacks_one
    assert bench.hub.runtime(bench.session_id).s.route.api_mode is ApiMode.DEMO


async def test_complaint_69_status_and_usage_tell_what_the_server_still_allows(bench: Any, served: Any):
    from agent.commands.context import tell_usage
    from agent.commands.facts import FACT_COMMANDS

    (status,) = (command for command in FACT_COMMANDS if command.name == "status")

    async def told() -> list[str]:
        effects = [await tell(bench.hub, bench.session_id, "") for tell in (tell_usage, status.act)]
        return [effect.report.text for effect in effects]

    assert not any("resets" in text for text in await told())
    served.reply(text="one")
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
    limits = (
        "x-ratelimit-limit-requests: 50\r\nx-ratelimit-remaining-requests: 41\r\nx-ratelimit-reset-requests: 2h\r\n"
    )
    served.script[-1].insert(0, f"{head}{limits}\r\n")
    await bench.ask("go")
    assert all("41 of 50 requests left, resets " in text for text in await told())
