"""Cards of calls that change something, and what else stands folded in a conversation."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from textual.strip import Strip

from agent.config.display_settings import ReasoningShown
from session.models import Approval, ToolCall
from tui.transcript.blocks import Block, CardState, Reasoning, Summary, ToolCard, card_of_call
from tui.transcript.drawing import Sheet
from tui.transcript.layout import Layout

Draw = Callable[..., list[Strip]]

PATCHED = """Changed /w/a.py in 1 place: +2 -1 lines.
@@ -1,2 +1,3 @@
 def f():
-    return 1
+    x = 2
+    return x"""
STEPS = [("Profile it", "done"), ("Cache tiles", "in_progress"), ("Test it", "pending")]


def card(tool: str, state: CardState, output: str = "", **arguments: object) -> ToolCard:
    return replace(card_of_call(ToolCall("c", tool, json.dumps(arguments))), state=state, output=output)


def lines_of(strips: list[Strip]) -> list[str]:
    return [strip.text.strip() for strip in strips if strip.text.strip()]


def test_a_change_that_was_made_is_told_by_its_result_with_signs(draw: Draw):
    head, *change = lines_of(draw(card("patch", CardState.OK, PATCHED, path="a.py", old="return 1", new="return 2")))
    assert head.split() == ["✓", "patch", "a.py", "+2", "-1", "lines"]
    assert change == ["│ @@ -1,2 +1,3 @@", "│  def f():", "│ -    return 1", "│ +    x = 2", "│ +    return x"]


def test_a_change_that_waits_is_told_by_its_arguments(draw: Draw):
    edits = [{"old": "a", "new": "b\nc"}, {"old": "d", "new": ""}]
    drawn = lines_of(draw(card("patch", CardState.ASKING, path="a.py", edits=edits)))
    assert drawn[1:] == ["│ @@ edit 1 of 2", "│ -a", "│ +b", "│ +c", "│ @@ edit 2 of 2", "│ -d"]


def test_a_change_that_was_denied_is_folded_to_its_line_and_can_be_looked_at(draw: Draw):
    denied = replace(card("patch", CardState.NOT_RUN, path="a.py", old="a", new="b"), approval=Approval.DENIED)
    assert [line.split() for line in lines_of(draw(denied))] == [["–", "patch", "a.py", "denied"]]
    assert lines_of(draw(denied, expanded=[0]))[-2:] == ["│ -a", "│ +b"]


def test_a_new_file_is_folded_and_a_replaced_one_is_not_told_to_be_all_new(draw: Draw):
    content = "".join(f"line {n}\n" for n in range(40))
    new = card("write_file", CardState.OK, "Created /w/a: 40 lines, 300 bytes.", path="a", content=content)
    drawn = lines_of(draw(new))
    assert (drawn[0].endswith("created, 40 lines"), drawn[1], drawn[-1]) == (True, "│ +line 0", "│ … 30 more lines")
    assert lines_of(draw(new, expanded=[0]))[-1] == "│ +line 39"
    old = replace(new, output="Replaced /w/a: 40 lines, 300 bytes.")
    assert "│  line 0" in lines_of(draw(old))


def test_arguments_that_are_no_json_are_drawn_all_the_same(draw: Draw):
    for tool in ("patch", "write_file", "todo"):
        cut = replace(card_of_call(ToolCall("c", tool, '{"path": "a", "items": [{')), state=CardState.RUNNING)
        assert tool in lines_of(draw(cut, expanded=[0]))[0]


def test_steps_are_a_list_to_be_ticked_off(draw: Draw):
    items = [{"content": words, "status": status} for words, status in STEPS]
    drawn = lines_of(draw(card("todo", CardState.OK, "1 of 3 done\n…", items=items)))
    assert drawn[0].endswith("1 of 3 done")
    assert drawn[1:] == ["│ ☑ Profile it", "│ ▸ Cache tiles", "│ ☐ Test it"]


def test_of_many_steps_those_to_be_done_are_shown_first(draw: Draw):
    items = [{"content": f"step {n}", "status": "done" if n < 20 else "pending"} for n in range(30)]
    drawn = lines_of(draw(card("todo", CardState.OK, "", items=items)))
    assert drawn[1] == "│ ☑ step 18"
    assert drawn[-2:] == ["│ ☐ step 29", "│ … 18 more steps"]


@pytest.mark.parametrize("shown", ReasoningShown)
def test_thinking_is_shown_as_the_setting_says_until_it_is_folded_otherwise(
    shown: ReasoningShown, sheet: Callable[[int], Sheet]
):
    blocks: list[Block] = [Reasoning("thought after thought " * 100)]
    layout = Layout(blocks, replace(sheet(80), reasoning=shown))
    heights = [len(layout.strips(0))]
    layout.toggle(0)
    heights.append(len(layout.strips(0)))
    least, all_of_it = {"hidden": 2, "folded": 4, "open": 4}[shown], 32
    assert heights == ([all_of_it, least] if shown is ReasoningShown.OPEN else [least, all_of_it])


def test_a_summary_is_a_mark_that_opens(draw: Draw):
    block = Summary("## Aim\n" + "Make it fast. " * 40)
    folded = lines_of(draw(block))
    assert folded[0].startswith("▸ Summary of what was said before") and folded[0].endswith("─")
    assert len(folded) == 3 < len(draw(block, expanded=[0]))
