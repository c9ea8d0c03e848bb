"""Failures a person can meet: each one sentence, of the right kind, without a secret or a page of HTML."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from email.utils import formatdate

import pytest

from agent.providers.base import ErrorKind
from agent.providers.chat import ChatProvider
from agent.providers.faults import LONGEST_MESSAGE
from agent.providers.watch import Timeouts

PAGE = "<html><body><h1>Oh no</h1></body></html>"


def failing(message: str, **more: object) -> str:
    return json.dumps({"error": {"message": message, **more}})


@pytest.mark.parametrize(
    ("status", "body", "kind", "may_retry"),
    [
        ("400 Bad Request", failing("bad field"), ErrorKind.FORMAT_ERROR, False),
        ("401 Unauthorized", failing("bad key"), ErrorKind.AUTH, False),
        ("402 Payment Required", failing("no credit"), ErrorKind.BILLING, False),
        ("403 Forbidden", failing("not yours"), ErrorKind.AUTH, False),
        ("404 Not Found", failing("model x not found"), ErrorKind.MODEL_NOT_FOUND, False),
        ("400 Bad Request", failing("The model `x` does not exist"), ErrorKind.MODEL_NOT_FOUND, False),
        ("408 Request Timeout", failing("too slow"), ErrorKind.TIMEOUT, True),
        ("409 Conflict", failing("locked by another request"), ErrorKind.UNKNOWN, True),
        ("425 Too Early", failing("try again"), ErrorKind.UNKNOWN, True),
        ("422 Unprocessable", json.dumps({"detail": [{"msg": "bad field"}]}), ErrorKind.FORMAT_ERROR, False),
        ("429 Too Many Requests", failing("slow down"), ErrorKind.RATE_LIMIT, True),
        ("429 Too Many Requests", failing("You have no money", code="insufficient_quota"), ErrorKind.BILLING, False),
        ("429 Too Many Requests", failing("rate-limited upstream"), ErrorKind.UPSTREAM_RATE_LIMIT, True),
        ("500 Oops", failing("broken"), ErrorKind.SERVER_ERROR, True),
        ("502 Bad Gateway", "upstream gone", ErrorKind.SERVER_ERROR, True),
        ("503 Unavailable", failing("busy"), ErrorKind.OVERLOADED, True),
        ("529 Overloaded", failing("busy"), ErrorKind.OVERLOADED, True),
        ("504 Gateway Timeout", PAGE, ErrorKind.SERVER_ERROR, True),
        ("418 Teapot", "", ErrorKind.FORMAT_ERROR, False),
    ],
)
async def test_a_status_becomes_its_kind(wire, ask, status, body, kind, may_retry):
    wire.answer(status, body)
    error = (await ask()).error
    assert (error.kind, error.may_retry) == (kind, may_retry)
    assert f"127.0.0.1:{wire.port}" in error.sentence
    assert status[:3] in error.sentence
    assert "<" not in error.sentence


@pytest.mark.parametrize(
    "body", [failing("bad field"), json.dumps({"detail": "bad field"}), '{"error":"bad field"}', "bad field"]
)
async def test_the_servers_own_words_are_told(wire, ask, body):
    wire.answer("400 Bad Request", body)
    assert "bad field" in (await ask()).error.sentence


async def test_a_wrong_key_names_where_the_key_is_kept(wire, ask):
    wire.answer("401 Unauthorized", failing("Incorrect API key"))
    assert "TEST_KEY" in (await ask()).error.sentence


async def test_an_unknown_model_is_named(wire, ask, question, on_route):
    wire.answer("404 Not Found", failing("no such thing"))
    assert "tiny-9b" in (await ask(request=on_route(question(), model="tiny-9b"))).error.sentence


async def test_a_404_page_points_at_the_base_url(wire, ask):
    wire.answer("404 Not Found", PAGE, kind="text/html")
    assert "base_url" in (await ask()).error.sentence


async def test_A33_a_request_too_large_is_told_without_the_page(wire, ask):
    wire.answer("413 Request Entity Too Large", PAGE, kind="text/html")
    error = (await ask()).error
    assert error.kind is ErrorKind.PAYLOAD_TOO_LARGE
    assert "request too large (413)" in error.sentence
    assert "<" not in error.sentence


@pytest.mark.parametrize(
    "error",
    [
        {"message": "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens"},
        {"message": "request (60179 tokens) exceeds the available context size (60160 tokens), try increasing it"},
        {"message": "too big", "type": "exceed_context_size_error"},
        {"message": "prompt is too long: 210000 tokens > 200000 maximum"},
        {"message": "no", "code": "context_length_exceeded"},
    ],
)  # fmt: skip
async def test_A37_an_overflow_is_known_by_its_words_or_code(wire, ask, error):
    wire.answer("400 Bad Request", json.dumps({"error": error}))
    assert (await ask()).error.kind is ErrorKind.CONTEXT_OVERFLOW


@pytest.mark.parametrize("status", ["500 Oops", "400 Bad Request"])
async def test_A38_an_error_that_only_mentions_context_is_no_overflow(wire, ask, status):
    message = "model requires more system memory (9.1 GiB) than is available while loading context"
    wire.answer(status, failing(message))
    error = (await ask()).error
    assert error.kind is not ErrorKind.CONTEXT_OVERFLOW
    assert message in error.sentence


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [
        ("Retry-After: 3", 3.0),
        ("Retry-After: 0", 0.0),
        ("Retry-After: -5", 0.0),
        ("Retry-After: nan", None),
        ("Retry-After: soon", None),
        ("retry-after-ms: 1500", 1.5),
        ("X-Nothing: 1", None),
    ],
)
async def test_A32_the_wish_to_wait_is_read(wire, ask, header, wait_s):
    wire.answer("429 Too Many Requests", failing("slow down"), header)
    error = (await ask()).error
    assert (error.retry_after_s, error.may_retry) == (wait_s, True)


async def test_A32_a_date_to_wait_for_is_read(wire, ask):
    wire.answer("429 Too Many Requests", failing("slow"), f"Retry-After: {formatdate(time.time() + 40, usegmt=True)}")
    assert 30 < (await ask()).error.retry_after_s < 41


async def test_A32_a_day_is_told_and_not_slept(wire, ask):
    wire.answer("429 Too Many Requests", failing("slow down"), "Retry-After: 86400")
    error = (await ask()).error
    assert not error.may_retry
    assert "24 hours" in error.sentence


@pytest.mark.parametrize(
    "body", [failing("key sk-secret-1234 is wrong"), "sk-secret-1234!", failing("x" * 390 + "sk-secret-1234")]
)
async def test_the_key_is_never_repeated(wire, ask, body):
    wire.answer("401 Unauthorized", body)
    error = (await ask(key="sk-secret-1234", headers={"x-api-key": "other-secret"})).error
    assert "secret-1234" not in f"{error!r} {error.__cause__!r} {error.sentence}"


async def test_a_servers_words_are_bounded_and_harmless(wire, ask):
    wire.answer("400 Bad Request", failing("\x1b[31mred\x07\n\nnext\u202eline " + "y" * 5000))
    sentence = (await ask()).error.sentence
    assert sentence.isprintable()
    assert len(sentence) < LONGEST_MESSAGE + 200


async def test_the_words_of_a_provider_behind_a_router_are_told(wire, ask):
    wire.answer("400 Bad Request", failing("Provider returned error", metadata={"raw": "field x is missing"}))
    assert "field x is missing" in (await ask()).error.sentence


async def test_a_server_that_is_off_on_this_machine_is_named_at_once(question, on_route, listen, opening):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        base_url = f"http://127.0.0.1:{port}/v1"
        async with opening(ChatProvider(base_url)) as provider:
            error = (await listen(provider, on_route(question(), base_url=base_url))).error
    assert (error.kind, error.may_retry, error.is_cut) == (ErrorKind.TIMEOUT, False, False)
    assert f"127.0.0.1:{port}" in error.sentence
    assert "refused" in error.sentence


@pytest.mark.parametrize(
    "base_url", ["localhost:1/v1", "ftp://127.0.0.1/v1", "/v1", "http://", "http://[::1/v1", "http://h:99999/v1"]
)
async def test_an_address_that_is_none_points_at_the_base_url(question, on_route, listen, opening, base_url):
    async with opening(ChatProvider(base_url)) as provider:
        error = (await listen(provider, on_route(question(), base_url=base_url))).error
    assert not error.may_retry
    assert "base_url" in error.sentence


async def test_tls_asked_of_a_server_without_it_is_told(question, on_route, listen, opening):
    async def speak_plainly(_, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(speak_plainly, "127.0.0.1", 0)
    base_url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server, opening(ChatProvider(base_url)) as provider:
        error = (await listen(provider, on_route(question(), base_url=base_url))).error
    assert not error.may_retry
    assert "http://" in error.sentence


async def test_silence_before_the_answer_is_told_with_its_limit(wire, ask):
    wire.serve(asyncio.Event())
    error = (await ask(limits=lambda: Timeouts(first_byte_s=0.2))).error
    assert (error.kind, error.may_retry, error.is_cut) == (ErrorKind.TIMEOUT, True, False)
    assert "0.2 s" in error.sentence


async def test_a_reply_that_is_no_http_is_told(wire, ask):
    wire.serve(b"SSH-2.0-OpenSSH_9.6\r\n")
    assert (await ask()).error.kind is ErrorKind.TIMEOUT


@pytest.mark.parametrize("key", ["sk-\u201cquoted\u201d", "sk-two\nlines"])
async def test_a_key_no_header_can_carry_is_told_without_it(wire, ask, key):
    error = (await ask(key=key)).error
    assert error.kind is ErrorKind.AUTH
    assert "sk-" not in error.sentence
    assert wire.requests == []
