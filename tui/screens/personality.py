"""Personalities to choose from: a list, and beside it what each one says, or changes in the prompt of the session."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from agent.commands.personality import choose
from agent.commands.table import PersonalityAsked
from agent.literal import visible
from agent.personality import Personalities, Source
from session.errors import UserError
from session.models import Level
from tui.app_of import app_of
from tui.hints import hint, with_keys
from tui.keys import PERSONALITY_KEYS
from tui.screens.choosing import LOW_ROWS
from tui.screens.filtered_modal import FilteredModal
from tui.transcript.wrap import cell_len, crop
from tui.widgets.diff_rows import file_diff
from tui.widgets.row_list import Row, RowList

if TYPE_CHECKING:
    from tui.screens.main import MainScreen

WIDE_CELLS = 100  # from which on the text stands beside the list
NAME_CELLS = 14
NO_PERSONALITY = "none"
OWN_WAY = "the model's own way"
LOOK_CHARS = 400  # of the first line, for its one row


class Picked(Struct, frozen=True):
    """What was chosen."""

    name: str
    is_global: bool


class Entry(Struct, frozen=True):
    """A row of the list. `overlay` is what it lays behind the system prompt, "" for nothing."""

    name: str
    about: str
    text: str
    overlay: str
    is_own: bool = False


async def ask(main: MainScreen, asked: PersonalityAsked) -> None:
    """Let the person choose, then do as if the choice had been written behind /personality."""
    s = main.hub.runtime(asked.session_id).s
    found = await asyncio.to_thread(s.parts.prompts.read_personalities)
    screen = PersonalityScreen(entries(found), s.session.personality, found.problems, is_global=asked.is_global)
    picked = await app_of(main).push_screen_wait(screen)
    if picked is None:
        return
    try:
        main.effects.follow(await choose(main.hub, asked.session_id, picked.name, is_global=picked.is_global))
    except UserError as error:
        main.say(str(error), Level.ERROR)


def entries(found: Personalities) -> list[Entry]:
    """Those of the person first, `none` before all."""
    every = sorted(found.by_name.values(), key=lambda one: one.source is Source.BUILT_IN)
    named = [Entry(one.name, one.about, one.text, one.overlay, one.source is not Source.BUILT_IN) for one in every]
    return [Entry(NO_PERSONALITY, OWN_WAY, "Nothing is laid over the system prompt.", ""), *named]


class PersonalityRows(RowList, can_focus=False):
    """One line each: its name, how it begins, whether it is the person's own, and whether it holds now."""

    def __init__(self, shown: Sequence[Entry], current: str) -> None:
        super().__init__()
        self._entries = {one.name: one for one in shown}
        self._current = current

    @property
    def shows_mark(self) -> bool:
        return True  # the field above it has the focus

    def filter(self, words: str) -> None:
        """Show those in whose name or text all the words stand, by name first."""
        wanted = words.lower().split()
        kept = [key for key, one in self._entries.items() if all(word in _searched(one) for word in wanted)]
        # Whoever types the beginning of a name means that one, whatever others say of themselves.
        kept.sort(key=lambda key: not all(word in self._entries[key].name.lower() for word in wanted))
        self.put_rows([Row(key, 1) for key in kept])

    def draw(self, row: Row, width: int) -> Content:
        one = self._entries[row.key]
        name = crop(one.name, NAME_CELLS)
        head = f" {name}{' ' * (NAME_CELLS - cell_len(name))}  "
        facts = " · ".join(filter(None, ("yours" if one.is_own else "", "in use" if one.name == self._current else "")))
        tail = f"  {facts} " if facts else " "
        room = max(1, width - cell_len(head) - len(tail))
        about = crop(" ".join(visible(one.about[:LOOK_CHARS]).split()), room)
        return Content.assemble(head, about + " " * (room - cell_len(about)), tail)


