"""What a turn makes of a server that fails: one sentence, the words that came, and a next turn that works."""

from __future__ import annotations

import asyncio
import socket

import pytest

from agent.events import AnswerRestarted
from session.models import ExitReason, Finish, Level, Role

KEY = "sk-a-key-nobody-may-see"
ECHO = f'{{"error": {{"message": "Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}}}'
UNKNOWN = '{"error": {"message": "The model m does not exist", "code": "model_not_found"}}'
PAGE = "<!doctype html><html><body>Not here</body></html>"


def said(rows) -> list[tuple[str, Finish | None]]:
    return [(row.content, row.finish) for row in rows if row.role is Role.ASSISTANT]


def in_store(bench):
    return bench.hub.profile.db.read(lambda tables: tables.messages.all(bench.session_id)).result()


@pytest.fixture
def with_key(bench, home):
    (home / ".env").write_text(f"SERVED_KEY={KEY}\n")
    (home / ".env").chmod(0o600)
    config = home / "config.yaml"
    config.write_text(config.read_text().replace("base_url", "key_env: SERVED_KEY, base_url"))


@pytest.mark.parametrize(
    ("status", "body", "kind", "sentence"),
    [
        ("401 Unauthorized", ECHO, "application/json", "/key SERVED_KEY"),
        ("404 Not Found", UNKNOWN, "application/json", "does not offer the model m"),
        ("404 Not Found", PAGE, "text/html", "Check the provider's base_url"),
        ("200 OK", PAGE, "text/html", "it answered with a web page"),
    ],
)
async def test_a_refusal_is_one_sentence_without_the_key_and_the_next_turn_works(
    bench, with_key, open_bench, served, status, body, kind, sentence
):
    keyed = await open_bench()
    served.refuse(status, body, kind)
    turn = await keyed.ask("hello")
    assert (turn.ended.reason, sentence in turn.ended.error) == (ExitReason.ERROR, True)
    last = turn.rows[-1]
    assert (last.role, last.level, last.content) == (Role.NOTICE, Level.ERROR, turn.ended.error)
    assert KEY not in repr(turn.events)
    served.reply(text="Hi.")
    assert (await keyed.ask("again")).ended.reason is ExitReason.COMPLETED
    assert served.requests[-1]["messages"][1]["content"] == "hello\n\nagain"


async def test_an_unreachable_server_is_told_at_once_and_the_next_turn_finds_it(home, served, open_bench, bench):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        port = unused.getsockname()[1]
        config = home / "config.yaml"
        config.write_text(config.read_text().replace(served.url, f"http://127.0.0.1:{port}/v1"))
        lost = await open_bench()
        failed = (await lost.ask("anybody there")).ended
        assert f"127.0.0.1:{port} cannot be reached: the connection was refused" in failed.error
    server = await asyncio.start_server(served.handle, "127.0.0.1", port)
    served.reply(text="Now I am.")
    assert (await lost.ask("and now")).ended.reason is ExitReason.COMPLETED
    server.close()


async def test_A21_text_before_an_error_is_kept_and_marked_failed(bench, served):
    served.script.append(
        [
            'data: {"choices":[{"index":0,"delta":{"content":"Let me"}}]}\n\n',
            'data: {"id":"c1","choices":[],"error":{"message":"not with this key","code":"invalid_api_key"}}\n\n',
        ]
    )
    turn = await bench.ask("hi")
    assert (turn.ended.reason, turn.ended.error_kind) == (ExitReason.ERROR, "auth")
    assert said(in_store(bench)) == [("Let me", Finish.ERROR)]


async def test_A34_the_part_is_replaced_never_appended_to_and_attempts_are_counted(bench, served):
    served.cut("part")
    served.reply(text="The whole.")
    turn = await bench.ask("hi")
    counted = [(event.attempt, event.attempts) for event in turn.events if isinstance(event, AnswerRestarted)]
    assert counted == [(2, 3)]
    assert said(in_store(bench)) == [("The whole.", Finish.STOP)]


@pytest.mark.parametrize("more_config", ["agent: {stream_retries: 0}"])
async def test_A34_without_another_attempt_the_part_is_kept_and_marked_cut(bench, served):
    served.cut("part")
    turn = await bench.ask("hi")
    assert turn.ended.reason is ExitReason.CUT
    assert said(in_store(bench)) == [("part", Finish.CUT)]


async def test_A34_the_part_is_kept_when_the_last_attempt_does_not_even_begin(bench, served):
    served.cut("part")
    served.refuse("401 Unauthorized", ECHO)
    turn = await bench.ask("hi")
    assert turn.ended.reason is ExitReason.CUT
    assert said(in_store(bench)) == [("part", Finish.CUT)]


@pytest.mark.parametrize(("finish", "reason"), [("content_filter", ExitReason.REFUSED), ("length", ExitReason.LENGTH)])
async def test_A41_an_answer_without_a_word_says_by_its_finish_why(bench, served, finish, reason):
    served.reply(finish=finish)
    assert (await bench.ask("hi")).ended.reason is reason
