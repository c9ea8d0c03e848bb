"""Azure's way: a deployment in the address, an api-version behind it, and the key in a header of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agent.providers.chat import ChatProvider
from agent.providers.local import list_models
from agent.providers.responses import ResponsesProvider

VERSION = "api-version=2024-10-21"


@pytest.fixture
def deployment(wire: Any) -> str:
    return f"{wire.base_url}/openai/deployments/mine?{VERSION}"


@pytest.mark.parametrize(("kind", "path"), [(ChatProvider, "chat/completions"), (ResponsesProvider, "responses")])
async def test_the_version_comes_with_every_request_and_the_key_in_its_header_alone(
    wire: Any,
    deployment: str,
    question: Callable[..., Any],
    on_route: Callable[..., Any],
    listen: Any,
    opening: Any,
    kind: Any,
    path: str,
) -> None:
    wire.answer("401 Unauthorized", '{"error":{"message":"bad key sk-azure-key"}}')
    async with opening(kind(deployment, "sk-azure-key", {"api-key": "sk-azure-key"})) as provider:
        told = await listen(provider, on_route(question(), base_url=deployment))
    (sent,) = wire.requests
    assert sent.path == f"/v1/openai/deployments/mine/{path}?{VERSION}"
    assert sent.headers["api-key"] == "sk-azure-key"
    assert "authorization" not in sent.headers
    assert "sk-azure-key" not in told.error.sentence


async def test_the_list_of_models_is_asked_for_below_the_address_too(wire: Any, deployment: str) -> None:
    wire.answer("200 OK", '{"data":[{"id":"mine","context_length":128000}]}')
    (model,) = await list_models(deployment, {"api-key": "k"}, 5)
    assert (model.id, model.window) == ("mine", 128_000)
    assert wire.requests[0].path == f"/v1/openai/deployments/mine/models?{VERSION}"
