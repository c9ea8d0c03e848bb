"""Search over all that was said, in every session: what is found as it is typed, opened at the place."""

from __future__ import annotations

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from agent.hub import Hub
from agent.literal import visible
from agent.stored_sessions import MOST_HITS, search
from session.errors import UserError
from session.models import Role
from session.search import Found, Hit
from tui.hints import with_keys
from tui.keys import SEARCH_KEYS
from tui.screens.modal import Modal
from tui.transcript.wrap import crop
from tui.widgets.line_field import LineField
from tui.widgets.row_list import Row, RowList
from tui.widgets.state_words import day_told, one_line

PAUSE_S = 0.12  # after the last letter, before it is looked for
HIT_LINES = 4  # the title, two of what was said, an empty one
SNIPPET_LINES = 2
SPEAKERS = {Role.USER: "you", Role.ASSISTANT: "model", Role.TOOL: "tool", Role.NOTICE: "notice"}
BEGIN = "Type some words that were said. “In quotes”, they must stand as they are."
NOTHING = "Nothing was said with all of these words."


class HitList(RowList, can_focus=False):
    """What was found; the mark is always seen, as the field above has the focus."""

    DEFAULT_CSS = "HitList { height: 1fr; background: $surface; scrollbar-background: $surface; }"

    def __init__(self) -> None:
        super().__init__()
        self._hits: dict[str, Hit] = {}

    @property
    def shows_mark(self) -> bool:
        return True

    def put(self, found: tuple[Hit, ...]) -> None:
        self._hits = {str(hit.message_id): hit for hit in found}
        self.put_rows([Row(key, HIT_LINES) for key in self._hits])
        self.mark(next(iter(self._hits), ""))

    def hit(self, key: str) -> Hit | None:
        return self._hits.get(key)

    def draw(self, row: Row, width: int) -> Content:
        hit = self._hits[row.key]
        told = f"{SPEAKERS[hit.role]} · {day_told(hit.created_at)}"
        title = crop(one_line(hit.title) or "Untitled", max(1, width - len(told) - 4))
        gap = " " * max(1, width - 2 - Content(title).cell_length - len(told))
        said = Content.assemble(*_pieces(hit)).truncate(SNIPPET_LINES * (width - 3), ellipsis=True)
        lines = said.wrap(max(1, width - 2))[:SNIPPET_LINES] if width > 2 else []
        head = Content.assemble(" ", (title, "bold"), gap, (told, "$foreground 68%"))
        return Content("\n").join([head, *(Content.assemble(" ", line) for line in lines)])


def _pieces(hit: Hit) -> Iterator[tuple[str, str]]:
    """What was said, the words that were looked for apart from the rest, all of it literal."""
    at = 0
    for start, end in hit.spans:
        yield visible(hit.snippet[at:start]), "$foreground 80%"
        yield visible(hit.snippet[start:end]), "bold underline $text-warning"
        at = end
    yield visible(hit.snippet[at:]), "$foreground 80%"


class SearchScreen(Modal[Hit]):
    """Gives the place that was chosen, None for Esc. One search runs at a time; what was typed last is found last."""

    BINDINGS = SEARCH_KEYS
    DEFAULT_CSS = """
    SearchScreen { align: center middle; background: $background 60%; }
    SearchScreen #box {
        width: 92%; max-width: 100; height: 90%; background: $surface;
        border: round $border; border-title-color: $text-primary; border-title-style: bold;
        border-subtitle-color: $foreground 68%; padding: 0 1;
    }
    SearchScreen Input, SearchScreen Input:focus {
        border: none; height: 1; padding: 0 1; background: $background; margin: 0 0 1 0;
    }
    SearchScreen #note { height: auto; color: $foreground 68%; padding: 0 1; }
    """

    def __init__(self, hub: Hub, text: str = "") -> None:
        super().__init__()
        self._hub = hub
        self._field = LineField(text, placeholder="Search all sessions", select_on_focus=False)
        self._hits = HitList()
        self._note = Static(Content(BEGIN), id="note", markup=False)
        self._pause: Timer | None = None
        self._is_searching = False
        self.searched = ""  # what the hits are for

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = "Search"
            does = "{search.above search.below} choose · enter opens · {search.leave} leaves"
            box.border_subtitle = Content(with_keys(self, does))
            yield self._field
            yield self._note
            yield self._hits

    def on_mount(self) -> None:
        self._field.focus()

    # --- searching

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(PAUSE_S, self._begin)

    def _begin(self) -> None:
        if not self._is_searching and self._field.value != self.searched:
            self._is_searching = True
            self.run_worker(self._search())

    async def _search(self) -> None:
        try:
            while (wanted := self._field.value) != self.searched:
                found, self.searched = await self._found(wanted), wanted
                self._put(found)
        except UserError as error:
            self.searched = self._field.value
            self._put(Found((), str(error)))
        finally:
            self._is_searching = False

    async def _found(self, wanted: str) -> Found:
        return await search(self._hub, wanted) if wanted.strip() else Found((), BEGIN)

    def _put(self, found: Found) -> None:
        self._hits.put(found.hits)
        told = f"The first {MOST_HITS} places." if len(found.hits) == MOST_HITS else ""
        told = told or ("" if found.hits or found.note else NOTHING)
        said = " ".join(filter(None, (told, found.note)))
        self._note.update(Content(visible(said)))
        self._note.display = bool(said)

    # --- choosing

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._take(self._hits.marked)

    def on_row_list_picked(self, event: RowList.Picked) -> None:
        event.stop()
        self._take(event.key)

    def _take(self, key: str) -> None:
        """A place for what is written now, not for what was looked for before it."""
        if self._field.value != self.searched:
            self._begin()
        elif hit := self._hits.hit(key):
            self.dismiss(hit)

    def action_move(self, step: int) -> None:
        self._hits.move(step)

    def action_page(self, pages: int) -> None:
        self._hits.move_page(pages)

    def action_leave(self) -> None:
        self.dismiss(None)
