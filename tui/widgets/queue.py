"""What waits behind the running turn, above the composer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from textual.content import Content
from textual.widget import Widget

from agent.config.display_settings import SendKey
from agent.prompt_queue import Waiting
from agent.runtime import Runtime
from tui.hints import NO_CHANGES, Keymap, filled, keymap_of
from tui.keys import QUEUE_KEYS
from tui.transcript.wrap import crop
from tui.widgets.prompt_composer import PromptComposer
from tui.widgets.state_words import one_line

MOST_SHOWN = 3
STEER = "behind the next result: "
TAKE_BACK, UNQUEUES = "{main.take_back} takes the newest back", "{main.take_back} unqueues one"
# The longest that there is room for.
HELD = (
    f"{{composer.send}} on an empty draft sends the next · {TAKE_BACK}",
    f"{{composer.send}} on an empty draft sends the next · {UNQUEUES}",
    "{composer.send} on an empty draft sends the next",
    "{composer.send} sends the next",
)
RUNNING = (f"{TAKE_BACK} · {{prompt.queue}} edits them", TAKE_BACK, UNQUEUES)
MARKED = (
    "{queue.edit} edits · {queue.earlier} and {queue.later} move · {queue.remove} removes · {queue.leave} leaves",
    "{queue.edit} edits · {queue.earlier} {queue.later} · {queue.remove} · {queue.leave}",
    "{queue.edit} edits · {queue.leave}",
)


class QueueBar(Widget):
    """Shows nothing, not even a row, while the queue is empty. With the focus, one of the prompts is marked."""

    ALLOW_SELECT = False
    BINDINGS = QUEUE_KEYS
    FOCUS_ON_CLICK = False
    DEFAULT_CSS = "QueueBar { height: auto; max-height: 33vh; padding: 1 3 0 3; background: $background; }"

    can_focus = True

    def __init__(self, runtime: Callable[[], Runtime], composer: PromptComposer) -> None:
        """`runtime` is that of the shown session."""
        super().__init__()
        self._runtime = runtime
        self._composer = composer
        self._waiting: tuple[str, ...] = ()
        self._is_held = False
        self._marked = 0

    def on_mount(self) -> None:
        self.display = False

    def tell(self, waiting: Sequence[str], *, is_held: bool) -> None:
        """`is_held`: after an interrupt or a failure nothing is sent until the person says so."""
        told = tuple(waiting), is_held
        if told == (self._waiting, self._is_held):
            return
        self._waiting, self._is_held = told
        self._marked = max(0, min(self._marked, len(self._waiting) - 1))
        if not waiting and self.has_focus:
            self.action_leave()
        self.display = bool(waiting)
        self.refresh(layout=True)

    def take_back(self, index: int = -1) -> None:
        """A prompt, the newest where none is named, stands in the draft again, before what is written there."""
        if (taken := self._runtime().take_back(index)) is None:
            return
        draft, text = self._composer.text, self._labelled(taken)
        self._composer.set_draft(f"{text}\n{draft}" if draft else text)
        self._retell()

    def on_focus(self) -> None:
        self._marked = 0
        self.refresh(layout=True)

    def on_blur(self) -> None:
        self.refresh(layout=True)

    def render(self) -> Content:
        return self._lines(self.content_size.width)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self._lines(width).plain.split("\n"))

    def _lines(self, width: int) -> Content:
        marked = self._marked if self.has_focus else None
        steers = self._runtime().steers
        keymap = keymap_of(self)
        if self._composer.settings.send_key is SendKey.CTRL_S:
            keymap = {**keymap, "composer.send": filled("{prompt.send}", keymap)}
        return queue_lines(
            self._waiting, is_held=self._is_held, width=width, marked=marked, steers=steers, keymap=keymap
        )

    # --- keys

    def action_mark(self, step: int) -> None:
        self._marked = max(0, min(self._marked + step, len(self._waiting) - 1))
        self.refresh()

    def action_move(self, step: int) -> None:
        if self._is_there() and self._runtime().move_queued(self._marked, step):
            self._marked += step
            self._retell()

    def action_edit(self) -> None:
        if self._is_there():
            self.action_leave()
            self.take_back(self._marked)

    def action_remove(self) -> None:
        if self._is_there() and (taken := self._runtime().take_back(self._marked)) is not None:
            self._composer.remember(self._labelled(taken))
            self._retell()

    def action_leave(self) -> None:
        self._composer.focus()

    def _labelled(self, taken: Waiting) -> str:
        return self._composer.pastes.with_images(taken.text, taken.images)

    def _is_there(self) -> bool:
        """Whether the marked prompt is still what was told: it may have been sent in this moment."""
        at = slice(self._marked, self._marked + 1)
        return self._runtime().queue[at] == self._waiting[at]

    def _retell(self) -> None:
        runtime = self._runtime()
        self.tell(runtime.queue, is_held=runtime.queue_is_held)


def queue_lines(
    waiting: Sequence[str],
    *,
    is_held: bool,
    width: int,
    marked: int | None = None,
    steers: Collection[int] = (),
    keymap: Keymap = NO_CHANGES,
) -> Content:
    """A heading that says how it goes on, then prompts, a line each: the first ones, or those around the marked one.

    `steers` are those that the model gets while it works.
    """
    head = f"{len(waiting)} queued"
    sign = "■ " if is_held else "⋯ "
    room = width - len(sign) - len(head) - 3
    ways = (HELD if is_held else RUNNING) if marked is None else MARKED
    how = next((words for way in ways if len(words := filled(way, keymap)) <= room), "")
    heading = Content.assemble(
        (sign + head, "bold $text-warning" if is_held else "bold $text-accent"),
        (f" · {how}" if how else "", "$foreground 68%"),
    )
    first = 0 if marked is None else max(0, min(marked - MOST_SHOWN // 2, len(waiting) - MOST_SHOWN))
    shown = waiting[first : first + MOST_SHOWN]
    told = [f"{STEER}{text}" if place in steers else text for place, text in enumerate(shown, first)]
    lines = [_line(number, text, width, is_marked=number - 1 == marked) for number, text in enumerate(told, first + 1)]
    below = len(waiting) - first - len(shown)
    rest = [Content.assemble((f"    and {below} more", "$foreground 68%"))] if below else []
    return Content("\n").join([heading, *lines, *rest])


def _line(number: int, text: str, width: int, *, is_marked: bool) -> Content:
    start, row = f"{'▸' if is_marked else ' '} {number} ", crop(one_line(text), max(1, width - 4))
    if is_marked:
        return Content.assemble((start + row, "bold $block-cursor-foreground on $block-cursor-background"))
    return Content.assemble((start, "$foreground 68%"), (row, "$foreground 80%"))
