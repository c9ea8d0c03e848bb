"""The sessions, newest first, each with what it is doing."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agent.hub import SessionLine
from tui.transcript.wrap import crop
from tui.widgets.state_words import one_line, telling

WIDTH = 30
TEXT_CELLS = WIDTH - 5  # the padding, the mark of the shown session, the scrollbar


class SessionList(OptionList):
    """One option a session, changed one at a time."""

    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__(compact=True, markup=False)
        self._known: dict[str, SessionLine] = {}
        self._shown = ""

    @property
    def shown(self) -> str:
        return self._shown

    def fill(self, lines: Iterable[SessionLine]) -> None:
        """Put stored sessions under those that stand here already."""
        for line in lines:
            if line.session.id not in self._known:
                self._known[line.session.id] = line
                self.add_option(Option(self._prompt(line), id=line.session.id))
        self._mark(self._shown)

    def put(self, line: SessionLine) -> None:
        """A session that changed, or a new one, which goes to the top."""
        known = self._known.get(line.session.id)
        self._known[line.session.id] = line
        if known is None:
            others = [
                Option(self._prompt(other), id=key) for key, other in self._known.items() if key != line.session.id
            ]
            self._known = {line.session.id: line, **self._known}
            self.set_options([Option(self._prompt(line), id=line.session.id), *others])
            self._mark(self._shown)
        elif known != line:
            self.replace_option_prompt(line.session.id, self._prompt(line))

    def show(self, session_id: str) -> None:
        """Mark the session that the screen shows."""
        before, self._shown = self._shown, session_id
        for changed in {before, session_id} & self._known.keys():
            self.replace_option_prompt(changed, self._prompt(self._known[changed]))
        self._mark(session_id)

    def neighbour(self, step: int) -> str | None:
        """The session above (-1) or below (1) the shown one."""
        keys = list(self._known)
        at = keys.index(self._shown) + step if self._shown in keys else 0
        return keys[at] if 0 <= at < len(keys) else None

    def _mark(self, session_id: str) -> None:
        if session_id in self._known:
            self.highlighted = self.get_option_index(session_id)

    def _prompt(self, line: SessionLine) -> Content:
        is_shown = line.session.id == self._shown
        told = telling(line.state, is_unread=line.is_unread)
        title = crop(one_line(line.session.title) or "Untitled", TEXT_CELLS)
        model = one_line(line.session.route.model) if line.session.route else ""
        below = crop(f"{told.sign} {told.word} · {model}" if model else f"{told.sign} {told.word}", TEXT_CELLS)
        state_end = len(f"{told.sign} {told.word}")
        mark = ("▌ " if is_shown else "  ", "$accent")
        return Content.assemble(
            mark,
            (title, "bold $foreground" if is_shown or line.is_unread else "$foreground 85%"),
            "\n",
            mark,
            (below[:state_end], told.style),
            (below[state_end:], "$foreground 68%"),
            "\n ",  # an option list knows no padding between its options
        )


class Sidebar(Vertical):
    """The name of the house over its sessions."""

    ALLOW_SELECT = False
    DEFAULT_CSS = f"""
    Sidebar {{ width: {WIDTH}; background: $surface; padding: 1 0 0 1; }}
    Sidebar Static {{ height: 2; padding: 0 2; color: $accent; text-style: bold; }}
    SessionList, SessionList:focus {{
        height: 1fr; background: $surface; background-tint: transparent 0%; scrollbar-size-vertical: 1;
        scrollbar-background: $surface;
    }}
    SessionList > .option-list--option-highlighted {{ background: $surface; color: $foreground; }}
    SessionList:focus > .option-list--option-highlighted {{ background: $block-cursor-background; }}
    """

    def __init__(self) -> None:
        super().__init__()
        self.sessions = SessionList()

    def compose(self) -> ComposeResult:
        yield Static("hermes", markup=False)
        yield self.sessions
