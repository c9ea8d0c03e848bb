"""Everything that touches private Textual API, in one guarded place.

Written against Textual 8.2. Where a later one differs, `own_driver_fits` says no and Textual's own driver is used.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import wraps
from typing import ClassVar, Protocol

from textual.app import App
from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet
from textual.events import Key, MouseEvent
from textual.message import Message

log = logging.getLogger(__name__)


class InputParser(Protocol):
    """Characters of complete sequences in, input events out."""

    def feed(self, data: str) -> Iterable[Message]: ...


def input_parser() -> InputParser:
    """Textual's own reader of terminal sequences."""
    from textual._xterm_parser import XTermParser

    return XTermParser()


def keep_mouse_times() -> None:
    """Have a press keep the time at which it was read.

    Textual moves it into the place of each widget by making it anew, with the time at which it got around to that: one that
    waited behind others would pass for a later one.
    """
    moved = vars(MouseEvent).get("_apply_offset")
    if moved is None or hasattr(moved, "__wrapped__"):
        return

    @wraps(moved)
    def kept(self: MouseEvent, x: int, y: int) -> MouseEvent:
        event: MouseEvent = moved(self, x, y)
        event.time = self.time
        return event

    MouseEvent._apply_offset = kept  # type: ignore[method-assign]


class KeptStylesheet(Stylesheet):
    """A stylesheet whose sources are parsed once for each theme, in all apps of this process.

    Textual parses all of them anew whenever it refreshes the styles, which it does twice before the first frame, and
    keeps 64 of them where more are in use.
    """

    THEMES, SOURCES = 3, 1024  # that are kept
    _kept: ClassVar[LRUCache[object, LRUCache[object, object]]] = LRUCache(THEMES)

    def __init__(self, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._keep()

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables == self._variables:
            return
        self._parse_cache = LRUCache(1)  # it is emptied now, and that of the theme before must not be
        super().set_variables(variables)
        self._keep()

    def reparse(self) -> None:
        self.parse()  # what there was is replaced when all is parsed, and stays where something is wrong

    def _keep(self) -> None:
        key = frozenset(self._variables.items())
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = LRUCache(self.SOURCES)
        self._parse_cache = kept  # type: ignore[assignment]


def keep_styles(app: App[None]) -> None:
    """Have an app parse no style twice. Called before it runs."""
    if hasattr(app.stylesheet, "_parse_cache"):
        app.stylesheet = KeptStylesheet(app.stylesheet._variables)  # pyright: ignore[reportPrivateUsage]


def own_driver_fits() -> bool:
    """Whether this Textual has what our driver builds on. Its version number would cost 50 ms to look up."""
    try:
        events = list(input_parser().feed("a\x1b[A\x1b[<0;3;4M"))
        keys = [event.key for event in events if isinstance(event, Key)]
    except (ImportError, AttributeError, TypeError) as error:
        log.warning("this Textual is unknown (%s); its own driver is used", error)
        return False
    return keys == ["a", "up"] and len(events) == 3


def hold_drawing(app: App[None]) -> None:
    """No more frames, until `resume_drawing`. Holds add up."""
    app._begin_batch()  # pyright: ignore[reportPrivateUsage]


def resume_drawing(app: App[None]) -> None:
    """Draw again, and all of the screen: frames were left out."""
    app._end_batch()  # pyright: ignore[reportPrivateUsage]
    if app.screen_stack:
        app.screen.refresh()


def catch_crashes(app: App[None], report: Callable[[BaseException], None]) -> None:
    """An error that nothing foresaw ends the app with return code 1; nothing is printed on the person's terminal.

    Textual would print a traceback with local variables, and those may hold keys.
    """

    def end(error: Exception) -> None:
        report(error)
        app._exception = app._exception or error  # pyright: ignore[reportPrivateUsage]
        app._return_code = 1  # pyright: ignore[reportPrivateUsage]
        app._close_messages_no_wait()  # pyright: ignore[reportPrivateUsage]

    app._handle_exception = end  # pyright: ignore[reportPrivateUsage]


def to_terminal(app: App[None], data: str) -> None:
    """Send bytes to the terminal as they are, behind what was drawn so far."""
    if app._driver is not None:  # pyright: ignore[reportPrivateUsage]
        app._driver.write(data)  # pyright: ignore[reportPrivateUsage]


def remember_clipboard(app: App[None], text: str) -> None:
    """What was copied here is what is pasted here, whether or not the terminal took it."""
    app._clipboard = text  # pyright: ignore[reportPrivateUsage]


def let_removed_widgets_go() -> None:
    """Keep nothing of a widget that left the screen.

    Textual shares two colours between widgets in a cache of 1,024 entries, but keys it by each widget's own drawn lines
    too: a thousand dead widgets stay with all that they drew. Keyed by the class the entries hold colours alone.
    """
    from textual._styles_cache import StylesCache

    shared = vars(StylesCache).get("get_inner_outer")
    if hasattr(shared, "cache_info"):  # one that Textual mended is no plain cached function any more
        StylesCache.get_inner_outer = classmethod(shared)  # type: ignore[assignment]
