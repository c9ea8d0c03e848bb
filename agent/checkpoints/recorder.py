"""Keeping the record of one session's files. All of it blocks and belongs in one thread."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from agent.checkpoints.blobs import Blobs, Keeps
from agent.checkpoints.coverage import Coverage, GitCoverage, WalkCoverage, own_folder
from agent.checkpoints.entry import Entry
from agent.checkpoints.limits import Limits, Why
from agent.checkpoints.listing import NoAnswer, Question
from agent.checkpoints.observed import observe_key, settle
from agent.checkpoints.pace import Pace
from agent.checkpoints.scan import Scan, Scanned
from agent.checkpoints.space import Space, hold
from agent.checkpoints.state import Learned, State
from agent.checkpoints.steps import VERSION, Change, Damaged, Owner, Step, Steps
from agent.checkpoints.tree import Tree, parents
from agent.config.home import Home

_NONE: frozenset[str] = frozenset()

log = logging.getLogger(__name__)


class Recorder:
    """`steps` is what was recorded, by number; `is_damaged`: what came before the first of them can't be read."""

    def __init__(self, home: Home, session_id: str, root: Path, environ: Mapping[str, str], limits: Limits) -> None:
        self.tree, self.limits = Tree(root), limits
        self._home = home
        self.state = State()
        self.steps: dict[int, Step] = {}
        self.is_damaged = False
        self._space = Space(home.checkpoints, limits.store_bytes)
        self.blobs: Blobs = self._space.blobs
        self._files = Steps(self._space.session(session_id))
        self._environ = environ
        self._running: dict[str, list[str] | None] = {}
        self._held: int | None = None
        self._last = 0  # the number of the last step on the disk, whether or not it can be read
        self.is_open = False
        self.written: frozenset[Path] = frozenset()  # by calls of the session

    # --- what stands on the disk

    def open(self, pace: Pace) -> None:
        """Read what there is, again where another process went on with it. Raises OSError, Newer, Cancelled."""
        if self.is_open and not self._files.has(self._last + 1):
            return
        self.is_open, self.tree = False, Tree(self.tree.root.resolve())
        self.state, self.steps, self.is_damaged, self._last = State(), {}, False, 0
        self.written = frozenset()
        for number in self._files.numbers():
            self._replay(number)
        running = self._files.running()
        if unsettled := {call: keys for call, keys in running.items() if call not in self._running}:
            self._settle(unsettled, pace)
        self.is_open = True

    def _replay(self, number: int) -> None:
        self._last = number
        try:
            step = self._files.read(number)
        except Damaged:
            log.warning("checkpoint %s of %s can't be read; those before it are of no use", number, self._files.folder)
            self.state, self.steps, self.is_damaged = State(), {}, True
            return
        self._apply(number, step)

    def _settle(self, calls: Mapping[str, list[str] | None], pace: Pace) -> None:
        """Hermes was ended while calls ran: what differs now is theirs, or somebody else's."""
        call_id, *_ = calls
        if None in calls.values():
            self.look_over(Owner.UNTOLD, call_id, pace)
        else:
            self.look_at(Owner.UNTOLD, call_id, {key for keys in calls.values() for key in keys or ()})
        self._files.note_running(self._running)

    def close(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None

    @property
    def last_restore(self) -> int | None:
        return max((number for number, step in self.steps.items() if step.is_restore), default=None)

    def restore_of(self, rewind: int) -> int:
        """The latest restore that was part of a rewind, 0 for none."""
        return max((number for number, step in self.steps.items() if step.rewind == rewind), default=0)

    def standing_rewind(self, most: int) -> int:
        """The latest rewind, of so many, whose restore was not taken back since, 0 for none."""
        numbers = {step.rewind for step in self.steps.values() if 0 < step.rewind <= most}
        return max((one for one in numbers if self.restore_of(-one) < self.restore_of(one)), default=0)

    # --- calls

    def prepare(self, pace: Pace) -> None:
        """Look at the whole workspace unless that was done."""
        if not self.state.is_whole:
            self.look_over(Owner.OTHERS, "", pace)

    @property
    def is_running(self) -> bool:
        return bool(self._running)

    def begin(self, call_id: str, writes: Iterable[Path] | None, pace: Pace) -> None:
        """Record what is there before a call: of the files it writes, or of all where that is not known."""
        owner = Owner.SESSION if self._running else Owner.OTHERS
        keys = None if writes is None else self._watched(writes)
        if keys is None:
            self.look_over(owner, next(iter(self._running), ""), pace)
        else:
            self.look_at(owner, next(iter(self._running), ""), keys)
        self._hold()
        self._files.note_running({**self._running, call_id: keys})
        self._running[call_id] = keys

    def end(self, call_id: str, pace: Pace) -> None:
        """Record what a call changed. Nothing for one that did not begin."""
        if call_id not in self._running:
            return
        keys = self._running[call_id]
        if keys is None:
            self.look_over(Owner.SESSION, call_id, pace)
        else:
            self.look_at(Owner.SESSION, call_id, keys, frozenset(key for key in keys if key not in self.state.left))
        del self._running[call_id]
        self._files.note_running(self._running)

    def _watched(self, writes: Iterable[Path]) -> list[str]:
        """The files, and the folders that they are in or that are made for them."""
        watched: dict[str, None] = {}
        for path in writes:
            key = self.tree.key(path)
            watched.update(dict.fromkeys((*self._folders(key), key)))
        return list(watched)

    def _folders(self, key: str) -> list[str]:
        """Of a file outside of the workspace only the folders that are missing: the others are none of its."""
        if not key.startswith("/"):
            return parents(key)
        return [f"/{folder}" for folder in parents(key[1:]) if not os.path.lexists(f"/{folder}")]

    # --- looking

    def look_over(self, owner: Owner, call_id: str, pace: Pace) -> None:
        """Record all that is different from what was known. Raises OSError, Cancelled."""
        state = self.state
        hints = {} if state.is_whole else self._space.hints(self.tree.root, self._files.folder)
        with self.blobs.shared():
            self.blobs.begin()
            scanned = self._scanned(hints, pace)
            found: dict[str, Entry | None] = dict.fromkeys(state.entries.keys() - scanned.entries.keys())
            found.update(scanned.entries)
            learned, changes = state.against(found, _NONE)
            self._record(owner, call_id, learned, changes, scanned.left, is_whole=True)
        self._space.keep_within(self._files.folder)

    def _scanned(self, hints: Mapping[str, Entry], pace: Pace) -> Scanned:
        root, state = self.tree.root, self.state

        def scan(coverage: Coverage) -> Scanned:
            own = own_folder(self._home, root)
            return Scan(state, hints, self.blobs, self.limits, pace, own).run(root, coverage)

        try:
            with Question(root, self._environ, state.entries.keys(), pace) as question:
                return scan(GitCoverage(question))
        except NoAnswer:
            return scan(WalkCoverage(self.limits, state.left))

    def look_at(self, owner: Owner, call_id: str, keys: Iterable[str], created: frozenset[str] = _NONE) -> None:
        """The same for some paths."""
        with self.blobs.shared():
            self.blobs.begin()
            left = dict(self.state.left)
            found = {key: self._find(key, left) for key in keys}
            learned, changes = self.state.against(found, created)
            self._record(owner, call_id, learned, changes, left, is_whole=self.state.is_whole)

    def _find(self, key: str, left: dict[str, Why]) -> Entry | None:
        known = self.state.entries.get(key)
        seen = self.observe(key, self.blobs)
        if not isinstance(seen, Why):
            left.pop(key, None)
            return seen
        left[key] = seen
        return known and settle(self.tree, key, seen, known)

    def observe(self, key: str, keeps: Keeps) -> Entry | Why | None:
        return observe_key(self.tree, key, self.state.entries.get(key), keeps, self.limits)

    def _record(
        self,
        owner: Owner,
        call_id: str,
        learned: list[Learned],
        changes: list[Change],
        left: dict[str, Why],
        *,
        is_whole: bool,
    ) -> None:
        """What only has other times than before is not worth a step, and is known again after the next start by reading."""
        is_fresh = any(os.fsdecode(path) not in self.state.entries for path, _ in learned)
        listed = tuple((os.fsencode(path), why) for path, why in left.items()) if left != self.state.left else None
        step = Step(VERSION, owner, call_id, time.time(), tuple(changes), tuple(learned), listed, is_whole)
        if changes or is_fresh or listed is not None or is_whole != self.state.is_whole:
            self.write(step)
        else:
            self.state.apply(step)

    def write(self, step: Step) -> int:
        """Durable, then known; its number. Raises OSError."""
        number = self._last + 1
        self._hold()
        self._files.write(number, step)
        self._apply(number, step)
        return number

    def _apply(self, number: int, step: Step) -> None:
        self.state.apply(step)
        self._last = number
        self.steps[number] = replace(step, learned=())  # what it holds is in the state
        if step.owner is not Owner.OTHERS:
            self.written |= {self.tree.shown(change.path) for change in step.changes}

    def _hold(self) -> None:
        if self._held is None:
            self._held = hold(self._files.folder)
            self._files.note_root(self.tree.root)
