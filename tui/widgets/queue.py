"""What waits behind the running turn, above the composer."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from tui.transcript.wrap import crop
from tui.widgets.state_words import one_line

MOST_SHOWN = 3
TAKE_BACK = "ctrl+t takes the newest back"
# The longest that there is room for.
HELD = (
    f"Enter on an empty draft sends the next · {TAKE_BACK}",
    "Enter on an empty draft sends the next · ctrl+t unqueues one",
    "Enter on an empty draft sends the next",
    "Enter sends the next",
)
RUNNING = (TAKE_BACK, "ctrl+t unqueues one")


class QueueBar(Widget):
    """Shows nothing, not even a row, while the queue is empty."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "QueueBar { height: auto; max-height: 33vh; padding: 1 3 0 3; background: $background; }"

    _waiting: tuple[str, ...] = ()
    _is_held = False

    def on_mount(self) -> None:
        self.display = False

    def tell(self, waiting: Sequence[str], *, is_held: bool) -> None:
        """`is_held`: after an interrupt or a failure nothing is sent until the person says so."""
        told = tuple(waiting), is_held
        if told == (self._waiting, self._is_held):
            return
        self._waiting, self._is_held = told
        self.display = bool(waiting)
        self.refresh(layout=True)

    def render(self) -> Content:
        return queue_lines(self._waiting, is_held=self._is_held, width=self.content_size.width)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(queue_lines(self._waiting, is_held=self._is_held, width=width).plain.split("\n"))


def queue_lines(waiting: Sequence[str], *, is_held: bool, width: int) -> Content:
    """A heading that says how it goes on, then the first prompts, a line each."""
    head = f"{len(waiting)} queued"
    sign = "■ " if is_held else "⋯ "
    room = width - len(sign) - len(head) - 3
    how = next((words for words in (HELD if is_held else RUNNING) if len(words) <= room), "")
    lines = [
        Content.assemble(
            (sign + head, "bold $text-warning" if is_held else "bold $text-accent"),
            (f" · {how}" if how else "", "$foreground 68%"),
        )
    ]
    lines += [
        Content.assemble(
            (f"  {number} ", "$foreground 68%"), (crop(one_line(text), max(1, width - 4)), "$foreground 80%")
        )
        for number, text in enumerate(waiting[:MOST_SHOWN], 1)
    ]
    if len(waiting) > MOST_SHOWN:
        lines.append(Content.assemble((f"    and {len(waiting) - MOST_SHOWN} more", "$foreground 68%")))
    return Content("\n").join(lines)
