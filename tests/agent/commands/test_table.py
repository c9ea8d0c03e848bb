"""The one table of commands: whole, without two of a name, and the page of it as it is now."""

from __future__ import annotations

import re
from pathlib import Path

from agent.commands.builtin import COMMANDS
from agent.commands.commands_page import commands_page
from agent.commands.parse import Call, read_line

ROOT = Path(__file__).resolve().parents[3]
AT_LEAST = re.findall(
    r"\w+",
    "help new sessions resume cwd title pin archive delete branch rewind undo redo retry history search copy save "
    "export compact context usage status model reasoning personality approvals mode yolo queue steer stop tools todo "
    "theme keys details editor image redraw logs reload doctor quit key profile processes palette",
)


def test_all_that_people_expect_is_there():
    assert [name for name in AT_LEAST if not isinstance(read_line(f"/{name}"), Call)] == []


def test_no_two_commands_have_a_name_in_common():
    names = [name for command in COMMANDS for name in (command.name, *command.aliases)]
    assert len(names) == len(set(names))


def test_the_page_of_commands_is_made_from_the_table():
    assert (ROOT / "docs" / "commands.md").read_text() == commands_page(), "run: make commands"
