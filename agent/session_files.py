"""What a session leaves on the disk beside its rows."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from agent.config.home import Home


def remove_outputs(home: Home, session_ids: Iterable[str]) -> list[Path]:
    """Remove what the commands of sessions put out beyond what is shown, and the checkpoints of files. Blocks.

    Returns the folders that could not be removed.
    """
    plain = [session_id for session_id in session_ids if is_plain_name(session_id)]
    folders = [home.outputs / session_id for session_id in plain]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return [*(folder for folder in folders if folder.exists()), *_remove_checkpoints(home, plain)]


def _remove_checkpoints(home: Home, session_ids: list[str]) -> list[Path]:
    if not home.checkpoints.exists():
        return []
    from agent.checkpoints.space import forget

    return forget(home.checkpoints, session_ids)


def is_plain_name(session_id: str) -> bool:
    """An id from a damaged file must not lead to another folder."""
    return session_id not in ("", ".", "..") and "/" not in session_id and "\0" not in session_id
