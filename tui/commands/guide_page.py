"""docs/guide.md, made from the tables of keys and commands: python -m tui.commands.guide_page > docs/guide.md"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from textual.binding import Binding, BindingType

from agent.commands.builtin import COMMANDS, usage
from tui import keys
from tui.commands.help import spoken

HEAD = """\
# Guide

Made from the tables in tui/keys.py and agent/commands/builtin.py by `make guide`; change those, not this page.

`F1` shows all keys and commands in hermes itself, as you have set them. Each key below has a name, and
[Themes and keys](themes-and-keys.md) says how to give it another key. All commands are in [Commands](commands.md).

## Writing

Write, and send with Enter. While the model works, what you send waits in line. A draft is kept for each session, and
nothing that was sent is lost: the up arrow brings it back. A line that begins with `/` is a command.

A line that begins with `!` runs in your shell, in the folder of the session: `!git status`. You typed it, so nothing is
asked, and only what is never run is refused. Its output is shown, and the model is told of it with your next prompt. A
space before the `/` or the `!` sends the line as text.

Drop an image on the terminal, paste its path, or write `/image PATH`: a label stands for it in the draft, and it goes out
with the prompt, also one that waits in line. Delete the label to leave it out. `/image` alone takes what is on the
clipboard, where hermes runs on the same machine as your desktop.
"""
READING = """
## Reading

The conversation follows its end until you scroll up. These keys work wherever you are:
"""
IN_IT = """
In the conversation itself, letters are keys. Whatever is selected is copied as it was written, without borders or wraps:
"""
SESSIONS = """
## Sessions

Every conversation is a session and stays until you delete it; see [Conversations](sessions.md). Several can work at the
same time. The list beside the conversation shows which one works, asks, failed or has news.
"""
IN_LIST = """
In the list, what you type filters it:
"""
APPROVALS = """
## Approvals

What only reads in your folder runs at once, and so does what you allowed before. All else is asked about, and **Deny** is
marked at first. Keys count after a quiet moment only, so that nothing you were typing answers. [Approvals](approvals.md) says what is asked and why.
"""
CONTEXT = """
## Context

A model reads the whole conversation with each request, and its window is only so large. The row at the bottom says how
full it is. Before it is full, a summary takes the place of what was said first; see [Context](context.md).
"""

SENDING = [*keys.COMPOSER_KEYS, *keys.PROMPT_KEYS]
MOVING = ("interrupt", "page_up", "page_down", "follow", "turn_above", "turn_below", "outline", "read")
GOING = ("sessions", "session_above", "session_below", "next_pending", "search", "palette", "jump", "toggle_sidebar")
ABOUT_SESSIONS = ("new", "resume", "title", "branch", "rewind", "undo", "export")
ABOUT_APPROVALS = ("mode", "approvals", "yolo", "trust")
ABOUT_CONTEXT = ("context", "compact", "usage", "model")


def guide_page() -> str:
    """The whole page, with a line end after the last line."""
    parts = (
        HEAD,
        _keys(SENDING),
        READING,
        _keys(_of_main(MOVING)),
        IN_IT,
        _keys(keys.READING_KEYS),
        SESSIONS,
        _keys(_of_main(GOING)),
        IN_LIST,
        _keys(keys.SESSION_LIST_KEYS),
        "",
        _commands(ABOUT_SESSIONS),
        APPROVALS,
        _keys(keys.APPROVAL_KEYS),
        "",
        _commands(ABOUT_APPROVALS),
        CONTEXT,
        _commands(ABOUT_CONTEXT),
    )
    return "\n".join(parts) + "\n"


def _of_main(names: Sequence[str]) -> list[BindingType]:
    by_name = {one.id: one for one in keys.MAIN_KEYS if isinstance(one, Binding)}
    return [by_name[f"main.{name}"] for name in names]


def _keys(table: Sequence[BindingType]) -> str:
    rows = [
        _row(", ".join(f"`{spoken([one])}`" for one in binding.key.split(",")), binding.tooltip, f"`{binding.id}`")
        for binding in table
        if isinstance(binding, Binding)
    ]
    return "\n".join(["| Key | What it does | Name |", "|---|---|---|", *rows])


def _commands(names: Sequence[str]) -> str:
    by_name = {command.name: command for command in COMMANDS}
    rows = [_row(f"`{usage(by_name[name])}`", by_name[name].summary) for name in names]
    return "\n".join(["| Command | What it does |", "|---|---|", *rows])


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    sys.stdout.write(guide_page())
