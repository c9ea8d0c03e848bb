"""A new session's title is made better once, beside the conversation, and never at its cost."""

from __future__ import annotations

import asyncio

import pytest

from agent.events import SessionNamed, TurnEnded
from agent.titles import title_in
from session.models import Role, TitleSource

LONG = "Please find out why the nightly build of the documentation has been failing since Tuesday, and mend it"
QUOTED = "Write a title of 3 to 7 words"


def is_named(event: object) -> bool:
    return isinstance(event, SessionNamed)


async def stored(bench):
    return await asyncio.wrap_future(bench.hub.profile.db.read(lambda tables: tables.sessions.get(bench.session_id)))


async def spent(bench):
    return await asyncio.wrap_future(bench.hub.profile.db.read(lambda tables: tables.usage.totals(bench.session_id)))


async def named(bench, served, answer: str):
    served.reply(text="It was a missing package.")
    served.reply(text=answer, usage=(40, 7))
    turn = await bench.ask(LONG)
    return turn.events + ([] if any(map(is_named, turn.events)) else await bench.until(is_named))


async def test_complaint_12_the_first_answer_brings_a_better_title(bench, served):
    await named(bench, served, "Failing nightly documentation build")
    assert bench.hub.line(bench.session_id).session.title == "Failing nightly documentation build"
    session = await stored(bench)
    assert (session.title, session.title_source) == ("Failing nightly documentation build", TitleSource.MODEL)
    asked = served.requests[1]
    assert QUOTED in asked["messages"][0]["content"]
    assert LONG in asked["messages"][1]["content"]
    assert "tools" not in asked


async def test_a_title_is_asked_for_once(bench, served):
    await named(bench, served, "Failing nightly build")
    served.reply(text="Yes.")
    await bench.ask("Is it mended?")
    served.reply(text="Still.")
    await bench.ask("And now?")
    assert len(served.requests) == 4


async def test_what_a_title_takes_is_in_the_ledger_and_in_no_context_figure(bench, served):
    await named(bench, served, "Failing nightly build")
    assert {(one.task, one.usage.input, one.usage.output) for one in await spent(bench)} == {
        ("", 10, 5),
        ("title", 40, 7),
    }
    assert [row.usage.input for row in bench.rows if row.usage] == [10]


async def test_a_title_that_a_person_gave_meanwhile_stands(bench, served):
    served.reply(text="It was a missing package.")
    gate = served.hold()
    await bench.ask(LONG)
    await asyncio.wait_for(served.waiting.wait(), 5)
    db = bench.hub.profile.db
    await asyncio.wrap_future(
        db.write(lambda tables: tables.sessions.set_title(bench.session_id, "Mine", TitleSource.PERSON))
    )
    gate.set()
    served.reply(text="Next.")
    await bench.ask("Next")
    await bench.hub.close("the test ended")
    assert (await stored(bench)).title == "Mine"


async def test_a_title_asked_of_another_model_than_now_answers_is_dropped(bench, served):
    served.reply(text="It was a missing package.")
    gate = served.hold("data: " + '{"choices":[{"index":0,"delta":{"content":"Some title"}}]}' + "\n\n")
    await bench.ask(LONG)
    await asyncio.wait_for(served.waiting.wait(), 5)
    runtime = bench.hub.runtime(bench.session_id)
    await runtime.switch(bench.hub.models.resolve("served:other", runtime.s.route))
    gate.set()
    served.reply(text="Next.")
    await bench.ask("Next")
    assert (await stored(bench)).title_source is TitleSource.DERIVED


async def test_a_title_that_fails_is_silent(bench, served):
    served.reply(text="It was a missing package.")
    served.refuse("500 Oops", "{}")
    turn = await bench.ask(LONG)
    async with asyncio.timeout(15):
        while len(served.requests) < 2:
            await asyncio.sleep(0.01)
    served.reply(text="Next.")
    more = await bench.ask("Next")
    assert turn.ended.error == more.ended.error == ""
    assert [row.content for row in bench.rows if row.role is Role.NOTICE] == [bench.hub.greeting]
    assert (await stored(bench)).title_source is TitleSource.DERIVED


async def test_the_end_of_hermes_does_not_wait_for_a_title(bench, served):
    served.reply(text="It was a missing package.")
    served.hold()
    await bench.ask(LONG)
    await asyncio.wait_for(served.waiting.wait(), 5)
    await asyncio.wait_for(bench.hub.close("the test ended"), 2)


async def test_a_prompt_that_its_title_holds_whole_needs_no_other(bench, served):
    served.reply(text="Hello.")
    await bench.ask("Say hello")
    served.reply(text="Hello.")
    await bench.ask(LONG)
    assert len(served.requests) == 2


@pytest.mark.parametrize("more_config", ["auxiliary: {titles: false}"])
async def test_titles_can_be_turned_off(bench, served):
    served.reply(text="Done.")
    await bench.ask(LONG)
    served.reply(text="Next.")
    await bench.ask("Next")
    assert len(served.requests) == 2


@pytest.mark.parametrize("is_attended", [False])
async def test_nothing_is_asked_where_nobody_looks(bench, served):
    served.reply(text="Done.")
    await bench.ask(LONG)
    served.reply(text="Next.")
    await bench.ask("Next")
    assert len(served.requests) == 2


@pytest.mark.parametrize("more_config", ["auxiliary: {model: small}"])
async def test_the_auxiliary_model_is_the_one_that_is_asked(bench, served):
    await named(bench, served, "Failing nightly build")
    assert [request["model"] for request in served.requests] == ["m", "small"]
    assert {(one.model, one.task) for one in await spent(bench)} == {("m", ""), ("small", "title")}


async def test_an_interrupted_turn_brings_no_title(bench, served):
    served.hold("data: " + '{"choices":[{"index":0,"delta":{"content":"So"}}]}' + "\n\n")
    bench.hub.submit(bench.session_id, LONG)
    await asyncio.wait_for(served.waiting.wait(), 5)
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert len(served.requests) == 1


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Failing nightly build", "Failing nightly build"),
        ('"Failing nightly build."', "Failing nightly build"),
        ("\n\n**Title: Failing nightly build**\n\nIt is about …", "Failing nightly build"),
        ("# Fehler im nächtlichen Bau", "Fehler im nächtlichen Bau"),
        ("「夜間ビルドの失敗」。", "「夜間ビルドの失敗」"),
        ("\x1b]0;pwned\x07Failing\u202e build", "]0;pwnedFailing build"),
        ("I looked into the build and found that a package was missing since Tuesday, so that it could not run.", ""),
        ("", ""),
        ('""', ""),
    ],
)
def test_a_title_is_what_is_left_of_what_a_model_says(said, title):
    assert title_in(said) == title
