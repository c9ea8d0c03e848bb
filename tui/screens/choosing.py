"""A question with a few answers, which no stray key or click can decide."""

from __future__ import annotations

import time
from typing import TypeVar

from textual import events
from textual.geometry import Size
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.timer import Timer

from tui.app_of import app_of
from tui.widgets.choices import Choice, Choices

LATE_S = 0.15  # a timer this late means that the loop stood still, and keys may wait that nobody has read yet
LOW_ROWS = 14
LEAST_CELLS, LEAST_ROWS = 20, 6  # below this nothing is shown but that the terminal is too small
BACK_OUT_KEY = "ctrl+c"  # allows nothing, so it need not wait

T = TypeVar("T")


def is_too_small(size: Size) -> bool:
    return size.width < LEAST_CELLS or size.height < LEAST_ROWS


class ChoosingScreen(ModalScreen[T]):
    """Armed only when it has been drawn and nothing was pressed for `quiet_s`, nor the window changed focus.

    Until then each key and click is dropped and begins the quiet time anew: keys typed ahead (C20), a held key (C21)
    and the click that only brings the window to the front (C23) decide nothing. Nor does anything on a screen that is
    too small to show what is decided on.
    """

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

    def on_mount(self) -> None:
        self.watch(app_of(self), "app_focus", self._wait_anew, init=False)
        self.call_after_refresh(self._wait_anew)

    def on_resize(self, event: events.Resize) -> None:
        is_low = event.size.height < LOW_ROWS
        self.set_class(is_low, "-low")
        self.set_class(is_too_small(event.size), "-too-small")
        self.answers.is_flat = is_low
        self._wait_anew()  # what was aimed at may have moved

    def on_key(self, event: events.Key) -> None:
        if event.key != BACK_OUT_KEY and not self._admits(event.time):
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
        return self.is_armed or action == "back_out"

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

    def _admits(self, at_s: float) -> bool:
        if self.is_armed and at_s >= self._armed_at_s:
            return True
        self._wait_anew()
        return False

    def _wait_anew(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self.is_armed = False
        self._due_s = time.monotonic() + self._quiet_s
        self._timer = self.set_timer(self._quiet_s, self._arm)

    def _arm(self) -> None:
        now = time.monotonic()
        if self.has_class("-too-small"):
            return  # the next resize tries again
        if now - self._due_s > LATE_S:
            self._wait_anew()
            return
        self._armed_at_s = now
        self.is_armed = True
