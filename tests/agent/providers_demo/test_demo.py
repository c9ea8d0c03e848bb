"""The built-in demo, through the provider protocol as a turn would use it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.context.estimate import text_tokens
from agent.providers.base import ErrorKind, ModelRequest, Provider, ProviderError, ReasoningPart, Reply, TextPart
from agent.providers.demo import MAX_PIECES, DemoProvider
from agent.providers.registry import DEMO_ROUTE
from session.models import Finish

Message = dict[str, object]

SYSTEM: Message = {"role": "system", "content": "You are hermes."}


def user(text: object) -> Message:
    return {"role": "user", "content": text}


def assistant(reply: Reply) -> Message:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in reply.calls
    ]
    return {"role": "assistant", "content": reply.content or None, "tool_calls": calls}


def result(call_id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


async def ask(*messages: Message | str, tools: list[Message] | None = None) -> tuple[list[object], Reply]:
    """The parts that were streamed, and the reply they ended with."""
    provider: Provider = DemoProvider(delay_s=0, home="/srv/home")
    told = [user(message) if isinstance(message, str) else message for message in messages]
    parts: list[object] = [
        part async for part in provider.stream(ModelRequest(DEMO_ROUTE, [SYSTEM, *told], tools or []))
    ]
    *streamed, reply = parts
    assert isinstance(reply, Reply)
    return streamed, reply


async def calls(line: str) -> list[tuple[str, dict[str, str]]]:
    _, reply = await ask(line)
    return [(call.name, json.loads(call.arguments)) for call in reply.calls]


async def test_what_is_streamed_is_the_reply():
    streamed, reply = await ask("help")
    assert "".join(part.text for part in streamed if isinstance(part, TextPart)) == reply.content
    assert "".join(part.text for part in streamed if isinstance(part, ReasoningPart)) == reply.reasoning
    assert isinstance(streamed[0], ReasoningPart)
    assert isinstance(streamed[-1], TextPart)
    assert len(streamed) > 20


async def test_anything_else_says_what_it_is_and_how_to_connect_a_model():
    _, reply = await ask("Write me a poem about the sea.")
    assert "built-in demo" in reply.content
    assert "not a language model" in reply.content
    for needed in ("OPENAI_API_KEY", "/srv/home/config.yaml", "/srv/home/.env", "Ollama", "help"):
        assert needed in reply.content
    assert (reply.calls, reply.finish) == ((), Finish.STOP)


async def test_the_config_it_shows_is_one_that_works(tmp_path: Path):
    from agent.config.load import load_settings

    _, reply = await ask("hello")
    shown = re.search(r"```yaml\n(.*?)```", reply.content, re.DOTALL)
    assert shown is not None
    (tmp_path / "config.yaml").write_text(shown[1])
    loaded = load_settings(tmp_path / "config.yaml")
    assert loaded.problems == ()
    assert loaded.settings.model.provider in loaded.settings.providers


@pytest.mark.parametrize(
    ("line", "tool", "arguments"),
    [
        ("list", "terminal", {"command": "ls -la"}),
        ("List files", "terminal", {"command": "ls -la"}),
        ("list files in my-dir", "terminal", {"command": "ls -la -- my-dir"}),
        ("list files in 'a b; rm -rf x'", "terminal", {"command": "ls -la -- 'a b; rm -rf x'"}),
        ("read README.md", "read_file", {"path": "README.md"}),
        ('read "my notes.txt"', "read_file", {"path": "my notes.txt"}),
        ("run echo hi | wc -c", "terminal", {"command": "echo hi | wc -c"}),
        ("write a.txt: hello there", "write_file", {"path": "a.txt", "content": "hello there\n"}),
        ("edit a.txt: one\n\nthree\n", "write_file", {"path": "a.txt", "content": "one\n\nthree\n"}),
        ("write a.py:    indented: yes", "write_file", {"path": "a.py", "content": "   indented: yes\n"}),
    ],
)
async def test_a_line_of_its_language_calls_a_tool(line: str, tool: str, arguments: dict[str, str]):
    assert await calls(line) == [(tool, arguments)]


@pytest.mark.parametrize(
    "line", ["read me a story", "list the three best films", "both of them", "runaway", "writes a: b"]
)
async def test_a_sentence_that_only_begins_like_one_calls_nothing(line: str):
    assert await calls(line) == []


@pytest.mark.parametrize("word", ["needle", "two words", "it's", "$(touch pwned)", "-e", "`touch pwned`", "a;b"])
async def test_a_searched_word_is_found_and_never_run(tmp_path: Path, word: str):
    (tmp_path / "hay.txt").write_text(f"some hay\nhere {word} lies\n")
    ((_, arguments),) = await calls(f"search {word}")
    done = subprocess.run(["sh", "-c", arguments["command"]], cwd=tmp_path, capture_output=True, text=True, timeout=10)
    assert f"hay.txt:2:here {word} lies" in done.stdout, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["hay.txt"]


@settings(max_examples=100, deadline=None)
@given(folder=st.text(st.characters(blacklist_categories=["Cs", "Cc", "Z"], blacklist_characters="'\"`"), min_size=1))
async def test_a_folder_stays_one_word_of_the_command(folder: str):
    ((_, arguments),) = await calls(f"list in {folder}")
    assert shlex.split(arguments["command"]) == ["ls", "-la", "--", folder]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("both list and run date", ["ls -la", "date"]),
        ("both run echo a and b and list", ["echo a and b", "ls -la"]),
        ("Ask two things in parallel.", ["ls -la", "date"]),
    ],
)
async def test_two_things_are_two_calls_in_one_reply(line: str, commands: list[str]):
    _, reply = await ask(line)
    assert [json.loads(call.arguments)["command"] for call in reply.calls] == commands
    assert len({call.id for call in reply.calls}) == 2
    assert reply.finish is Finish.TOOL_CALLS


async def test_help_lists_every_line_and_each_of_them_works():
    _, reply = await ask("help")
    listed = re.findall(r"^- `([^`]+)`", reply.content, re.MULTILINE)
    assert {line.split()[0] for line in listed} >= {
        "list",
        "read",
        "search",
        "run",
        "write",
        "both",
        "long",
        "fail",
        "help",
    }
    example = {"FILE": "x", "FILE:": "x:", "WORD": "w", "COMMAND": "date", "TEXT": "t", "A": "list", "B": "run date"}
    for line in listed:
        said = " ".join(example.get(word, word) for word in line.split())
        if said == "fail":
            continue
        _, answer = await ask(said)
        assert "I am the **built-in demo**" not in answer.content


async def test_fail_raises_one_clear_error():
    with pytest.raises(ProviderError, match="because you asked it to") as caught:
        await ask("fail")
    assert (caught.value.kind, caught.value.may_retry) == (ErrorKind.SERVER_ERROR, False)


async def test_a_long_answer_has_every_kind_of_block_and_comes_in_bounded_pieces():
    streamed, reply = await ask("long")
    for mark in ("\n## ", "\n   - ", "\n     - ", "\n1. ", "\n> ", "|:---", "```python", "```diff", "\n---\n"):
        assert mark in reply.content
    assert len(reply.content) > 2500
    assert 100 < len(streamed) < 2 * MAX_PIECES


# --- after a tool


async def test_results_are_quoted_by_their_first_lines():
    _, first = await ask("list")
    _, last = await ask(
        user("list"), assistant(first), result(first.calls[0].id, "\n".join(f"row {n}" for n in range(40)))
    )
    assert "`ls -la`, with 28 more lines" in last.content
    assert "row 11" in last.content
    assert "row 12" not in last.content
    assert (last.calls, last.finish) == ((), Finish.STOP)


async def test_each_of_two_results_is_told_beside_its_own_call():
    _, first = await ask("both run aaa and run bbb")
    one, two = first.calls
    told = [
        user("x"),
        assistant(first),
        result(one.id, "OUT-A"),
        result(two.id, "Not run: the person denied it. Do not."),
    ]
    _, last = await ask(*told)
    assert last.content.index("`aaa`") < last.content.index("OUT-A") < last.content.index("You denied `bbb`")
    assert "Do not" not in last.content


async def test_only_a_denial_is_called_the_persons_word():
    _, first = await ask("run x")
    head = (user("run x"), assistant(first))
    _, unasked = await ask(
        *head, result(first.calls[0].id, "Not run: denied, because a headless run has nobody to ask. Do")
    )
    _, printed = await ask(*head, result(first.calls[0].id, "cat: x: Permission denied"))
    assert "`x` did not run: denied, because a headless run has nobody to ask." in unasked.content
    assert "You denied" not in unasked.content + printed.content


async def test_output_cannot_break_out_of_its_fence():
    _, first = await ask("run x")
    _, last = await ask(user("run x"), assistant(first), result(first.calls[0].id, "```\n# not a heading\n````"))
    assert "`````text\n```\n# not a heading\n````\n`````" in last.content


async def test_a_result_without_text_is_said_so():
    _, first = await ask("run true")
    _, last = await ask(user("run true"), assistant(first), result(first.calls[0].id, "\n"))
    assert "`true` finished and printed nothing." in last.content


async def test_ids_do_not_repeat_in_a_conversation():
    _, first = await ask("list")
    _, second = await ask(user("list"), assistant(first), result(first.calls[0].id, "x"), user("list"))
    assert first.calls[0].id != second.calls[0].id


async def test_an_interrupted_prompt_before_the_next_one_does_not_hide_it():
    assert await calls("Write me a poem.\n\nlist") == [("terminal", {"command": "ls -la"})]


# --- usage


async def test_usage_counts_the_whole_request_and_the_whole_answer():
    tools: list[Message] = [{"type": "function", "function": {"name": "terminal", "parameters": {}}}]
    _, bare = await ask("help")
    _, with_tools = await ask("help", tools=tools)
    _, longer = await ask("help" + " " * 400)
    assert bare.usage is not None
    assert with_tools.usage is not None
    assert longer.usage is not None
    assert bare.usage.input == text_tokens("You are hermes.") + text_tokens("help")
    assert with_tools.usage.input == bare.usage.input + text_tokens(json.dumps(tools))
    assert longer.usage.input == bare.usage.input + 100
    assert bare.usage.reasoning == text_tokens(bare.reasoning)
    assert bare.usage.output == text_tokens(bare.content) + bare.usage.reasoning


async def test_the_same_conversation_gets_the_same_answer():
    assert await ask("both list and read a") == await ask("both list and read a")


_content = st.one_of(
    st.none(),
    st.text(max_size=60),
    st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=20)})),
)
_message = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant", "tool"]), "content": _content}),
    st.fixed_dictionaries(
        {
            "role": st.just("assistant"),
            "content": st.none(),
            "tool_calls": st.lists(
                st.fixed_dictionaries({"id": st.text(max_size=3), "function": st.just({"name": "t", "arguments": "["})})
            ),
        }
    ),
)


@settings(max_examples=150, deadline=None)
@given(messages=st.lists(_message, max_size=5))
async def test_any_conversation_gets_an_answer(messages: list[Message]):
    streamed, reply = await ask(*messages)
    assert "".join(part.text for part in streamed if isinstance(part, TextPart)) == reply.content != ""
