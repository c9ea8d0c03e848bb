"""What a tool is: a schema, what a call would touch, how it is shown, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from agent.tools.withheld import NOTHING_WITHHELD, Withheld
from session.models import CallOutcome

Arguments = Mapping[str, object]


class BadArguments(Exception):
    """The model's arguments do not fit the tool. The text names the field and what it takes; it goes to the model."""


class Touch(Struct, frozen=True):
    """What a call would reach: files it reads, files it writes (absolute, symlinks resolved), commands it runs."""

    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    runs: tuple[str, ...] = ()


class ToolResult(Struct, frozen=True):
    """What a call came to. `text` is what the model reads (bounded, legal UTF-8)."""

    text: str
    outcome: CallOutcome = CallOutcome.OK
    exit_code: int | None = None


class Workplace(Struct, frozen=True):
    """Where a session's tools act. `environ` is what children get; `outputs` is a folder for output too long to show.

    `withheld` is what was taken out of `environ`.
    """

    cwd: Path
    root: Path
    environ: Mapping[str, str]
    outputs: Path
    withheld: Withheld = NOTHING_WITHHELD


class CallContext(Struct, frozen=True):
    """What a running call may use. `emit` takes decoded output as it comes; it never blocks."""

    place: Workplace
    call_id: str
    emit: Callable[[str], None]


class Tool(Protocol):
    """One module of this package. All but `run` are pure and quick; all raise BadArguments."""

    @property
    def NAME(self) -> str: ...  # noqa: N802 - a module implements this protocol with constants

    @property
    def DESCRIPTION(self) -> str:  # noqa: N802
        """What the model is told of the tool."""
        ...

    @property
    def PARAMETERS(self) -> dict[str, object]:  # noqa: N802
        """JSON schema of the arguments."""
        ...

    def touches(self, args: Arguments, place: Workplace) -> Touch: ...

    def shown(self, args: Arguments) -> str:
        """The exact text a person judges: the command, or the path and what is written. Unescaped."""
        ...

    async def run(self, args: Arguments, ctx: CallContext) -> ToolResult:
        """Act. Cancellation ends everything that the call started before it returns."""
        ...
