"""The sessions beside the conversation, or over it as a drawer where there is no room for both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from agent.config.display_settings import Grouping
from tui.hints import with_keys
from tui.keys import SIDEBAR_KEYS
from tui.transcript.wrap import crop
from tui.widgets.line_field import LineField
from tui.widgets.row_list import RowList
from tui.widgets.session_list import WIDTH, Lines, SessionList
from tui.widgets.state_words import one_line

WIDE_CELLS = 100  # from here on it stands beside the conversation
DRAWER_CELLS = 40  # the least that shows something of the conversation next to it
LOW_ROWS = 20  # below so many the keys of a row are told in one line
TOO_NARROW = (
    f"The list of sessions needs {DRAWER_CELLS} columns. "
    "{main.session_above} and {main.session_below} go to other sessions, so does /resume."
)
KEYS = (
    ("{sessions.open} open", "{sessions.show} preview"),
    ("{sessions.rename} rename", "{sessions.pin} pin"),
    ("{sessions.archive} archive", "{sessions.export} export"),
    ("{sessions.branch} branch", "{sessions.delete} delete"),
    ("{sessions.answer} answer", "{sessions.group} group"),
)
KEY_CELLS = 15


class NameField(LineField):
    """A new name for a session, in place of the keys."""

    DEFAULT_CSS = """
    NameField, NameField:focus {
        height: 3; margin: 0 1 0 0; border: round $border; border-title-color: $text-accent; background: $surface;
    }
    """


class Sidebar(Vertical):
    """What is looked for over the list, and what can be done with the marked session under it."""

    ALLOW_SELECT = False
    BINDINGS = SIDEBAR_KEYS
    DEFAULT_CSS = f"""
    Sidebar {{ width: {WIDTH}; background: $surface; padding: 1 0 0 1; }}
    Sidebar.-drawer {{ layer: drawer; width: {WIDTH + 1}; border-right: solid $border-blurred; }}
    Sidebar Static {{ padding: 0 2; color: $foreground 68%; }}
    Sidebar #head {{ height: 2; color: $accent; text-style: bold; }}
    Sidebar #keys {{ height: auto; padding: 1 0 0 1; display: none; }}
    Sidebar.-used #keys {{ display: block; }}
    Sidebar.-naming #keys {{ display: none; }}
    """

    class Asked(Message):
        """The person wants something of a session: `verb` is a key of the list, or `open`, or `title` with a new one."""

        def __init__(self, verb: str, session_id: str, argument: str = "") -> None:
            super().__init__()
            self.verb, self.session_id, self.argument = verb, session_id, argument

    class Left(Message):
        """The person goes back to the draft."""

    def __init__(
        self, everything: Callable[[], Awaitable[Lines]], clock: Callable[[], float], grouping: Grouping = Grouping.DAY
    ) -> None:
        """`everything` reads all sessions, `clock` is that of the turns."""
        super().__init__()
        self.sessions = SessionList(everything, clock, grouping)
        self._head = Static(id="head", markup=False)
        self._keys = Static(id="keys", markup=False)
        self._field: NameField | None = None
        self._named = ""  # the session that gets another name
        self._cells = 0
        self._is_wanted = True  # beside the conversation
        self._is_open = False  # as a drawer

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.sessions
        yield self._keys

    def on_mount(self) -> None:
        self._tell_head()

    # --- where it stands

    @property
    def is_drawer(self) -> bool:
        """Whether there is no room for it beside the conversation."""
        return self._cells < WIDE_CELLS

    def fit(self, cells: int) -> None:
        """The screen is so wide."""
        self._cells = cells
        self._is_open = self._is_open and self.is_drawer and cells >= DRAWER_CELLS
        self.set_class(self.is_drawer, "-drawer")
        self.display = self._is_open if self.is_drawer else self._is_wanted

    def toggle(self) -> str:
        """Show or hide it; why that can't be, "" where it can."""
        if self.display:
            self._is_wanted = self._is_wanted and self.is_drawer
            self.leave()
            return ""
        return self.reach() if self.is_drawer else self._bring()

    def reach(self) -> str:
        """Go to the list with the keys; why that can't be, "" where it can."""
        if self._cells < DRAWER_CELLS:
            return with_keys(self, TOO_NARROW)
        self._bring()
        self.sessions.focus()
        return ""

    def leave(self) -> None:
        """Go back to the draft."""
        self._is_open = False
        self.fit(self._cells)
        self.post_message(self.Left())

    def _bring(self) -> str:
        self._is_open, self._is_wanted = self.is_drawer, self._is_wanted or not self.is_drawer
        self.fit(self._cells)
        return ""

    # --- what is done in it

    def on_descendant_focus(self) -> None:
        self.add_class("-used")
        self._tell_keys()

    def on_descendant_blur(self) -> None:
        self.call_after_refresh(self._rest)

    def _rest(self) -> None:
        """Nobody looks through it any more, unless the focus only went to the field or to a question over the screen."""
        focused = self.screen.focused
        if focused is not None and self in focused.ancestors:
            return
        self.remove_class("-used")
        self._close_field()
        self.sessions.leave()
        self._is_open = False
        self.fit(self._cells)

    def on_row_list_picked(self, event: RowList.Picked) -> None:
        event.stop()
        self.post_message(self.Asked("open", event.key))
        self.leave()

    def on_session_list_verb(self, event: SessionList.Verb) -> None:
        event.stop()
        if event.verb == "rename":
            self._open_field(event.session_id)
        else:
            self.post_message(self.Asked(event.verb, event.session_id))

    def action_back(self) -> None:
        if self._field is not None:
            self._close_field()
            self.sessions.focus()
        elif self.sessions.filter_text:
            self.sessions.look_for("")
        else:
            self.leave()

    # --- another name

    def _open_field(self, session_id: str) -> None:
        line = self.sessions.line(session_id)
        if line is None:
            return
        self._close_field()
        self._named = session_id
        field = self._field = NameField(one_line(line.session.title), select_on_focus=True)
        field.border_title = Content("New name")
        self.add_class("-naming")
        self.mount(field)
        field.focus()

    def _close_field(self) -> None:
        if self._field is not None:
            self._field.remove()
            self._field = None
            self.remove_class("-naming")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Asked("title", self._named, event.value))
        self._close_field()
        self.sessions.focus()

    # --- what is told

    def on_session_list_filtered(self, event: SessionList.Filtered) -> None:
        event.stop()
        self._tell_head()
        self._tell_keys()

    def on_resize(self) -> None:
        self._tell_keys()

    def _tell_head(self) -> None:
        text = self.sessions.filter_text
        if not text:
            self._head.update(Content("hermes"))
            return
        found = f"{len(self.sessions.keys):,} found"
        shown = crop(one_line(text[::-1]), WIDTH - len(found) - 8)[::-1]  # its end, where it is typed
        self._head.update(
            Content.assemble(("/ ", "$accent"), shown, ("▏", "$accent"), (f" {found}", "$foreground 68%"))
        )

    def _tell_keys(self) -> None:
        kept = KEYS[:1] if self.screen.size.height < LOW_ROWS else KEYS
        self._keys.update(
            Content("\n").join(
                _keys_told(f"{with_keys(self, left):<{KEY_CELLS}}", with_keys(self, right)) for left, right in kept
            )
        )


def _keys_told(*told: str) -> Content:
    """Each key and what it does, told apart."""
    parts = [one.split(" ", 1) for one in told]
    return Content.assemble(
        *(
            (text, style)
            for key, does in parts
            for text, style in ((key, "$foreground 85%"), (f" {does}", "$foreground 60%"))
        )
    )
