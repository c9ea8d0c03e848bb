"""The tools there are, by name: a new one is a module of this package and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from agent.tools import (
    ask_user,
    list_files,
    patch,
    process,
    read_file,
    search_files,
    session_search,
    terminal,
    todo,
    web_fetch,
    write_file,
)
from agent.tools.base import Tool

_ALL: tuple[Tool, ...] = (
    terminal,
    process,
    read_file,
    write_file,
    patch,
    search_files,
    list_files,
    web_fetch,
    session_search,
    ask_user,
    todo,
)

TOOLS: Mapping[str, Tool] = {tool.NAME: tool for tool in _ALL}


def definitions(*, is_sandboxed: bool = False) -> list[dict[str, object]]:
    """The tools as a Chat Completions request names them; `is_sandboxed` is while the sandbox for commands is on."""
    return [_definition(tool, is_sandboxed=is_sandboxed and tool.NAME == terminal.NAME) for tool in TOOLS.values()]


def _definition(tool: Tool, *, is_sandboxed: bool) -> dict[str, object]:
    about, parameters = tool.DESCRIPTION, tool.PARAMETERS
    if is_sandboxed:
        about += terminal.IN_SANDBOX
        parameters = {**parameters, "properties": {**terminal.PROPERTIES, "outside": terminal.OUTSIDE}}
    return {"type": "function", "function": {"name": tool.NAME, "description": about, "parameters": parameters}}
