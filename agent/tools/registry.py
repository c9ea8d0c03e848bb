"""The tools there are, by name: a new one is a module of this package and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from agent.tools import read_file, terminal, write_file
from agent.tools.base import Tool

_ALL: tuple[Tool, ...] = (terminal, read_file, write_file)

TOOLS: Mapping[str, Tool] = {tool.NAME: tool for tool in _ALL}


def definitions() -> list[dict[str, object]]:
    """The tools as a Chat Completions request names them."""
    return [
        {
            "type": "function",
            "function": {"name": tool.NAME, "description": tool.DESCRIPTION, "parameters": tool.PARAMETERS},
        }
        for tool in TOOLS.values()
    ]
