"""What commands run under: a process that ends a command's whole tree when its line to hermes closes, for any reason.

One keeper per hermes is started with the first command. It forks a supervisor for each command, which is a matter of a
millisecond; that one starts the command and stays until all of it is gone. On Linux it adopts what daemonises, so that
nothing gets away from it, and the command dies with it. Nothing but the standard library is imported here.

What a supervisor says on its line, a line of text each:
    started SUPERVISOR PID ADOPTS   the command runs; ADOPTS is 1 where orphans come to the supervisor
    failed ERRNO                    it could not be started
    ended STATUS                    the wait status of the command itself
    gone                            nothing of it is left
    left PID STARTED                could not be ended; a line each
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from agent.tools.process_tree import CallProcesses, RunningProcess, end, running

LENGTH_BYTES = 8
# A longer argument is refused by Linux, so the command comes as a file; bash runs either the same way.
LONGEST_ARGUMENT_BYTES = 100_000
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_CHUNK_BYTES = 65_536
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Order(NamedTuple):
    """A command to start. The environment is a list of NAME=value; `wrapper` is the sandbox around the command."""

    mark: str
    bash: bytes
    command: bytes
    cwd: bytes
    environ: Sequence[bytes]
    wrapper: Sequence[bytes] = ()

    def encoded(self) -> bytes:
        words = (b"%d" % len(self.wrapper), *self.wrapper, *self.environ)
        body = b"\0".join((self.mark.encode(), self.bash, self.command, self.cwd, *words))
        return len(body).to_bytes(LENGTH_BYTES, "big") + body


def keep(channel: socket.socket) -> None:
    """Fork a supervisor for each pair of handles that comes: its line, and where the command writes."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors leave no zombies
    while True:
        _, handles, _, _ = socket.recv_fds(channel, 1, 2)
        if len(handles) != 2:
            return
        for handle in handles:
            os.set_inheritable(handle, False)
        try:
            is_supervisor = os.fork() == 0
        except OSError:
            is_supervisor = False  # no process can be made at the moment: the line closes, and hermes says so
        if is_supervisor:
            try:
                channel.close()
                _Supervisor(socket.socket(fileno=handles[0]), handles[1]).work()
            finally:
                os._exit(0)
        for handle in handles:
            os.close(handle)


class _Supervisor:
    def __init__(self, line: socket.socket, output: int) -> None:
        self._line = line
        self._output = output
        self._adopts = _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._mark = ""
        self._is_wrapped = False
        self._pid = 0
        self._has_children = True
        self._has_ended = False

    def work(self) -> None:
        order = _read_order(self._line)
        if order is None or _is_closed(self._line):
            return  # hermes is gone already, and nothing has run
        woken = _wake_up_for_children()
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)  # it has to outlive what it ends
        self._mark, self._is_wrapped = order.mark, bool(order.wrapper)
        try:
            self._pid = _start(order, self._output)
        except OSError as error:
            self._say(f"failed {error.errno}")
            return
        os.close(self._output)
        self._say(f"started {os.getpid()} {self._pid} {self._adopts:d}")
        self._watch(woken)

    def _watch(self, woken: int) -> None:
        """Until nothing is left, or hermes closes the line: then everything ends."""
        while True:
            self._reap()
            if self._adopts and not self._has_children:
                self._say("gone")
                return
            if self._line in select.select((self._line, woken), (), ())[0]:
                break
            os.read(woken, _CHUNK_BYTES)
        # A sandbox takes all that is in it with it at once, so it is left to end behind its command.
        survivors = end(self._find, spared=self._pid if self._is_wrapped else None)
        self._reap()
        for process in survivors:
            self._say(f"left {process.pid} {process.started}")
        if not survivors:
            self._say("gone")

    def _find(self) -> list[RunningProcess]:
        self._reap()
        mark = "" if self._adopts else self._mark
        return running(CallProcesses(mark, None if self._has_ended else self._pid, supervisor=os.getpid()))

    def _reap(self) -> None:
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._pid:
                    self._has_ended = True
                    self._say(f"ended {status}")
        except ChildProcessError:
            self._has_children = False

    def _say(self, text: str) -> None:
        try:
            self._line.sendall(f"{text}\n".encode())
        except OSError:
            pass  # hermes is gone


def _read_order(line: socket.socket) -> Order | None:
    head = _read_exactly(line, LENGTH_BYTES)
    body = _read_exactly(line, int.from_bytes(head, "big")) if head else None
    if body is None:
        return None
    mark, bash, command, cwd, size, *words = body.split(b"\0")
    wrapper, environ = words[: int(size)], words[int(size) :]
    return Order(mark.decode(), bash, command, cwd, environ, wrapper)


def _read_exactly(line: socket.socket, size_bytes: int) -> bytes | None:
    body = bytearray()
    while len(body) < size_bytes:
        chunk = line.recv(min(size_bytes - len(body), _CHUNK_BYTES))
        if not chunk:
            return None
        body += chunk
    return bytes(body)


def _is_closed(line: socket.socket) -> bool:
    return bool(select.select((line,), (), (), 0)[0])  # nothing is ever sent behind an order


def _wake_up_for_children() -> int:
    """A handle that can be read from after a child has ended."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _note)
    return woken


def _note(number: int, frame: object) -> None:
    """The handle wakes up whoever waits; there is nothing else to do."""


def _start(order: Order, output: int) -> int:
    """The process id of the command. Raises OSError."""
    told, tell = os.pipe()  # closed by the exec itself: what comes through is why there was none
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            _become(order, output, supervisor)
        except OSError as error:
            os.write(tell, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(tell)
    reason = os.read(told, 16)
    os.close(told)
    if reason:
        raise OSError(int(reason), os.strerror(int(reason)))
    return pid


def _become(order: Order, output: int, supervisor: int) -> None:
    os.setsid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(127)  # it died before it could be tied to
    for number in (*_IGNORED, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)  # what is ignored here would be ignored by every program it runs
    os.chdir(order.cwd)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    environ = dict(entry.split(b"=", 1) for entry in order.environ)
    words = (*order.wrapper, order.bash, b"--noprofile", b"--norc", *_script(order.command))
    os.execve(words[0], words, environ)


def _script(command: bytes) -> tuple[bytes, ...]:
    if len(command) < LONGEST_ARGUMENT_BYTES or sys.platform != "linux":
        return b"-c", command
    file = os.memfd_create("command", 0)  # in memory: a kill leaves no file behind
    with open(file, "wb", closefd=False) as writing:
        writing.write(command)
    return (f"/proc/self/fd/{file}".encode(),)


def _prctl(option: int, value: int) -> bool:
    call = _find_prctl()
    return call is not None and call(option, value, 0, 0, 0) == 0


@cache
def _find_prctl() -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    try:
        import ctypes  # a system without it has no use for what it does here

        call = ctypes.CDLL(None).prctl
        call.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
    except (ImportError, OSError, AttributeError):
        return None
    return call


def main() -> None:
    """The number of an inherited socket is the last argument."""
    _find_prctl()
    keep(socket.socket(fileno=int(sys.argv[-1])))
