"""A key that a command prints: `providers.<name>.key_cmd`, run when its key is needed and kept for its time."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from session.errors import UserError

ENDING_S = 1.0
TIMEOUT_S = 30.0  # a password store may ask a person to unlock it
LONGEST_KEY_BYTES = 16_384


class NoKey(UserError):
    """A command gave no key. Nothing that it printed is repeated: it may be half a key."""

    sentence = "No key came from {setting}: the command {why}. Run it in a shell to see why."


class KeyCommand(Struct, frozen=True):
    """What a person configured: a line for the shell or the words of a command, and how long its answer holds.

    `setting` names the place in config.yaml, such as providers.work.key_cmd.
    """

    setting: str
    command: str | tuple[str, ...]
    ttl_s: float


class CommandKey:
    """The key that one command gives, as far as it is known. Used on one event loop."""

    def __init__(
        self,
        asked: KeyCommand,
        environ: Callable[[], Mapping[str, str]],
        cwd: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.asked = asked
        self.last: str | None = None  # the newest answer, perhaps outdated
        self._environ = environ
        self._cwd = cwd
        self._clock = clock
        self._until = float("-inf")
        self._asking = asyncio.Lock()  # sessions that need the key at once run the command once

    async def fresh(self) -> str:
        """The key, from the last answer while it holds, else from the command. Raises NoKey."""
        async with self._asking:
            if self.last is None or self._clock() >= self._until:
                self.last = None  # a key that could not be renewed is not used on
                self.last = await self._run()
                self._until = self._clock() + self.asked.ttl_s
            return self.last

    def outdate(self) -> None:
        """The server refused the key: the next request asks for another."""
        self._until = float("-inf")

    async def _run(self) -> str:
        try:
            printed, exit_code = await run(self.asked.command, self._environ(), self._cwd)
        except TimeoutError as error:
            raise self._no_key(f"did not end within {TIMEOUT_S:.0f} s and was stopped") from error
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else None
            raise self._no_key(f"could not be started ({(why or 'it is not usable').lower()})") from None
        if exit_code:
            raise self._no_key(f"ended with exit code {exit_code}" if exit_code > 0 else "was killed")
        return self._key(printed)

    def _key(self, printed: bytes) -> str:
        try:
            key = printed.decode().strip()
        except UnicodeDecodeError:
            raise self._no_key("printed something that is no text") from None
        if not key:
            raise self._no_key("printed nothing")
        if len(printed) > LONGEST_KEY_BYTES or not key.isprintable():
            raise self._no_key("printed more than one line, or characters that no key has")
        return key

    def _no_key(self, why: str) -> NoKey:
        return NoKey(setting=self.asked.setting, why=why)


async def run(command: str | tuple[str, ...], environ: Mapping[str, str], cwd: Path) -> tuple[bytes, int]:
    """What a command printed on stdout (a little more than a key at most) and its exit code.

    Its stderr goes nowhere and it has no terminal. Where it does not end by itself, it is ended with what it started.
    Raises TimeoutError, OSError.
    """
    words = ("/bin/sh", "-c", command) if isinstance(command, str) else command
    process = await _started(words, environ, cwd)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            printed = await _printed(process)
            exit_code = await process.wait() if len(printed) <= LONGEST_KEY_BYTES else 0
            return printed, exit_code
    finally:
        if process.returncode is None:
            await _end(process)


async def _started(words: tuple[str, ...], environ: Mapping[str, str], cwd: Path) -> asyncio.subprocess.Process:
    """Cancelled, it still ends all that was started: asyncio would end only the first process of it."""
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(environ),
            cwd=cwd,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):  # it could not be started
            await _end(await starting)
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):  # something that left its session may hold the output open
        async with asyncio.timeout(ENDING_S):
            await process.wait()


async def _printed(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    printed = b""
    while len(printed) <= LONGEST_KEY_BYTES and (piece := await process.stdout.read(LONGEST_KEY_BYTES)):
        printed += piece
    return printed
