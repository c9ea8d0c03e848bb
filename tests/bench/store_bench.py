"""The store with a million messages, beside the same statements on one plain connection.

Both work on one file, in blocks that take turns, so that what disturbs one disturbs the other.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count, islice
from pathlib import Path
from threading import Event

import store_memory
from machine import Machine
from store_fixture import (
    BUILD,
    CHINESE,
    COMMON,
    LONG_ID,
    PHRASE,
    RARE,
    TWO_LETTERS,
    Conversations,
    million,
    session_of,
)
from store_raw import Compared, Raw, Statement, alternate, statements_of

from session.connection import Patience
from session.db import SessionDB
from session.json_columns import encode_calls
from session.models import Message, Partial, Session
from session.projection import projected, searched_text
from session.search_candidates import Order
from session.search_index import ADD, is_behind
from session.search_query import parse_query
from session.tables import Tables
from session.writer import MOST_UNINDEXED, QUIET_S

APPENDERS = 8
# As many as are written before the index is looked at if there is no pause among them: none of its work is in their time.
BURST = (MOST_UNINDEXED - 1) // APPENDERS * APPENDERS
BURSTS = 15
INDEXED = 1_000  # messages in a block that ends when the index holds them
INDEXED_BLOCKS = 7
STREAM_S = 10.0
PARTIAL_S = 0.05
MEMORY_RUNS = 3
QUERIES = {
    "common": f"{COMMON} ",
    "rare": f"{RARE} ",
    "two letters": f"{TWO_LETTERS} ",
    "phrase": f'"{PHRASE}"',
    "Chinese": CHINESE,
    "being typed": COMMON[:3],
}
RAW_SEARCH = "SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? ORDER BY {} LIMIT 20"
RAW_FETCH = "SELECT id, session_id, role, created_at, content, calls FROM messages WHERE id IN ({})"


@dataclass(frozen=True)
class Waits:
    """Milliseconds that each list took while an answer was streamed into the store."""

    each_ms: list[float]

    def percentile(self, percent: int) -> float:
        return statistics.quantiles(self.each_ms, n=100)[percent - 1]


class StoreBench:
    """Every comparison, made when a row first asks for it, on a copy of the built file."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._opened = ExitStack()
        self._numbers = count()
        self._conversations = Conversations(seed=2)
        self._appenders = ThreadPoolExecutor(APPENDERS)

    def close(self) -> None:
        self._appenders.shutdown()
        self._opened.close()

    @cached_property
    def path(self) -> Path:
        built = million()
        folder = self._opened.enter_context(tempfile.TemporaryDirectory(prefix="store-run-", dir=BUILD))
        copy = Path(folder) / "state.db"
        shutil.copyfile(built, copy)
        subprocess.run(["sync"], check=True)
        self._machine.sample()
        return copy

    @cached_property
    def db(self) -> SessionDB:
        return self._opened.enter_context(closing(SessionDB.open(self.path)))

    @cached_property
    def raw(self) -> Raw:
        return self._opened.enter_context(closing(Raw(self.path)))

    def compare(self, verb: Callable[[Tables], object]) -> Compared:
        """A read through the store, and the statements of that read."""
        (said,) = statements_of(self.path, [verb])
        return alternate(lambda: self.db.read(verb).result(), lambda: self.raw.read(said))

    # --- reading

    @cached_property
    def list_ms(self) -> Compared:
        return self.compare(lambda tables: tables.sessions.listing(50))

    @cached_property
    def page_ms(self) -> Compared:
        return self.compare(lambda tables: (tables.sessions.get(LONG_ID), tables.messages.page(LONG_ID)))

    @cached_property
    def whole_ms(self) -> Compared:
        return self.compare(lambda tables: (tables.sessions.get(LONG_ID), tables.messages.all(LONG_ID)))

    @cached_property
    def best_ms(self) -> dict[str, Compared]:
        return {name: self.search_ms(query, "best") for name, query in QUERIES.items()}

    @cached_property
    def newest_ms(self) -> dict[str, Compared]:
        return {name: self.search_ms(query, "newest") for name, query in QUERIES.items()}

    def search_ms(self, query: str, order: Order) -> Compared:
        expression = parse_query(query).expression
        search = RAW_SEARCH.format("rank" if order == "best" else "rowid DESC")
        found = self.db.read(lambda tables: tables.search.find(query, order=order)).result()
        if found.note or not found.hits:
            raise AssertionError(f"{query!r} found {len(found.hits)} rows: {found.note}")

        def raw() -> None:
            ids = [int(str(id_)) for (id_,) in self.raw.read([(search, (expression,))])]
            self.raw.read([(RAW_FETCH.format(", ".join("?" * len(ids))), ids)])

        return alternate(lambda: self.db.read(lambda tables: tables.search.find(query, order=order)).result(), raw)

    # --- appending

    @cached_property
    def append_rate(self) -> Compared:
        return self.rates(self.append_each)

    @cached_property
    def eight_rate(self) -> Compared:
        return self.rates(self.append_eight)

    @cached_property
    def eight_synced_rate(self) -> Compared:
        self.raw.sync(True)
        try:
            return self.rates(partial(self.append_eight, is_synced=True))
        finally:
            self.raw.sync(False)

    @cached_property
    def indexed_rate(self) -> Compared:
        return self.rates(
            partial(self.append_until_indexed, self.append_each), INDEXED, INDEXED_BLOCKS, is_indexed=True
        )

    @cached_property
    def eight_indexed_rate(self) -> Compared:
        return self.rates(
            partial(self.append_until_indexed, self.append_eight), INDEXED, INDEXED_BLOCKS, is_indexed=True
        )

    def rates(
        self,
        store: Callable[[list[Message]], None],
        appends: int = BURST,
        rounds: int = BURSTS,
        *,
        is_indexed: bool = False,
    ) -> Compared:
        """Messages a second, in blocks that take turns; the index is whole before each of them."""
        self.settle()
        self._machine.sample()
        blocks = [self.two_rates(store, appends, is_indexed=is_indexed) for _ in range(rounds + 1)][1:]
        return Compared(*(statistics.median(column) for column in zip(*blocks, strict=True)))

    def two_rates(
        self, store: Callable[[list[Message]], None], appends: int, *, is_indexed: bool
    ) -> tuple[float, float]:
        messages = self.new_messages(appends)
        self.settle()
        store_s = seconds(lambda: store(messages))
        said = self.appending(self.new_messages(appends), is_indexed=is_indexed)
        self.settle()
        raw_s = seconds(lambda: [self.raw.commit(one) for one in said])
        return appends / store_s, appends / raw_s

    def appending(self, messages: list[Message], *, is_indexed: bool) -> list[list[Statement]]:
        said = statements_of(self.path, [partial(append, message) for message in messages])
        if is_indexed:
            for statements, message in zip(said, messages, strict=True):
                text = searched_text(message.role, message.content, encode_calls(message.calls))
                statements.append((ADD.replace("(?, ?)", "(last_insert_rowid(), ?)"), (projected(text),)))
        return said

    def new_messages(self, number: int) -> list[Message]:
        """For a new session each time, later than all others."""
        at = time.time()
        session = session_of(f"appended-{next(self._numbers)}", 0)
        self.db.write(lambda tables: tables.sessions.create(session)).result()
        return list(islice(self._conversations.messages(session.id, at), number))

    def append_each(self, messages: list[Message]) -> None:
        for message in messages:
            self.append(message)

    def append_eight(self, messages: list[Message], *, is_synced: bool = False) -> None:
        def some(first: int) -> None:
            for message in messages[first::APPENDERS]:
                self.append(message, is_synced=is_synced)

        list(self._appenders.map(some, range(APPENDERS)))

    def append_until_indexed(self, appending: Callable[[list[Message]], None], messages: list[Message]) -> None:
        appending(messages)
        self.wait_until_indexed()

    def append(self, message: Message, *, is_synced: bool = False) -> None:
        verb = partial(append, message)
        self.db.write(verb, patience=Patience.TRANSCRIPT, is_synced=is_synced).result()

    def settle(self) -> None:
        """Until the writer is idle. A change makes it look, after a pause, for rows that it did not write itself."""
        self.db.write(lambda tables: None).result()
        self.wait_until_indexed()
        time.sleep(3 * QUIET_S)

    def wait_until_indexed(self) -> None:
        # By a reader: whatever the writer is asked delays its index.
        ends_at = time.monotonic() + 60
        while self.db.read(lambda tables: is_behind(tables.connection)).result():
            if time.monotonic() > ends_at:
                raise AssertionError("the index does not come up with the rows")
            time.sleep(0.002)

    # --- reading while an answer comes

    @cached_property
    def waits(self) -> Waits:
        self.settle()
        self._machine.sample()
        enough, each_ms = Event(), list[float]()
        with ThreadPoolExecutor(1) as pool:
            written = pool.submit(self.stream, enough)
            ends_at = time.monotonic() + STREAM_S
            while time.monotonic() < ends_at and not written.done():
                each_ms.append(seconds(self.list_sessions) * 1000)
                time.sleep(0.002)
            enough.set()
            written.result()
        return Waits(each_ms)

    def list_sessions(self) -> list[Session]:
        return self.db.read(lambda tables: tables.sessions.listing(50)).result()

    def stream(self, enough: Event) -> None:
        """A piece of an answer each 50 ms; each half second the answer is a row, and more rows follow it."""
        session_id = self.new_messages(1)[0].session_id
        rows = self._conversations.messages(session_id, time.time())
        piece = Partial("so it goes on, word by word, ")
        while not enough.wait(PARTIAL_S):
            pieces = [self.db.write(lambda tables: tables.partials.append(session_id, piece, time.time()))]
            while len(pieces) < 10 and not enough.wait(PARTIAL_S):
                pieces.append(self.db.write(lambda tables: tables.partials.append(session_id, piece, time.time())))
            pieces.append(self.db.write(lambda tables: tables.partials.clear(session_id)))
            for row in islice(rows, 8):
                self.append(row)
            for one in pieces:
                one.result()

    # --- memory

    @cached_property
    def memory_mb(self) -> tuple[float, float]:
        """With the large store and with an empty one."""
        runs = [(self.process_mb(self.path), self.process_mb(self.empty())) for _ in range(MEMORY_RUNS)]
        large, empty = (statistics.median(column) for column in zip(*runs, strict=True))
        return large, empty

    def empty(self) -> Path:
        return self.path.with_name(f"empty-{next(self._numbers)}.db")

    def process_mb(self, path: Path) -> float:
        command = [sys.executable, store_memory.__file__, str(path), LONG_ID, *QUERIES.values()]
        return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def append(message: Message, tables: Tables) -> Message:
    return tables.messages.append(message)


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
