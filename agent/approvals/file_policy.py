"""What a file tool may do: by the real path of each file that it reads or writes (C18, C19)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from agent.approvals.details import Details, Offer
from agent.approvals.paths import is_inside, real
from agent.approvals.protected_files import is_too_wide, why_protected, why_system
from agent.approvals.shell_paths import is_secret
from agent.approvals.shell_verdict import GUARDED, Decision, Mode
from agent.approvals.standing import Held
from agent.approvals.verdict import Allow, Ask, Refuse, Verdict
from agent.tools.base import Touch, Workplace

TOO_WIDE = "the folder of this session is your home folder or holds it, which is too much to be read or changed unasked"
PLAN = "this session is in plan mode, in which nothing is changed"


def judge_files(touch: Touch, place: Workplace, held: Held, mode: Mode) -> Verdict:
    """Writes are judged first: a call that writes is judged by that, whatever it reads besides."""
    return _judge_writes(touch, place, held, mode) if touch.writes else _judge_reads(touch, place, mode)


def _judge_reads(touch: Touch, place: Workplace, mode: Mode) -> Verdict:
    """What was cut from an output stands in the session's own folder; the model is told to read it there."""
    paths = [path for path in touch.reads if not is_inside(path, place.outputs)]
    if not touch.reads:
        return Ask("does what cannot be told beforehand")
    details = Details(reads=_texts(touch.reads))
    if secret := [path for path in paths if is_secret(str(path))]:
        return Ask(f"reads what looks like a secret ({_listed(secret)})", replace(details, is_once=True))
    if mode is Mode.YOLO:
        return Allow(rule=Mode.YOLO) if paths else Allow()
    if outside := [path for path in paths if not is_inside(path, place.root)]:
        return Ask(f"reads a file outside the workspace ({_listed(outside)})", details)
    if paths and is_too_wide(place):
        return Ask(f"reads a file, and {TOO_WIDE}", details)
    return Allow()


def _judge_writes(touch: Touch, place: Workplace, held: Held, mode: Mode) -> Verdict:
    paths = [real(path) for path in touch.writes]
    if system := next((why for path in paths if (why := why_system(path))), ""):
        return Refuse(system, "system file")
    if rule := next(filter(None, (held.for_file(Decision.DENY, path, place.root) for path in paths)), None):
        return Refuse(f"the rule “{rule}” forbids it", str(rule))
    if mode is Mode.PLAN:
        return Refuse(PLAN, "plan mode")
    if protected := next((why for path in paths if (why := why_protected(path, place))), ""):
        return Ask(f"writes to {protected}", _details(touch, is_once=True, rule=GUARDED))
    if mode is Mode.YOLO:
        return Allow(Mode.YOLO, changes=True)
    return _judge_ordinary(paths, touch, place, held, mode)


def _judge_ordinary(paths: list[Path], touch: Touch, place: Workplace, held: Held, mode: Mode) -> Verdict:
    outside = [path for path in paths if not is_inside(path, place.root)]
    if outside:
        return Ask(f"writes a file outside the workspace ({_listed(outside)})", _details(touch))
    if rule := next(filter(None, (held.for_file(Decision.ASK, path, place.root) for path in paths)), None):
        return Ask(f"writes a file for which the rule “{rule}” stands", _details(touch))
    allowing = [held.for_file(Decision.ALLOW, path, place.root) for path in paths]
    if all(allowing) and (rule := allowing[0]):
        return Allow(str(rule), rule.approval, changes=True)
    offers = tuple(_offers(path, place.root) for path in paths)
    if is_too_wide(place):
        return Ask(f"writes a file, and {TOO_WIDE}", _details(touch, offers))
    if mode is Mode.ACCEPT_EDITS:
        return Allow(Mode.ACCEPT_EDITS, changes=True)
    return Ask("writes a file", _details(touch, offers))


def _details(
    touch: Touch, offers: tuple[tuple[Offer, ...], ...] = (), *, is_once: bool = False, rule: str = ""
) -> Details:
    return Details(
        offers=offers,
        reads=_texts(touch.reads),
        writes=_texts(touch.writes),
        path=str(touch.writes[0]) if touch.writes else "",
        may_save=any(offers),
        is_once=is_once,
    )


def _offers(path: Path, root: Path) -> tuple[Offer, ...]:
    """This file, and all below its folder; names that a pattern would read anew are not offered."""
    name = path.relative_to(real(root)).as_posix()
    if not name.isprintable() or any(char in name for char in "*?"):
        return ()
    folder = name.rpartition("/")[0]
    return (Offer(name, "path"), *([Offer(f"{folder}/**", "folder")] if folder else []))


def _texts(paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(map(str, paths))


def _listed(paths: Iterable[Path]) -> str:
    return ", ".join(map(str, paths))
