"""The tools of a process, loaded when the first of them is asked for: the first frame must not pay for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from agent.tools.base import Tool

Definition = dict[str, object]


class Toolbox:
    """What a model may call, by name, and how a request names it. `is_sandboxed` is while the sandbox is on."""

    def __init__(self, *, is_sandboxed: bool) -> None:
        self._is_sandboxed = is_sandboxed
        self._named: dict[frozenset[str], Sequence[Definition]] = {}  # by what is left out

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        from agent.tools.registry import TOOLS

        return TOOLS

    def tools_without(self, off: frozenset[str]) -> Mapping[str, Tool]:
        return {name: tool for name, tool in self.tools.items() if name not in off} if off else self.tools

    def definitions_without(self, off: frozenset[str]) -> Sequence[Definition]:
        """The same list each time."""
        if off not in self._named:
            from agent.tools.registry import definitions

            named = zip(self.tools, definitions(is_sandboxed=self._is_sandboxed), strict=True)
            self._named[off] = [one for name, one in named if name not in off]
        return self._named[off]
