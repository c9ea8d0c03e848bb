"""What macOS tells of a process and its machine. Where a call of its library fails, the answer is "": not found out."""

from __future__ import annotations

import ctypes
import socket
import struct
from functools import lru_cache
from uuid import UUID

BSD_INFO = struct.Struct("@5I 7I 16s 32s 5I i Q Q")  # struct proc_bsdinfo of sys/proc_info.h
BSD_INFO_FLAVOR = 3  # PROC_PIDTBSDINFO
ALSO_ZOMBIES = 1
ZOMBIE = 5  # SZOMB
STATUS, SECONDS, MICROSECONDS = 1, -2, -1


def host_id() -> str:
    """The hardware's own id, else the name of the machine."""
    found, wait = (ctypes.c_ubyte * 16)(), (ctypes.c_long * 2)(1, 0)
    library = _library()
    if library is None or library.gethostuuid(found, wait) != 0:
        return socket.gethostname()
    return str(UUID(bytes=bytes(found)))


def boot_id() -> str:
    found, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
    library = _library()
    if library is None or library.sysctlbyname(b"kern.bootsessionuuid", found, ctypes.byref(size), None, 0) != 0:
        return ""
    return found.value.decode(errors="replace")


def pid_namespace() -> str:
    """There is only one."""
    return "the only one"


def started(pid: int) -> str | None:
    """When a process began, in seconds since the epoch; "" where that can't be found out, None where it is dead.

    That is so for the processes of other users: a lease of theirs is unverified.
    """
    found = ctypes.create_string_buffer(BSD_INFO.size)
    library = _library()
    if library is None or _info(library, pid, found) != BSD_INFO.size:
        return ""
    fields = BSD_INFO.unpack(found.raw)
    return None if fields[STATUS] == ZOMBIE else f"{fields[SECONDS]}.{fields[MICROSECONDS]:06}"


def _info(library: ctypes.CDLL, pid: int, into: ctypes.Array[ctypes.c_char]) -> int:
    return int(library.proc_pidinfo(pid, BSD_INFO_FLAVOR, ctypes.c_uint64(ALSO_ZOMBIES), into, BSD_INFO.size))


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL | None:
    """The system's library; None on a system that lacks one of the calls."""
    library = ctypes.CDLL(None)
    names = ("gethostuuid", "sysctlbyname", "proc_pidinfo")
    return library if all(hasattr(library, name) for name in names) else None
