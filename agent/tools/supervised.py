"""A command as hermes sees it: started through its supervisor, waited for, and ended by closing the line to it."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

from agent.tools.process_tree import GRACE_S, KILL_S, CallProcesses, RunningProcess, end, running
from agent.tools.supervisor import Order

_KEEPER = "import sys; sys.path.insert(0, sys.argv[1]); from agent.tools.supervisor import main; main()"
_PROJECT = str(Path(__file__).resolve().parent.parent.parent)
_END_S = GRACE_S + KILL_S + 2.0  # after which a supervisor that says nothing is not waited for
_KILLED = -9


class NotStarted(Exception):
    """The command could not be started. The text is the reason, as the end of a sentence."""


class Supervised:
    """One started command. Used on the event loop."""

    def __init__(self, mark: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.mark = mark
        self.pid = 0
        self.is_gone = False  # nothing of it is left; false also where nobody can tell
        self._reader, self._writer = reader, writer
        self._supervisor: int | None = None
        self._adopts = False
        self._known: set[tuple[int, str]] = set()
        self._is_ended_in_vain = False
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._listening: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, order: Order, output: int) -> Supervised:
        """Raises NotStarted. `output` stays the caller's."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                _keeper.hand_over(theirs.fileno(), output)
            except OSError as error:
                ours.close()
                raise NotStarted(f"hermes can't start what watches over commands: {error.strerror}") from error
        started = cls(order.mark, *await asyncio.open_connection(sock=ours))
        try:
            await started._begin(order)
        except BaseException:
            started._writer.close()
            raise
        return started

    @property
    def exit_code(self) -> int | None:
        """Negative where a signal ended it, None while it runs."""
        return self._ended.result() if self._ended.done() else None

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    async def wait_until_gone(self) -> None:
        """Until the supervisor has nothing left to watch, which is never before `end` where orphans come to nobody."""
        assert self._listening is not None
        await asyncio.shield(self._listening)

    def processes(self) -> list[RunningProcess]:
        """What of it lives now. Blocks for a few milliseconds."""
        return [] if self.is_gone else running(self._call())

    async def end(self) -> list[RunningProcess]:
        """TERM to the whole tree, KILL after a short grace. What could not be ended, usually nothing."""
        assert self._listening is not None
        if not self._listening.done():
            self._writer.write_eof()
            await asyncio.wait({self._listening}, timeout=_END_S)
        if self.is_gone:
            return []
        if self._is_ended_in_vain:
            return await asyncio.to_thread(self.processes)
        survivors = await asyncio.to_thread(end, partial(running, self._call()))  # its supervisor was killed
        self.is_gone = not survivors
        return survivors

    async def _begin(self, order: Order) -> None:
        try:
            self._writer.write(order.encoded())
            await self._writer.drain()
            said = (await self._reader.readline()).split()
        except OSError:
            said = []
        match said:
            case [b"started", supervisor, pid, adopts]:
                self.pid, self._supervisor, self._adopts = int(pid), int(supervisor), adopts == b"1"
                self._listening = asyncio.create_task(self._listen())
            case [b"failed", number]:
                raise NotStarted(os.strerror(int(number)))
            case _:
                raise NotStarted("what watches over commands was ended")

    async def _listen(self) -> None:
        try:
            while line := await self._reader.readline():
                self._hear(line.split(None, 2))
        except OSError:
            pass  # it was killed
        finally:
            self._supervisor = None
            self._writer.close()
            if not self._ended.done():
                self._ended.set_result(_KILLED)  # it dies with its supervisor
        if not (self.is_gone or self._is_ended_in_vain):
            left = await asyncio.to_thread(running, CallProcesses(self.mark, self.pid))
            self._known = {(process.pid, process.started) for process in left}

    def _hear(self, said: list[bytes]) -> None:
        match said:
            case [b"ended", status]:
                self._ended.set_result(os.waitstatus_to_exitcode(int(status)))
            case [b"gone"]:
                self.is_gone = True
            case [b"left", pid, started]:
                self._is_ended_in_vain = True
                self._known.add((int(pid), started.decode().strip()))
            case _:
                pass

    def _call(self) -> CallProcesses:
        """A while after its leader is gone, the number of the session may be used again, by strangers."""
        session = None if self._ended.done() else self.pid
        is_watched = self._adopts and self._supervisor is not None  # so nothing can be anywhere but below it
        return CallProcesses("" if is_watched else self.mark, session, frozenset(self._known), self._supervisor)


class _Keeper:
    """The one process of this hermes that forks supervisors; started when it is first needed, and again if it is gone."""

    def __init__(self) -> None:
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def hand_over(self, line: int, output: int) -> None:
        """Raises OSError."""
        if self._channel is not None:
            try:
                socket.send_fds(self._channel, [b"\0"], [line, output])
            except OSError:
                self._channel.close()
            else:
                return
        socket.send_fds(self._start(), [b"\0"], [line, output])

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            # In a session of its own: a Ctrl-C or a hang-up of the terminal is not meant for it.
            self._process = subprocess.Popen(
                (sys.executable, "-I", "-S", "-B", "-c", _KEEPER, _PROJECT, str(theirs.fileno())),
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"LC_ALL": "C"},
                start_new_session=True,
            )
        self._channel = ours
        return ours


_keeper = _Keeper()
