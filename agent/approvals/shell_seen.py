"""One command of a line while it is judged: its words as they will be, and the layers of what it wraps."""

from __future__ import annotations

from msgspec import Struct

from agent.approvals.shell_paths import Whereabouts
from agent.approvals.shell_reading import Command, Reading
from agent.approvals.shell_word import UNKNOWN
from agent.approvals.shell_wrappers import Layer, layers


class Seen(Struct, frozen=True):
    """`layers` go from outside in."""

    command: Command
    text: str
    layers: tuple[Layer, ...]

    @property
    def last(self) -> Layer:
        """What runs in the end, where it is one command."""
        return self.layers[-1]

    @property
    def is_single(self) -> bool:
        return sum(layer.is_last for layer in self.layers) == 1

    @property
    def opaque(self) -> str:
        """Why something around it asks, or ""."""
        return next((layer.opaque for layer in self.layers if layer.opaque), "")

    @property
    def shown(self) -> tuple[str, ...] | None:
        """The words of what runs, where all are fixed."""
        fixed = self.last.argv and not any(UNKNOWN in word for word in self.last.argv)
        return self.last.argv if fixed and not self.last.texts else None

    @property
    def has_globs(self) -> bool:
        return any(word.pattern for word in self.command.words)


def see(command: Command, reading: Reading, where: Whereabouts) -> Seen:
    argv, guess = words_of(command, where)
    end = max([command.end, *(each.target.end for each in command.redirections)])
    return Seen(command, reading.text(command.start, end).strip(), layers(Layer(argv, guess)))


def words_of(command: Command, where: Whereabouts) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What bash makes of the words, with NUL for what is not fixed; and the best guess at them."""
    argv: list[str] = []
    guess: list[str] = []
    for word in command.words:
        fixed = word.values if not word.pattern else where.expanded(word.pattern)
        argv += (UNKNOWN,) if fixed is None else fixed
        guess += word.guess if fixed is None or word.pattern else fixed
    return tuple(argv), tuple(guess)


def folder_named(layer: Layer) -> str | None:
    """Where a `cd` goes; None where that is not told by its words."""
    targets = [word for word in layer.argv[1:] if word not in ("-L", "-P", "--")]
    if len(targets) != 1 or UNKNOWN in targets[0] or targets[0].startswith("-") or not layer.is_shell:
        return None
    return targets[0]
