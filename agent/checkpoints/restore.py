"""From what is recorded to a plan, and from a plan to files. All of it blocks and belongs in the recorder's thread."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from agent.checkpoints.blobs import Keeps, OnlyLooks
from agent.checkpoints.entry import Entry, Kind, is_same
from agent.checkpoints.observed import settle
from agent.checkpoints.pace import Pace
from agent.checkpoints.plan import (
    CHANGED_SINCE,
    LOST,
    NOT_KEPT,
    STOPPED,
    PlannedFile,
    RestorePlan,
    start_of,
    stories,
    uncovered,
)
from agent.checkpoints.putting import NotRestored, Putting
from agent.checkpoints.recorder import Recorder
from agent.checkpoints.steps import VERSION, Change, Owner, Step

log = logging.getLogger(__name__)


class Noted(Struct, frozen=True):
    """A restore that is recorded and not carried out. `number` is its step, 0 where there is nothing to do."""

    number: int = 0
    files: tuple[PlannedFile, ...] = ()
    failed: tuple[NotRestored, ...] = ()


class Restored(Struct, frozen=True):
    """What a restore did. `number` is the step to undo it by, 0 where there was nothing to do."""

    number: int = 0
    done: tuple[str, ...] = ()
    failed: tuple[NotRestored, ...] = ()
    is_stopped: bool = False  # some of `failed` was not reached


def plan_since(recorder: Recorder, calls: Iterable[str], pace: Pace) -> RestorePlan:
    start = start_of(recorder.steps, calls)
    if start is None:
        return RestorePlan(is_cut=recorder.is_damaged)
    files: list[PlannedFile] = []
    for path, story in sorted(stories(recorder.steps, start).items()):
        pace.check()
        now = now_at(recorder, path, OnlyLooks())
        if not is_same(now, story.then):
            files.append(PlannedFile(path, now, story.then, story.conflict(now)))
    return RestorePlan(tuple(files), uncovered(recorder.steps, start), recorder.is_damaged)


def plan_of_undo(recorder: Recorder, number: int, pace: Pace) -> RestorePlan:
    """Back to what was there before a restore, for whatever is still as that left it."""
    step = recorder.steps.get(number)
    files: list[PlannedFile] = []
    for change in step.changes if step is not None and step.is_restore else ():
        pace.check()
        now = now_at(recorder, change.path, OnlyLooks())
        if not is_same(now, change.before):
            files.append(PlannedFile(change.path, now, change.before, _against_undo(change, now)))
    return RestorePlan(tuple(files))


def _against_undo(change: Change, now: Entry | None) -> str:
    if change.before is not None and change.before.kind is Kind.OPAQUE:
        return LOST
    if now is not None and now.kind is Kind.OPAQUE:
        return NOT_KEPT
    return "" if is_same(now, change.after) or _is_between(change, now) else CHANGED_SINCE


def _is_between(change: Change, now: Entry | None) -> bool:
    """Of a folder in the place of a file, or the other way round, a restore that was left half done leaves neither."""
    kinds = [entry.kind is Kind.FOLDER for entry in (change.before, change.after) if entry is not None]
    return now is None and sorted(kinds) == [False, True]


def note(recorder: Recorder, plan: RestorePlan, also: Collection[str], rewind: int = 0) -> Noted:
    """Record what stands there now, and what is to stand there; nothing of it is changed yet. Raises OSError."""
    wanted = [file for file in plan.files if not file.conflict or file.path in also]
    failed = {file.path: file.conflict for file in plan.files if file not in wanted}
    with recorder.blobs.shared():
        recorder.blobs.begin()
        found = [replace(file, now=now_at(recorder, file.path, recorder.blobs)) for file in wanted]
        moved = [file.path for file, before in zip(found, wanted, strict=True) if not is_same(file.now, before.now)]
        failed |= dict.fromkeys(moved, CHANGED_SINCE)
        files = [file for file in found if file.path not in failed]
        is_told = bool(files) or rewind < 0  # that a rewind was taken back counts, also where no file could follow
        number = recorder.write(_step(files, rewind)) if is_told else 0
    return Noted(number, tuple(files), _not_restored(failed))


def left_of(recorder: Recorder, number: int, pace: Pace) -> Noted:
    """What a kill left to do of a restore: all that still is as it was before."""
    step = recorder.steps.get(number)
    files: list[PlannedFile] = []
    failed: dict[str, str] = {}
    for change in step.changes if step is not None and step.is_restore else ():
        pace.check()
        now = now_at(recorder, change.path, OnlyLooks())
        if is_same(now, change.before) or _is_between(change, now):
            files.append(PlannedFile(change.path, now, change.after))
        elif not is_same(now, change.after):
            failed[change.path] = CHANGED_SINCE
    return Noted(number, tuple(files), _not_restored(failed))


def carry_out(recorder: Recorder, noted: Noted, pace: Pace) -> Restored:
    """Each file is looked at once more, and left where it is not as it was noted, or where the pace is stopped before it."""
    putting = Putting(recorder.tree, recorder.blobs, recorder.limits, pace)
    putting.run(noted.files)
    done = tuple(file.path for file in noted.files if file.path not in putting.failed)
    failed = {one.path: one.why for one in noted.failed} | putting.failed
    if putting.is_stopped:
        _note_stop(recorder, noted, putting.failed)
    return Restored(noted.number, done, _not_restored(failed), putting.is_stopped)


def _note_stop(recorder: Recorder, noted: Noted, failed: Mapping[str, str]) -> None:
    """Record that what was not reached stands as before. Where that was to take a rewind back, the rest of it stands."""
    step = recorder.steps.get(noted.number)
    rewind = -step.rewind if step is not None and step.rewind < 0 else 0
    left = [file for file in noted.files if failed.get(file.path) == STOPPED]
    changes = tuple(Change.of(file.path, file.then, now_at(recorder, file.path, OnlyLooks())) for file in left)
    try:
        recorder.write(Step(VERSION, Owner.SESSION, "", time.time(), changes, is_restore=rewind > 0, rewind=rewind))
    except OSError as error:
        log.warning("that a restore was stopped could not be recorded: %s", error.strerror)


def _not_restored(failed: Mapping[str, str]) -> tuple[NotRestored, ...]:
    return tuple(NotRestored(path, why) for path, why in sorted(failed.items()))


def now_at(recorder: Recorder, path: str, keeps: Keeps) -> Entry | None:
    seen = recorder.observe(path, keeps)
    return settle(recorder.tree, path, seen, recorder.state.entries.get(path))


def _step(files: list[PlannedFile], rewind: int) -> Step:
    changes = tuple(Change.of(file.path, file.now, file.then) for file in files)
    return Step(VERSION, Owner.SESSION, "", time.time(), changes, is_restore=True, rewind=rewind)
