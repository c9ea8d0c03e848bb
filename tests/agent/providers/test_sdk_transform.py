"""`agent.sdk_transform`, the one switch: requests take the SDK's own way, and are the same bytes."""

from __future__ import annotations

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.config.settings import AgentSettings, Settings
from agent.open import client_of
from agent.providers.base import ModelRequest
from agent.providers.sdk_bypass import body_of, stream_arguments
from session.models import ApiMode, Route

MESSAGES = [
    {"role": "system", "content": "Sei höflich ☂"},
    {"role": "user", "content": 'a\n"b" \N{GRINNING FACE}'},
    {"role": "assistant", "content": "Gut."},
    {"role": "user", "content": [{"type": "text", "text": "again"}]},
]
EXTRAS = [
    {},
    {"temperature": 0.5, "provider": {"order": ["a"]}},
    {"stream_options": {"x": 1}, "tools": [], "messages": [{"role": "user", "content": "mine"}], "input": "mine"},
]


@pytest.fixture
def walked(monkeypatch) -> list[object]:
    """What the SDK's typed walk was given to check, request by request."""
    from openai.resources.chat.completions import completions
    from openai.resources.responses import responses

    seen: list[object] = []
    for module in (completions, responses):

        async def watching(data, *rest, walk=module.async_maybe_transform, **more):
            seen.append(data.get("messages", data.get("input")))
            return await walk(data, *rest, **more)

        monkeypatch.setattr(module, "async_maybe_transform", watching)
    return seen


@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("tools", [(), ("read", "write")])
@pytest.mark.parametrize("api_mode", [ApiMode.CHAT, ApiMode.RESPONSES])
async def test_the_switch_turns_the_bypass_off_and_changes_no_byte(
    wire, question, on_route, listen, opening, walked, api_mode, tools, extra
):
    chunk = wire.chunk({"content": "hi"}, "stop")
    ended = wire.event("response.completed", response={"status": "completed", "output": []})
    wire.stream(chunk if api_mode is ApiMode.CHAT else ended)
    request = replace(on_route(question(*tools, messages=MESSAGES), api_mode=api_mode), extra_body=extra)
    for is_typed in (False, True):
        settings = Settings(agent=AgentSettings(sdk_transform=is_typed))
        async with opening(client_of(request.route, "k", settings)) as provider:
            assert (await listen(provider, request)).error is None
    past, through = (sent.body for sent in wire.requests)
    assert past == through
    assert len([bulk for bulk in walked if bulk]) == 1  # the rehearsal walks over nothing


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(), values, max_size=4),
    max_leaves=12,
)


@given(
    messages=st.lists(st.dictionaries(st.text(), PLAIN, max_size=4), max_size=4),
    extra=st.dictionaries(st.sampled_from(["model", "stream", "tools", "seed"]) | st.text(), PLAIN, max_size=4),
)
def test_any_plain_json_is_the_same_bytes(messages, extra):
    from openai import OpenAI

    arguments = stream_arguments(ModelRequest(Route("p", "m", "http://h/v1", ApiMode.CHAT), messages, [], extra))
    sent: list[bytes] = []

    def take(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.content)
        return httpx2.Response(200)

    http_client = httpx2.Client(transport=httpx2.MockTransport(take))
    with (
        OpenAI(api_key="k", base_url="http://h/v1", max_retries=0, http_client=http_client) as client,
        client.chat.completions.with_streaming_response.create(**arguments),
    ):
        pass
    assert sent == [body_of(arguments)]
