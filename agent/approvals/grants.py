"""What may run without being asked again: the rules of the settings as they stand on the disk, and a session's own."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from agent.approvals.shell_verdict import Decision
from agent.approvals.standing import Held, Kind, Source, Standing, held, standing_of
from agent.config.settings import Loaded, Settings
from agent.config.watch import stamp_of
from agent.tools.base import Touch

SameCall = tuple[str, str, Touch]  # the tool, its arguments, and what they reached when they were judged


class Grants:
    """The rules of one profile. What is allowed for a session is kept in memory alone and ends with it.

    The file is looked at each time, so that what was added or taken out by hand, or elsewhere, holds at once. While it
    can't be read, the rules that were read last stay. Any thread may ask.
    """

    def __init__(self, config: Path, shown: str, settings: Settings, read: Callable[[], Loaded]) -> None:
        """`settings` are those of the start; `read` reads them anew, and blocks."""
        self._config, self._shown, self._read = config, shown, read
        self._settings, self._stamp = settings, stamp_of(config)
        self._lock = threading.Lock()
        self._rules: defaultdict[str, list[Standing]] = defaultdict(list)
        self._calls: defaultdict[str, set[SameCall]] = defaultdict(set)
        self._written: defaultdict[str, set[Path]] = defaultdict(set)

    def held(self, session_id: str, root: Path) -> Held:
        """All that holds in a session. Looks at the disk."""
        settings = self._current()
        standing = [*self._rules[session_id], *standing_of(settings, root)]
        return held(standing, is_certain=not settings.unread, written=frozenset(self._written[session_id]))

    # --- for a session

    def allow_call(self, session_id: str, same: SameCall) -> None:
        """Let the very same call run again, while its paths lead to the same files (C18)."""
        self._calls[session_id].add(same)

    def is_allowed(self, session_id: str, same: SameCall) -> bool:
        return same in self._calls[session_id]

    def disallow_call(self, session_id: str, same: SameCall) -> None:
        self._calls[session_id].discard(same)

    def calls(self, session_id: str) -> list[SameCall]:
        """The very calls that may run again, in a lasting order."""
        return sorted(self._calls[session_id], key=lambda same: same[:2])

    def allow(self, session_id: str, kind: Kind, rules: Iterable[str]) -> None:
        self._rules[session_id] += [Standing(kind, Decision.ALLOW, rule, Source.SESSION) for rule in rules]

    def note_written(self, session_id: str, paths: Iterable[Path]) -> None:
        """Note what the session writes: a rule for a script means the one that was there (C30)."""
        self._written[session_id].update(paths)

    def forget(self, session_id: str) -> None:
        """The session was ended: nothing that was allowed for it holds any more."""
        for kept in (self._rules, self._calls, self._written):
            kept.pop(session_id, None)

    # --- for good

    def save(self, kind: Kind, rules: Iterable[str], root: Path, *, is_everywhere: bool) -> None:
        """Write rules into config.yaml, over what stands there now. Blocks. Raises NotSet, NotSaved."""
        from agent.config.config_file import add_entry  # yaml, which a start need not pay for

        source = Source.EVERYWHERE if is_everywhere else Source.PROJECT
        for rule in rules:
            add_entry(self._config, _keys(Standing(kind, Decision.ALLOW, rule, source), root), rule, self._shown)

    def revoke(self, session_id: str, root: Path, one: Standing) -> bool:
        """Take a rule back; False where it was gone. Blocks. Raises NotSaved."""
        if one.source is Source.SESSION:
            is_there = one in self._rules[session_id]
            self._rules[session_id] = [other for other in self._rules[session_id] if other != one]
            return is_there
        from agent.config.config_file import remove_entry

        gone = [remove_entry(self._config, keys, one.text, self._shown) for keys in self._places(one, root)]
        return any(gone)

    def _places(self, one: Standing, root: Path) -> list[tuple[str, ...]]:
        """Where a rule may stand: a folder may be written in several ways."""
        if one.source is Source.EVERYWHERE:
            return [_keys(one, root)]
        real = os.path.realpath(root)
        return [_keys(one, folder) for folder in self._current().projects if os.path.realpath(folder) == real]

    def _current(self) -> Settings:
        with self._lock:
            stamp = stamp_of(self._config)
            if stamp != self._stamp:
                found = self._read().settings
                is_lost = found.unread and not self._settings.unread
                self._settings, self._stamp = (self._settings if is_lost else found), stamp
            return self._settings


def _keys(one: Standing, root: Path | str) -> tuple[str, ...]:
    place = ("approvals", one.kind.value, one.decision.value)
    return place if one.source is Source.EVERYWHERE else ("projects", str(root), *place)
