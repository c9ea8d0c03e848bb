"""Pictures of reading: what was found, what is selected, the list of prompts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from session.models import Approval, CallOutcome, CallResult, Finish, Message, Role, ToolCall
from tui.screens.outline import OutlineScreen

ASKED = [
    "Loading a map takes four seconds. Find out why.",
    "Is every tile decoded twice?",
    "Then fix it, and write down in the changelog what a user sees of it: how long a large map took before and now.",
    "Run the tests.",
]
SAID = """\
The profile says that `decode_tile` takes **nearly all** of the time:

| step | before | now |
|---|---:|---:|
| decode_tile | 3.41 s | 1.72 s |
| bounds | 0.29 s | 0.29 s |

```python
for layer in layers:
    tile = decode_tile(key, bounds[layer])
```

- each tile is decoded once for each layer
- a cache of the last tiles is enough"""


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def conversation() -> list[Message]:
    rows: list[Message] = []
    for number, asked in enumerate(ASKED):
        call = ToolCall(f"c{number}", "terminal", '{"command":"python -m cProfile atlas/load.py"}')
        result = CallResult(call.id, call.name, CallOutcome.OK, Approval.NOT_ASKED, exit_code=0, duration_s=4.2)
        at_s = 1e9 + 60 * number
        rows += [
            Message("", Role.USER, asked, at_s),
            Message("", Role.ASSISTANT, "", at_s, calls=(call,), finish=Finish.TOOL_CALLS),
            Message("", Role.TOOL, "4096 calls of decode_tile\nExit code: 0", at_s, result=result),
            Message("", Role.ASSISTANT, SAID, at_s, finish=Finish.STOP),
        ]
    return rows


def test_what_was_found(picture: Any) -> None:
    async def act(scene: Any) -> None:
        await scene.pilot.press("f6", "t", "/", *"decode_tile")
        await scene.until(lambda: "14 of 16" in scene.text)
        await scene.pilot.press("enter", "n")
        await scene.until(lambda: "15 of 16" in scene.text)

    assert picture("dark", (80, 24), {}, {"Slow maps": conversation()}, act)


def test_what_is_selected(picture: Any) -> None:
    async def act(scene: Any) -> None:
        await scene.pilot.press("f6", *["k"] * 4, "v", *["k"] * 7, *["l"] * 6)
        await scene.until(lambda: "y copies" in scene.text)

    assert picture("light", (80, 24), {}, {"Slow maps": conversation()}, act)


def test_the_prompts(picture: Any) -> None:
    async def act(scene: Any) -> None:
        await scene.pilot.press("alt+o")
        await scene.until(lambda: isinstance(scene.app.screen, OutlineScreen) and "4 prompts" in scene.text)
        await scene.pilot.press("up")
        await scene.pilot.pause()

    assert picture("dark", (80, 24), {}, {"Slow maps": conversation()}, act)
