"""Done-when of the store: whatever is done to sessions, in whatever order, what always holds goes on to hold."""

from __future__ import annotations

import itertools
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from msgspec import Struct, field

from session.db import SessionDB
from session.errors import (
    AnsweredSinceCompaction,
    NoCompactionToUndo,
    NothingToRetry,
    NothingToUndo,
    SaidSinceRewind,
    SessionDeleted,
    TurnUnderWay,
    UnusableCut,
    UserError,
)
from session.invariants import A_DELETED_SESSION, RULES, violations
from session.models import (
    Approval,
    ApprovalRequest,
    CallOutcome,
    CallResult,
    ExitReason,
    Finish,
    Message,
    Partial,
    Role,
    Session,
    TitleSource,
    ToolCall,
)
from session.settlement import settle

# --- each rule finds its breach

BREACHES = {
    "unreadable": ["UPDATE messages SET usage = '{' WHERE id = {answer}"],
    "without_reason": ["UPDATE messages SET active = 0 WHERE id >= {second}"],
    "misplaced": ["UPDATE messages SET position = 10000 + position"],
    "at_one_place": ["UPDATE messages SET position = 1"],
    "out_of_order": ["UPDATE messages SET position = {last} - id + 1"],
    "summaries": ["UPDATE messages SET is_summary = 1 WHERE id IN ({first}, {second})"],
    "uncounted_rewinds": ["UPDATE messages SET active = 0, rewound_by = 1 WHERE id >= {second}"],
    "uncounted_revisions": ["UPDATE sessions SET rewinds = 1"],
    "speechless_beginning": ["UPDATE messages SET role = 'notice' WHERE id = {first}"],
    "two_answers": ["UPDATE messages SET role = 'notice' WHERE id = {second}"],
    "unpaired": ["UPDATE messages SET call_id = 'other' WHERE id = {result}"],
    "equal_call_ids": [
        "UPDATE messages SET calls = (SELECT calls FROM messages WHERE id = {calls}) WHERE id = {answer}"
    ],
    "two_turns": [
        "INSERT INTO turns (session_id, started_at, exit_reason) VALUES ('{id}', 1.0, ''), ('{id}', 2.0, '')"
    ],
    "idle_questions": [
        "INSERT INTO approval_requests VALUES ('r', '{id}', 'a', '', '', '', 1.0, '', '', NULL, '', '', '')"
    ],
    "idle_partial": ["INSERT INTO partials VALUES ('{id}', 1.0, 'half', '', '')"],
    "not_as_searched": [
        "DELETE FROM messages_fts_docsize",
        "INSERT INTO messages_fts (rowid, text) VALUES ({last}, 'x')",
    ],
    "orphaned": ["UPDATE sessions SET kind = 'branch'"],
}


@pytest.mark.parametrize("name", [rule.__name__ for rule in RULES])
def test_each_rule_tells_where_it_is_broken(
    db: SessionDB, db_path: Path, session_id: str, say: Callable[..., list[Message]], name: str
) -> None:
    rows = say(session_id, "user one", "calls a b", "result a", "result b", "answer first", "user two", "answer second")
    assert db.read(lambda t: violations(t, session_id)).result() == []
    names = ("first", "calls", "result", "_", "answer", "second", "last")
    values: dict[str, object] = {name: row.id for name, row in zip(names, rows, strict=True)}
    with closing(sqlite3.connect(db_path)) as raw, raw:
        for statement in BREACHES[name]:
            filled = statement
            for key, value in (values | {"id": session_id}).items():
                filled = filled.replace(f"{{{key}}}", str(value))
            raw.execute(filled)
    (statement,) = (rule.__doc__ for rule in RULES if rule.__name__ == name)
    assert statement
    found = db.read(lambda t: violations(t, session_id)).result()
    assert [line for line in found if line.startswith(statement.removesuffix(".") + ": ")]


def test_what_is_left_of_a_deleted_session_is_told(db: SessionDB, db_path: Path, session_id: str) -> None:
    db.write(lambda t: t.sessions.delete(session_id, 2.0)).result()
    assert db.read(lambda t: violations(t, session_id)).result() == []
    with closing(sqlite3.connect(db_path)) as raw, raw:
        raw.execute("INSERT INTO queued (session_id, content, created_at) VALUES (?, 'text', 1.0)", (session_id,))
    assert db.read(lambda t: violations(t, session_id)).result() == [f"{A_DELETED_SESSION}: queued"]


# --- any sequence of verbs

STEPS = ["calls 1", "calls 2", "ask", "start", "finish", "piece", "answer"]
numbers = itertools.count(1)


