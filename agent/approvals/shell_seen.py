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
    globbed: tuple[str, ...] = ()  # the words that globs stand for, where one stands for several
    loose: int = 0  # how many words there are from the first of these on

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

    def fixed(self, layer: Layer) -> int:
        """How many words of a layer stand in front of the first glob; in which order its names come is the locale's matter."""
        return max(len(layer.argv) - self.loose, 0)

    @property
    def has_globs(self) -> bool:
        return any(word.pattern for word in self.command.words)


def see(command: Command, reading: Reading, where: Whereabouts) -> Seen:
    argv: list[str] = []
    guess: list[str] = []
    globbed: list[str] = []
    first = -1
    for word in command.words:
        fixed = word.values if not word.pattern else where.expanded(word.pattern)
        if word.pattern and fixed and len(fixed) > 1:
            first = len(argv) if first < 0 else first
            globbed += fixed
        argv += (UNKNOWN,) if fixed is None else fixed
        guess += word.guess if fixed is None or word.pattern else fixed
    end = max([command.end, *(each.target.end for each in command.redirections)])
    loose = len(argv) - first if globbed else 0
    text = reading.text(command.start, end).strip()
    return Seen(command, text, layers(Layer(tuple(argv), tuple(guess))), tuple(globbed), loose)


def guess_of(command: Command) -> tuple[str, ...]:
    """The best guess at the words, with NUL for what is not fixed, and globs as they are written."""
    return tuple(each for word in command.words for each in word.guess)


def folder_named(layer: Layer) -> str | None:
    """Where a `cd` goes; None where that is not told by its words."""
    targets = [word for word in layer.argv[1:] if word not in ("-L", "-P", "--")]
    if len(targets) != 1 or UNKNOWN in targets[0] or targets[0].startswith("-") or not layer.is_shell:
        return None
    return targets[0]
