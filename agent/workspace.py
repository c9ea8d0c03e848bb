"""Where a session works."""

from __future__ import annotations

from pathlib import Path

from session.models import Session

# What to do about a session whose folder is gone (E10).
MOVED = (
    "This session works there. If the folder was moved, the person can say where it is now: "
    "hermes sessions relink SESSION NEW-FOLDER"
)


def find_workspace(cwd: Path) -> Path:
    """The root of the git tree that holds `cwd`, else `cwd` itself. Looks only; runs no git."""
    here = cwd.resolve()
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            return folder
    return here


def about_folder(session: Session) -> str:
    """What a person should know of a session's folder when the session is opened, "" where it is there. Looks at the disk."""
    if session.cwd and Path(session.cwd).is_dir():
        return ""
    return (
        f"{session.cwd or '(none)'}, the folder of this session, does not exist, so nothing can be run in it. If it was moved, say "
        f"where it is now: hermes sessions relink {session.id} NEW-FOLDER"
    )
