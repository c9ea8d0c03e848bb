"""Whatever was branched, rewound, summarised or settled: the next request is a legal conversation with the right rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.request import wire_messages
from session.db import SessionDB
from session.models import (
    Approval,
    CallOutcome,
    CallResult,
    Finish,
    Message,
    Role,
    Session,
    TitleSource,
    ToolCall,
)
from session.settlement import settle

Say = Callable[..., list[Message]]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    store = SessionDB.open(tmp_path / "state.db")
    session = Session("s", "tui", "Title", TitleSource.DERIVED, "/", "/", 1.0, 1.0)
    store.write(lambda tables: tables.sessions.create(session)).result()
    yield store
    store.close()


@pytest.fixture
def say(db: SessionDB) -> Say:
    """Store rows of session "s": a text is a prompt, a list the calls of an answer, "=text" an answer, "-id" a result."""

    def row(said: str | list[str]) -> Message:
        match said:
            case list():
                calls = tuple(ToolCall(id_, "terminal", "{}") for id_ in said)
                return Message("s", Role.ASSISTANT, "", 1.0, calls=calls, finish=Finish.TOOL_CALLS)
            case str() if said.startswith("-"):
                result = CallResult(said[1:], "terminal", CallOutcome.OK, Approval.NOT_ASKED)
                return Message("s", Role.TOOL, f"output of {said[1:]}", 1.0, result=result)
            case str() if said.startswith("="):
                return Message("s", Role.ASSISTANT, said[1:], 1.0, finish=Finish.STOP)
            case _:
                return Message("s", Role.USER, said, 1.0)

    return lambda *said: db.write(lambda tables: [tables.messages.append(row(one)) for one in said]).result()


@pytest.fixture
def sent(db: SessionDB) -> Callable[..., list[str]]:
    """The next request of a session, a line a message, without the system prompt; strictly legal."""

    def request(session_id: str = "s") -> list[str]:
        rows = db.read(lambda tables: tables.messages.all(session_id)).result()
        messages = wire_messages(rows, "be brief")[1:]
        owed: list[object] = []
        before = "system"
        for message in messages:
            role = str(message["role"])
            assert (role == "tool") == bool(owed), "results stand behind their calls, and nothing else does"
            if role == "tool":
                assert message["tool_call_id"] == owed.pop(0)
            else:
                assert (before, role) not in (("user", "user"), ("assistant", "assistant"), ("system", "assistant"))
                owed = [call["id"] for call in message.get("tool_calls", ())]  # type: ignore[attr-defined]
            before = role
        assert not owed
        return [f"{message['role']} {message['content'] or 'calls'}" for message in messages]

    return request


def test_E05_a_prompt_behind_a_dangling_call_leaves_the_roles_in_order(
    db: SessionDB, say: Say, sent: Callable[..., list[str]]
) -> None:
    say("run both", ["a"], "-a", ["b"])

    def reopen(tables) -> None:
        settle(tables, "s", finish=Finish.CUT, cause="hermes ended", at=2.0, keep_waiting=False)

    db.write(reopen).result()
    say("go on")
    expected = [
        "user run both",
        "assistant calls",
        "tool output of a",
        "assistant calls",
        "tool Not run: hermes ended.",
        "user go on",
    ]
    assert sent() == expected
    db.write(reopen).result()
    assert sent() == expected


def test_E05_a_prompt_that_was_stored_before_the_repair_does_not_break_the_pair(
    db: SessionDB, say: Say, sent: Callable[..., list[str]]
) -> None:
    say("run it", ["a"], "go on")
    db.write(
        lambda tables: settle(tables, "s", finish=Finish.CUT, cause="hermes ended", at=2.0, keep_waiting=False)
    ).result()
    assert sent() == ["user run it", "assistant calls", "tool Not run: hermes ended.", "user go on"]


def test_E06_two_real_results_and_two_interrupted_ones_go_back(
    db: SessionDB, say: Say, sent: Callable[..., list[str]]
) -> None:
    say("run all", ["a", "b", "c", "d"], "-a", "-b")

    def crash(tables) -> None:
        for call_id in "abcd":
            tables.calls.mark_started("s", call_id, Approval.NOT_ASKED, 1.0)
        settle(tables, "s", finish=Finish.CUT, cause="hermes ended", at=2.0, keep_waiting=False)

    db.write(crash).result()
    assert [line.split(" (")[0] for line in sent()[2:]] == [
        "tool output of a",
        "tool output of b",
        "tool Interrupted: this call had begun to run and its result was lost",
        "tool Interrupted: this call had begun to run and its result was lost",
    ]


@pytest.mark.parametrize("at", range(7))
def test_E07_a_branch_from_anywhere_can_go_on(db: SessionDB, say: Say, sent: Callable[..., list[str]], at: int) -> None:
    rows = say("one", ["a", "b"], "-a", "-b", "=first", "two", ["c"])
    db.write(lambda tables: tables.lineage.branch("s", rows[at].id, "branch", 2.0)).result()
    assert sent("branch")[: at + 1] == sent()[: at + 1]


def test_what_was_rewound_is_not_sent_and_what_is_retried_is_sent_once(
    db: SessionDB, say: Say, sent: Callable[..., list[str]]
) -> None:
    say("one", "=first", "two", ["a"], "-a", "=second")
    again = db.write(lambda tables: tables.lineage.retry("s", 2.0)).result()
    assert sent() == ["user one", "assistant first"]
    say(again.prompt.content, "=better")
    assert sent() == ["user one", "assistant first", "user two", "assistant better"]


def test_a_summary_is_sent_in_the_place_of_what_it_sums_up(
    db: SessionDB, say: Say, sent: Callable[..., list[str]]
) -> None:
    rows = say("one", ["a"], "-a", "=first", "two", ["b"], "-b", "=second")
    summary = Message("s", Role.USER, "what was said", 2.0)
    first = db.write(lambda tables: tables.lineage.swap("s", rows[0].id, rows[5].id, summary, 0)).result().summary
    assert sent() == ["user what was said", "assistant calls", "tool output of b", "assistant second"]
    db.write(lambda tables: tables.lineage.swap("s", first.id, rows[7].id, summary, 1)).result()
    assert sent() == ["user what was said", "assistant second"]
