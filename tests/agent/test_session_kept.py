"""What a turn leaves behind beside its rows: the session's title, source and prompt, and what was spent."""

from __future__ import annotations

import time

from agent.events import TurnEnded
from session.models import Session, TitleSource, Usage
from session.usage import Spent, day_of


def stored(bench, session_id: str = "") -> Session:
    session_id = session_id or bench.session_id
    session = bench.hub.profile.db.read(lambda tables: tables.sessions.get(session_id)).result()
    assert session
    return session


async def test_two_sessions_that_begin_alike_are_told_apart(bench, served):
    other = bench.hub.create(bench.workspace).id
    for session_id in (bench.session_id, other):
        served.reply(text="Hello.")
        bench.hub.submit(session_id, "hi there")
        await bench.until(lambda event, of=session_id: isinstance(event, TurnEnded) and event.at.session == of)
    assert [stored(bench).title, stored(bench, other).title] == ["hi there", "hi there #2"]
    assert bench.hub.line(other).session.title == "hi there #2"


async def test_what_each_request_took_is_in_the_ledger(bench, served):
    for _ in range(2):
        served.reply(text="Hello.", usage=(7, 3))
        await bench.ask("hi")
    spent = [Spent("served", "m", "", 2, Usage(input=14, output=6))]
    read = bench.hub.profile.db.read
    assert read(lambda tables: tables.usage.totals(bench.session_id)).result() == spent
    today = day_of(time.time())
    assert read(lambda tables: tables.usage.by_day(today)).result() == {today: spent}


async def test_the_system_prompt_is_kept_with_the_session_and_a_personality_only_follows_it(bench, served):
    kept: list[str] = []
    for personality in ("", "teacher"):
        runtime = bench.hub.runtime(bench.session_id)
        await runtime.set_personality(personality)
        served.reply(text="Hello.")
        await bench.ask("hi")
        session = stored(bench)
        kept.append(bench.hub.profile.db.read(lambda tables, s=session: tables.prompts.get(s.prompt_hash)).result())
    sent = [request["messages"][0]["content"] for request in served.requests]
    assert kept == [sent[0], sent[0]]
    assert sent[1].startswith(f"{sent[0]}\n\n")


async def test_a_session_of_unknown_source_becomes_that_of_its_first_real_writer(bench, served):
    session = Session("old", "unknown", "Old", TitleSource.PERSON, str(bench.workspace), str(bench.workspace), 1.0, 1.0)
    bench.hub.profile.db.write(lambda tables: tables.sessions.create(session)).result()
    await bench.hub.open("old")
    assert stored(bench, "old").source == "unknown"
    served.reply(text="Hello.")
    await bench.ask("hi")
    served.reply(text="Hello.")
    bench.hub.submit("old", "hi")
    await bench.until(lambda event: isinstance(event, TurnEnded) and event.at.session == "old")
    assert stored(bench, "old").source == stored(bench).source


async def test_E20_opening_and_leaving_a_session_changes_neither_its_place_nor_its_time(bench, served, open_bench):
    served.reply(text="Hello.")
    await bench.ask("old")
    old = bench.session_id
    bench.session_id = bench.hub.create(bench.workspace).id
    served.reply(text="Hello.")
    await bench.ask("new")
    before = [(line.session.id, line.session.last_activity_at) for line in await bench.hub.listing()]
    other = await open_bench()
    await other.hub.open(old)
    other.hub.mark_read(old)
    await other.hub.close("left")
    after = [(line.session.id, line.session.last_activity_at) for line in await bench.hub.listing()]
    assert after == before
    assert [session_id for session_id, _ in after] == [bench.session_id, old]


async def test_complaint_14_a_session_comes_back_with_its_provider_model_and_address_together(
    bench, served, home, open_bench
):
    config = (home / "config.yaml").read_text()
    other = f"providers: {{other: {{base_url: '{served.url}/other'}}, "
    (home / "config.yaml").write_text(config.replace("providers: {", other))
    first = await open_bench()
    runtime = first.hub.runtime(first.session_id)
    await runtime.switch(first.hub.models.resolve("other:n", runtime.s.route))
    served.reply(text="Hello.")
    await first.ask("hi")
    again = await open_bench()  # for which the default is another model at another address
    assert again.hub.choice.route.model == "m"
    again.session_id = (await again.hub.open(first.session_id)).id
    served.reply(text="Hello.")
    await again.ask("hi")
    assert served.heads[-1].startswith("POST /v1/other/chat/completions") and served.requests[-1]["model"] == "n"
