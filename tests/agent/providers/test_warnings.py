"""What a person is told of an answer that is whole all the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context.estimate import least_tokens
from agent.providers.base import ErrorKind

DONE = b"data: [DONE]\n\n"
PROSE = "The quick brown fox jumps over the lazy dog and runs away again. "  # 13 words
SENT = PROSE * 600  # some 8,000 tokens


@pytest.fixture
def read(wire, ask, question):
    """The warnings of an answer whose server says that it read so many tokens of this prompt."""

    async def once(text: str, prompt_tokens: int, **counts: object) -> tuple[str, ...]:
        wire.stream(wire.chunk({"content": "ok"}, "stop"), wire.usage(prompt_tokens, 3, **counts), DONE)
        return (await ask(request=question(messages=[{"role": "user", "content": text}]))).reply.warnings

    return once


@pytest.fixture
def written(wire, ask):
    async def once(text: str, *tools: str) -> tuple[str, ...]:
        wire.stream(wire.chunk({"content": text}, "stop"), DONE)
        reply = (await ask(*tools)).reply
        assert (reply.content, reply.calls) == (text, ())
        return reply.warnings

    return once


async def test_A39_a_server_that_read_far_fewer_tokens_than_were_sent_is_told_with_a_way_out(read):
    (warning,) = await read(SENT, 4096)
    assert "far fewer tokens than were sent" in warning
    assert "num_ctx 16384" in warning


async def test_A39_the_same_is_said_while_the_conversation_grows_a_little(read):
    assert await read(SENT, 4096) == await read(SENT + PROSE * 20, 4093)


@pytest.mark.parametrize(
    ("text", "prompt_tokens"),
    [
        (SENT, 7_900),
        (SENT, 6_200),  # a tokenizer that is good at English
        ("x" * 32_000, 4_000),  # eight of these are one token
        ("=" * 200_000, 3_200),
        (" " * 100_000, 1_300),
        ("international " * 4_000, 4_010),
        ("会議の議事録を要約してください。" * 400, 3_600),
        ("tiny", 1),
        (SENT, 40),  # a server that counts only what is new since the last request
    ],
)
async def test_A39_no_warning_where_the_count_may_be_right(read, text, prompt_tokens):
    assert await read(text, prompt_tokens) == ()


async def test_A39_what_a_cache_gave_is_counted_in_another_way_by_each_server(read):
    assert await read(SENT, 1_500, prompt_tokens_details={"cached_tokens": 1_000}) == ()


async def test_A39_a_prompt_that_was_cut_away_itself_is_an_overflow_with_the_same_way_out(wire, ask):
    wire.answer("500 Internal Server Error", '{"error": {"message": "no user query found in messages"}}')
    error = (await ask()).error
    assert (error.kind, error.may_retry) == (ErrorKind.CONTEXT_OVERFLOW, False)
    assert "num_ctx" in error.sentence


@given(st.text())
def test_there_are_never_fewer_tokens_than_least(text):
    assert 0 <= least_tokens(text) <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call><function=read><parameter=path>x</parameter></function></tool_call>",
        'I will look.\n<tool_call>\n{"name": "read", "arguments": {"path": "x"}}\n</tool_call>',
        '[TOOL_CALLS][{"name": "read", "arguments": {}}]',
        '{"name": "read", "parameters": {"path": "x"}}',
        "<\N{FULLWIDTH VERTICAL LINE}tool\u2581calls\u2581begin\N{FULLWIDTH VERTICAL LINE}>read",
    ],
)
async def test_B10_a_call_written_as_text_stays_text_and_the_missing_parser_is_named(written, text):
    (warning,) = await written(text, "read")
    assert "a call of read as text, so nothing was run" in warning
    assert "--tool-call-parser" in warning


@pytest.mark.parametrize(
    "text",
    [
        "A call looks so:\n```\n<tool_call><function=read></function></tool_call>\n```",
        "Write `<function=read>` to call it.",
        "<tool_call> is a tag.",
        '{"name": "read"}',
        '{"name": "Ada", "arguments": {}}',
        "I read it.",
    ],
)
async def test_B10_text_about_calls_is_no_call(written, text):
    assert await written(text, "read") == ()


async def test_B10_without_tools_nothing_was_meant_to_run(written):
    assert await written("<tool_call><function=read></function></tool_call>") == ()
