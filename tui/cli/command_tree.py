"""The whole command line as data, read from its parsers: completion and the page about it are made from this."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import cast

from msgspec import Struct

PROGRAM = "hermes"


class Argument(Struct, frozen=True):
    """An option with its `names`, or a positional one, which has none. `shown` names its value, "" for a switch."""

    names: tuple[str, ...]
    shown: str
    about: str
    choices: tuple[str, ...] = ()
    is_required: bool = False
    is_repeated: bool = False


class Command(Struct, frozen=True):
    """`path` is how it is called, from `hermes` on."""

    path: str
    about: str
    epilog: str
    arguments: tuple[Argument, ...]
    commands: tuple[Command, ...]

    @property
    def name(self) -> str:
        return self.path.rpartition(" ")[2]

    @property
    def options(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if argument.names)

    @property
    def positionals(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if not argument.names)


def command_tree(parser: argparse.ArgumentParser, about: str = "") -> Command:
    """A parser and all below it."""
    return Command(
        path=parser.prog,
        about=about or parser.description or "",
        epilog=parser.epilog or "",
        arguments=tuple(_arguments(parser)),
        commands=tuple(_commands(parser)),
    )


def every(command: Command) -> Iterator[Command]:
    """The command and all below it, from the top down."""
    yield command
    for one in command.commands:
        yield from every(one)


# argparse tells nobody what was added to a parser: these two read what it holds.


def _commands(parser: argparse.ArgumentParser) -> Iterator[Command]:
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            said = {choice.dest: choice.help or "" for choice in action._choices_actions}  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportUnknownVariableType]
            below = cast("dict[str, argparse.ArgumentParser]", action.choices)
            yield from (command_tree(one, said[name]) for name, one in below.items())


def _arguments(parser: argparse.ArgumentParser) -> Iterator[Argument]:
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        is_below = isinstance(action, argparse._SubParsersAction)  # pyright: ignore[reportPrivateUsage]
        if not is_below and action.help != argparse.SUPPRESS and "--help" not in action.option_strings:
            yield _argument(action)


def _argument(action: argparse.Action) -> Argument:
    choices = tuple(str(choice) for choice in action.choices or ())
    metavar = " ".join(action.metavar) if isinstance(action.metavar, tuple) else action.metavar
    is_switch = action.nargs == 0
    return Argument(
        names=tuple(action.option_strings),
        shown="" if is_switch else metavar or "|".join(choices) or action.dest.upper(),
        about=(action.help or "") % {"choices": ", ".join(choices)},
        choices=choices,
        is_required=action.required,
        is_repeated=action.nargs in ("*", "+"),
    )
