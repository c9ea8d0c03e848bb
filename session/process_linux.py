"""What Linux tells of a process and its machine."""

from __future__ import annotations

import socket
from pathlib import Path

MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
DEAD = "ZX"  # a zombie runs nothing any more, it only waits to be counted
STATE, STARTED = 0, 19  # of the fields behind the name


def host_id() -> str:
    """The machine. Containers made from one image may share its id, so the name belongs to it."""
    machine = next((text for path in MACHINE_IDS if (text := _text(path))), "")
    return f"{machine} {socket.gethostname()}".strip()


def boot_id() -> str:
    return _text(BOOT_ID)


def pid_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def started(pid: int) -> str | None:
    """When a process began, in ticks since the system did; "" where that can't be found out, None where it is dead."""
    # The name in parentheses may hold anything, parentheses and spaces too.
    fields = _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    if len(fields) <= STARTED:
        return ""
    return None if fields[STATE] in DEAD else fields[STARTED]


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