class Compacted(Struct):
    """A compaction that can be undone: its summary ("" for none), what that stands for, and the calls whose
    results it shortened."""

    summary: str
    texts: list[str]
    shortened: list[str]
    newest_id: int


class Talk(Struct):
    """What the store has to hold of one session: its rows as lists of texts, an open turn or none."""

    id: str
    said: list[str] = field(default_factory=list)  # active rows
    undoable: list[tuple[int, list[str]]] = field(default_factory=list)  # what rewinds cut off, and where
    compacted: list[Compacted] = field(default_factory=list)
    is_open: bool = False


def results_of(rows: list[Message]) -> list[Message]:
    return [row for row in rows if row.role is Role.TOOL]


def is_second_summary(talk: Talk) -> bool:
    """Whether undoing the latest rewind would bring back a summary beside one that stands."""
    return all(any(text.startswith("summary") for text in texts) for texts in (talk.said, talk.undoable[-1][1]))


class Conversations(RuleBasedStateMachine):
    """Several sessions of one store, each with a plain model of what has to be in it."""

    def __init__(self, db: SessionDB) -> None:
        super().__init__()
        self.db = db
        self.talks: list[Talk] = []
        self.gone: list[str] = []

    def write(self, verb: Callable[..., object]) -> object:
        return self.db.write(verb).result()

    def refused(self, verb: Callable[..., object], *errors: type[UserError]) -> None:
        with pytest.raises(errors):
            self.write(verb)

    def rows(self, talk: Talk) -> list[Message]:
        return self.db.read(lambda t: t.messages.all(talk.id)).result()

    def append(self, talk: Talk, role: Role, text: str, **fields: object) -> None:
        self.write(lambda t: t.messages.append(Message(talk.id, role, text, float(next(numbers)), **fields)))
        talk.said.append(text)

    # --- what is said

    @rule()
    def create(self) -> None:
        id_ = f"m{next(numbers)}"
        self.write(lambda t: t.sessions.create(Session(id_, "tui", "Title", TitleSource.DERIVED, "/", "/", 1.0, 1.0)))
        self.talks.append(Talk(id_))

    @precondition(lambda self: self.talks)
    @rule(data=st.data(), steps=st.lists(st.sampled_from(STEPS), max_size=6), is_ended=st.booleans())
    def turn(self, data: st.DataObject, steps: list[str], is_ended: bool) -> None:
        """A turn like any other; where it is not ended, the process that ran it is dead."""
        talk = data.draw(st.sampled_from(self.talks))
        if talk.is_open:
            self.settle_one(talk)
        self.write(lambda t: t.turns.begin(talk.id, 1.0))
        talk.is_open = True
        self.append(talk, Role.USER, f"prompt {next(numbers)}")
        for step in steps:
            if self.go_on(talk, step):
                break
        if is_ended:
            self.settle_one(talk)

    def go_on(self, talk: Talk, step: str) -> bool:
        """Take a step where a runtime could. True for the last one of a turn."""
        pending = self.db.read(lambda t: t.calls.unanswered(talk.id)).result()
        started = self.db.read(lambda t: t.calls.started(talk.id)).result()
        waiting = self.db.read(lambda t: t.approvals.waiting(talk.id)).result()
        match step.split():
            case ["calls", count] if not pending:
                ids = [f"call-{next(numbers)}" for _ in range(int(count))]
                calls = tuple(ToolCall(id_, "terminal", "{}") for id_ in ids)
                self.write(lambda t: t.partials.clear(talk.id))
                self.append(talk, Role.ASSISTANT, f"calls {ids}", calls=calls, finish=Finish.TOOL_CALLS)
            case ["ask"] if pending and not waiting and pending[0].id not in started:
                id_ = pending[0].id
                asked = ApprovalRequest(f"ask-{next(numbers)}", talk.id, id_, "terminal", "ls", "why", 1.0)
                self.write(lambda t: t.approvals.open(asked))
            case ["start"] if pending and not waiting and pending[0].id not in started:
                id_ = pending[0].id
                self.write(lambda t: t.calls.mark_started(talk.id, id_, Approval.ALLOWED_ONCE, 1.0))
            case ["finish"] if pending and pending[0].id in started:
                result = CallResult(pending[0].id, "terminal", CallOutcome.OK, Approval.ALLOWED_ONCE)
                self.append(talk, Role.TOOL, f"output of {pending[0].id}", result=result)
            case ["piece"] if not pending:
                self.write(lambda t: t.partials.append(talk.id, Partial("piece "), 1.0))
            case ["answer"] if not pending:
                self.write(lambda t: t.partials.clear(talk.id))
                self.append(talk, Role.ASSISTANT, f"answer {next(numbers)}", finish=Finish.STOP)
                self.write(lambda t: t.turns.end(talk.id, ExitReason.COMPLETED, 2.0))
                talk.is_open = False
                return True
            case _:
                pass
        return False

    @precondition(lambda self: self.talks)
    @rule(data=st.data(), keep_waiting=st.booleans())
    def settle(self, data: st.DataObject, keep_waiting: bool) -> None:
        """What opening a session does after a kill, once and once more."""
        talk = data.draw(st.sampled_from(self.talks))
        self.settle_one(talk, keep_waiting)
        before = self.rows(talk)
        self.settle_one(talk, keep_waiting)
        assert self.rows(talk) == before

    def settle_one(self, talk: Talk, keep_waiting: bool = False) -> None:
        settled = self.db.write(
            lambda t: settle(t, talk.id, finish=Finish.CUT, cause="it ended", at=2.0, keep_waiting=keep_waiting)
        ).result()
        talk.said += [row.content for row in settled.rows]
        talk.is_open = talk.is_open and bool(settled.waiting)

    # --- other ways

    @precondition(lambda self: any(talk.said for talk in self.talks))
    @rule(data=st.data())
    def branch(self, data: st.DataObject) -> None:
        talk = data.draw(st.sampled_from([talk for talk in self.talks if talk.said]))
        rows = self.rows(talk)
        at = data.draw(st.integers(0, len(rows) - 1))
        new = Talk(f"b{next(numbers)}")
        self.write(lambda t: t.lineage.branch(talk.id, rows[at].id, new.id, 5.0))
        new.said = [row.content for row in self.rows(new)]
        taken = new.said[: at + 1]
        assert taken == talk.said[: at + 1]
        assert all("output of" in text or "run" in text for text in new.said[at + 1 :]), "only results are added"
        self.talks.append(new)

    @precondition(lambda self: self.talks)
    @rule(data=st.data(), is_retry=st.booleans())
    def rewind(self, data: st.DataObject, is_retry: bool) -> None:
        talk = data.draw(st.sampled_from(self.talks))
        prompts = [row for row in self.rows(talk) if row.role is Role.USER and not row.is_summary]
        if talk.is_open or not prompts:
            self.refused(lambda t: t.lineage.retry(talk.id, 3.0), TurnUnderWay, NothingToRetry)
            return
        prompt = prompts[-1] if is_retry else data.draw(st.sampled_from(prompts))
        if is_retry:
            self.write(lambda t: t.lineage.retry(talk.id, 3.0))
        else:
            self.write(lambda t: t.lineage.rewind(talk.id, prompt.id, 3.0))
        at = talk.said.index(prompt.content)
        talk.undoable.append((at, talk.said[at:]))
        talk.said = talk.said[:at]

    @precondition(lambda self: self.talks)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        talk = data.draw(st.sampled_from(self.talks))
        if talk.is_open:
            self.refused(lambda t: t.lineage.undo_rewind(talk.id), TurnUnderWay)
        elif not talk.undoable:
            self.refused(lambda t: t.lineage.undo_rewind(talk.id), NothingToUndo)
        elif len(talk.said) > talk.undoable[-1][0] or is_second_summary(talk):
            self.refused(lambda t: t.lineage.undo_rewind(talk.id), SaidSinceRewind)
        else:
            self.write(lambda t: t.lineage.undo_rewind(talk.id))
            talk.said += talk.undoable.pop()[1]

    @precondition(lambda self: any(talk.said for talk in self.talks))
    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        talk = data.draw(st.sampled_from([talk for talk in self.talks if talk.said]))
        rows = self.rows(talk)
        at = data.draw(st.integers(0, len(rows) - 1))
        head = data.draw(st.just(0) | st.integers(0, at))
        revision = self.session(talk).revision
        summary = Message("", Role.USER, f"summary {next(numbers)}", 4.0)
        is_refused = Role.TOOL in (rows[at].role, rows[head].role) or all(row.is_summary for row in rows[head:at])
        if is_refused or any(row.is_summary for row in (*rows[:head], *rows[at:])):
            self.refused(lambda t: t.lineage.swap(talk.id, rows[head].id, rows[at].id, summary, revision), UnusableCut)
            return
        short = data.draw(st.lists(st.sampled_from(results), unique=True)) if (results := results_of(rows[at:])) else []
        shortened = {row.id: "short" for row in short}
        self.write(lambda t: t.lineage.swap(talk.id, rows[head].id, rows[at].id, summary, revision, shortened))
        self.note_compaction(talk, summary.content, talk.said[head:at], short)
        talk.said[head:at] = [summary.content]
        # What a rewind cut off stands behind what is kept, and so may come back as long as that is all that is kept.
        talk.undoable = [(cut - (at - head) + 1 if cut >= at else -1, texts) for cut, texts in talk.undoable]

    @precondition(lambda self: self.talks)
    @rule(data=st.data())
    def shorten(self, data: st.DataObject) -> None:
        talk = data.draw(st.sampled_from(self.talks))
        if results := results_of(self.rows(talk)):
            short = data.draw(st.lists(st.sampled_from(results), unique=True, min_size=1))
            revision = self.session(talk).revision
            self.write(lambda t: t.lineage.shorten(talk.id, {row.id: "short" for row in short}, revision))
            self.note_compaction(talk, "", [], short)

    def note_compaction(self, talk: Talk, summary: str, texts: list[str], short: list[Message]) -> None:
        rows, ids = self.rows(talk), [row.result.call_id for row in short if row.result]
        assert {row.sent for row in rows if row.result and row.result.call_id in ids} <= {"short"}
        talk.compacted.append(Compacted(summary, texts, ids, max(row.id for row in rows)))

    @precondition(lambda self: self.talks)
    @rule(data=st.data())
    def undo_compaction(self, data: st.DataObject) -> None:
        talk = data.draw(st.sampled_from(self.talks))
        rows = self.rows(talk)
        last = talk.compacted[-1] if talk.compacted else None
        held = {*talk.said, *(row.result.call_id for row in rows if row.result)}
        if talk.is_open:
            self.refused(lambda t: t.lineage.undo_swap(talk.id), TurnUnderWay)
        elif last is None or not held.issuperset(filter(None, (last.summary, *last.shortened))):
            self.refused(lambda t: t.lineage.undo_swap(talk.id), NoCompactionToUndo)
        elif any(row.id > last.newest_id and row.role in (Role.ASSISTANT, Role.TOOL) for row in rows):
            self.refused(lambda t: t.lineage.undo_swap(talk.id), AnsweredSinceCompaction)
        else:
            self.write(lambda t: t.lineage.undo_swap(talk.id))
            talk.compacted.pop()
            if last.summary:
                at = talk.said.index(last.summary)
                talk.said[at : at + 1] = last.texts
                talk.undoable = [(cut + len(last.texts) - 1 if cut > at else cut, rest) for cut, rest in talk.undoable]

    # --- the session as a whole

    @precondition(lambda self: self.talks)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        talk = data.draw(st.sampled_from(self.talks))
        self.write(lambda t: t.sessions.delete(talk.id, 6.0))
        self.talks.remove(talk)
        self.gone.append(talk.id)
        self.refused(lambda t: t.messages.append(Message(talk.id, Role.USER, "late", 7.0)), SessionDeleted)

    @precondition(lambda self: self.talks)
    @rule(data=st.data(), name=st.sampled_from(["A name", "Another"]))
    def rename(self, data: st.DataObject, name: str) -> None:
        talk = data.draw(st.sampled_from(self.talks))
        title = f"{name} {talk.id}"
        self.write(lambda t: t.sessions.set_title(talk.id, title, TitleSource.PERSON))
        assert self.session(talk).title == title

    @precondition(lambda self: self.talks)
    @rule(data=st.data())
    def resume(self, data: st.DataObject) -> None:
        talk = data.draw(st.sampled_from(self.talks))
        self.write(lambda t: t.sessions.reopen(talk.id))
        assert self.db.read(lambda t: t.lineage.resume_target(talk.id)).result() == talk.id

    def session(self, talk: Talk) -> Session:
        found = self.db.read(lambda t: t.sessions.get(talk.id)).result()
        assert found
        return found

    # --- what always holds

    @invariant()
    def holds_what_was_said(self) -> None:
        for talk in self.talks:
            assert [row.content for row in self.rows(talk)] == talk.said
            is_open = self.db.read(lambda t, talk=talk: t.turns.open_since(talk.id)).result() is not None
            assert is_open == talk.is_open

    @invariant()
    def keeps_the_rules(self) -> None:
        for id_ in (*(talk.id for talk in self.talks), *self.gone):
            assert self.db.read(lambda t, id_=id_: violations(t, id_)).result() == []


ROUNDS = int(os.environ.get("HERMES_SOAK") or 0) * 10 or 15


@pytest.mark.soak
def test_any_sequence_of_verbs_keeps_what_always_holds(db: SessionDB) -> None:
    run_state_machine_as_test(
        lambda: Conversations(db),
        settings=settings(
            max_examples=ROUNDS, stateful_step_count=25, suppress_health_check=list(HealthCheck), deadline=None
        ),
    )
