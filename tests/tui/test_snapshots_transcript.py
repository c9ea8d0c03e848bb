"""Pictures of what a conversation is made of: every construct of Markdown, and every kind of card."""

from __future__ import annotations

import json
from typing import Any

import pytest

from session.models import Approval, CallOutcome, CallResult, Finish, Message, Role, ToolCall, Usage

SIZE = (120, 40)

pytestmark = pytest.mark.parametrize("theme", ["dark", "light"])

PROSE = r"""
# How the cache works

Each tile has **one** entry, *whatever* its path was; ~~two~~ was a fault. See [the notes](https://example.org/tiles) or
<https://example.org/faq>, and call `key_of(path)`. It costs $5 to $6 a month.[^1]

1. Look the key up:
   - hit: give it back
     - and note the time
   - miss: decode it
2. Write it back

- [x] absolute paths
- [ ] a limit on the size, so that $n \le 2^{16}$

> The old code decoded twice:
> ```python
> def tile(path: Path) -> Tile:
>     return Tile.parse(path.read_bytes())  # twice
> ```

$$
t = \frac{n \cdot \sum_{i=1}^{k} d_i}{2}
$$

| step | before | now |
|:-----|-------:|:---:|
| decode | 3.41 s | **1.72 s** |
| bounds | 0.29 s | 0.29 s |

![A graph](graph.png)

[^1]: For the whole region."""

PATCHED = """\
Changed atlas/importer.py in 1 place: +3 -1 lines.
@@ -12,4 +12,6 @@
 def key_of(path: Path) -> TileKey:
-    return TileKey(path)
+    # Two paths may lead to one tile.
+    whole = path.resolve()
+    return TileKey(whole)
 """


def said(text: str, **fields: Any) -> Message:
    return Message("", Role.USER, text, 1e9, **fields)


def answered(text: str, calls: tuple[ToolCall, ...] = (), thought: str = "") -> Message:
    finish = Finish.TOOL_CALLS if calls else Finish.STOP
    usage = Usage(input=17_800, output=420)
    return Message("", Role.ASSISTANT, text, 1e9, reasoning=thought, calls=calls, finish=finish, usage=usage)


def call(call_id: str, tool: str, **arguments: Any) -> ToolCall:
    return ToolCall(call_id, tool, json.dumps(arguments))


def came_back(call: ToolCall, text: str, outcome: CallOutcome, approval: Approval, **facts: Any) -> Message:
    return Message("", Role.TOOL, text, 1e9, result=CallResult(call.id, call.name, outcome, approval, **facts))


STEPS = [
    {"content": "Find out why each tile is decoded twice", "status": "done"},
    {"content": "Make paths absolute before they become keys", "status": "in_progress"},
    {"content": "Add a test with two paths to one tile", "status": "pending"},
]
PLANNING = call("c1", "todo", items=STEPS)
PATCHING = call("c2", "patch", path="atlas/importer.py", old="TileKey(path)", new="TileKey(whole)")
TESTING = call(
    "c3", "write_file", path="tests/test_keys.py", content="from atlas import key_of\n\n\ndef test_one_key(): ...\n"
)
RUNNING = call("c4", "terminal", command="pytest -q tests/test_keys.py")
PUSHING = call("c5", "terminal", command="git push")
STOPPED = call("c6", "web_fetch", url="https://example.org/tiles")

CARDS = [
    said("The person wants maps to load faster. `decode_tile` was found to be slow.", is_summary=True),
    said("Go on with the cache."),
    answered("", (PLANNING, PATCHING, TESTING), "The key holds the path as it was written, so that is what to mend."),
    came_back(PLANNING, "1 of 3 done", CallOutcome.OK, Approval.NOT_ASKED),
    came_back(PATCHING, PATCHED, CallOutcome.OK, Approval.ALLOWED_ONCE, duration_s=0.1),
    came_back(TESTING, "Created tests/test_keys.py: 4 lines, 52 bytes.", CallOutcome.OK, Approval.ALLOWED_SESSION),
    answered("", (RUNNING, PUSHING, STOPPED)),
    came_back(RUNNING, "1 failed\nExit code: 1", CallOutcome.ERROR, Approval.NOT_ASKED, exit_code=1, duration_s=2.1),
    came_back(PUSHING, "Not run.", CallOutcome.NOT_RUN, Approval.DENIED),
    came_back(STOPPED, "Interrupted.", CallOutcome.INTERRUPTED, Approval.NOT_ASKED, duration_s=8.0),
]


def test_markdown(picture, theme):
    assert picture(theme, SIZE, {}, {"Faster map import": [said("Explain the cache."), answered(PROSE)]}, None)


def test_changes(picture, theme):
    """A summary, a list of steps, changes of files, and calls that failed, were denied and were stopped."""
    assert picture(theme, SIZE, {}, {"Faster map import": CARDS}, None)
