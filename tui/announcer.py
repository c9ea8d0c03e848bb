"""What is told beside the screen: the title of the window, the terminal's bar of progress, and notifications.

Whether a terminal shows them is not asked, which most could not answer; it is known of some by their names, and what a
person sets stands over that. A notification is sent only while the terminal does not have the focus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from agent.config.display_settings import DisplaySettings, Notify, Progress
from agent.events import RequestOpened, TurnEnded, TurnEvent
from agent.hub import Hub
from agent.runtime import Runtime
from agent.session_run import Live
from session.models import ExitReason
from tui.multiplexer import is_between, passed_on
from tui.widgets.state_words import one_line, telling
from tui.widgets.status_bar import Status

NAME = "hermes"
PROGRESS_ON, PROGRESS_OFF = "\x1b]9;4;3\x07", "\x1b]9;4;0\x07"
LONG_S = 3  # a turn that is over sooner moves no bar
MOST_CHARS = 160
PROGRESS_VTE = 7900  # the first version of VTE with a bar
_OSC9 = frozenset({"iTerm.app", "ghostty", "WezTerm"})


class Announcer:
    """Tells what happens in all sessions; of the shown one, how it stands."""

    def __init__(
        self,
        write: Callable[[str], None],
        is_seen: Callable[[], bool],
        environ: Mapping[str, str],
        settings: DisplaySettings,
    ) -> None:
        self.settings = settings
        self._write = write
        self._is_seen = is_seen
        self._environ = environ
        self._title = ""
        self._is_moving = False

    @property
    def parting(self) -> str:
        """What has to be taken back when the screen is given up."""
        return PROGRESS_OFF if self._is_moving else ""

    def forget(self) -> None:
        """The terminal was given up and taken again: nothing of what it was told holds there."""
        self._title, self._is_moving = "", False

    def tell(self, hub: Hub, runtime: Runtime, status: Status, *, is_shown: bool) -> None:
        """Bring the window up to date with the session that has the screen."""
        if not is_shown:
            return
        state = Live.ASKING if hub.pending() else status.state
        sign = "" if state is Live.IDLE else f"{telling(state).sign} "
        name = one_line(runtime.s.session.title)[:MOST_CHARS]
        self._name_window(f"{sign}{NAME}{f' — {name}' if name else ''}")
        self._move(status.state is Live.WORKING and status.working_s >= LONG_S)

    def hear(self, hub: Hub, happened: Sequence[TurnEvent]) -> None:
        """Notify somebody who looks elsewhere, once of each thing."""
        if self._is_seen():
            return
        for event in happened:
            if text := news(hub, event):
                self._write(notification(self.settings.notify, text, self._environ))

    def _name_window(self, title: str) -> None:
        if self.settings.title and title != self._title:
            self._title = title
            self._write(f"\x1b]2;{title}\x07")

    def _move(self, is_moving: bool) -> None:
        is_moving = is_moving and _has_bar(self.settings.progress, self._environ)
        if is_moving is not self._is_moving:
            self._is_moving = is_moving
            self._write(PROGRESS_ON if is_moving else PROGRESS_OFF)


def news(hub: Hub, event: TurnEvent) -> str:
    """What is worth looking for; "" for all else. What the person stopped is none, nor a turn that another follows."""
    match event:
        case RequestOpened(at=at):
            return f"{_named(hub, at.session)} asks you something."
        case TurnEnded(at=at, error=error) if error:
            return f"{_named(hub, at.session)} failed: {error}"
        case TurnEnded(at=at, reason=reason) if reason is not ExitReason.INTERRUPTED:
            runtime = hub.runtime(at.session)
            goes_on = bool(runtime.queue) and not runtime.queue_is_held
            return "" if goes_on else f"{_named(hub, at.session)} is done."
        case _:
            return ""


def notification(how: Notify, text: str, environ: Mapping[str, str]) -> str:
    """The bytes that make a terminal notify; "" for none. Nothing in the text acts on it."""
    safe = one_line(text)[:MOST_CHARS]
    match _known_way(environ) if how is Notify.AUTO else how:
        case Notify.OSC9:
            # ConEmu and others read a number in front as something else than a text.
            return passed_on(f"\x1b]9;{NAME}: {safe}\x07", environ)
        case Notify.OSC777:
            return passed_on(f"\x1b]777;notify;{NAME};{safe.replace(';', ',')}\x07", environ)
        case Notify.BELL:
            return "\x07"
        case _:
            return ""


def _known_way(environ: Mapping[str, str]) -> Notify:
    if is_between(environ):
        return Notify.BELL  # it is passed on by default, and marks the window
    if environ.get("TERM_PROGRAM") in _OSC9 or environ.get("KITTY_WINDOW_ID"):
        return Notify.OSC9
    return Notify.OSC777 if environ.get("TERM", "").startswith(("foot", "rxvt-unicode")) else Notify.BELL


def _has_bar(wish: Progress, environ: Mapping[str, str]) -> bool:
    """A terminal without one may show the sequence as a notification, so only those known to have it get it."""
    if wish is not Progress.AUTO:
        return wish is Progress.ON
    if is_between(environ):
        return False
    vte = environ.get("VTE_VERSION", "")
    is_new_vte = vte.isdecimal() and int(vte) >= PROGRESS_VTE
    return is_new_vte or bool(environ.get("WT_SESSION")) or environ.get("TERM_PROGRAM") == "ghostty"


def _named(hub: Hub, session_id: str) -> str:
    return hub.runtime(session_id).s.session.title or "A session"
