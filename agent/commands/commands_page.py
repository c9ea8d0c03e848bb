"""docs/commands.md, made from the table of commands: python -m agent.commands.commands_page > docs/commands.md"""

from __future__ import annotations

import sys

from agent.commands.builtin import COMMANDS, usage
from agent.commands.table import Command, When

HEAD = """\
# Commands

Made from the table in agent/commands/builtin.py by `make commands`; change that, not this page.

A line that begins with a slash and the name of a command is that command; capitals do not matter. It acts on the session
that is on the screen. A line that merely begins with a path is text, and so is any line with a blank before the slash. A
name that is almost one of these is neither run nor sent: the nearest name is told, and the draft stays. `hermes commands
--json` prints this list for programs.

| Command | Also | What it does |
|---|---|---|
"""

MODEL = """
## /model

Without a name it opens a list: providers, then the models that the chosen one tells, with their windows, prices where your
settings tell them, and whether this conversation fits. Typing filters; `ctrl+g` turns how long the choice holds. A name is
`provider:model`, a provider, a model of the provider that answers, one of your own names (`model_aliases`), or `demo`.

| Option | Holds |
|---|---|
| `--session` | in this session, also when it is opened again; so it is without an option |
| `--once` | for the next turn, however that ends; a hermes that dies in it leaves the session with its model |
| `--global` | here and in every new session: it is saved in config.yaml |

Address, model and key change together or not at all. While something runs in the session, you are asked whether the other
model takes over at its end or whether that is interrupted.

## /steer

What you write behind it reaches the model while it works: it stands at the end of the next tool result, marked as yours.
Until then it waits in the queue, where it can be taken back. Where the turn ends without another result, it is the next
prompt.
"""


def commands_page() -> str:
    """The whole page, with a line end after the last line."""
    return HEAD + "".join(f"{_row(command)}\n" for command in COMMANDS) + MODEL


def _row(command: Command) -> str:
    also = ", ".join(f"`/{alias}`" for alias in command.aliases)
    idle = "; not while a turn runs" if command.when is When.IDLE else ""
    cells = (f"`{usage(command)}`", also, f"{command.summary}{idle}")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    sys.stdout.write(commands_page())