class PersonalityScreen(FilteredModal[Picked]):
    """Gives the personality that was chosen; Esc leaves everything as it is."""

    BINDINGS = PERSONALITY_KEYS
    DEFAULT_CSS = """
    PersonalityScreen #box { max-width: 130; }
    PersonalityScreen #flaws { height: auto; max-height: 3; color: $text-warning; margin: 0 1; }
    PersonalityScreen #halves { layout: vertical; height: 1fr; }
    PersonalityScreen VerticalScroll {
        height: 1fr; background: $surface; border-top: solid $border; padding: 0 1; scrollbar-size-vertical: 1;
        border-title-color: $foreground 68%;
    }
    PersonalityScreen.-wide #halves { layout: horizontal; }
    PersonalityScreen.-wide PersonalityRows { width: 2fr; }
    PersonalityScreen.-wide VerticalScroll { width: 3fr; height: 1fr; border-top: none; border-left: solid $border; }
    PersonalityScreen.-low VerticalScroll { display: none; }
    """

    def __init__(self, shown: Sequence[Entry], current: str, problems: Sequence[str], *, is_global: bool) -> None:
        """`current` is the one that the session has, "" for none."""
        self._rows = PersonalityRows(shown, current or NO_PERSONALITY)
        super().__init__(self._rows)
        self._entries = {one.name: one for one in shown}
        self._current = current or NO_PERSONALITY
        self._is_global = is_global
        self._shows_change = False
        self._flaws = Static(Content(visible(_in_short(problems))), id="flaws")
        self._flaws.display = bool(problems)
        self._text = Static(Content(""))
        self._pane = VerticalScroll(self._text, can_focus=False)

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content("Personality")
            yield self._field
            yield self._told
            yield self._flaws
            with Container(id="halves"):
                yield self._rows
                yield self._pane

    def on_mount(self) -> None:
        self._field.focus()
        self._rows.filter("")
        self._rows.mark(self._current)
        self._tell()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.height < LOW_ROWS, "-low")
        self.set_class(event.size.width >= WIDE_CELLS, "-wide")
        self._tell()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._rows.filter(event.value)
        self._tell()

    def on_row_list_picked(self, event: RowList.Picked) -> None:
        """A click shows it first; a click on the one that is shown takes it."""
        self._tell()

    def action_move(self, step: int) -> None:
        super().action_move(step)
        self._tell()

    def action_page(self, pages: int) -> None:
        move = self._pane.scroll_page_down if pages > 0 else self._pane.scroll_page_up
        move(animate=False)

    def action_turn(self) -> None:
        self._shows_change = not self._shows_change
        self._tell()

    def action_widen(self) -> None:
        self._is_global = not self._is_global
        self._tell()

    def action_decide(self) -> None:
        if self._rows.marked:
            self.dismiss(Picked(self._rows.marked, self._is_global))

    # --- what is told

    def _tell(self) -> None:
        box = self.query_one("#box")
        holds = (
            "here and in new sessions · {personality.widen} here alone"
            if self._is_global
            else "in this session · {personality.widen} in new ones, too"
        )
        told = with_keys(self, f"It holds {holds}") if self._rows.keys else "None has these words."
        self._told.update(Content(told))
        other = "its text" if self._shows_change else "the change"
        keys = ("{personality.decide} takes it", "{personality.leave} leaves", f"{{personality.turn}} shows {other}")
        box.border_subtitle = Content(hint(self, self.size.width * 9 // 10 - 6, *keys))
        entry = self._entries.get(self._rows.marked)
        self._pane.border_title = Content("What changes in the prompt" if self._shows_change else "What it says")
        self._text.update(Content("") if entry is None else self._shown(entry))
        self._pane.scroll_home(animate=False)

    def _shown(self, entry: Entry) -> Content:
        if not self._shows_change:
            return Content(visible(entry.text))
        current = self._entries.get(self._current)
        return change_of(current.overlay if current else "", entry.overlay)


def change_of(before: str, after: str) -> Content:
    """What another overlay changes behind the system prompt, line by line."""
    head = Content.assemble(("  (the system prompt before it stays as it is)\n", "$foreground 68%"))
    if before == after:
        return Content.assemble(head, "\n  Nothing changes.")
    lines: list[Content] = []
    for row in file_diff(f"{before}\n" if before else "", f"{after}\n" if after else "").unified:
        sign, text, style = ("+", row.new_text, "$text-success") if row.new else ("-", row.old_text, "$text-error")
        if row.is_same:
            sign, style = " ", "$foreground"
        lines.append(Content.assemble((f"{sign} {text}", style)))
    return Content("\n").join([head, *lines])


def _in_short(problems: Sequence[str]) -> str:
    more = f" (and {len(problems) - 1} more like it)" if len(problems) > 1 else ""
    return f"{problems[0]}{more}" if problems else ""


def _searched(one: Entry) -> str:
    return f"{one.name} {one.text}".lower()
