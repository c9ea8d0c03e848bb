"""The models that the simulated provider serves: each counts a request in its own way, as real ones do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from session.models import ApiMode


class Thinking(Enum):
    """What a model's thinking is to its client."""

    NONE = "none"
    SHOWN = "shown"  # streamed as text
    HIDDEN = "hidden"  # counted, never said


class Counting(Enum):
    """How a server tells what it counted."""

    FULL = "full"
    CACHED = "cached"  # most of the prompt came from a cache; it is counted in the prompt, too
    ZEROS = "zeros"
    NONE = "none"


class ToolStyle(Enum):
    """How tool definitions stand in the prompt."""

    JSON = "json"
    TYPED = "typed"  # as declarations of a programming language: about half as long


@dataclass(frozen=True)
class Model:
    """`window` is what it serves, in tokens; `declared` is what its config says, None for nothing.

    `is_echoed`: its thinking is sent back to it, and counts until the next prompt. `reports`: it says how much of an
    answer was thinking. `bos`, `frame`, `call_frame`: tokens around a prompt, a message and a call.
    """

    name: str
    window: int = 128_000
    declared: int | None = 128_000
    api_mode: ApiMode = ApiMode.CHAT
    thinking: Thinking = Thinking.NONE
    is_echoed: bool = False
    reports: bool = True
    counting: Counting = Counting.FULL
    tool_style: ToolStyle = ToolStyle.JSON
    image_tokens: int = 1_100
    bos: int = 1
    frame: int = 4
    call_frame: int = 6
    says_window: bool = True  # in the words with which it refuses what is too long

    @property
    def provider(self) -> str:
        return f"sim-{self.name}"

    def small(self, window: int, *, is_declared: bool = True) -> Model:
        """The same with a window that a few answers fill."""
        return replace(self, name=f"{self.name}-{window}", window=window, declared=window if is_declared else None)


PLAIN = Model("plain")
CACHING = Model("caching", counting=Counting.CACHED, tool_style=ToolStyle.TYPED, image_tokens=765, frame=3)
THINKING_COUNTED = Model("counted", thinking=Thinking.SHOWN)
THINKING_HIDDEN = Model("hidden", thinking=Thinking.HIDDEN, tool_style=ToolStyle.TYPED, frame=3)
THINKING_UNCOUNTED = Model("uncounted", thinking=Thinking.SHOWN, reports=False)
ECHOED_COUNTED = Model("echoed", thinking=Thinking.SHOWN, is_echoed=True, frame=3)
ECHOED_UNCOUNTED = Model("replaying", thinking=Thinking.SHOWN, is_echoed=True, reports=False)
SEALED = Model(
    "sealed", api_mode=ApiMode.RESPONSES, thinking=Thinking.HIDDEN, is_echoed=True, tool_style=ToolStyle.TYPED, frame=3
)
RESPONDING = Model("responding", api_mode=ApiMode.RESPONSES, counting=Counting.CACHED)
MUTE = Model("mute", counting=Counting.NONE)
ZEROING = Model("zeroing", counting=Counting.ZEROS)

THINKERS = (THINKING_COUNTED, THINKING_HIDDEN, THINKING_UNCOUNTED, ECHOED_COUNTED, ECHOED_UNCOUNTED, SEALED)
COUNTING = (PLAIN, CACHING, RESPONDING, *THINKERS)
USAGELESS = (MUTE, ZEROING)
