"""What stands around a command: variables set in front of it, redirections, and globs, which list a folder by themselves."""

from __future__ import annotations

import re

from agent.approvals.shell_paths import Whereabouts
from agent.approvals.shell_reading import Command, Reading, Redirection
from agent.approvals.shell_verdict import NO_RULE, REDIRECTION, SETTING
from agent.approvals.shell_wrappers import is_harmless_setting

_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TAKEN_NAMES = frozenset(("histchars", "auto_resume"))


def why_surrounded(command: Command, reading: Reading, where: Whereabouts) -> tuple[str, str] | None:
    """The rule by which, and the reason why, a command asks for what is around it; None where nothing is."""
    return (
        _why_settings(command, reading, where) or _why_redirected(command, reading, where) or _why_lists(command, where)
    )


def is_free_name(name: str, where: Whereabouts) -> bool:
    """Whether a variable is this line's own: not handed on to programs, and without meaning for bash."""
    return bool(_PLAIN_NAME.fullmatch(name)) and name not in where.place.environ and name not in _TAKEN_NAMES


def _why_settings(command: Command, reading: Reading, where: Whereabouts) -> tuple[str, str] | None:
    for word in command.assignments:
        name = reading.text(word.start, word.end).partition("=")[0]
        fixed = word.values[0] if word.values and len(word.values) == 1 else ""
        # With no command behind it, even LANG stays, and changes what the shell makes of the rest of the line.
        is_harmless = is_harmless_setting(fixed) if command.words else is_free_name(name, where)
        if not is_harmless:
            return SETTING, f"sets {name}"
    return None


def _why_redirected(command: Command, reading: Reading, where: Whereabouts) -> tuple[str, str] | None:
    for each in command.redirections:
        if why := _why_redirection(each, reading.text(each.target.start, each.target.end), where):
            return REDIRECTION, why
    return None


def _why_redirection(each: Redirection, written: str, where: Whereabouts) -> str:
    if each.operator in ("<<", "<<-", "<<<"):
        return ""
    target = each.target.values[0] if each.target.values and len(each.target.values) == 1 else None
    if each.operator in ("<&", ">&") and target is not None and re.fullmatch(r"[0-9]+|-", target):
        return ""
    if target == "/dev/null" and each.operator != "<>":
        return ""
    if each.operator != "<":
        return f"writes to {written}"
    return "reads a file that is not fixed" if target is None else where.why_not(target)


def _why_lists(command: Command, where: Whereabouts) -> tuple[str, str] | None:
    patterns = [word.pattern for word in command.words if word.pattern]
    outside = [each for each in patterns if not where.is_local(each) or ("/" in each and not _stays(each, where))]
    return (NO_RULE, f"lists files by {outside[0]}") if outside else None


def _stays(pattern: str, where: Whereabouts) -> bool:
    """Whether the folders that a glob goes through are the workspace's own, and no links out of it."""
    found = where.expanded(pattern)
    return found is not None and not any(
        where.why_not(folder, is_read=False) for folder in {each.rpartition("/")[0] or "." for each in found}
    )
