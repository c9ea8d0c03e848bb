"""Choosing a model from a list: a provider, then one of its models; and for how long the choice holds."""

from __future__ import annotations

from collections.abc import Coroutine

from msgspec import Struct
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static
from textual.worker import Worker

from agent.commands.key import ask_key
from agent.commands.table import KeyAsked, ModelsAsked
from agent.hub import Hub
from agent.literal import visible
from agent.model_catalogue import Catalogue, ListedModels, ModelLine, ServerLine, Standing
from agent.session_model import Holds
from session.errors import UserError
from session.models import ApiMode, Route
from tui.app_of import app_of
from tui.hints import hint, with_keys
from tui.keys import MODEL_KEYS
from tui.screens.filtered_modal import FilteredModal
from tui.screens.key import KeyScreen
from tui.widgets.model_rows import ALIASES, HEADINGS, WIDE_CELLS, Entry, ModelRows
from tui.widgets.row_list import RowList

HOLDS = {
    Holds.SESSION: "for this session",
    Holds.ONCE: "for the next turn only",
    Holds.GLOBAL: "for this session and every new one",
}
LOOKING = "Asking the servers on this machine …"
COLUMNS = "$ per million in/out · window · whether this conversation fits"


class Picked(Struct, frozen=True):
    """What was chosen: `name` as `resolve` takes it."""

    name: str
    holds: Holds


