"""The sessions as a list: each with what it is doing, found by typing, kept true while the store changes."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.timer import Timer

from agent.config.display_settings import Grouping
from agent.session_lines import SessionLine
from agent.session_run import Live
from session.errors import UserError
from tui.keys import SESSION_LIST_KEYS
from tui.transcript.wrap import crop
from tui.widgets.row_list import Row, RowList
from tui.widgets.session_rows import Group, Placed, grouped, sought, until_tomorrow_s
from tui.widgets.state_words import one_line, telling
from tui.widgets.status_bar import elapsed

WIDTH = 30
TEXT_CELLS = WIDTH - 5  # the padding, the mark of the shown session, the scrollbar
SESSION_LINES = 3  # an empty one below
AGAIN_S = 5.0  # how long a change of an old session may stay unseen while all of them are listed
BUSY = (Live.WORKING, Live.ASKING)

Lines = Sequence[SessionLine]


class SessionList(RowList):
    """The newest sessions; all of them from when it is looked through, by keys or by the wheel, until it is left.

    A row moves up when a turn begins in it, and not with each word that is said there.
    """

    BINDINGS = SESSION_LIST_KEYS
    DEFAULT_CSS = """
    SessionList, SessionList:focus { background: $surface; scrollbar-background: $surface; }
    """

    class Filtered(Message):
        """Another text is looked for, or other sessions have it."""

    class Verb(Message):
        """A key that does something to the marked session: the name of it."""

        def __init__(self, verb: str, session_id: str) -> None:
            super().__init__()
            self.verb, self.session_id = verb, session_id

    class Troubled(Message):
        """The sessions could not be read."""

        def __init__(self, error: UserError) -> None:
            super().__init__()
            self.error = error

    def __init__(
        self, everything: Callable[[], Awaitable[Lines]], clock: Callable[[], float], grouping: Grouping
    ) -> None:
        super().__init__()
        self.grouping = grouping
        self.filter_text = ""
        self._everything = everything
        self._clock = clock
        self._known: dict[str, SessionLine] = {}
        self._places: dict[str, float] = {}
        self._groups: list[Group] = []
        self._sought: dict[str, str] = {}
        self._newest: set[str] = set()  # those that stay when the list is left
        self._is_whole = False
        self._read_at_s = float("-inf")
        self._shown = ""
        self._seconds: Timer | None = None

    # --- what is told to it

    @property
    def shown(self) -> str:
        return self._shown

    @property
    def count(self) -> int:
        """How many sessions it knows."""
        return len(self._known)

    def line(self, session_id: str) -> SessionLine | None:
        return self._known.get(session_id)

    def sync(self, lines: Lines) -> None:
        """Show the newest sessions as they are now. Older ones stay as they were read, until they are read again."""
        self._newest = {line.session.id for line in lines}
        oldest = min((line.session.last_activity_at for line in lines if not line.session.is_pinned), default=0.0)
        kept = self._older_than(oldest) if self._is_whole else {}
        if (shown := self._known.get(self._shown)) and shown.session.is_archived:
            kept[self._shown] = shown
        self._take({**{line.session.id: line for line in lines}, **kept})
        if self._is_whole and self._clock() - self._read_at_s > AGAIN_S:
            self._read_everything()

    def put(self, line: SessionLine) -> None:
        """One session that changed, or a new one."""
        id_, known = line.session.id, self._known.get(line.session.id)
        if line.is_deleted or (line.session.is_archived and id_ != self._shown):
            self.drop(id_)
            return
        self._newest.add(id_)
        self._known[id_] = line
        self._places.setdefault(id_, line.session.last_activity_at)
        if known is None or _stands_otherwise(known, line):
            self._sought.pop(id_, None)
            self._arrange([id_])
            if id_ == self._shown and not self.has_focus:
                self.mark(id_)
        elif known != line:
            self.redraw(id_)
        self._run_clock()

    def lift(self, session_id: str) -> None:
        """A turn began there."""
        self._places[session_id] = time.time()
        if session_id in self._known:
            self._arrange([])

    def drop(self, session_id: str) -> None:
        """A session that belongs into the list no more."""
        if self._known.pop(session_id, None) is not None:
            self._newest.discard(session_id)
            self._arrange()

    def show(self, session_id: str) -> None:
        """Mark the session that the screen shows."""
        before, self._shown = self._shown, session_id
        self.redraw(before)
        self.redraw(session_id)
        if not self.has_focus:
            self.mark(session_id)

    def neighbour(self, step: int) -> str | None:
        """The session above (-1) or below (1) the shown one, whatever is looked for."""
        keys = [id_ for group in self._groups for id_ in group.ids]
        at = keys.index(self._shown) + step if self._shown in keys else 0
        return keys[at] if 0 <= at < len(keys) else None

    def group_by(self, grouping: Grouping) -> None:
        """Put the sessions together by something else."""
        self.grouping = grouping
        self._arrange()
        self._bring_into_sight()
        self.post_message(self.Filtered())

    # --- looking through it

    def leave(self) -> None:
        """Look for nothing, and know only the newest again."""
        is_whole, self._is_whole, self.filter_text = self._is_whole, False, ""
        if is_whole:
            self._take({id_: line for id_, line in self._known.items() if id_ in self._newest})
        else:
            self._arrange()
        self.mark(self._shown)
        self.post_message(self.Filtered())

    def look_for(self, text: str) -> None:
        self.filter_text = text
        self._lay_rows()
        if text:
            self.mark(next(iter(self.keys), ""))
            self.scroll_to(y=0, animate=False, force=True)
        self.post_message(self.Filtered())

    def on_focus(self) -> None:
        self._read_everything()

    def on_mouse_scroll_down(self) -> None:
        if not self._is_whole:
            self._read_everything()

    def on_key(self, event: events.Key) -> None:
        """What is typed is looked for."""
        if event.character and event.is_printable:
            event.stop()
            event.prevent_default()
            self.look_for(self.filter_text + event.character)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.look_for(self.filter_text + one_line(event.text))

    def action_erase(self) -> None:
        self.look_for(self.filter_text[:-1])

    def action_erase_all(self) -> None:
        self.look_for("")

    def action_turn_grouping(self) -> None:
        self.group_by(Grouping.PROJECT if self.grouping is Grouping.DAY else Grouping.DAY)

    def action_verb(self, name: str) -> None:
        if self.marked:
            self.post_message(self.Verb(name, self.marked))

    def _read_everything(self) -> None:
        self._is_whole, self._read_at_s = True, self._clock()
        self.run_worker(self._read(), group="everything", exclusive=True)

    async def _read(self) -> None:
        try:
            lines = await self._everything()
        except UserError as error:
            self.post_message(self.Troubled(error))
            return
        if self._is_whole:
            here = {id_: line for id_, line in self._known.items() if id_ in self._newest}
            self._take({**{line.session.id: line for line in lines}, **here})

    # --- their order

    def _older_than(self, oldest: float) -> dict[str, SessionLine]:
        """Those of which a list of the newest says nothing."""
        return {
            id_: line
            for id_, line in self._known.items()
            if id_ not in self._newest and line.session.last_activity_at < oldest
        }

    def _take(self, known: dict[str, SessionLine]) -> None:
        self._places = {id_: self._place_of(line) for id_, line in known.items()}
        if known.keys() == self._known.keys():
            self._sought = {
                id_: text for id_, text in self._sought.items() if not _renamed(self._known[id_], known[id_])
            }
        else:
            self._sought = {}
        changed = [id_ for id_, line in known.items() if line != self._known.get(id_)]
        self._known = known
        self._arrange(changed)
        self._run_clock()

    def _place_of(self, line: SessionLine) -> float:
        """Where a turn runs here it is known since when; else what was last said counts, if that is news."""
        at = self._places.get(line.session.id, 0.0)
        return at if at and line.state in BUSY else max(at, line.session.last_activity_at)

    def _arrange(self, changed: Collection[str] | None = None) -> None:
        """Put the sessions in order again; `changed` are those that look different, None for all."""
        placed = (Placed(line.session, self._places[id_]) for id_, line in self._known.items())
        self._groups = grouped(placed, self.grouping, time.time())
        self._lay_rows(changed)

    def _lay_rows(self, changed: Collection[str] | None = None) -> None:
        """Those that are looked for, in their order."""
        words = self.filter_text.casefold().split()
        rows: list[Row] = []
        for group in self._groups:
            found = self._having(words, group.ids)
            if found:
                rows.append(Row("", 1, group.name))
                rows += [Row(id_, SESSION_LINES) for id_ in found]
        at, before = self.scroll_offset.y, self.marked_top
        self.put_rows(rows, changed)
        moved = self.marked_top - before if self.has_focus else 0  # the row that the keys are on stays where it is
        self.scroll_to(y=max(0, at + moved), animate=False, force=True)

    def _having(self, words: list[str], ids: list[str]) -> list[str]:
        """Those in which all the words stand."""
        texts = self._sought
        for word in words:
            for id_ in ids:
                if id_ not in texts:
                    texts[id_] = sought(self._known[id_].session)
            ids = [id_ for id_ in ids if word in texts[id_]]
        return ids

    # --- the clock: of turns that run, and of days

    def on_mount(self) -> None:
        self._seconds = self.set_interval(1, self._tick, pause=True)
        self._run_clock()
        self._wait_for_tomorrow()

    def _wait_for_tomorrow(self) -> None:
        self.set_timer(until_tomorrow_s(time.time()), self._begin_day)

    def _begin_day(self) -> None:
        self._arrange()
        self._wait_for_tomorrow()

    def _run_clock(self) -> None:
        if self._seconds is not None:
            runs = any(line.working_since is not None for line in self._known.values())
            (self._seconds.resume if runs else self._seconds.pause)()

    def _tick(self) -> None:
        for id_, line in self._known.items():
            if line.working_since is not None:
                self.redraw(id_)

    # --- a row

    def draw(self, row: Row, width: int) -> Content:
        if not row.key:
            return Content.assemble(("  ", ""), (crop(row.heading, TEXT_CELLS), "bold $foreground 60%"))
        line = self._known[row.key]
        is_shown = row.key == self._shown
        told = telling(line.state, is_unread=line.is_unread, standing=line.standing)
        title = crop(one_line(line.session.title) or "Untitled", TEXT_CELLS)
        model = one_line(line.session.route.model) if line.session.route else ""
        state, time_told = f"{told.sign} {told.word}", self._elapsed(line)
        room = TEXT_CELLS - (len(time_told) + 2 if time_told else 0)
        below = crop(f"{state} · {model}" if model else state, room)
        gap = " " * (TEXT_CELLS - len(time_told) - Content(below).cell_length) if time_told else ""
        mark = ("▌ " if is_shown else "  ", "$accent")
        return Content.assemble(
            mark,
            (title, "bold $foreground" if is_shown or line.is_unread else "$foreground 85%"),
            "\n",
            mark,
            (below[: len(state)], told.style),
            (f"{below[len(state) :]}{gap}{time_told}", "$foreground 68%"),
        )

    def _elapsed(self, line: SessionLine) -> str:
        seconds = int(self._clock() - line.working_since) if line.working_since is not None else 0
        return elapsed(seconds) if seconds > 0 else ""


def _stands_otherwise(before: SessionLine, now: SessionLine) -> bool:
    """Whether a session may have to stand elsewhere, or is found by other words."""
    return _renamed(before, now) or before.session.is_pinned != now.session.is_pinned


def _renamed(before: SessionLine, now: SessionLine) -> bool:
    return (before.session.title, before.session.workspace) != (now.session.title, now.session.workspace)
