"""How a search is run: ripgrep where there is one that nobody can swap, else our own program, both under supervision."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import uuid
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from msgspec import Struct

from agent.approvals.shell_programs import Programs
from agent.tools import jobs
from agent.tools.base import Workplace
from agent.tools.opened import file_at, listable
from agent.tools.process_tree import MARK_NAME
from agent.tools.search_query import Query, ripgrep_arguments
from agent.tools.shell_run import find_bash
from agent.tools.supervised import NotStarted, Supervised
from agent.tools.supervisor import Order
from agent.tools.text_file import probed

_CHUNK_BYTES = 256 * 1024
_PROJECT = str(Path(__file__).resolve().parent.parent.parent)
_OWN = "import sys; sys.path.insert(0, sys.argv[1]); from agent.tools.search_program import main; main()"


class CannotSearch(Exception):
    """The search could not be started. The text is a sentence for the model."""


class Ending(Struct, frozen=True):
    """How a search ended. `exit_code` is None where it was stopped: it found enough, or took too long."""

    exit_code: int | None
    is_late: bool = False


def find_ripgrep(place: Workplace) -> str:
    """The ripgrep to use, "" where there is none, or one that the agent could have put there."""
    program = Programs(place).outside("rg", (place.cwd,))
    return "" if program.why or program.path is None else str(program.path)


@contextmanager
def opened_root(path: Path, *, is_file: bool) -> Generator[tuple[str, str]]:
    """Where a search starts, held open: the folder to run in, and what to search from there. Raises OSError, NotReadable."""
    if is_file:
        with file_at(path) as file:
            probed(file)
            yield "/", _by_handle(file.fileno(), path)
        return
    handle = listable(path)
    try:
        yield _by_handle(handle, path), "./"
    finally:
        os.close(handle)


def _by_handle(handle: int, path: Path) -> str:
    """What another process of ours reaches by a handle that we hold; where there is no such way, the path itself."""
    return f"/proc/{os.getpid()}/fd/{handle}" if sys.platform == "linux" else str(path)


def arguments_of(query: Query, ripgrep: str) -> list[str]:
    if ripgrep:
        return [ripgrep, *ripgrep_arguments(query)]
    return [sys.executable, "-I", "-S", "-B", "-c", _OWN, _PROJECT, query.encoded()]


async def run_search(
    arguments: Sequence[str], cwd: str, place: Workplace, take: Callable[[bytes], bool], most_s: float
) -> Ending:
    """Feed `take` with what the program writes, until it ends or `take` has enough. Raises CannotSearch."""
    async with _started(arguments, cwd, place) as (supervised, output):
        try:
            async with asyncio.timeout(most_s):
                while chunk := await output.read(_CHUNK_BYTES):
                    if not take(chunk):
                        return Ending(None)
                return Ending(await supervised.wait())
        except TimeoutError:
            return Ending(None, is_late=True)


@asynccontextmanager
async def _started(
    arguments: Sequence[str], cwd: str, place: Workplace
) -> AsyncGenerator[tuple[Supervised, asyncio.StreamReader]]:
    """A running search and its output. It is ended when it is left, however that happens."""
    read_end, write_end = os.pipe()
    try:
        supervised = await Supervised.start(_order(arguments, cwd, place), write_end)
    except BaseException as error:
        os.close(read_end)
        if isinstance(error, NotStarted):
            raise CannotSearch(f"The search could not be started: {error}.") from error
        raise
    finally:
        os.close(write_end)
    output = asyncio.StreamReader(_CHUNK_BYTES)
    pipe = os.fdopen(read_end, "rb", 0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(output), pipe
    )
    try:
        yield supervised, output
    finally:
        transport.close()
        await jobs.release(_end(supervised), place.outputs)


async def _end(supervised: Supervised) -> None:
    await supervised.end()


def _order(arguments: Sequence[str], cwd: str, place: Workplace) -> Order:
    bash = find_bash(place.environ)
    if bash is None:
        raise CannotSearch("There is no bash on this machine. Install bash to let hermes run commands.")
    mark = uuid.uuid4().hex
    environ = (b"LC_ALL=C.UTF-8", os.fsencode(f"{MARK_NAME}={mark}"))
    return Order(mark, os.fsencode(bash), b"exec " + os.fsencode(shlex.join(arguments)), os.fsencode(cwd), environ)
