"""A window that a server told by refusing: where it holds, how long, and that the figure knows it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable

import pytest
from msgspec.structs import replace

from agent.context.threshold import budget
from session.models import ApiMode, Route

A22 = (
    'event: error\ndata: {"error":{"message":"Input does not fit in context length. The input has 31430 tokens, but the'
    ' context length only supports 30000 tokens."}}\n\n'
)
A37 = "This model's maximum context length is 4096 tokens. However, your prompt contains at least 5000 input tokens"


A37_LARGE = A37.replace("4096", "370000").replace("5000", "401022")


def window(bench) -> int | None:
    return bench.hub.context(bench.session_id).window


def declare(home, tokens: int) -> None:
    """Say how large the window is in the settings: `hermes config set providers.served.context_length TOKENS`."""
    config = home / "config.yaml"
    config.write_text(config.read_text().replace("base_url", f"context_length: {tokens}, base_url"))


@pytest.fixture
async def listing() -> AsyncIterator[Callable[..., object]]:
    """Starts a server that lists a model with these fields, and counts how often it is asked."""
    servers: list[asyncio.Server] = []
    asked: list[str] = []

    async def start(**fields: object) -> tuple[Route, list[str]]:
        body = json.dumps({"data": [{"id": "other", "n_ctx": 1}, {"id": "my-local", **fields}]}).encode()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            writer.close()

        servers.append(await asyncio.start_server(answer, "127.0.0.1", 0))
        url = f"http://127.0.0.1:{servers[-1].sockets[0].getsockname()[1]}/v1"
        return Route("served", "my-local", url, ApiMode.CHAT), asked

    yield start
    for server in servers:
        server.close()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(15):
        while not holds():
            await asyncio.sleep(0.005)


async def test_A22_an_overflow_within_a_stream_tells_the_window(bench, served):
    served.script.append([A22])
    turn = await bench.ask("a long question")
    assert (turn.ended.error_kind, window(bench)) == ("context_overflow", 30_000)


async def test_A37_the_window_holds_in_other_sessions_and_after_a_restart(bench, served, open_bench):
    served.refuse("400 Bad Request", json.dumps({"error": {"message": A37}}))
    await bench.ask("a long question")
    bench.session_id = bench.hub.create(bench.workspace).id
    assert window(bench) == 4096
    assert window(await open_bench()) == 4096


async def test_A38_an_error_that_only_mentions_context_tells_no_window(bench, served):
    message = "model requires more system memory than is available while loading context length 4096"
    head = "HTTP/1.1 500 Oops\r\nRetry-After: 0\r\nConnection: close\r\n\r\n"
    served.script += [[head, json.dumps({"error": {"message": message}})]] * 4
    await bench.ask("a question")
    assert window(bench) is None


async def test_a_window_is_forgotten_when_more_than_it_was_read(bench, served, open_bench):
    served.refuse("400 Bad Request", json.dumps({"error": {"message": A37}}))
    await bench.ask("a long question")
    served.reply(text="I have more room now.", usage=(9000, 5))
    await bench.ask("and now")
    assert window(bench) is None
    assert window(await open_bench()) is None


@pytest.mark.parametrize(("said", "holds"), [(2000, 2000), (128_000, 4096)])
async def test_the_smaller_of_what_the_person_and_the_server_said_holds(
    bench, home, served, open_bench, said: int, holds: int
):
    declare(home, said)
    told = await open_bench()
    served.refuse("400 Bad Request", json.dumps({"error": {"message": A37}}))
    await told.ask("a long question")
    assert window(told) == holds


# --- a model of which nobody has told the window


async def test_G08_an_unknown_window_stays_unknown(bench, served):
    served.reply(text="Hello.", usage=(90_000, 5))
    await bench.ask("hello")
    figure = bench.hub.context(bench.session_id)
    assert (figure.window, figure.percent, figure.threshold) == (None, None, None)


async def test_G08_a_list_of_models_tells_the_window(bench, listing):
    route, asked = await listing(max_model_len=32_768)
    runtime = bench.hub.runtime(bench.session_id)
    await runtime.switch(route)
    await until(lambda: window(bench) == 32_768)
    assert bench.hub.context(bench.session_id).threshold == 27_852
    await runtime.switch(route)  # which is asked once
    other = bench.hub.create(bench.workspace, route)
    assert bench.hub.context(other.id).window == 32_768
    assert len(asked) == 1


async def test_G08_at_the_start_the_model_that_is_configured_is_asked_about(home, listing, open_bench):
    route, asked = await listing(meta={"n_ctx": 16_384})
    home.mkdir()
    (home / "config.yaml").write_text(
        f"model: served:my-local\nproviders: {{served: {{base_url: '{route.base_url}'}}}}\nprobe_local: false\n"
    )
    bench = await open_bench()
    await bench.hub.look_around()
    await until(lambda: window(bench) == 16_384)
    assert asked[0].startswith("GET /v1/models ")


async def test_G08_what_the_settings_say_is_not_asked_for(bench, listing):
    route, asked = await listing(context_length=32_768)
    await bench.hub.runtime(bench.session_id).switch(replace(route, window=8_192))
    assert window(bench) == 8_192
    assert asked == []


async def test_G08_a_list_without_a_window_leaves_it_unknown(bench, listing):
    route, asked = await listing(meta={"n_ctx_train": 131_072})
    await bench.hub.runtime(bench.session_id).switch(route)
    await until(lambda: bool(asked))
    assert window(bench) is None


async def test_G08_a_window_that_is_set_holds_for_the_sessions_there_are(home, bench, served, open_bench):
    served.reply(text="Hello.")
    await bench.ask("hello")
    declare(home, 65_536)
    later = await open_bench()
    await later.hub.open(bench.session_id)
    assert later.hub.context(bench.session_id).window == 65_536


# --- one that is served smaller than declared


async def test_G09_a_window_that_is_served_smaller_than_declared_is_remembered(bench, home, served, open_bench):
    declare(home, 1_048_576)
    told = await open_bench()
    figure = told.hub.context(told.session_id)
    assert (figure.window, figure.threshold) == (1_048_576, 524_288)
    served.refuse("400 Bad Request", json.dumps({"error": {"message": A37_LARGE}}))
    turn = await told.ask("a long question")
    assert turn.ended.error_kind == "context_overflow"
    for one in (told, await open_bench()):
        figure = one.hub.context(one.session_id)
        assert (figure.window, figure.declared) == (370_000, 1_048_576)
        assert figure.threshold == budget(370_000, None, one.hub.profile.settings.compression).threshold == 277_500


# --- one session and another


async def test_G13_another_model_in_one_session_changes_no_other(bench, home, served, open_bench):
    declare(home, 128_000)
    told = await open_bench()
    one, other = told.session_id, told.hub.create(told.workspace).id
    for session_id in (one, other):
        served.reply(text="Hello.", usage=(1_000, 5))
        told.session_id = session_id
        await told.ask("hello")
    before = told.hub.context(other)
    runtime = told.hub.runtime(one)
    await runtime.switch(replace(runtime.s.route, model="small", window=16_384))
    assert told.hub.context(one).window == 16_384
    assert told.hub.context(one).threshold != before.threshold
    assert told.hub.context(other) == before
    assert told.hub.runtime(other).s.route.model == "m"
    reopened = await open_bench()
    await reopened.hub.open(other)
    assert reopened.hub.context(other) == before
