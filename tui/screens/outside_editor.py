"""Writing in the person's own editor, which gets the terminal for as long as it runs; what runs in the sessions goes on."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import signal
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from textual.app import App, SuspendNotSupported

from session.errors import UserError

NAME = "prompt.md"
LARGEST_BYTES = 10_000_000
PARTING_S = 2.0  # for an editor that is ended with hermes


class NoEditor(UserError):
    """Neither variable names an editor, and there is none of the usual ones."""

    sentence = "No editor was found. Name one before hermes starts, for example: export EDITOR=nano"


class EditorFailed(UserError):
    """The editor could not be run, or said that it failed."""

    sentence = "The draft is as it was: the editor {command} {why}."


async def edited(app: App[object], environ: Mapping[str, str], text: str) -> str:
    """The text as the person left it. Raises NoEditor or EditorFailed."""
    command = editor_command(environ)
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="hermes-"))
    try:
        file = folder / NAME
        await asyncio.to_thread(file.write_text, text, "utf-8")
        await _run(app, environ, command, file)
        return await asyncio.to_thread(_read, file, command[0])
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """What VISUAL or EDITOR says, as words, or one of the usual editors. Raises NoEditor."""
    for name in ("VISUAL", "EDITOR"):
        try:
            if words := shlex.split(environ.get(name, "")):
                return words
        except ValueError as error:
            raise EditorFailed(command=f"in {name}", why="is not written as a command") from error
    for usual in ("nano", "vi"):
        if found := shutil.which(usual, path=environ.get("PATH")):
            return [found]
    raise NoEditor


async def _run(app: App[object], environ: Mapping[str, str], command: list[str], file: Path) -> None:
    try:
        with app.batch_update(), app.suspend(), _interrupts_ignored(), _terminal() as tty:
            process = await asyncio.create_subprocess_exec(
                *command, str(file), stdin=tty, stdout=tty, stderr=tty, env=dict(environ)
            )
            try:
                exit_code = await process.wait()
            except asyncio.CancelledError:
                await _end(process)
                raise
    except SuspendNotSupported as error:
        raise EditorFailed(command=command[0], why="can't be given this terminal") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "is no command"
        raise EditorFailed(command=command[0], why=f"could not be started ({why})") from error
    if exit_code:
        raise EditorFailed(command=command[0], why=f"ended with {exit_code}")


def _terminal() -> FileIO:
    """What the editor reads and writes: our own output is diverted."""
    return FileIO("/dev/tty", "r+")


async def _end(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    try:
        async with asyncio.timeout(PARTING_S):
            await process.wait()
    except TimeoutError:
        process.kill()


@contextmanager
def _interrupts_ignored() -> Generator[None]:
    """Ctrl+C in an editor is for the editor. Not SIG_IGN, which the editor would inherit."""
    kept = signal.signal(signal.SIGINT, _ignore)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, kept)


def _ignore(number: int, frame: object) -> None:
    pass


def _read(file: Path, command: str) -> str:
    try:
        raw = file.read_bytes()
        if len(raw) > LARGEST_BYTES:
            raise EditorFailed(command=command, why=f"left more than {LARGEST_BYTES // 1_000_000} MB")
        return raw.decode().replace("\r\n", "\n").removesuffix("\n")
    except OSError as error:
        raise EditorFailed(command=command, why=f"left no text ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise EditorFailed(command=command, why="left something that is no UTF-8 text") from error
