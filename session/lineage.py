"""Where a conversation goes another way: branches, rewinds, a summary in the place of what was said, and continuations.

Rows are set aside and copied, never changed or removed. Each verb either does the whole of it or raises and does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from session.approvals import Approvals
from session.calls import Calls
from session.connection import Connection
from session.deletion import continuations, require_living
from session.errors import (
    AnsweredSinceCompaction,
    ConversationMoved,
    DamagedRow,
    NoCompactionToUndo,
    NotAPrompt,
    NothingToRetry,
    NothingToUndo,
    NotInConversation,
    SaidSinceRewind,
    TurnUnderWay,
    UnusableCut,
)
from session.json_columns import text_of_parts
from session.message_row import CARRIED
from session.messages import Messages
from session.models import Approval, Kind, Message, Role, Session, TitleSource
from session.naming import branch_title
from session.partials import Partials
from session.results import result_of, result_row
from session.sessions import Sessions
from session.turns import Turns

REWOUND = "the conversation was rewound"
BRANCHED = "the conversation was branched before this call had a result"
CONTINUATIONS = 32  # more than any conversation has; a chain that never ends is one in which something is wrong

# A copy keeps the place of its original. As no two rows were ever said at one place, that is how a copy is known.
COPY = f"""INSERT INTO messages (session_id, active, compacted, rewound_by, position, {CARRIED})
    SELECT ?, 1, 0, 0, position, {CARRIED} FROM messages
    WHERE session_id = ? AND active = 1 AND position <= ? ORDER BY position"""
FROM_PLACE = "session_id = ? AND active = 1 AND position >= ?"
OF_REWIND = "session_id = ? AND active = 0 AND rewound_by = ?"
OF_COMPACTION = "session_id = ? AND active = 0 AND compacted = ?"

# `compacted` is the number of the compaction in its session that a row left the conversation in, negative for what one that
# was undone had put there. A row that was imported, or compacted before they were numbered, has 1: nobody knows which.
UNNUMBERED = 1
NOTHING_SHORTENED: Mapping[int, str] = MappingProxyType({})


class Rewound(Struct, frozen=True):
    """What a rewind set aside, or its undoing brought back: rewind `number` of the session, `rows` rows from `prompt` on.

    `revision` is that of the session from now on.
    """

    number: int
    prompt: Message
    rows: int
    revision: int


class Swapped(Struct, frozen=True):
    """What a compaction, or its undoing, did to so many rows. `revision` is that of the session from now on.

    `summary` stands in their place, or did; None where they were only shortened.
    """

    rows: int
    revision: int
    summary: Message | None = None


class Lineage:
    """Verbs on what a conversation is made of. They hold while a person looks on: none of them waits for a model."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sessions = Sessions(connection)
        self._messages = Messages(connection)
        self._calls = Calls(connection)
        self._approvals = Approvals(connection)
        self._partials = Partials(connection)
        self._turns = Turns(connection)

    # --- another session

    def branch(self, session_id: str, at_message_id: int, new_id: str, now: float) -> Session:
        """A new session that begins with all up to and including a row; the parent is left as it is.

        A call is taken over together with its results, also where the row stands between them; one that has none yet
        gets one that says so. Raises SessionDeleted, NotInConversation or DamagedRow.
        """
        require_living(self._connection, session_id)
        rows = self._messages.all(session_id)
        taken = rows[: end_of_group(rows, place_of(rows, at_message_id))]
        refuse_damaged(taken)
        session = self._create_branch(session_id, taken[-1].id, new_id, now)
        place = self._messages.position(session_id, taken[-1].id)
        self._connection.run(COPY, new_id, session_id, place)
        self._settle_copies(session_id, new_id, now)
        return session

    def _create_branch(self, session_id: str, branched_at: int, new_id: str, now: float) -> Session:
        parent = self._sessions.get(session_id)
        if parent is None:
            raise NotInConversation
        return self._sessions.create(
            Session(
                new_id,
                parent.source,
                branch_title(self._connection, parent.title),
                TitleSource.DERIVED,
                parent.cwd,
                parent.workspace,
                created_at=now,
                last_activity_at=now,
                route=parent.route,
                personality=parent.personality,
                parent_id=session_id,
                kind=Kind.BRANCH,
                branched_at=branched_at,
                profile=parent.profile,
                last_read_at=now,
                prompt_hash=parent.prompt_hash,
                anchors=parent.anchors,  # they hold as far as the branch begins with what was counted
            )
        )

    def _settle_copies(self, session_id: str, new_id: str, now: float) -> None:
        started = self._calls.started(session_id)
        for call in self._calls.unanswered(new_id):
            if call.id in started:
                self._calls.mark_started(new_id, call.id, started[call.id], now)
            self._messages.append(result_row(new_id, result_of(call, started, None, BRANCHED), now))

    def resume_target(self, session_id: str) -> str:
        """The session that goes on with a conversation: the last of its continuations, never a branch."""
        seen = [session_id]
        while len(seen) <= CONTINUATIONS:
            following = continuations(self._connection, seen[-1])
            if not following or following[-1] in seen:
                break
            seen.append(following[-1])
        return seen[-1]

    # --- back to something said

    def rewind(self, session_id: str, user_message_id: int, now: float) -> Rewound:
        """Set aside what the person said in a row, and all after it.

        Raises TurnUnderWay, NotInConversation, NotAPrompt or DamagedRow.
        """
        if self._turns.open_since(session_id) is not None:
            raise TurnUnderWay
        rows = self._messages.all(session_id)
        rewound = rows[place_of(rows, user_message_id) :]
        refuse_damaged(rewound)
        if not rewound[0].is_prompt:
            raise NotAPrompt
        self._drop_unfinished(session_id, now)
        place, number = self._messages.position(session_id, user_message_id), self.number_rewind(session_id)
        self._connection.run(
            f"UPDATE messages SET active = 0, rewound_by = ? WHERE {FROM_PLACE}", number, session_id, place
        )
        return Rewound(number, rewound[0], len(rewound), self._revise(session_id))

    def undo_rewind(self, session_id: str) -> Rewound:
        """Bring back what the latest rewind that still stands had set aside, while nothing was said since.

        Raises TurnUnderWay, NothingToUndo, SaidSinceRewind or DamagedRow.
        """
        number, rows = self.rewound(session_id)
        self._connection.run(f"UPDATE messages SET active = 1, rewound_by = 0 WHERE {OF_REWIND}", session_id, number)
        return Rewound(number, replace(rows[0], is_active=True), len(rows), self._revise(session_id))

    def rewound(self, session_id: str) -> tuple[int, list[Message]]:
        """The latest rewind that still stands, and what its undoing would bring back. Raises what `undo_rewind` raises."""
        if self._turns.open_since(session_id) is not None:
            raise TurnUnderWay
        number = self.standing_rewind(session_id)
        if number == 0:
            raise NothingToUndo
        rows = self._messages.rewound(session_id, number)
        refuse_damaged(rows)
        if self._messages.after(session_id, self._messages.position(session_id, rows[0].id)):
            raise SaidSinceRewind
        if any(row.is_summary for row in rows) and any(row.is_summary for row in self._messages.all(session_id)):
            raise SaidSinceRewind  # what stands before it was summarised meanwhile, and there is one summary at most
        return number, rows

    def number_rewind(self, session_id: str) -> int:
        """The number of a rewind that sets no row aside. Raises TurnUnderWay."""
        if self._turns.open_since(session_id) is not None:
            raise TurnUnderWay
        self._connection.run("UPDATE sessions SET rewinds = rewinds + 1 WHERE id = ?", session_id)
        return self._number("rewinds", session_id)

    def standing_rewind(self, session_id: str) -> int:
        """The number of the latest rewind whose rows are still set aside, 0 for none."""
        number = self._connection.value(
            "SELECT max(rewound_by) FROM messages WHERE session_id = ? AND active = 0", session_id
        )
        return number if isinstance(number, int) else 0

    def retry(self, session_id: str, now: float) -> Rewound:
        """Rewind the last thing the person said, to be sent again as `exact_text` of the prompt.

        Raises NothingToRetry, and what `rewind` raises.
        """
        prompt = next((row for row in reversed(self._messages.all(session_id)) if row.is_prompt), None)
        if prompt is None:
            raise NothingToRetry
        return self.rewind(session_id, prompt.id, now)

    # --- a summary

    def swap(
        self,
        session_id: str,
        first_replaced_id: int,
        first_kept_id: int,
        summary: Message,
        expected_revision: int,
        shortened: Mapping[int, str] = NOTHING_SHORTENED,
    ) -> Swapped:
        """Put a summary in the place of all rows from one up to another: they stay, searchable, but are no part of the
        conversation. `shortened` as in `shorten`.

        Raises ConversationMoved where the rows are not those of `expected_revision`, NotInConversation, DamagedRow, or
        UnusableCut where a call would be parted from its results (E07), or a second summary be left standing.
        """
        rows = self._expected(session_id, expected_revision)
        first, end = place_of(rows, first_replaced_id), place_of(rows, first_kept_id)
        replaced = rows[first:end]
        refuse_damaged(replaced)
        refuse_cut(rows, first, end)
        first_place, last_place = (self._messages.position(session_id, row.id) for row in (replaced[0], replaced[-1]))
        number = self._next_compaction(session_id)
        self._connection.run(
            f"UPDATE messages SET active = 0, compacted = ? WHERE {FROM_PLACE} AND position <= ?",
            number,
            session_id,
            first_place,
            last_place,
        )
        self._shorten(rows[end:], number, shortened)
        stored = self._messages.append(replace(summary, session_id=session_id, is_summary=True), last_place)
        return Swapped(len(replaced), self._revise(session_id), stored)

    def shorten(self, session_id: str, shortened: Mapping[int, str], expected_revision: int) -> Swapped:
        """Let results be sent otherwise from now on, by the ids of their rows. A copy takes the place of each, with the
        text as its `sent`.

        Raises ConversationMoved, NotInConversation or DamagedRow.
        """
        rows = self._expected(session_id, expected_revision)
        self._shorten(rows, self._next_compaction(session_id), shortened)
        return Swapped(len(shortened), self._revise(session_id))

    def undo_swap(self, session_id: str) -> Swapped:
        """Bring back what the latest compaction took out and set aside what it put there, while nothing was answered since.

        Raises TurnUnderWay, NoCompactionToUndo, AnsweredSinceCompaction or DamagedRow.
        """
        if self._turns.open_since(session_id) is not None:
            raise TurnUnderWay
        number = self._compaction("max(compacted)", session_id)
        rows = self._messages.compacted(session_id, number) if number > UNNUMBERED else []
        made = self._made_by(session_id, [self._messages.position(session_id, row.id) for row in rows])
        refuse_damaged(rows)
        latest_id = max(row.id for row in made)
        if any(row.role in (Role.ASSISTANT, Role.TOOL) for row in self._messages.after(session_id, latest_id)):
            raise AnsweredSinceCompaction
        for row in made:
            self._connection.run("UPDATE messages SET active = 0, compacted = ? WHERE id = ?", -number, row.id)
        self._connection.run(f"UPDATE messages SET active = 1, compacted = 0 WHERE {OF_COMPACTION}", session_id, number)
        return Swapped(len(rows), self._revise(session_id), next((row for row in made if row.is_summary), None))

    # --- inside

    def _drop_unfinished(self, session_id: str, now: float) -> None:
        """Let go of what a turn that was never settled left behind: it would turn up behind another prompt."""
        self._partials.clear(session_id)
        for request in self._approvals.waiting(session_id):
            self._approvals.settle(request.id, Approval.CANCELLED, REWOUND, now)

    def _expected(self, session_id: str, revision: int) -> list[Message]:
        """The conversation. Raises ConversationMoved where it is another than at that revision."""
        if self._number("revision", session_id) != revision:
            raise ConversationMoved
        return self._messages.all(session_id)

    def _shorten(self, rows: list[Message], number: int, shortened: Mapping[int, str]) -> None:
        for row_id, sent in shortened.items():
            row = rows[place_of(rows, row_id)]
            refuse_damaged([row])
            place = self._messages.position(row.session_id, row_id)
            self._connection.run("UPDATE messages SET active = 0, compacted = ? WHERE id = ?", number, row_id)
            self._messages.append(replace(row, id=0, sent=sent), place)

    def _made_by(self, session_id: str, places: list[int]) -> list[Message]:
        """What a compaction put at the places of its rows. Raises NoCompactionToUndo where some of it is not there any
        more, because it was rewound: then not all of the rows would fit back."""
        made = {place: row for place in places if (row := self._messages.at(session_id, place))}
        summed_up_to = max((place for place, row in made.items() if row.is_summary), default=0)
        if not made or any(place > summed_up_to and place not in made for place in places):
            raise NoCompactionToUndo
        return list(made.values())

    def _next_compaction(self, session_id: str) -> int:
        """A number that no other one has, also none that was undone."""
        return 1 + max(UNNUMBERED, self._compaction("max(abs(compacted))", session_id))

    def _compaction(self, which: str, session_id: str) -> int:
        number = self._connection.value(f"SELECT {which} FROM messages WHERE session_id = ? AND active = 0", session_id)
        return number if isinstance(number, int) else 0

    def _revise(self, session_id: str) -> int:
        """No count of a server is true of the rows any more, so that none is kept."""
        self._connection.run("UPDATE sessions SET revision = revision + 1, anchors = '' WHERE id = ?", session_id)
        return self._number("revision", session_id)

    def _number(self, column: str, session_id: str) -> int:
        found = self._connection.value(f"SELECT {column} FROM sessions WHERE id = ?", session_id)
        return found if isinstance(found, int) else 0


