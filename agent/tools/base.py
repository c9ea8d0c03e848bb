"""What a tool is: a schema, what a call would touch, how it is shown, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from agent.config.web_settings import WebSettings
from agent.tools.call_record import NO_RECORDS, CallRecords
from agent.tools.past import NO_PAST, Past
from agent.tools.seen_files import SeenFiles
from agent.tools.session_sandbox import NO_SANDBOX, SessionSandbox
from agent.tools.withheld import NOTHING_WITHHELD, Withheld
from session.models import CallOutcome

Arguments = Mapping[str, object]


class BadArguments(Exception):
    """The model's arguments do not fit the tool. The text names the field and what it takes; it goes to the model."""


class Touch(Struct, frozen=True):
    """What a call would reach: files it reads, files it writes (absolute, symlinks resolved), commands it runs, hosts.

    A host has its port behind it where that is not the usual one. `is_outside`: a command leaves the sandbox. `stamps` are
    those of the scripts that it would run, once it was judged.
    """

    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    runs: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    is_outside: bool = False
    stamps: tuple[str, ...] = ()


class ToolResult(Struct, frozen=True):
    """What a call came to. `text` is what the model reads (bounded, legal UTF-8)."""

    text: str
    outcome: CallOutcome = CallOutcome.OK
    exit_code: int | None = None


class Workplace(Struct, frozen=True):
    """Where a session's tools act. `environ` is what children get; `outputs` is a folder for output too long to show.

    `withheld` is what was taken out of `environ`; `seen` is what the session has read of which file;
    `records` is where commands are noted while they run; `web` is what may be fetched, `past` what was said before.
    """

    cwd: Path
    root: Path
    environ: Mapping[str, str]
    outputs: Path
    withheld: Withheld = NOTHING_WITHHELD
    seen: SeenFiles = field(default_factory=SeenFiles)
    records: CallRecords = NO_RECORDS
    web: WebSettings = WebSettings()
    past: Past = NO_PAST
    home: Path | None = None  # where hermes keeps its own files
    sandbox: SessionSandbox = NO_SANDBOX


class FileChange(Struct, frozen=True):
    """What a call would make of a file, to be looked at before. `before` is "" for one that is not there.

    `base` is the SHA-256 of its bytes as they were then, "" for one that is not there: what is approved is this change.
    """

    path: Path
    before: str
    after: str
    base: str = ""


class CallContext(Struct, frozen=True):
    """What a running call may use. `emit` takes decoded output as it comes; it never blocks.

    `touch` and `change` are what was judged and shown of the call, None where nobody did: it keeps to them.
    """

    place: Workplace
    call_id: str
    emit: Callable[[str], None]
    touch: Touch | None = None
    change: FileChange | None = None

    @property
    def seen(self) -> SeenFiles:
        return self.place.seen


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
