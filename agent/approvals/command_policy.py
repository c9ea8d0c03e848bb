"""What a command may do: the verdict on each of its parts, and what the place and the session make of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from agent.approvals.details import NO_DETAILS, Details, Offer, Script
from agent.approvals.file_policy import PLAN, TOO_WIDE
from agent.approvals.paths import is_inside, real
from agent.approvals.protected_files import is_too_wide
from agent.approvals.sandbox_policy import judge_whereabouts
from agent.approvals.shell_judge import judge_command
from agent.approvals.shell_marks import runs_files
from agent.approvals.shell_rules import rule_proposals
from agent.approvals.shell_verdict import (
    FLOOR,
    GUARDED,
    READ_ONLY,
    UNSEEN,
    WRAPPED,
    CommandVerdict,
    Decision,
    Mode,
    Part,
)
from agent.approvals.standing import Held
from agent.approvals.verdict import Allow, Ask, Refuse, Verdict
from agent.tools.base import Touch, Workplace
from agent.tools.opened import NotReadable, file_at
from session.models import Approval

_HARMLESS = (READ_ONLY, WRAPPED)
_NAMED_PARTS = 3  # in one sentence
_MOST_SCRIPTS, _SCRIPT_BYTES = 3, 64 * 1024


def judge_shell(touch: Touch, place: Workplace, held: Held, mode: Mode) -> Verdict:
    """Judge one command; `touch.reads` is the folder that it is to run in. Looks at files, so not for the loop."""
    folder = touch.reads[0] if touch.reads else place.cwd
    here = replace(place, cwd=folder)
    verdict = judge_command(touch.runs[0], here, held.shell, mode)
    found = _found(verdict, touch, here, held, mode)
    if isinstance(found, Refuse) or not place.sandbox.is_on:
        return found
    return judge_whereabouts(found, touch, place, _details(verdict, touch, here) if touch.is_outside else NO_DETAILS)


def _found(verdict: CommandVerdict, touch: Touch, here: Workplace, held: Held, mode: Mode) -> Verdict:
    match verdict.verdict:
        case Decision.NEVER:
            part = next(part for part in verdict.parts if part.verdict is Decision.NEVER)
            return Refuse(f"it {part.why}, which hermes never does in any mode", FLOOR)
        case Decision.DENY:
            return _refused(verdict)
        case Decision.ASK:
            return Ask(_why(verdict), _details(verdict, touch, here))
        case Decision.ALLOW:
            return _allowed(verdict, touch, here, held, mode)


def _refused(verdict: CommandVerdict) -> Refuse:
    part = next(part for part in verdict.parts if part.verdict is Decision.DENY)
    if part.rule == "plan mode":
        return Refuse(f"{PLAN}, and it {part.why}" if part.why else PLAN, part.rule)
    return Refuse(f"the rule “{part.rule}” forbids it", part.rule)


def _allowed(verdict: CommandVerdict, touch: Touch, here: Workplace, held: Held, mode: Mode) -> Verdict:
    by_rule = [part for part in verdict.parts if part.rule not in _HARMLESS]
    changes = bool(by_rule)
    if mode is Mode.YOLO:
        return Allow(Mode.YOLO, changes=changes) if changes else Allow()
    if not is_inside(here.cwd, here.root) and not is_inside(here.cwd, here.outputs):
        return Ask(f"runs a command outside the workspace ({here.cwd})", _details(verdict, touch, here))
    if len(by_rule) < len(verdict.parts) and is_too_wide(here):
        return Ask(f"runs a command, and {TOO_WIDE}", _details(verdict, touch, here))
    if why := next(_written(by_rule, here, held), None):
        return Ask(why, _details(verdict, touch, here, verdict.parts))
    standing = [one for part in by_rule if (one := held.for_command(part.rule)) is not None]
    approvals = [one.approval for one in standing] or [Approval.NOT_ASKED]
    approval = Approval.ALLOWED_SESSION if Approval.ALLOWED_SESSION in approvals else approvals[0]
    return Allow("; ".join(dict.fromkeys(part.rule for part in by_rule)), approval, changes)


def _why(verdict: CommandVerdict) -> str:
    """The parts that are not allowed, in the words of the verdict (C01)."""
    asked = (part for part in verdict.parts if part.verdict is Decision.ASK)
    whys = list(dict.fromkeys(part.why or "runs a command" for part in asked))
    named, more = whys[:_NAMED_PARTS], len(whys) - _NAMED_PARTS
    return ", ".join(named) + (f", and {more} more" if more > 0 else "")


def _details(verdict: CommandVerdict, touch: Touch, here: Workplace, run: Iterable[Part] | None = None) -> Details:
    is_once = any(part.rule in (GUARDED, UNSEEN) for part in verdict.parts)
    asked = [part for part in verdict.parts if part.verdict is Decision.ASK]
    proposals = () if verdict.marks or is_once else rule_proposals(verdict)
    may_save = bool(proposals) and len(proposals) == len({part.argv for part in asked})
    offers = tuple(tuple(Offer(str(rule), str(rule.width)) for rule in one.rules) for one in proposals)
    return Details(
        parts=verdict.parts,
        marks=verdict.marks,
        offers=offers if may_save else (),
        reads=tuple(map(str, touch.reads)),
        may_save=may_save,
        command=touch.runs[0],
        is_once=is_once,
        scripts=tuple(_scripts(asked if run is None else run, here)),
        stamps=tuple(_stamps(verdict.parts, here)),
    )


def _written(parts: Iterable[Part], here: Workplace, held: Held) -> Iterator[str]:
    """Why a rule does not hold: its words name files that the session wrote, or a script that it may have (C30).

    What a job wrote behind its call, or what git ignores, nobody recorded; but its time of change can't be set back.
    """
    for part in parts:
        for word, path in _named([part], here):
            if path in held.written:
                yield f"runs {word}, which this session wrote"
            elif _is_run(part, word) and (found := _status(path)) is not None and found.st_ctime > held.since:
                yield f"runs {word}, which was changed since this session began"


def _stamps(parts: Iterable[Part], here: Workplace) -> Iterator[str]:
    """A change of any of these files, however it was made, gives another one (C30)."""
    for part in parts:
        for word, path in _named([part], here):
            if _is_run(part, word) and (found := _status(path)) is not None:
                yield f"{path} {found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (OSError, ValueError):
        return None


def _scripts(parts: Iterable[Part], here: Workplace) -> list[Script]:
    """What stands in the files of the workspace that the parts run or hand to a program first (C30)."""
    found: dict[Path, Script] = {}
    for part in parts:
        first = [pair for pair in _named([part], here) if _is_run(part, pair[0])]
        for _, path in first[:1]:
            if len(found) < _MOST_SCRIPTS and is_inside(path, here.root) and (text := _text(path)):
                found.setdefault(path, Script(str(path), text))
    return list(found.values())


def _named(parts: Iterable[Part], here: Workplace) -> Iterator[tuple[str, Path]]:
    for part in parts:
        for word in part.argv or ():
            if word and "\0" not in word and not word.startswith("-"):
                yield word, real(here.cwd / word)


def _is_run(part: Part, word: str) -> bool:
    """`./x.sh`, or what a shell or an interpreter is given first."""
    name, *words = part.argv or ("",)
    if word == name:
        return "/" in name
    return runs_files(name) and word == next((one for one in words if one[:1] != "-"), "")


def _text(path: Path) -> str:
    """The text of a file as far as it is shown, "" for what is no text."""
    try:
        if not path.is_file():
            return ""
        with file_at(path) as file:
            raw = file.read(_SCRIPT_BYTES)
    except (OSError, ValueError, NotReadable):
        return ""
    return "" if b"\0" in raw else raw.decode("utf-8", "replace")