class ModelScreen(FilteredModal[Picked]):
    """Gives the choice, None where the model stays. Nothing is switched here."""

    BINDINGS = MODEL_KEYS
    DEFAULT_CSS = """
    ModelScreen #told { height: auto; max-height: 3; }
    ModelScreen #told.-problem { color: $text-warning; }
    ModelScreen #holds { height: 1; color: $foreground; margin: 0 1; }
    """

    def __init__(self, hub: Hub, asked: ModelsAsked) -> None:
        self._rows = ModelRows(hub.context(asked.session_id).used)
        super().__init__(self._rows)
        self._hub = hub
        self._session_id = asked.session_id
        self._holds = asked.holds
        self._catalogue: Catalogue | None = None
        self._server: ServerLine | None = None  # the one whose models are shown
        self._listed = ListedModels(())
        self._asking: Worker[None] | None = None
        self._holding = Static(id="holds")
        self._box = Vertical(id="box")

    def compose(self) -> ComposeResult:
        with self._box:
            yield self._field
            yield self._told
            yield self._rows
            yield self._holding

    def on_mount(self) -> None:
        self._field.focus()
        self._title()
        self._tell_holds()
        self._begin()

    def on_resize(self, event: events.Resize) -> None:
        self._tell_holds()

    # --- what is listed

    def _ask(self, work: Coroutine[None, None, None]) -> None:
        self._stop_asking()
        self._asking = self.run_worker(work)

    def _stop_asking(self) -> None:
        if self._asking is not None:
            self._asking.cancel()

    def _begin(self) -> None:
        self._ask(self._look())

    async def _look(self) -> None:
        """Which servers there are, the one that answers now marked."""
        self._tell(LOOKING)
        self._catalogue = await self._hub.models.catalogue()
        self._show_servers(self._current.provider)

    def _show_servers(self, marked: str) -> None:
        self._server = None
        self._field.placeholder = "Type to filter providers and models"
        self._title()
        self._tell("")
        self._put()
        self._mark(f"server {marked}")

    def _open(self, server: ServerLine) -> None:
        self._server, self._listed = server, ListedModels(())
        self._field.placeholder = f"Type to filter the models of {visible(server.label)}"
        self._field.value = ""
        self._title()
        self._put()
        self._ask(self._list(server))

    async def _list(self, server: ServerLine) -> None:
        assert self._catalogue is not None
        self._tell(f"Asking {server.base_url or 'the demo'} for its models …")
        self._listed = await self._catalogue.models(server)
        self._put()
        self._mark(f"model {self._current.provider}:{self._current.model}")
        note = self._listed.note or ("" if self._listed.lines else f"{server.base_url} lists no models.")
        columns = COLUMNS if self._rows.size.width >= WIDE_CELLS else ""
        self._tell(note or columns, is_problem=bool(note))

    def _mark(self, key: str) -> None:
        """Mark a row, and show the list from its start where that has room for it."""
        self._rows.mark(key if self._rows.entry(key) else next(iter(self._rows.keys), ""))
        self.call_after_refresh(self._bring_into_sight)

    def _bring_into_sight(self) -> None:
        self._rows.scroll_to(y=0, animate=False, immediate=True)
        self._rows.mark(self._rows.marked)

    def _put(self) -> None:
        self._rows.put(self._entries(), self._field.value)

    def _entries(self) -> list[Entry]:
        if self._server is not None:
            return [Entry(line, is_short=True) for line in self._listed.lines]
        if self._catalogue is None:
            return []
        servers = self._catalogue.servers()
        entries = [Entry(line, ALIASES) for line in self._catalogue.aliases()]
        entries += [Entry(line, HEADINGS[line.standing]) for line in servers]
        if self._field.value.strip():  # a model may be named at once, whosever it is
            ready = (line for line in servers if line.standing is Standing.READY and line.base_url)
            entries += [
                Entry(ModelLine(f"{line.name}:{one.id}", one.id, one.window)) for line in ready for one in line.models
            ]
        return entries

    # --- choosing

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._put()

    def on_row_list_picked(self, event: RowList.Picked) -> None:
        event.stop()
        self.action_decide()

    def action_decide(self) -> None:
        entry = self._rows.entry(self._rows.marked)
        match entry.line if entry is not None else None:
            case ModelLine(name=name):
                self.dismiss(Picked(name, self._holds))
            case ServerLine(standing=Standing.READY) as server:
                self._open(server)
            case ServerLine(standing=Standing.NEEDS_KEY) as server:
                self._ask_key(server)
            case ServerLine(about=about):
                self._tell(about, is_problem=True)
            case None if self._server is not None and (written := self._field.value.strip()):
                # What a server does not list it may have all the same: Azure's deployments, a model that is new.
                self.dismiss(Picked(f"{self._server.name}:{written}", self._holds))
            case None:
                pass

    def _ask_key(self, server: ServerLine) -> None:
        try:
            asked = ask_key(self._hub, self._session_id, server.key)
        except UserError as error:
            self._tell(str(error), is_problem=True)
            return
        if isinstance(asked, KeyAsked):
            app_of(self).push_screen(KeyScreen(self._hub, asked), lambda said: self._hear_key(server, said))

    def _hear_key(self, server: ServerLine, said: str | None) -> None:
        if said and self._catalogue is not None:
            self._open(self._catalogue.server(server.name))

    # --- keys

    def action_turn_holds(self) -> None:
        order = list(Holds)
        self._holds = order[(order.index(self._holds) + 1) % len(order)]
        self._tell_holds()

    def action_reload(self) -> None:
        if self._server is not None:
            self._open(self._server)
        else:
            self._begin()

    def action_back(self) -> None:
        if self._field.value:
            self._field.value = ""
        elif self._server is not None:
            self._stop_asking()
            self._show_servers(self._server.name)
        else:
            self.dismiss(None)

    # --- what is told

    @property
    def _current(self) -> Route:
        return self._hub.runtime(self._session_id).model.chosen

    def _title(self) -> None:
        route = self._current
        now = "the built-in demo" if route.api_mode is ApiMode.DEMO else f"{route.model} at {route.provider}"
        title = f"Models of {self._server.label}" if self._server is not None else f"Model · now {now}"
        self._box.border_title = Content(visible(title))

    def _tell(self, text: str, *, is_problem: bool = False) -> None:
        self._told.update(Content(visible(text)))
        self._told.set_class(is_problem, "-problem")

    def _tell_holds(self) -> None:
        changes = with_keys(self, " · {model.holds} changes")
        self._holding.update(Content.assemble("Holds ", (HOLDS[self._holds], "bold"), (changes, "$foreground 68%")))
        keys = "{model.decide} chooses", "{model.back} back", "{model.reload} asks again"
        self._box.border_subtitle = Content(hint(self, self.size.width * 9 // 10, *keys))
