"""A store as large as years of work make it, built once and kept in build/.

    python tests/bench/store_fixture.py [messages]

Every word in it is made up; which of them are common, rare, in pairs or Chinese is counted out, message by message.
"""

from __future__ import annotations

import hashlib
import os
import random
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import accumulate, cycle, islice
from pathlib import Path

import session.projection
from session.connection import Connection
from session.journal import open_writer
from session.models import (
    ApiMode,
    Approval,
    CallOutcome,
    CallResult,
    Finish,
    Message,
    Role,
    Route,
    Session,
    TitleSource,
    ToolCall,
    Usage,
)
from session.ownership import claim
from session.schema import migrate
from session.search_index import index_next, indexed_to
from session.tables import Tables

MESSAGES = int(os.environ.get("HERMES_BENCH_MESSAGES", "1000000"))  # to try a change: at least 50,000
BUILD = Path(__file__).resolve().parents[2] / "build"

LONG_ID = "long"
LONG_SIZE = 2_000
SIZES = (4, 12, 30, 60, 90, 100, 110, 140, 200, 254)  # of the other sessions, a hundred on average
STARTED_AT = 1_700_000_000.0
SESSION_S = 900.0  # from one session to the next
SESSIONS_AT_ONCE = 200  # in one transaction
STEPS_AT_ONCE = 64

# What is looked for, and in which share of the messages it stands.
COMMON, RARE, TWO_LETTERS, PHRASE, CHINESE = "cache", "zanzibar", "db", "connection pool", "数据库连接"
PLANTED = {COMMON: 10, TWO_LETTERS: 50, PHRASE: 100, CHINESE: 200, RARE: 25_000, "pool of threads, one connection": 40}
CHINESE_TEXTS = ("我们先检查日志再重启服务", "测试失败因为配置文件不存在", "请把这个函数拆成两个部分")

ROUTE = Route("bench", "bench-model", "http://127.0.0.1:8871/v1", ApiMode.CHAT, "OPENAI_API_KEY", 200_000)
SYLLABLES = [first + vowel + last for first in "bdfgklmnprstvz" for vowel in "aeiou" for last in ("", "n", "r", "s")]


class Conversations:
    """Messages without end, always the same ones: a question, an answer with a call, its result, and an answer."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._sentences = self._made_up()
        self._number = 0

    def messages(self, session_id: str, at: float) -> Iterator[Message]:
        """Those of one session, a second apart."""
        while True:
            call = ToolCall(f"call-{self._number}", "run_command", f'{{"command":"grep {self._text(1)}"}}')
            result = CallResult(call.id, call.name, CallOutcome.OK, Approval.ALLOWED_ONCE, 0, "", 0.25)
            usage = Usage(1_200, 80, 16_000)
            yield Message(session_id, Role.USER, self._next(1), at)
            yield Message(
                session_id,
                Role.ASSISTANT,
                self._next(1),
                at + 1,
                calls=(call,),
                finish=Finish.TOOL_CALLS,
                usage=usage,
            )
            yield Message(session_id, Role.TOOL, self._next(4), at + 2, result=result)
            yield Message(session_id, Role.ASSISTANT, self._next(4), at + 3, finish=Finish.STOP, usage=usage)
            at += 4

    def _next(self, sentences: int) -> str:
        self._number += 1
        planted = [text for text, share in PLANTED.items() if self._number % share == 0]
        if self._number % 50 == 7:
            planted.append(self._random.choice(CHINESE_TEXTS))
        return " ".join([self._text(sentences), *planted])

    def _text(self, sentences: int) -> str:
        return " ".join(self._random.choices(self._sentences, k=sentences))

    def _made_up(self) -> list[str]:
        """Sentences of about ten words, which are as unevenly common as those of a language."""
        words = ["".join(self._random.choices(SYLLABLES, k=2 + number % 2)) for number in range(20_000)]
        weights = list(accumulate(1 / (rank + 20) for rank in range(len(words))))
        lengths = (8, 9, 10, 11, 12)
        return [
            " ".join(self._random.choices(words, cum_weights=weights, k=length)).capitalize() + "."
            for length in islice(cycle(lengths), 50_000)
        ]


def million() -> Path:
    """The store of `MESSAGES`, its index whole. Built anew when the tables, the index or this file have changed."""
    path = BUILD / f"store-{MESSAGES}-{digest()}.db"
    if path.exists():
        return path
    BUILD.mkdir(exist_ok=True)
    for old in BUILD.glob(f"store-{MESSAGES}-*"):
        old.unlink()
    print(f"building a store of {MESSAGES:,} messages", file=sys.stderr, flush=True)
    began, unfinished = time.monotonic(), path.with_suffix(".part")
    build(unfinished, MESSAGES)
    unfinished.rename(path)
    size_mb = path.stat().st_size / 1e6
    print(f"built in {time.monotonic() - began:.0f} s: {size_mb:.0f} MB", file=sys.stderr, flush=True)
    return path


def digest() -> str:
    """Of all that the file depends on."""
    with closing(Connection(sqlite3.connect(":memory:", isolation_level=None))) as memory:
        migrate(memory, Path())
        tables = repr(memory.rows("SELECT sql FROM sqlite_master ORDER BY name"))
    sources = [Path(str(file)).read_text() for file in (__file__, session.projection.__file__)]
    return hashlib.sha256("\0".join([tables, *sources]).encode()).hexdigest()[:12]


def build(path: Path, messages: int) -> None:
    claim(path)
    with closing(open_writer(path).connection) as connection:
        connection.run("PRAGMA synchronous = OFF")
        connection.run("PRAGMA cache_size = -200000")
        store_sessions(connection, messages // 100)
        while index_some(connection):
            pass
        connection.run("PRAGMA wal_checkpoint(TRUNCATE)")


def store_sessions(connection: Connection, count: int) -> None:
    """`count` sessions one after the other. The long one stands in their middle."""
    tables, conversations = Tables(connection), Conversations()
    sizes = islice(cycle(SIZES), count)
    numbered = enumerate(sizes)
    while some := list(islice(numbered, SESSIONS_AT_ONCE)):
        with connection.transaction():
            for number, size in some:
                is_long = number == count // 2
                id_ = LONG_ID if is_long else f"s{number:05}"
                store_session(tables, conversations, session_of(id_, number), LONG_SIZE if is_long else size)


def session_of(id_: str, number: int) -> Session:
    at, folder = STARTED_AT + number * SESSION_S, f"/home/someone/projects/p{number % 40}"
    return Session(id_, "tui", f"Session {number}", TitleSource.MODEL, folder, folder, at, at, ROUTE)


def store_session(tables: Tables, conversations: Conversations, session: Session, size: int) -> None:
    tables.sessions.create(session)
    for message in islice(conversations.messages(session.id, session.created_at), size):
        tables.messages.append(message)


def index_some(connection: Connection) -> bool:
    """Several steps of the index in one transaction. True while more rows are left."""
    with connection.transaction():
        return all(index_next(connection) for _ in range(STEPS_AT_ONCE))


def main(arguments: list[str]) -> int:
    """Build one beside the others and say how long it took."""
    messages = int(arguments[0]) if arguments else MESSAGES
    path, began = BUILD / "store-tried.db", time.monotonic()
    path.unlink(missing_ok=True)
    build(path, messages)
    with closing(open_writer(path).connection) as connection:
        print(f"{time.monotonic() - began:.1f} s, indexed to {indexed_to(connection)}, {path.stat().st_size} bytes")
    path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
