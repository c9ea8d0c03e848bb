"""Search over all that was said. Whatever is typed is looked for literally, and nothing that can be typed is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from unicodedata import normalize

from msgspec import Struct

from session.connection import Connection
from session.models import Role
from session.projection import searched_text
from session.search_candidates import PENDING_ROWS, Candidates, DamagedIndex, Deadline, Order, batches
from session.search_index import empty, index_next, is_whole
from session.search_query import Query, parse_query
from session.search_scope import Said, Scope, VisibleRow
from session.snippets import Span, folded, snippet

PATIENCE_S = 2.0

STOPPED = "The search was stopped after {s:g} s, so there may be more."
INDEXING = "Messages are still being indexed, so some may be missing."
DAMAGED = "The search index is damaged, so messages were read one by one. `hermes sessions repair` makes it anew."
OTHER_SIGNS = "There are messages with these words, but not with the same signs between them."


class Hit(Struct, frozen=True):
    """A row that was found. `spans` are the offsets of the matches in `snippet`, which is data without any marks."""

    message_id: int
    session_id: str
    title: str
    role: Role
    created_at: float
    snippet: str
    spans: tuple[Span, ...]


class Found(Struct, frozen=True):
    """What a search found. `note` says in a sentence or two why that may not be all, "" where it is."""

    hits: tuple[Hit, ...]
    note: str = ""


class Saying(Struct, frozen=True):
    """A row and its text, composed and as it is compared."""

    row: VisibleRow
    text: str
    comparable: str


class Search:
    """Verbs on the search and its index."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(
        self,
        query: str,
        *,
        role: Role | None = None,
        session_id: str | None = None,
        since: float | None = None,
        until: float | None = None,
        cwd: str | None = None,
        source: str | None = None,
        order: Order = "best",
        limit: int = 20,
        offset: int = 0,
        redact: Callable[[str], str] | None = None,
    ) -> Found:
        """The rows that say all of what was typed (`session/search_query.py`), each once with all its copies.

        Rewound rows and deleted sessions are left out. `cwd` is the folder or the workspace of a session; `since` is
        included, `until` is not. The newest row is the one stored last. What has no letter or digit (`->`, an emoji) is
        looked for row by row, from the newest unless `order` is "oldest", for `PATIENCE_S`. What `redact` leaves of a
        row is what its snippet is cut from, so that no part of a secret is left at the edge.
        """
        asked = parse_query(query)
        if not asked.pieces:
            return Found((), asked.note)
        scope = Scope(role, session_id, since, until, cwd, source)
        return Finding(self._connection, asked, scope, order, redact).page(max(limit, 0), max(offset, 0))

    def is_whole(self) -> bool:
        """Whether the index holds every row, and no other. Reads all of it. Within a write."""
        return is_whole(self._connection)

    def begin_anew(self) -> None:
        """Empty the index; the writer fills it again behind other writes. Within a write."""
        empty(self._connection)

    def rebuild(self) -> int:
        """Make the index anew, in the memory of a few rows but in one write; how many rows it holds then."""
        self.begin_anew()
        while index_next(self._connection):
            pass
        return int(str(self._connection.value("SELECT count(*) FROM messages_fts_docsize")))


class Finding:
    """One search: from candidates to the rows that say what is wanted, and what a person should know of it."""

    def __init__(
        self, connection: Connection, asked: Query, scope: Scope, order: Order, redact: Callable[[str], str] | None
    ) -> None:
        self._connection = connection
        self._redact = redact
        self._asked = asked
        self._scope = scope
        self._deadline = Deadline(PATIENCE_S)
        self._candidates = Candidates(connection, asked, order, scope.id_range(connection), self._deadline)
        self._is_oldest_first = order == "oldest"
        self._wanted = [piece.wanted for piece in asked.pieces]
        self._literal = [piece.wanted for piece in asked.pieces if piece.is_literal]
        self._notes = [asked.note]
        self._has_other_signs = False

    def page(self, limit: int, offset: int) -> Found:
        try:
            hits = self._hits(self._by_index() if self._asked.expression else self._by_reading(), limit, offset)
        except DamagedIndex:
            self._notes.append(DAMAGED)
            hits = self._hits(self._by_reading(), limit, offset)
        if self._has_other_signs and not hits:
            self._notes.append(OTHER_SIGNS)
        if not self._deadline.was_met:
            self._notes.append(STOPPED.format(s=PATIENCE_S))
        return Found(hits, " ".join(filter(None, self._notes)))

    def _hits(self, found: Iterator[Saying], limit: int, offset: int) -> tuple[Hit, ...]:
        return tuple(self._hit(saying) for saying in islice(found, offset, offset + limit))

    def _hit(self, saying: Saying) -> Hit:
        row, text, comparable = saying.row, saying.text, saying.comparable
        if self._redact and (masked := self._redact(text)) != text:
            text, comparable = masked, folded(masked)
        shown, spans = snippet(text, comparable, self._wanted)
        return Hit(row.id, row.session_id, row.title, row.role, row.created_at, shown, spans)

    # --- the rows that say it

    def _by_index(self) -> Iterator[Saying]:
        seen: set[Said] = set()
        # Before the index is asked, also when it comes first: SQLite sees in an ordinary table that another connection
        # has made the index anew, and not in one that it failed to open.
        pending = self._candidates.pending()
        if len(pending) > PENDING_ROWS:
            self._notes.append(INDEXING)
        if not self._is_oldest_first:
            yield from self._saying_all(self._read(batches(pending), seen))
        for saying in self._read(self._candidates.indexed(), seen):
            if all(wanted.is_in(saying.comparable) for wanted in self._literal):
                yield saying
            else:
                self._has_other_signs = True
        if self._is_oldest_first:
            yield from self._saying_all(self._read(batches(pending), seen))

    def _by_reading(self) -> Iterator[Saying]:
        yield from self._saying_all(self._read(self._candidates.all(), set()))

    def _saying_all(self, read: Iterator[Saying]) -> Iterator[Saying]:
        return (saying for saying in read if all(wanted.is_in(saying.comparable) for wanted in self._wanted))

    # --- the rows that may be shown

    def _read(self, found: Iterable[list[int]], seen: set[Said]) -> Iterator[Saying]:
        """The candidates that may be shown, with their text; a copy only where its original is not among them."""
        for ids in found:
            visible = self._scope.visible(self._connection, ids)
            for row in (visible[id_] for id_ in ids if id_ in visible):
                if row.said not in seen and not self._is_shown_elsewhere(row):
                    seen.add(row.said)
                    yield self._with_text(row)
                if self._deadline.is_over():
                    return
            if self._deadline.is_over():
                return

    def _is_shown_elsewhere(self, row: VisibleRow) -> bool:
        original = row.original_id
        return original != row.id and original in self._scope.visible(self._connection, [original])

    def _with_text(self, row: VisibleRow) -> Saying:
        found = self._connection.row("SELECT content, calls FROM messages WHERE id = ?", row.id)
        content, calls = found or ("", "")
        text = normalize("NFC", searched_text(row.role, str(content), str(calls)))
        return Saying(row, text, folded(text))