def exact_text(prompt: Message) -> str:
    """What a model got of a prompt, to the byte: not what is shown of it."""
    if prompt.sent:
        return prompt.sent
    return text_of_parts(prompt.parts) if prompt.parts else prompt.content


def place_of(rows: list[Message], message_id: int) -> int:
    """The index of a row. Raises NotInConversation."""
    for index, row in enumerate(rows):
        if row.id == message_id:
            return index
    raise NotInConversation


def end_of_group(rows: list[Message], index: int) -> int:
    """The index behind a row and all results that still follow before anything else is said."""
    end = index + 1
    for following in range(end, len(rows)):
        match rows[following].role:
            case Role.TOOL:
                end = following + 1
            case Role.NOTICE:
                continue
            case Role.USER | Role.ASSISTANT:
                break
    return end


def refuse_damaged(rows: list[Message]) -> None:
    """Raises DamagedRow."""
    for row in rows:
        if row.is_damaged:
            raise DamagedRow(id=row.id)


def refuse_cut(rows: list[Message], first: int, end: int) -> None:
    """Raises UnusableCut where the rows from `first` up to `end` say nothing, or begin or end within a group."""
    replaced = rows[first:end]
    if all(row.is_summary for row in replaced):
        raise UnusableCut(reason="there is nothing before it to summarise")
    made = {call.id for row in replaced for call in row.calls}
    answered = {row.result.call_id for row in replaced if row.result}
    made_before = {call.id for row in rows[:first] for call in row.calls}
    if made - answered or answered & made_before or end_of_group(rows, end - 1) != end:
        raise UnusableCut(reason="a tool call stands before it and its result does not")
    if any(row.is_summary for row in (*rows[:first], *rows[end:])):
        raise UnusableCut(reason="the summary that stands there already must be part of the new one")
