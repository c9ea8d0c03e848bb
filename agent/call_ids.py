"""The ids of tool calls: each is unique in its session, whatever a server sends (A10)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from msgspec.structs import replace

from session.models import ToolCall


def new_call_id() -> str:
    return f"call_{uuid4().hex[:12]}"


def unique_calls(calls: Sequence[ToolCall], taken: set[str], own_ids: Sequence[str]) -> tuple[ToolCall, ...]:
    """The calls, each with its id where that is new in the session, else with the one of `own_ids` in its place."""
    unique: list[ToolCall] = []
    used = set(taken)
    for call, own_id in zip(calls, own_ids, strict=True):
        own = call if call.id and call.id not in used else replace(call, id=own_id)
        used.add(own.id)
        unique.append(own)
    return tuple(unique)
