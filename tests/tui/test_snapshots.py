"""Pictures of the screen. `make snapshots` accepts it as it is now; look at each before you commit it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent.session_run import Live
from session.models import Approval, CallOutcome, CallResult, Finish, Message, Role, ToolCall, Usage
from tui.screens.key import KeyScreen

NARROW, WIDE, WIDEST = (80, 24), (120, 40), (200, 60)
EVERY = [(theme, size) for theme in ("dark", "light", "ansi") for size in (NARROW, WIDE, WIDEST)]
TWO = [("dark", NARROW), ("light", WIDE)]


def in_words(value: object) -> str:
    return f"{value[0]}x{value[1]}" if isinstance(value, tuple) else str(value)


def looks(*wanted: tuple[str, tuple[int, int]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("theme", "size"), wanted, ids=in_words)


# --- the story that the pictures tell


def said(text: str) -> Message:
    return Message("", Role.USER, text, 1e9)


def answered(text: str, finish: Finish = Finish.STOP, calls: tuple[ToolCall, ...] = (), thought: str = "") -> Message:
    usage = Usage(input=17_800, output=420)
    return Message("", Role.ASSISTANT, text, 1e9, reasoning=thought, calls=calls, finish=finish, usage=usage)


def call(call_id: str, tool: str, **arguments: Any) -> ToolCall:
    return ToolCall(call_id, tool, json.dumps(arguments))


def came_back(call: ToolCall, text: str, outcome: CallOutcome, approval: Approval, **facts: Any) -> Message:
    return Message("", Role.TOOL, text, 1e9, result=CallResult(call.id, call.name, outcome, approval, **facts))


PROFILE = """\
   ncalls  tottime  cumtime  filename:lineno(function)
     4096    3.412    3.901  importer.py:88(decode_tile)
     4096    0.290    0.322  importer.py:141(bounds)
Exit code: 0"""

FAILED_RUN = """\
FAILED tests/test_importer.py::test_each_tile_is_decoded_once - 4095 != 4096
Exit code: 1"""

FINDING = """\
`decode_tile` takes nearly all of the time, because **every tile is decoded twice**:

| step | before | now |
|---|---:|---:|
| decode | 3.41 s | 1.72 s |
| bounds | 0.29 s | 0.29 s |

```python
@cache
def decode_tile(key: TileKey) -> Tile:
    return Tile.parse(read(key))  # once for each key
```

1. Next, I run the tests.
2. Then I push the branch, if you agree."""

PROFILING = call("c1", "terminal", command="python -m cProfile -m atlas.load samples/")
READING = call("c2", "read_file", path="atlas/importer.py")
TESTING = call("c3", "terminal", command="pytest -q tests/test_importer.py")
PUSHING = call("c4", "terminal", command="git push --force-with-lease origin faster-import")

CARDS = [
    said("Loading a map takes four seconds. Find out why."),
    answered("", Finish.TOOL_CALLS, (PROFILING, READING), "A profile first: guessing where time goes is rarely right."),
    came_back(PROFILING, PROFILE, CallOutcome.OK, Approval.ALLOWED_ONCE, exit_code=0, duration_s=4.6),
    came_back(READING, "1|import json\n" * 212, CallOutcome.OK, Approval.NOT_ASKED),
    answered(FINDING, Finish.TOOL_CALLS, (TESTING, PUSHING)),
    came_back(TESTING, FAILED_RUN, CallOutcome.ERROR, Approval.ALLOWED_SESSION, exit_code=1, duration_s=2.1),
    came_back(PUSHING, "Not run: the person denied it.", CallOutcome.NOT_RUN, Approval.DENIED),
    said("Don’t push yet. Why does that test fail?"),
    answered("The test counts tiles by their bounds, and two tiles in `samples/` share", Finish.CUT),
]

COMMAND = 'for map in samples/*.map; do python -m atlas.load --check "$map" || exit 1; done'

OTHERS = {
    "Release notes for 2.4": [],
    "Map legend in Japanese": [],
    "Move the tile store to object storage": [],
    "Check the licences": [],
    "Coastlines at zoom level 3": [],
}
STATES = [(Live.ASKING, False), (Live.WORKING, False), (Live.FAILED, True), (Live.IDLE, True), (Live.IDLE, False)]


PLAN = """\
Yes. The cache of `decode_tile` has two keys for one tile, because a key holds the path as it was written:

- `samples/a.tile`
- `./samples/a.tile`

So the fix is to make the path absolute **before** it becomes a key:

```python
def key_of(path: Path) -> TileKey:
    return TileKey(path.resolve())
```

With that, each tile"""


# --- the pictures


@looks(*TWO)
def test_empty(picture, theme, size):
    assert picture(theme, size, {}, {}, None)


@looks(*TWO)
def test_streaming(picture, theme, size, model):
    """In the middle of an answer, twelve seconds into the turn, with a next prompt half written."""
    model.does("Can you fix it?", reasoning="Two keys for one tile. The path is the culprit.", text=PLAN, is_held=True)

    async def act(scene):
        await scene.send("Can you fix it?")
        await scene.until(lambda: "With that, each tile" in scene.text and scene.is_settled)
        scene.app.main.composer.insert("And add a test for")

    assert picture(theme, size, model.config, {"Faster map import": CARDS, **OTHERS}, act)


@looks(*EVERY)
def test_cards(picture, theme, size, model):
    """Beside the conversation: a session that asks, one that works, one that failed, one to be read, an idle one."""
    model.does("publish", command="git tag v2.4")
    model.does("translate", text="読んでいます", is_held=True)
    model.does("move", status=401)
    model.does("check", text="All are free.")

    async def act(scene):
        for title, prompt in zip(OTHERS, ("publish", "translate", "move", "check"), strict=False):
            scene.hub.submit((await scene.hub.open(title)).id, prompt)
        await scene.until(
            lambda: [(scene.told(title).state, scene.told(title).is_unread) for title in OTHERS] == STATES
        )

    assert picture(theme, size, model.config, {"Faster map import": CARDS, **OTHERS}, act)


@looks(*EVERY)
def test_approval(picture, theme, size, model):
    """Armed: answers count."""
    model.does("Go on.", text="The fix is in. I would like to try it on all samples.", command=COMMAND)

    async def act(scene):
        await scene.send("Go on.")
        await scene.until(lambda: getattr(scene.app.screen, "is_armed", False))

    assert picture(theme, size, model.config, {"Faster map import": CARDS, **OTHERS}, act)


@looks(TWO[0])
def test_key(picture, theme, size):
    """A key is asked for over a conversation, and most of it is typed."""

    async def act(scene):
        await scene.send("/key OPENAI_API_KEY")
        await scene.until(lambda: isinstance(scene.app.screen, KeyScreen))
        await scene.pilot.press(*"sk-not-in-the-picture")

    assert picture(theme, size, {}, {"Faster map import": CARDS, **OTHERS}, act)
