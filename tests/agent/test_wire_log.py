"""The wire log: what each attempt at a request was like, and nothing of what was said in it."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agent.events import TextDelta
from agent.providers.wire_log import FILE_BYTES, Exchange, written

OVERLOADED = 'HTTP/1.1 503 Busy\r\nretry-after-ms: 1\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{"error":{"message":"no"}}'


@pytest.fixture
def log_file(home: Path) -> Path:
    return home / "logs" / "wire.log"


@pytest.fixture
async def logged(bench: Any, log_file: Path) -> AsyncIterator[Callable[..., Any]]:
    """The exchanges in the file, once there are so many."""

    async def wait(count: int) -> list[Exchange]:
        async with asyncio.timeout(15):
            while len(found := list(written(log_file))) < count:
                await asyncio.sleep(0.01)
        return found

    yield wait


async def test_a_request_is_told_by_its_sizes_and_times(bench: Any, served: Any, logged: Callable[..., Any]) -> None:
    served.reply(text="an answer of some words")
    await bench.ask("a question")
    (one,) = await logged(1)
    assert (one.session, one.provider, one.model) == (bench.session_id, "served", "m")
    assert (one.host, one.path) == (served.url.split("/")[2], "/v1/chat/completions")
    assert (one.attempt, one.status, one.outcome) == (1, 200, "ok")
    assert one.sent_bytes > len(json.dumps(served.requests[0]["messages"], separators=(",", ":")))
    assert one.received_bytes > len("an answer of some words")
    assert 0 <= one.opened_s <= one.first_s <= one.ended_s


async def test_each_attempt_is_told(bench: Any, served: Any, logged: Callable[..., Any]) -> None:
    served.script += [[OVERLOADED], [OVERLOADED]]
    served.reply(text="at last")
    served.reply(text="and again")
    await bench.ask("a question")
    await bench.ask("another")
    told = [(one.attempt, one.status, one.outcome) for one in await logged(4)]
    assert told == [(1, 503, "overloaded"), (2, 503, "overloaded"), (3, 200, "ok"), (1, 200, "ok")]


async def test_a_server_that_is_not_there_never_opened(
    bench: Any, served: Any, logged: Callable[..., Any], home: Path, open_bench: Callable[..., Any]
) -> None:
    (home / "config.yaml").write_text(
        "model: {default: m, provider: gone}\nprobe_local: false\nproviders: {gone: {base_url: 'http://127.0.0.1:1/v1'}}\n"
    )
    await (await open_bench()).ask("anyone?")
    (one,) = await logged(1)
    assert (one.host, one.status, one.opened_s, one.first_s) == ("127.0.0.1:1", 0, None, None)
    assert (one.received_bytes, one.outcome) == (0, "timeout")


async def test_an_interrupted_request_is_told_as_stopped(bench: Any, served: Any, logged: Callable[..., Any]) -> None:
    served.hold('data: {"choices":[{"index":0,"delta":{"content":"begun"},"finish_reason":null}]}\n\n')
    bench.hub.submit(bench.session_id, "a question")
    await bench.until(lambda event: isinstance(event, TextDelta))
    bench.hub.interrupt(bench.session_id)
    (one,) = await logged(1)
    assert (one.status, one.outcome) == (200, "stopped")


async def test_nothing_that_was_said_is_in_the_file_and_only_its_owner_reads_it(
    bench: Any, served: Any, logged: Callable[..., Any], log_file: Path
) -> None:
    served.reply(text="an unheard-of answer")
    await bench.ask("an unspeakable question")
    await logged(1)
    text = log_file.read_text()
    assert "unheard" not in text
    assert "unspeakable" not in text
    assert stat.S_IMODE(log_file.stat().st_mode) == 0o600


async def test_a_large_file_makes_room_and_both_are_read(
    bench: Any, served: Any, logged: Callable[..., Any], log_file: Path
) -> None:
    served.reply(text="one")
    await bench.ask("a question")
    (first,) = await logged(1)
    with log_file.open("ab") as file:
        file.write(b"x" * FILE_BYTES + b"\n")
    served.reply(text="two")
    await bench.ask("another")
    assert (await logged(2))[0] == first
    assert log_file.stat().st_size < 2000
