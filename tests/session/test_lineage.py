"""A conversation that goes another way: branches, rewinds, retries, summaries, and what goes on under another id."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from session.db import SessionDB
from session.errors import (
    AnsweredSinceCompaction,
    ConversationMoved,
    NoCompactionToUndo,
    NotAPrompt,
    NothingToRetry,
    NothingToUndo,
    NotInConversation,
    SaidSinceRewind,
    SessionDeleted,
    TurnUnderWay,
    UnusableCut,
    UserError,
)
from session.invariants import violations
from session.json_columns import UnreadableColumn
from session.lineage import Swapped, exact_text
from session.models import (
    Approval,
    ApprovalRequest,
    CallOutcome,
    ExitReason,
    Kind,
    Message,
    Partial,
    Role,
    Session,
    TitleSource,
)

NewSession = Callable[..., str]
Say = Callable[..., list[Message]]


def told(db: SessionDB, session_id: str) -> list[str]:
    """The conversation as it stands, which has to be a sound one."""
    assert db.read(lambda t: violations(t, session_id)).result() == []
    return [row.content or " ".join(call.id for call in row.calls) for row in rows(db, session_id)]


def rows(db: SessionDB, session_id: str) -> list[Message]:
    return db.read(lambda t: t.messages.all(session_id)).result()


def session(db: SessionDB, session_id: str) -> Session:
    found = db.read(lambda t: t.sessions.get(session_id)).result()
    assert found
    return found


def branch(db: SessionDB, session_id: str, message_id: int, new_id: str = "branch") -> Session:
    return db.write(lambda t: t.lineage.branch(session_id, message_id, new_id, 9.0)).result()


def swap(
    db: SessionDB, session_id: str, first_kept: Message, text: str = "summary", revision: int = 0, head: int = 0
) -> Swapped:
    """Put a summary in the place of all before a row, but for the first `head` rows."""
    summary, first = Message("", Role.USER, text, 9.0), rows(db, session_id)[head]
    return db.write(lambda t: t.lineage.swap(session_id, first.id, first_kept.id, summary, revision)).result()


def unswap(db: SessionDB, session_id: str) -> Swapped:
    return db.write(lambda t: t.lineage.undo_swap(session_id)).result()


def refuses(db: SessionDB, session_id: str, error: type[UserError], verb: Callable[..., object]) -> None:
    """The verb raises, and the session and its rows are as they were."""
    before = session(db, session_id), rows(db, session_id)
    with pytest.raises(error):
        db.write(verb).result()
    assert (session(db, session_id), rows(db, session_id)) == before


# --- branch


def test_a_branch_begins_with_all_up_to_its_point_and_leaves_the_parent_alone(
    db: SessionDB, new_session: NewSession, say: Say
) -> None:
    parent = new_session(title="Fix the build", cwd="/w/a", personality="terse", profile="work", prompt_hash="h")
    said = say(parent, "user one", "answer first", "notice careful", "user two", "answer second")
    before = session(db, parent)
    made = branch(db, parent, said[2].id)
    assert made == session(db, "branch")
    assert told(db, "branch") == ["one", "first", "careful"]
    assert told(db, parent) == ["one", "first", "careful", "two", "second"]
    assert session(db, parent) == before
    assert (made.kind, made.parent_id, made.branched_at) == (Kind.BRANCH, parent, said[2].id)
    assert (made.title, made.title_source) == ("Fix the build (branch)", TitleSource.DERIVED)
    assert (made.cwd, made.workspace, made.personality) == ("/w/a", "/w", "terse")
    assert (made.profile, made.prompt_hash) == ("work", "h")
    assert branch(db, parent, said[0].id, "another").title == "Fix the build (branch) #2"
    assert branch(db, "branch", rows(db, "branch")[0].id, "of a branch").title == "Fix the build (branch) #3"


def test_both_ways_go_on_by_themselves(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user one", "answer first")
    branch(db, session_id, said[-1].id)
    say(session_id, "user here", "answer H")
    say("branch", "user there", "answer T")
    assert told(db, session_id) == ["one", "first", "here", "H"]
    assert told(db, "branch") == ["one", "first", "there", "T"]


def test_a_copy_is_to_the_byte_and_keeps_the_place_of_its_original(db: SessionDB, session_id: str, say: Say) -> None:
    odd = Message(session_id, Role.USER, "a\0b\u2028", 1.0, sent="sent", parts='[{"text":  "x"}]', extras='{"k" : 1}')
    stored = db.write(lambda t: t.messages.append(odd)).result()
    branch(db, session_id, stored.id)
    (copy,) = rows(db, "branch")
    assert replace(copy, id=stored.id, session_id=session_id) == stored
    place = db.read(lambda t: (t.messages.position("branch", copy.id), t.messages.position(session_id, stored.id)))
    assert len(set(place.result())) == 1


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_E07_a_branch_takes_a_call_over_together_with_its_results(
    db: SessionDB, session_id: str, say: Say, at: int
) -> None:
    said = say(session_id, "user go", "calls a b", "result a", "notice slow", "result b", "answer done")
    branch(db, session_id, said[at].id)
    assert told(db, "branch") == ["go", "a b", "output of a", "slow", "output of b"]


def test_a_branch_out_of_a_turn_settles_the_calls_of_its_own_copy(db: SessionDB, session_id: str, say: Say) -> None:
    db.write(lambda t: t.turns.begin(session_id, 1.0)).result()
    said = say(session_id, "user go", "calls a b c", "result a")
    db.write(lambda t: t.calls.mark_started(session_id, "b", Approval.ALLOWED_ONCE, 1.0)).result()
    db.write(lambda t: t.partials.append(session_id, Partial("half"), 1.0)).result()
    branch(db, session_id, said[-1].id)
    assert [(row.result.call_id, row.result.outcome) for row in rows(db, "branch") if row.result] == [
        ("a", CallOutcome.OK),
        ("b", CallOutcome.INTERRUPTED),
        ("c", CallOutcome.NOT_RUN),
    ]
    assert told(db, "branch")[-1] == "Not run: the conversation was branched before this call had a result."
    assert told(db, session_id) == ["go", "a b c", "output of a"]
    assert db.read(lambda t: t.turns.open_since(session_id)).result() == 1.0


def test_a_call_id_of_the_copy_is_not_given_again(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user go", "calls a", "result a")
    branch(db, session_id, said[-1].id)
    assert db.read(lambda t: t.calls.used_ids("branch")).result() == {"a"}


def test_only_what_is_still_said_can_be_branched_from(db: SessionDB, new_session: NewSession, say: Say) -> None:
    one, other = new_session(), new_session()
    said, elsewhere = say(one, "user one", "answer first"), say(other, "user two")
    db.write(lambda t: t.lineage.rewind(one, said[0].id, 2.0)).result()
    for point in (said[0].id, elsewhere[0].id, 10**6):
        refuses(db, one, NotInConversation, lambda t, point=point: t.lineage.branch(one, point, "new", 3.0))
    db.write(lambda t: t.sessions.delete(other, 4.0)).result()
    with pytest.raises(SessionDeleted):
        db.write(lambda t: t.lineage.branch(other, elsewhere[0].id, "new", 3.0)).result()
    assert db.read(lambda t: t.sessions.get("new")).result() is None


# --- rewind, undo, retry


def test_a_rewind_sets_aside_a_prompt_and_all_after_it(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user one", "answer first", "user two", "calls a", "result a", "answer second")
    rewound = db.write(lambda t: t.lineage.rewind(session_id, said[2].id, 2.0)).result()
    assert (rewound.number, rewound.prompt, rewound.rows) == (1, said[2], 4)
    assert told(db, session_id) == ["one", "first"]
    now = session(db, session_id)
    assert (now.rewinds, now.revision) == (1, rewound.revision)
    assert db.read(lambda t: t.calls.unanswered(session_id)).result() == []
    assert db.read(lambda t: t.calls.used_ids(session_id)).result() == {"a"}
    say(session_id, "user other", "answer third")
    assert told(db, session_id) == ["one", "first", "other", "third"]


def test_calls_that_were_rewound_are_neither_unanswered_nor_started(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user go", "calls a b")
    asked = ApprovalRequest("r", session_id, "b", "terminal", "ls", "why", 1.0)
    db.write(lambda t: t.calls.mark_started(session_id, "a", Approval.NOT_ASKED, 1.0)).result()
    db.write(lambda t: t.approvals.open(asked)).result()
    db.write(lambda t: t.partials.append(session_id, Partial("half"), 1.0)).result()
    db.write(lambda t: t.lineage.rewind(session_id, said[0].id, 2.0)).result()
    assert told(db, session_id) == []
    assert db.read(lambda t: t.calls.unanswered(session_id)).result() == []
    assert db.read(lambda t: t.calls.started(session_id)).result() == {}
    assert db.read(lambda t: t.approvals.of_call(session_id, "b")).result() == (
        Approval.CANCELLED,
        "the conversation was rewound",
    )


def test_only_a_prompt_of_an_idle_session_is_rewound_to(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user go", "calls a", "result a", "notice careful", "answer done")
    for row in said[1:]:
        refuses(db, session_id, NotAPrompt, lambda t, row=row: t.lineage.rewind(session_id, row.id, 2.0))
    refuses(db, session_id, NotInConversation, lambda t: t.lineage.rewind(session_id, 10**6, 2.0))
    db.write(lambda t: t.turns.begin(session_id, 1.0)).result()
    refuses(db, session_id, TurnUnderWay, lambda t: t.lineage.rewind(session_id, said[0].id, 2.0))


def test_a_rewind_can_be_undone_until_something_is_said(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user one", "answer first", "user two", "calls a", "result a", "answer second")
    db.write(lambda t: t.lineage.rewind(session_id, said[2].id, 2.0)).result()
    undone = db.write(lambda t: t.lineage.undo_rewind(session_id)).result()
    assert (undone.number, undone.prompt, undone.rows) == (1, said[2], 4)
    assert rows(db, session_id) == said
    assert told(db, session_id)[2:] == ["two", "a", "output of a", "second"]
    assert session(db, session_id).revision == undone.revision == 2
    refuses(db, session_id, NothingToUndo, lambda t: t.lineage.undo_rewind(session_id))
    db.write(lambda t: t.lineage.rewind(session_id, said[2].id, 2.0)).result()
    say(session_id, "user other")
    refuses(db, session_id, SaidSinceRewind, lambda t: t.lineage.undo_rewind(session_id))


def test_rewinds_are_undone_one_by_one_the_latest_first(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user one", "answer first", "user two", "answer second")
    for prompt in (said[2], said[0]):
        db.write(lambda t, prompt=prompt: t.lineage.rewind(session_id, prompt.id, 2.0)).result()
    assert [db.write(lambda t: t.lineage.undo_rewind(session_id)).result().number for _ in range(2)] == [2, 1]
    assert rows(db, session_id) == said
    assert session(db, session_id).rewinds == 2


@pytest.mark.parametrize(
    ("fields", "exact"),
    [
        ({"content": "as typed\0"}, "as typed\0"),
        ({"content": "@file", "sent": "the file's text"}, "the file's text"),
        ({"content": "one two", "parts": '[{"type":"text","text":"one"},{"type":"image"},{"text":" two"}]'}, "one two"),
        ({"content": "(picture)", "parts": '[{"type":"image"}]'}, ""),
    ],
)
def test_a_retry_sends_the_very_bytes_again(
    db: SessionDB, session_id: str, say: Say, fields: dict[str, str], exact: str
) -> None:
    say(session_id, "user one", "answer first")
    db.write(lambda t: t.messages.append(Message(session_id, Role.USER, created_at=1.0, **fields))).result()
    say(session_id, "calls a", "result a", "answer wrong")
    again = db.write(lambda t: t.lineage.retry(session_id, 2.0)).result()
    assert exact_text(again.prompt) == exact
    assert told(db, session_id) == ["one", "first"]


def test_a_retry_needs_something_said(db: SessionDB, session_id: str, say: Say) -> None:
    refuses(db, session_id, NothingToRetry, lambda t: t.lineage.retry(session_id, 2.0))
    said = say(session_id, "user one", "answer first", "answer more")
    swap(db, session_id, said[1])
    refuses(db, session_id, NothingToRetry, lambda t: t.lineage.retry(session_id, 2.0))


# --- a summary


def test_a_summary_stands_before_what_is_kept(db: SessionDB, session_id: str, say: Say) -> None:
    say(session_id, "user one", "calls a", "result a", "answer first")
    kept = say(session_id, "user two", "answer second")
    swapped = swap(db, session_id, kept[0])
    assert told(db, session_id) == ["summary", "two", "second"]
    assert rows(db, session_id) == [swapped.summary, *kept]
    assert (swapped.summary.is_summary, swapped.rows) == (True, 4)
    assert session(db, session_id).revision == swapped.revision == 1
    say(session_id, "user three")
    assert told(db, session_id)[-1] == "three"


def test_the_next_summary_takes_the_place_of_the_first(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user one", "answer first", "user two", "answer second", "user three")
    swap(db, session_id, said[2])
    swap(db, session_id, said[4], "summary of all", 1)
    assert told(db, session_id) == ["summary of all", "three"]


@pytest.mark.parametrize("kept", [2, 3, 4])
def test_E07_a_call_is_never_cut_from_its_results(db: SessionDB, session_id: str, say: Say, kept: int) -> None:
    said = say(session_id, "user go", "calls a b", "result a", "notice slow", "result b", "answer done")
    summary = Message("", Role.USER, "summary", 9.0)
    refuses(db, session_id, UnusableCut, lambda t: t.lineage.swap(session_id, said[0].id, said[kept].id, summary, 0))
    for whole in (said[1], said[5]):
        swap(db, session_id, whole, revision=session(db, session_id).revision)
        told(db, session_id)


def test_E07_a_call_that_waits_for_its_result_is_kept(db: SessionDB, session_id: str, say: Say) -> None:
    db.write(lambda t: t.turns.begin(session_id, 1.0)).result()
    said = say(session_id, "user go", "calls a b", "result a")
    (later,) = say(session_id, "notice later")
    summary = Message("", Role.USER, "summary", 9.0)
    refuses(db, session_id, UnusableCut, lambda t: t.lineage.swap(session_id, said[0].id, later.id, summary, 0))


def test_a_summary_of_rows_that_changed_meanwhile_is_not_used(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user one", "answer first", "user two", "answer second")
    db.write(lambda t: t.lineage.rewind(session_id, said[2].id, 2.0)).result()
    summary = Message("", Role.USER, "summary", 9.0)
    refuses(db, session_id, ConversationMoved, lambda t: t.lineage.swap(session_id, said[0].id, said[1].id, summary, 0))
    refuses(db, session_id, NotInConversation, lambda t: t.lineage.swap(session_id, said[0].id, said[2].id, summary, 1))
    refuses(db, session_id, UnusableCut, lambda t: t.lineage.swap(session_id, said[0].id, said[0].id, summary, 1))
    kept = swap(db, session_id, said[1], revision=1)
    again = kept.summary.id
    refuses(db, session_id, UnusableCut, lambda t: t.lineage.swap(session_id, again, said[1].id, summary, 2))
    refuses(db, session_id, NotAPrompt, lambda t: t.lineage.rewind(session_id, kept.summary.id, 2.0))


def test_what_is_summarised_does_not_come_back_with_an_undo(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user one", "answer first", "user two")
    swap(db, session_id, said[2])
    refuses(db, session_id, NothingToUndo, lambda t: t.lineage.undo_rewind(session_id))


def test_a_branch_of_a_summarised_conversation_begins_with_the_summary(
    db: SessionDB, session_id: str, say: Say
) -> None:
    said = say(session_id, "user one", "answer first", "user two", "answer second")
    swap(db, session_id, said[2])
    branch(db, session_id, said[2].id)
    assert told(db, "branch") == ["summary", "two"]
    assert rows(db, "branch")[0].is_summary
    say("branch", "answer other", "user three")
    swap(db, "branch", rows(db, "branch")[-1], "summary of the branch")
    assert told(db, "branch") == ["summary of the branch", "three"]
    assert told(db, session_id) == ["summary", "two", "second"]


def test_a_head_stays_before_the_summary(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user one", "calls a", "result a", "answer first", "user two", "answer second", "user three")
    swapped = swap(db, session_id, said[6], head=3)
    assert told(db, session_id) == ["one", "a", "output of a", "summary", "three"]
    assert swapped.rows == 3
    swap(db, session_id, say(session_id, "answer third", "user four")[1], "all", 1)
    assert told(db, session_id) == ["all", "four"]


def test_E07_no_head_ends_between_a_call_and_its_result_or_holds_a_summary(
    db: SessionDB, session_id: str, say: Say
) -> None:
    said = say(session_id, "user one", "calls a b", "result a", "result b", "answer first", "user two", "answer second")
    for first in (2, 3):
        cut = said[first].id, said[5].id, Message("", Role.USER, "summary", 9.0)
        refuses(db, session_id, UnusableCut, lambda t, cut=cut: t.lineage.swap(session_id, *cut, 0))
    swap(db, session_id, said[5])
    cut = said[5].id, said[6].id, Message("", Role.USER, "summary", 9.0)
    refuses(db, session_id, UnusableCut, lambda t: t.lineage.swap(session_id, *cut, 1))


def test_a_compaction_can_be_undone_until_something_is_answered(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user one", "answer first", "user two", "answer second")
    swapped = swap(db, session_id, said[2])
    (waiting,) = say(session_id, "user three")
    undone = unswap(db, session_id)
    assert (undone.summary, undone.rows, undone.revision) == (swapped.summary, 2, 2)
    assert rows(db, session_id) == [*said, waiting]
    assert told(db, session_id) == ["one", "first", "two", "second", "three"]
    refuses(db, session_id, NoCompactionToUndo, lambda t: t.lineage.undo_swap(session_id))
    swap(db, session_id, said[2], "another", 2)
    say(session_id, "answer third")
    refuses(db, session_id, AnsweredSinceCompaction, lambda t: t.lineage.undo_swap(session_id))


def test_only_the_latest_compaction_is_undone(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user one", "answer first", "user two", "answer second", "user three")
    swap(db, session_id, said[2])
    swap(db, session_id, said[4], "all", 1)
    unswap(db, session_id)
    assert told(db, session_id) == ["summary", "two", "second", "three"]
    unswap(db, session_id)
    assert rows(db, session_id) == said


def test_a_compaction_is_not_undone_under_a_turn_or_when_its_summary_was_rewound(
    db: SessionDB, session_id: str, say: Say
) -> None:
    said = say(session_id, "user one", "answer first", "user two", "answer second", "user three")
    swap(db, session_id, said[4], head=2)
    db.write(lambda t: t.turns.begin(session_id, 1.0)).result()
    refuses(db, session_id, TurnUnderWay, lambda t: t.lineage.undo_swap(session_id))
    db.write(lambda t: t.turns.end(session_id, ExitReason.INTERRUPTED, 2.0)).result()
    db.write(lambda t: t.lineage.rewind(session_id, said[0].id, 2.0)).result()
    refuses(db, session_id, NoCompactionToUndo, lambda t: t.lineage.undo_swap(session_id))
    db.write(lambda t: t.lineage.undo_rewind(session_id)).result()
    assert told(db, session_id) == ["one", "first", "summary", "three"]


def test_a_compaction_that_was_not_numbered_is_not_undone(db: SessionDB, session_id: str, say: Say) -> None:
    """It was imported, or made by an older version: nothing tells which rows belong together."""
    said = say(session_id, "user one", "answer first", "user two")
    swap(db, session_id, said[2])
    db.write(lambda t: t.connection.run("UPDATE messages SET compacted = 1 WHERE compacted > 0")).result()
    refuses(db, session_id, NoCompactionToUndo, lambda t: t.lineage.undo_swap(session_id))


def test_a_summary_that_cannot_be_stored_takes_no_place(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user one", "answer first", "user two")
    summary = Message("", Role.USER, "summary", 9.0, parts="no JSON")
    with pytest.raises(UnreadableColumn):
        db.write(lambda t: t.lineage.swap(session_id, said[0].id, said[2].id, summary, 0)).result()
    assert rows(db, session_id) == said
    assert session(db, session_id).revision == 0


def test_two_summaries_never_come_together(db: SessionDB, session_id: str, say: Say) -> None:
    """A rewind took one away, what stands before it was summarised: bringing the first one back would make two."""
    said = say(session_id, "user one", "answer first", "user two", "answer second", "user three", "user four")
    swap(db, session_id, said[5], head=3)
    db.write(lambda t: t.lineage.rewind(session_id, said[2].id, 2.0)).result()
    swap(db, session_id, said[1], "before", session(db, session_id).revision)
    refuses(db, session_id, SaidSinceRewind, lambda t: t.lineage.undo_rewind(session_id))
    assert told(db, session_id) == ["before", "first"]


# --- continuations


def test_a_resume_goes_to_the_last_continuation_and_never_into_a_branch(db: SessionDB, new_session: NewSession) -> None:
    first = new_session()
    second = new_session(parent_id=first, kind=Kind.COMPACTION, created_at=2.0)
    new_session(parent_id=second, kind=Kind.BRANCH, created_at=3.0)
    third = new_session(parent_id=second, kind=Kind.COMPACTION, created_at=3.0)
    gone = new_session(parent_id=third, kind=Kind.COMPACTION, created_at=4.0)
    db.write(lambda t: t.sessions.delete(gone, 5.0)).result()
    targets = [db.read(lambda t, id_=id_: t.lineage.resume_target(id_)).result() for id_ in (first, second, third)]
    assert targets == [third] * 3


def test_a_circle_of_continuations_ends(db: SessionDB, new_session: NewSession) -> None:
    one = new_session(id="circle-1", parent_id="circle-2", kind=Kind.COMPACTION)
    two = new_session(id="circle-2", parent_id="circle-1", kind=Kind.COMPACTION)
    assert db.read(lambda t: t.lineage.resume_target(one)).result() == two
    chain = ["c0"]
    for number in range(1, 50):
        chain.append(new_session(id=f"c{number}", parent_id=f"c{number - 1}", kind=Kind.COMPACTION))
    assert db.read(lambda t: t.lineage.resume_target("c0")).result() == "c32"


def test_an_open_turn_keeps_a_rewind_from_being_undone(db: SessionDB, session_id: str, say: Say) -> None:
    said = say(session_id, "user one", "answer first")
    db.write(lambda t: t.lineage.rewind(session_id, said[0].id, 2.0)).result()
    db.write(lambda t: t.turns.begin(session_id, 3.0)).result()
    refuses(db, session_id, TurnUnderWay, lambda t: t.lineage.undo_rewind(session_id))
    db.write(lambda t: t.turns.end(session_id, ExitReason.COMPLETED, 4.0)).result()
    assert db.write(lambda t: t.lineage.undo_rewind(session_id)).result().rows == 2
