"""docs/command-line.md, made from the parsers: python -m tui.cli.command_line_page > docs/command-line.md"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tui.cli.arguments import whole_tree
from tui.cli.command_tree import Argument, Command, every

HEAD = """\
# The command line

Made from the parsers in `tui/cli/` by `make commandline`; change those, not this page.

`hermes` alone opens the screen, as `hermes tui` does, and takes the same options. `-h` behind any command shows what it
takes, `hermes completion` makes a script by which bash, zsh or fish completes all of this. Every command takes
`-p NAME`, wherever it stands: the profile to use. What scripts can rely on is in [Without a screen](headless.md); more
about sessions is in [Sessions](sessions.md), about settings in [Settings](settings.md).

Every command exits with 0 where it did what it says, with 1 where it could not, and with 2 where the command line is
wrong; what it says of exit codes otherwise stands with it. With `--json` what goes wrong is an object on standard output
as well, `{"error": "a sentence"}`.
"""


def command_line_page() -> str:
    """The whole page, with a line end after the last line."""
    root = whole_tree()
    return "".join([HEAD, *(_section(command) for command in every(root) if command is not root)])


def _section(command: Command) -> str:
    depth = command.path.count(" ") + 1
    lines = [f"{'#' * depth} {command.path}", "", f"{command.about[:1].upper()}{command.about[1:]}.", ""]
    if not command.commands:
        lines += [f"    {' '.join(_written(command))}", ""]
    if command.epilog:
        lines += [command.epilog, ""]
    if command.arguments:
        lines += ["| | |", "|---|---|", *map(_row, command.arguments), ""]
    return "\n" + "\n".join(lines).rstrip() + "\n"


def _written(command: Command) -> Iterator[str]:
    """How it is called: what must be there in full, all other options as one word."""
    yield command.path
    yield from (f"{one.names[0]} {one.shown}" for one in command.options if one.is_required)
    yield from map(_place, command.positionals)
    if any(not one.is_required for one in command.options):
        yield "[OPTIONS]"


def _place(argument: Argument) -> str:
    shown = f"{argument.shown} ..." if argument.is_repeated else argument.shown
    return shown if argument.is_required else f"[{shown}]"


def _row(argument: Argument) -> str:
    names = [f"`{name} {argument.shown}`" if argument.shown else f"`{name}`" for name in argument.names]
    about = argument.about
    if argument.choices and not all(choice in about for choice in argument.choices):
        about = f"{about}: {', '.join(argument.choices)}" if about else ", ".join(argument.choices)
    cells = (", ".join(names) or f"`{argument.shown}`", about)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    sys.stdout.write(command_line_page())
