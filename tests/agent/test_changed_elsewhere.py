"""Rows that another process took out of a session are gone here too when the next turn begins."""

from __future__ import annotations

import pytest

from session.models import ExitReason, Message, Role


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
