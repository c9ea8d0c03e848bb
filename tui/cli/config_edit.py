"""`hermes config edit`: a copy in the person's editor, which takes the file's place once it is right."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from agent.config.config_file import replace_config, stored_bytes
from agent.config.home import Home
from agent.config.load import load_settings
from session.errors import UserError
from tui.cli.console import remark

FAILED = 1
DEFAULT_EDITOR = "vi"


class NoEditor(UserError):
    """The editor could not be run."""

    sentence = "The editor {editor} can't be run ({why}). Set VISUAL or EDITOR to another one. Nothing was changed."


class EditorFailed(UserError):
    """The editor ended with an error: what it left behind may be half of what was meant."""

    sentence = "The editor {editor} ended with {code}. {file} was not changed{kept}."


class NoCopy(UserError):
    """The editor took away what it was to write to, or left something there that is no file."""

    sentence = "The editor {editor} left no file at {copy} that can be read. {file} was not changed."


def edit_config(
    home: Home, file: str, environ: Mapping[str, str], tell: Callable[[Mapping[str, object], str], int]
) -> int:
    """Returns the exit code: 1 where something is wrong in the copy, which then stays. Raises UserError."""
    home.create()
    before = stored_bytes(home.config, file)
    copy = _copy(home, before or b"")
    raw = _edited(environ, copy, before or b"", file)
    if raw == (before or b""):
        copy.unlink()
        return tell({"changed": False}, "Nothing was changed.")
    # The text must be right by itself: what the environment says instead of it is no excuse.
    problems = load_settings(copy, str(copy), is_remembered=False).problems
    for problem in problems:
        remark(problem.sentence)
    if any(not problem.is_remark for problem in problems):
        tell({"changed": False, "copy": str(copy)}, f"{file} was not changed. Your copy is {copy}")
        return FAILED
    replace_config(home.config, before, raw, file)
    copy.unlink()
    return tell({"changed": True}, f"Saved {file}.")


def _copy(home: Home, raw: bytes) -> Path:
    """A file of its own for its owner only, beside the real one."""
    descriptor, name = tempfile.mkstemp(prefix="config-", suffix=".yaml", dir=home.root)
    with os.fdopen(descriptor, "wb") as file:
        file.write(raw)
    return Path(name)


def _edited(environ: Mapping[str, str], copy: Path, before: bytes, file: str) -> bytes:
    """What the copy holds once the editor has ended. Raises NoEditor, EditorFailed, NoCopy."""
    editor = (environ.get("VISUAL") or "").strip() or (environ.get("EDITOR") or "").strip() or DEFAULT_EDITOR
    try:
        code = subprocess.run([*shlex.split(editor), str(copy)], env=dict(environ), check=False).returncode
    except (OSError, ValueError) as error:
        copy.unlink()
        why = (error.strerror or "unknown reason") if isinstance(error, OSError) else str(error)
        raise NoEditor(editor=editor, why=why.lower()) from error
    try:
        raw = copy.read_bytes()
    except OSError as error:
        raise NoCopy(editor=editor, copy=copy, file=file) from error
    if code != 0:
        raise EditorFailed(editor=editor, code=code, file=file, kept=_kept(copy, before, raw))
    return raw


def _kept(copy: Path, before: bytes, raw: bytes) -> str:
    """Where what was written is, to follow a sentence; nothing is kept of an editor that was left with `:cq`."""
    if raw != before:
        return f"; your copy is {copy}"
    copy.unlink()
    return ""
