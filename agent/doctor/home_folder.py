"""The home folder: whose it is, who may read it, how much room there is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from agent.config.home import Home
from agent.config.private_files import is_open, open_to_others
from agent.doctor.finding import Finding, Grade

AREA = "home"
LITTLE_BYTES, TOO_LITTLE_BYTES = 500_000_000, 20_000_000


def examine_home(home: Home) -> Iterator[Finding]:
    try:
        found = home.root.stat()
    except FileNotFoundError:
        yield Finding(AREA, Grade.NOTE, f"{home.shown} does not exist yet; the first start makes it.")
        return
    yield Finding(AREA, Grade.OK, f"The home is {home.shown}.")
    if found.st_uid != os.geteuid():
        yield Finding(AREA, Grade.WARNING, f"{home.shown} belongs to another user.", f"chown -R $USER {home.shown}")
    yield from _modes(home)
    yield _space(home)


def _modes(home: Home) -> Iterator[Finding]:
    """What holds keys or conversations is for its owner only."""
    others = (path for path in (home.env, home.root / "trust.json") if is_open(path))
    open_ones = [*open_to_others(home), *others]
    for path in open_ones:
        shown = home.shown if path == home.root else f"{home.shown}/{path.relative_to(home.root)}"
        said, mode = f"Other users of this machine can open {shown}.", "600"
        if path in (home.root, home.logs, home.locks, home.outputs):
            mode = "700"
        elif path.is_dir():
            yield Finding(AREA, Grade.WARNING, f"{shown} is a folder where a file belongs.", f"move {shown} away")
            continue
        yield Finding(AREA, Grade.WARNING, said, f"chmod {mode} {shown}")
    if not open_ones:
        yield Finding(AREA, Grade.OK, "Nobody else on this machine can open it.")


def _space(home: Home) -> Finding:
    try:
        left = shutil.disk_usage(home.root).free
    except OSError as error:
        why = error.strerror or "unknown reason"
        return Finding(AREA, Grade.WARNING, f"How much room its disk has is not known ({why}).", "check the disk")
    said = f"Its disk has {left / 1e9:,.1f} GB of room."
    if left < TOO_LITTLE_BYTES:
        return Finding(AREA, Grade.PROBLEM, f"{said} Conversations can't be stored.", "free some space")
    if left < LITTLE_BYTES:
        return Finding(AREA, Grade.WARNING, said, "free some space")
    return Finding(AREA, Grade.OK, said)
