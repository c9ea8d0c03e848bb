"""`session_search` over a real store, called by a model as in any turn."""

from __future__ import annotations

import json
import re

import pytest

from agent.tools.base import BadArguments, CallContext
from agent.tools.registry import TOOLS
from session.models import Approval, CallOutcome, EndReason

session_search = TOOLS["session_search"]


@pytest.fixture
def more_config() -> str:
    return "auxiliary: {titles: false}"


@pytest.fixture
def past(bench, served):
    """Has an earlier conversation in which these were said and answered, and gives its id."""

    async def said(*prompts: str) -> str:
        session_id = bench.session_id = bench.hub.create(bench.workspace).id
        for prompt in prompts:
            served.reply(text=f"Answer to {prompt}")
            await bench.ask(prompt)
        return session_id

    return said


@pytest.fixture
def search(bench, served):
    """What a model of a new conversation is told of a search."""

    async def run(**args: object) -> str:
        bench.session_id = bench.hub.create(bench.workspace).id
        call = {"name": "session_search", "arguments": json.dumps(args)}
        served.reply({"id": "c1", "type": "function", "function": call})
        served.reply(text="done")
        [(result, text)] = (await bench.ask("look it up")).results
        assert result.approval is Approval.NOT_ASKED  # it only reads: nobody is asked
        return text

    return run


async def test_a_message_is_found_with_its_conversation_and_its_date(past, search):
    session_id = await past("the heron eats frogs", "something else")
    text = await search(query="heron frogs")
    assert session_id in text and "“the heron eats frogs”" in text and re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d", text)
    assert "· user ·" in text and "· assistant ·" in text


async def test_the_conversation_that_asks_is_not_among_what_is_found(past, search):
    await past("about kestrels")
    text = await search(query="xylophone")
    assert text.startswith("No message in any other conversation holds all of these words.")


async def test_around_a_found_message_is_read_what_was_said_there(past, search):
    session_id = await past(*(f"prompt number {n}" for n in range(8)))
    found = await search(query='"prompt number 4"', session_id=session_id)
    message = int(re.findall(r"message (\d+) · user", found)[0])
    text = await search(session_id=session_id, around=message, window=1)
    assert "16 messages" in text and len(re.findall(r"^message ", text, re.MULTILINE)) == 3
    assert "Answer to prompt number 3" in text and "prompt number 4" in text and "number 5" not in text


async def test_without_a_message_it_reads_the_beginning_and_the_end(past, search):
    session_id = await past(*(f"prompt number {n}" for n in range(8)))
    text = await search(session_id=session_id, window=2)
    assert "prompt number 0" in text and "Answer to prompt number 7" in text and "number 3" not in text
    assert "⟨12 messages in between" in text


async def test_T11_long_messages_and_many_hits_are_bounded(past, search):
    session_id = await past(*(f"needle {'x ' * 1_500}{n}" for n in range(4)))
    assert len(await search(query="needle", limit=20)) < 20_000
    assert len(re.findall(r"^message ", await search(query="needle", limit=2), re.MULTILINE)) == 2
    text = await search(session_id=session_id, window=20)
    assert len(text) < 30_000 and "more characters⟩" in text


async def test_a_deleted_conversation_is_not_found_nor_read(past, search, bench):
    session_id = await past("about ospreys")
    await bench.hub.end(session_id, EndReason.DELETED)
    assert "No message" in await search(query="ospreys")
    assert "There is no conversation" in await search(session_id=session_id)


async def test_a_secret_that_was_stored_before_it_was_known_is_shown_by_its_name(past, search, bench):
    session_id = await past("the token is hunter2hunter2hunter2 ok")
    bench.hub.profile.secrets.masking.add("MY_TOKEN", "hunter2hunter2hunter2")
    for args in ({"query": "token"}, {"session_id": session_id}):
        text = await search(**args)
        assert "hunter2hunter2" not in text and "MY_TOKEN" in text


async def test_what_is_not_there_is_said(past, search):
    session_id = await past("one")
    assert "There is no conversation 'nope'" in await search(session_id="nope")
    assert "shows no message 999999" in await search(session_id=session_id, around=999_999)


async def test_where_there_is_no_store_it_says_so(desk):
    result = await desk.call("session_search", query="x")
    assert result.outcome is CallOutcome.ERROR and "no store" in result.text


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"query": " "},
        {"around": 3},
        {"query": "a", "session_id": "b", "around": 1},
        {"query": 1},
        {"limit": 0, "query": "a"},
    ],
)
def test_arguments_that_mean_nothing_are_refused(desk, args):
    with pytest.raises(BadArguments):
        session_search.touches(args, desk.place)


async def test_any_query_is_taken_literally(desk, past, search):
    await past('say "hello" OR (x*)')
    for query in ('"', "OR", "x*", "a AND", "'; DROP TABLE messages; --", "\x00"):
        context = CallContext(desk.place, "c", lambda _: None)
        session_search.touches({"query": query}, context.place)
    assert "hello" in await search(query='"hello" OR')
