"""Rows that another process took out of a session are gone here too when the next turn begins."""

from __future__ import annotations

import pytest

from agent.events import Notice
from session.models import ExitReason, Message, Role, Route


@pytest.fixture
async def talked(bench, served):
    for text in ("one", "two"):
        served.reply(text=f"Answer to {text}.")
        await bench.ask(text)
    return bench


def said(request: dict) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] != "system"]


async def test_a_rewind_elsewhere_is_noticed_at_the_beginning_of_the_next_turn(talked, served):
    db, prompt = talked.hub.profile.db, [row for row in talked.rows if row.role is Role.USER][-1]
    db.write(lambda tables: tables.lineage.rewind(talked.session_id, prompt.id, 2.0)).result()
    served.reply(text="Going on.")
    turn = await talked.ask("three")
    assert turn.ended.reason is ExitReason.COMPLETED
    assert said(served.requests[-1]) == ["one", "Answer to one.", "three"]
    assert talked.rows == db.read(lambda tables: tables.messages.all(talked.session_id)).result()
    assert [row.content for row in turn.rows] == ["three", "Going on."]


async def test_a_summary_made_elsewhere_is_noticed_once(talked, served):
    db, prompt = talked.hub.profile.db, [row for row in talked.rows if row.role is Role.USER][-1]
    first = talked.rows[0].id
    summary = Message("", Role.USER, "what was said", 2.0)
    db.write(lambda tables: tables.lineage.swap(talked.session_id, first, prompt.id, summary, 0)).result()
    for text in ("three", "four"):
        served.reply(text=f"Answer to {text}.")
        await talked.ask(text)
    assert said(served.requests[-1]) == [
        "what was said\n\ntwo",
        "Answer to two.",
        "three",
        "Answer to three.",
        "four",
    ]
    assert talked.rows == db.read(lambda tables: tables.messages.all(talked.session_id)).result()


async def test_what_was_rewound_and_said_anew_elsewhere_comes_into_memory(talked, served):
    db, prompt = talked.hub.profile.db, [row for row in talked.rows if row.role is Role.USER][-1]
    anew = Message(talked.session_id, Role.USER, "two, but better", 2.0)
    answer = Message(talked.session_id, Role.ASSISTANT, "Better.", 2.0)

    def elsewhere(tables) -> None:
        tables.lineage.rewind(talked.session_id, prompt.id, 2.0)
        for row in (anew, answer):
            tables.messages.append(row)

    db.write(elsewhere).result()
    served.reply(text="Going on.")
    await talked.ask("three")
    assert said(served.requests[-1]) == ["one", "Answer to one.", "two, but better", "Better.", "three"]
    assert talked.rows == db.read(lambda tables: tables.messages.all(talked.session_id)).result()


# --- another model


def chosen_elsewhere(bench, model: str) -> Route:
    """As the hermes in another window does it."""
    route = bench.hub.models.resolve(f"served:{model}", bench.hub.choice.route)
    bench.hub.profile.db.write(lambda tables: tables.sessions.set_route(bench.session_id, route)).result()
    return route


def row_of(bench) -> Route | None:
    return bench.hub.profile.db.read(lambda tables: tables.sessions.get(bench.session_id)).result().route


def told(events) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


async def test_complaint_67_a_model_chosen_elsewhere_answers_the_next_prompt_and_is_told(talked, served):
    route = chosen_elsewhere(talked, "other")
    served.reply(text="I am another.")
    turn = await talked.ask("three")
    assert (served.requests[-1]["model"], row_of(talked)) == ("other", route)
    assert told(turn.events) == ["Another hermes chose other at served for this session, which answers from now on."]
    served.reply(text="Still.")
    assert told((await talked.ask("four")).events) == []


async def test_complaint_67_of_two_choices_at_the_same_moment_the_later_holds_and_the_other_is_told(talked, served):
    runtime = talked.hub.runtime(talked.session_id)
    chosen_elsewhere(talked, "theirs")
    talked.listener.drain()
    await runtime.switch(talked.hub.models.resolve("served:ours", runtime.s.route))
    assert told(talked.listener.drain()) == [
        "Another hermes had just chosen theirs at served for this session. The later choice holds: ours at served."
    ]
    served.reply(text="Ours.")
    turn = await talked.ask("three")
    assert (served.requests[-1]["model"], row_of(talked).model, told(turn.events)) == ("ours", "ours", [])


async def test_complaint_67_a_model_for_one_turn_is_followed_by_the_one_chosen_elsewhere(talked, served):
    runtime = talked.hub.runtime(talked.session_id)
    await runtime.model.switch(talked.hub.models.resolve("served:once", runtime.s.route), is_once=True)
    chosen_elsewhere(talked, "theirs")
    for text in ("three", "four"):
        served.reply(text="Yes.")
        await talked.ask(text)
    assert [request["model"] for request in served.requests[-2:]] == ["once", "theirs"]
