"""Where a session works."""

from __future__ import annotations

from pathlib import Path


def find_workspace(cwd: Path) -> Path:
    """The root of the git tree that holds `cwd`, else `cwd` itself. Looks only; runs no git."""
    here = cwd.resolve()
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            return folder
    return here
