"""A question with a few answers, which no stray key or click can decide."""

from __future__ import annotations

import time
from typing import ClassVar, TypeVar

from textual import events
from textual.geometry import Size
from textual.reactive import reactive
from textual.screen import Screen
from textual.timer import Timer

from agent.literal import visible
from tui.app_of import app_of
from tui.screens.modal import Modal
from tui.transcript.wrap import crop
from tui.widgets.choices import Choice, Choices

LATE_S = 0.15  # a timer this late means that the loop stood still, and keys may wait that nobody has read yet
SHORTEST_S = 0.001  # Textual divides by the time of a timer
LOW_ROWS = 14
SESSION_CELLS = 40  # of the name of a session in a title
LEAST_CELLS, LEAST_ROWS = 20, 6  # below this nothing is shown but that the terminal is too small

T = TypeVar("T")


def titled(title: str, session: str) -> str:
    """The title of a question, with the session that asks where that is not the shown one."""
    return f"{title} · {crop(visible(session), SESSION_CELLS)}" if session else title


def is_too_small(size: Size) -> bool:
    return size.width < LEAST_CELLS or size.height < LEAST_ROWS


class ChoosingScreen(Modal[T]):
    """Armed only when it has been drawn and nothing was pressed for `quiet_s`, nor the window changed focus.

    Until then each key and click is dropped and begins the quiet time anew: keys typed ahead (C20), a held key (C21)
    and the click that only brings the window to the front (C23) decide nothing. What is no key of this screen
    begins it anew as well, since it was meant for a draft, and so may be the digit behind it. Nor does anything decide on
    a screen that is too small to show what is decided on.
    """

    LOW: ClassVar[int] = LOW_ROWS  # below so many rows the answers stand in one
    FREE: ClassVar[dict[str, str]] = {"ctrl+c": "back_out"}  # keys and actions that allow nothing and need not wait

    is_armed: reactive[bool] = reactive(False, init=False)

    def __init__(self, choices: list[Choice], marked: int, quiet_s: float) -> None:
        super().__init__()
        self.answers = Choices(choices, marked)
        self._quiet_s = quiet_s
        self._timer: Timer | None = None
        self._due_s = self._armed_at_s = float("inf")

    def take(self, index: int) -> None:
        """Decide. Called only while armed and for an answer that can be taken."""
        raise NotImplementedError

    def laid_out(self) -> None:
        """Tell anew what depends on the room there is. It must come to rest: what it changes may be laid out again."""

    def on_mount(self) -> None:
        self.watch(app_of(self), "app_focus", self._wait_anew, init=False)
        self.call_after_refresh(self._wait_anew)
        self.screen_layout_refresh_signal.subscribe(self, self._hear_of_layout)  # pyright: ignore[reportUnknownMemberType]

    def on_resize(self, event: events.Resize) -> None:
        is_low = event.size.height < self.LOW
        self.set_class(is_low, "-low")
        self.set_class(is_too_small(event.size), "-too-small")
        self.answers.is_flat = is_low
        self._wait_anew()  # what was aimed at may have moved

    def on_app_focus(self) -> None:
        self._wait_anew()

    def on_app_blur(self) -> None:
        self._wait_anew()

    def on_key(self, event: events.Key) -> None:
        if event.key in self.FREE or (self._admits(event.time) and not self._is_stray(event)):
            return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self._wait_anew()  # it was meant for the draft, and so may be the Enter behind it

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._admits(event.time)

    def on_choices_pressed(self, event: Choices.Pressed) -> None:
        if self._admits(event.down_s):
            self.action_choose(event.index)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # A key that was admitted by the modal before this one finds its way here as an action: only arming counts.
        return self.is_armed or action in self.FREE.values()

    def watch_is_armed(self, is_armed: bool) -> None:
        self.answers.is_lit = is_armed

    def action_move(self, step: int) -> None:
        self.answers.move(step)

    def action_decide(self) -> None:
        self.action_choose(self.answers.marked)

    def action_choose(self, index: int) -> None:
        if self.is_armed and self.answers.choices[index].is_open:
            self.is_armed = False
            self.take(index)

    def may_arm(self) -> bool:
        """Whether all is there that is decided on."""
        return not self.has_class("-too-small")

    def _hear_of_layout(self, screen: Screen[object]) -> None:
        self.laid_out()

    def _is_stray(self, event: events.Key) -> bool:
        if event.key in self.active_bindings:
            return False
        self._wait_anew()
        return True

    def _admits(self, at_s: float) -> bool:
        if self.is_armed and at_s >= self._armed_at_s:
            return True
        self._wait_anew()
        return False

    def _wait_anew(self) -> None:
        self.is_armed = False
        self._due_s = time.monotonic() + self._quiet_s
        self._arm_in(self._quiet_s)

    def _arm_in(self, left_s: float) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(max(left_s, SHORTEST_S), self._arm)

    def _arm(self) -> None:
        now = time.monotonic()
        if now < self._due_s:
            self._arm_in(self._due_s - now)  # a timer that was due when it was stopped comes all the same
            return
        if not self.may_arm():
            return  # what lets it arm begins the quiet time anew
        if now - self._due_s > LATE_S:
            self._wait_anew()
            return
        self._armed_at_s = now
        self.is_armed = True
