"""The view of one approval request. The request lives in the runtime: this shows it and passes on one answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from agent.approvals.details import Details, Script, decoded
from agent.approvals.inbox import Answer
from agent.hub import Hub
from agent.literal import caution, visible
from session.models import Approval, ApprovalRequest
from tui.app_of import app_of
from tui.hints import hint
from tui.keys import APPROVAL_KEYS
from tui.screens.approval_step import ApprovalStep
from tui.screens.choosing import ChoosingScreen, titled
from tui.transcript.wrap import crop, wrap
from tui.widgets.call_facts import CallFacts, Fact, danger, fact_lines, facts_of
from tui.widgets.choices import Choice
from tui.widgets.literal_view import LiteralView

if TYPE_CHECKING:
    from tui.widgets.diff_view import DiffView  # most questions show no change, and a start need not pay for it

ONCE, SESSION, ALWAYS, EDIT, DENY, REASON = range(6)
SETTLES = {ONCE: Approval.ALLOWED_ONCE, SESSION: Approval.ALLOWED_SESSION, DENY: Approval.DENIED}
QUESTIONS = {
    "terminal": "Run this command?",
    "write_file": "Write this file?",
    "patch": "Change this file?",
    "read_file": "Read this file?",
    "web_fetch": "Fetch this page?",
}
SPLIT_CELLS = 120  # from here on a change is shown side by side
LARGE_CHARS = 200_000  # from here on a text is made literal off the loop
SETTLED_BEFORE = "This question was settled before; your answer changed nothing."


class _Literal:
    """The text as it can be shown, the scripts that it would run, and what to be careful of in all of them."""

    def __init__(self, text: str, scripts: Sequence[Script]) -> None:
        self.text = visible(text, fold_blanks=True)
        self.scripts = [f"It would run {script.path}, which is:\n{script.text}" for script in scripts]
        self.scripts = [visible(script, fold_blanks=True) for script in self.scripts]
        self.caution = caution("\n".join([text, *(f"{script.path}\n{script.text}" for script in scripts)]))


class ApprovalScreen(ChoosingScreen[None]):
    """Deny is marked at first. Closes itself when the request is settled, here or elsewhere (C28)."""

    LOW: ClassVar[int] = 18
    BINDINGS = APPROVAL_KEYS
    DEFAULT_CSS = """
    ApprovalScreen { align: center middle; background: $background 60%; }
    ApprovalScreen #box {
        width: 92%; max-width: 100; height: auto; max-height: 100%; background: $surface;
        border: round $warning; border-title-color: $text-warning; border-title-style: bold;
        border-subtitle-color: $foreground 68%; padding: 0 1;
    }
    ApprovalScreen.-change #box { width: 96%; max-width: 100%; }
    ApprovalScreen #why { height: auto; max-height: 2; color: $foreground 68%; }
    ApprovalScreen.-change #why { max-height: 3; }
    ApprovalScreen #caution { height: auto; max-height: 3; color: $text-error; text-style: bold; }
    ApprovalScreen LiteralView { padding: 0 1; background: $background; scrollbar-background: $background; }
    ApprovalScreen LiteralView, ApprovalScreen DiffView { margin: 1 0; }
    ApprovalScreen VerticalScroll { height: auto; margin: 0 0 1 0; scrollbar-size-vertical: 1; }
    ApprovalScreen Toast { display: none; }  /* nothing may cover what is decided on */
    ApprovalScreen #state { height: 1; margin: 1 0 0 0; color: $foreground 68%; }
    ApprovalScreen.-low LiteralView, ApprovalScreen.-low DiffView, ApprovalScreen.-low #state { margin: 0; }
    ApprovalScreen.-low VerticalScroll { margin: 0; }
    ApprovalScreen.-low #why, ApprovalScreen.-low #caution { max-height: 1; }
    """

    def __init__(self, hub: Hub, request: ApprovalRequest, switch: Callable[[int], None], name: str = "") -> None:
        """`switch` shows the session above (-1) or below (1); the request then waits.

        `name` is that of the session where another one is shown.
        """
        self.details = decoded(request.details)
        super().__init__(_choices(request.tool, self.details), DENY, hub.profile.settings.approvals.arm_ms / 1000)
        self.request = request
        self._hub = hub
        self._asker = name
        self._switch = switch
        self._folder = hub.runtime(request.session_id).s.session.cwd
        self._why = Static(id="why", markup=False)
        self._caution = Static(id="caution", markup=False)
        self._warned = self._told_why = ""  # what the rows above the text say
        self._literal: _Literal | None = None
        self._fitted = 0, 0  # the width of the box and the lines of the text that `_fit` knew
        self._is_cut = False  # some of it is to be read by scrolling
        self._is_turned = False  # on a low screen the facts have the place of the change
        self._change = _change_of(self.details)
        self._text = self._change or LiteralView("")
        self._facts = CallFacts(facts_of(self.details))
        self._facts_pane = VerticalScroll(self._facts, can_focus=False)
        self._box = Vertical(id="box")
        self._state = Static(id="state", markup=False)

    def compose(self) -> ComposeResult:
        self._box.border_title = Content(titled(_title(self.request, self.details), self._asker))
        self.set_class(self._change is not None, "-change")
        with self._box:
            yield self._why
            yield self._caution
            yield self._text
            yield self._facts_pane
            yield self.answers
            yield self._state
        if len(self.request.shown) < LARGE_CHARS:
            self._put_text(_Literal(self.request.shown, self.details.scripts))
        self._tell_why()
        self._fit()

    def on_mount(self) -> None:
        if self._literal is None:
            self.run_worker(self._make_literal())
        for pane in (self._text, self._facts_pane):
            self.watch(pane, "scroll_y", self._tell_time, init=False)
        if self.details.ends_at is not None:
            self.set_interval(1, self._tell_time)

    def on_resize(self, event: events.Resize) -> None:
        self._fit()

    def laid_out(self) -> None:
        if self._fitted != (self._box.content_size.width, self._text.line_count):
            self._fit()
        self._tell()
        self._tell_time()

    def on_screen_resume(self) -> None:
        self.sync(self.request.session_id)

    def sync(self, shown: str) -> None:
        """Follow the request: close when it is settled or `shown` is another session, say where it stands in line."""
        if not self.is_current:
            return
        if shown == self.request.session_id and any(other.id == self.request.id for other in self._hub.pending()):
            self._tell_time()
        else:
            self.dismiss()

    # --- what is decided

    def may_arm(self) -> bool:
        is_drawn = self._change is None or self._change.is_ready
        return super().may_arm() and self._literal is not None and is_drawn

    def take(self, index: int) -> None:
        if approval := SETTLES.get(index):
            self._settle(Answer(approval))
            self.dismiss()
        else:
            app_of(self).push_screen(self._step(index), self._hear)

    def _step(self, index: int) -> ApprovalStep:
        if index == ALWAYS:
            from tui.screens.approval_always import AlwaysStep

            return AlwaysStep(self._hub, self.request, self.sync)
        from tui.screens.approval_words import EditStep, ReasonStep

        return (EditStep if index == EDIT else ReasonStep)(self._hub, self.request, self.sync)

    def _hear(self, answer: Answer | None) -> None:
        """What came of a second look. When this screen shows again it finds out by itself whether it is still asked."""
        if answer is not None:
            self._settle(answer)
        self._wait_anew()

    def _settle(self, answer: Answer) -> None:
        if not self._hub.answer(self.request.id, answer):
            app_of(self).notify(SETTLED_BEFORE, markup=False)

    # --- keys

    def action_deny(self) -> None:
        self.action_choose(DENY)

    def action_switch(self, step: int) -> None:
        self._switch(step)

    def action_back_out(self) -> None:
        self._hub.interrupt(self.request.session_id)

    def action_scroll(self, pages: int) -> None:
        """Through the text, and from its end on through what is told of it."""
        text, facts = self._text, self._facts_pane
        is_at_edge = text.scroll_offset.y >= text.max_scroll_y if pages > 0 else facts.scroll_offset.y <= 0
        if is_at_edge and self._turns and self._is_turned != (pages > 0):
            self._turn(to_facts=pages > 0)
        elif pages > 0:
            (text if text.scroll_offset.y < text.max_scroll_y else facts).scroll_page_down(animate=False)
        else:
            (facts if facts.scroll_offset.y > 0 else text).scroll_page_up(animate=False)

    def action_edge(self, side: int) -> None:
        if self._turns:
            self._turn(to_facts=side > 0)
        for pane in (self._text, self._facts_pane):
            (pane.scroll_end if side > 0 else pane.scroll_home)(animate=False)

    @property
    def _turns(self) -> bool:
        """Whether the facts stand behind the change, for want of room, and not under the text."""
        return self._change is not None and self.has_class("-low") and bool(self._facts.facts)

    def _turn(self, *, to_facts: bool) -> None:
        self._is_turned = to_facts
        self._fit()

    # --- what is told

    def watch_is_armed(self, is_armed: bool) -> None:
        super().watch_is_armed(is_armed)
        self._tell()

    async def _make_literal(self) -> None:
        self._put_text(await asyncio.to_thread(_Literal, self.request.shown, self.details.scripts))
        self._wait_anew()

    def _put_text(self, literal: _Literal) -> None:
        self._literal = literal
        self._warned = " ".join(filter(None, (danger(self.details), literal.caution)))
        self._caution.display = bool(self._warned)
        self._fit()

    def on_diff_view_ready(self) -> None:
        self._tell_why()
        self._fit()
        self._wait_anew()

    def _tell_why(self) -> None:
        told = f"Asked because it {self.request.why}."
        if self._change is not None:
            told = f"{self.details.path} · {_counted(self._change)}\n{told}"
        else:
            told = f"{told} Folder: {self._folder}"
        self._told_why = visible(told)

    def _tell_time(self) -> None:
        """What is to be read yet, where it stands in line and how long it waits, then what it is known by."""
        waiting = [other.id for other in self._hub.pending()]
        told = [f"↓ {below:,} more {'line' if below == 1 else 'lines'}"] if (below := self._below()) else []
        if len(waiting) > 1 and self.request.id in waiting:
            told.append(f"{waiting.index(self.request.id) + 1} of {len(waiting)}")
        if (ends_at := self.details.ends_at) is not None:
            told.append(f"{_left(ends_at - time.time())} left")
        told += [self.request.tool, self.request.id]
        self._box.border_subtitle = Content(visible(" · ".join(told)))

    def _fit(self) -> None:
        """The text takes what the rest leaves, so that the choices are always in sight."""
        size = app_of(self).size
        is_low = size.height < self.LOW
        self._fitted = self._box.content_size.width, self._text.line_count
        width = max(1, self._box.content_size.width or size.width * 92 // 100 - 4)
        warned = self._rows(self._warned, width)
        most, why = (1, 1) if is_low else (3, 2 + (self._change is not None))
        self._why.update(Content(_clipped(self._told_why, width, why)))
        self._caution.update(Content(_clipped(self._warned, width, most)))
        self._facts.put(
            list(self._facts_beside(is_why_cut=self._rows(self._told_why, width) > why, is_cut=warned > most))
        )
        room = size.height - min(warned, most) - why - (4 if is_low else 12)
        pane = 0
        if self._facts.facts and not is_low:
            pane = min(self._facts.rows(width), max(2, room // 2, room - 1 - self._text.line_count))
            self._facts_pane.styles.max_height = pane
            room -= pane + 1
        is_turned = self._is_turned = self._is_turned and is_low and self._turns
        if is_turned:
            pane = self._facts_pane.styles.max_height = max(1, room)
        self._text.display = not is_turned
        self._facts_pane.display = pane > 0
        self._is_cut = self._text.line_count > max(1, room) or (not is_low and pane < self._facts.rows(width))
        self._text.styles.max_height = max(1, room)
        if self._change is not None:
            self._change.wants_split = size.width >= SPLIT_CELLS
        if self._literal is not None and isinstance(self._text, LiteralView):
            facts = [line.plain for line in fact_lines(self._facts.facts, width - 3)] if is_low else []
            self._text.put(self._literal.text, "\n".join([*facts, *self._literal.scripts]))
        self._tell()

    def _facts_beside(self, *, is_why_cut: bool, is_cut: bool) -> Iterator[Fact]:
        """What is known of the call, and in full what the rows above it have no room for."""
        if is_why_cut:
            yield Fact("why", self._told_why.replace("\n", " "), is_whole=True)
        if is_cut and self._literal is not None and self._literal.caution:
            yield Fact("careful", self._literal.caution, "", "$text-error", is_whole=True)
        yield from facts_of(self.details, names_dangers=is_cut)

    def _below(self) -> int:
        """How many lines of the text, and of what is told of it, stand below what is in sight."""
        panes = [self._text, self._facts_pane] if not self._is_turned else [self._facts_pane]
        below = sum(max(0, round(pane.max_scroll_y - pane.scroll_offset.y)) for pane in panes if pane.display)
        is_behind = self._turns and not self._is_turned
        return below + (self._facts.rows(self._box.content_size.width) if is_behind else 0)

    @staticmethod
    def _rows(text: str, width: int) -> int:
        return len(wrap([(text, Style.null())], width)) if text else 0

    def _tell(self) -> None:
        if not self.is_armed:
            self._state.update(Content("wait… answers count after a quiet moment"), layout=False)
            return
        pages = "{approval.page_up approval.page_down}"
        more = f"{pages} read all {self._text.line_count:,} lines" if self._is_cut else ""
        width = self._state.size.width
        if self._is_cut and width < 60:
            more = "{approval.page_down} reads on"
        decides, denies = "{approval.decide} decides", "{approval.deny} denies"
        moves = "{approval.above approval.below} move"
        self._state.update(Content(hint(self, width, decides, denies, more, moves)), layout=False)


def _clipped(text: str, width: int, rows: int) -> str:
    """So many rows of it, the last with an ellipsis where there are more."""
    lines = ["".join(segment.text for segment in line) for line in wrap([(text, Style.null())], width)]
    if len(lines) <= rows:
        return text
    return "\n".join([*lines[: rows - 1], crop(" ".join(lines[rows - 1 : rows + 1]), width)])


def _choices(tool: str, details: Details) -> list[Choice]:
    can_save = details.may_save and any(details.offers)
    can_edit = bool(details.command) and visible(details.command) == details.command
    why_not = "not for this one" if tool == "terminal" else "only for commands"
    if details.command:
        why_not = "it holds what a text field would not show"
    return [
        Choice("Allow once"),
        Choice("Allow for this session", note="a yes holds for this call alone", is_open=not details.is_once),
        Choice("Always allow…", note="this is asked each time", is_open=can_save),
        Choice("Edit…", note=why_not, is_open=can_edit),
        Choice("Deny"),
        Choice("Deny with a reason…"),
    ]


def _change_of(details: Details) -> DiffView | None:
    """A change of a file as a diff, None where there is none or it is too large: then the text of the call is shown."""
    if details.after is None:
        return None
    from tui.widgets.diff_rows import MOST_CHARS
    from tui.widgets.diff_view import DiffView

    before, after = details.before or "", details.after
    return DiffView(before, after) if len(before) + len(after) <= MOST_CHARS else None


def _title(request: ApprovalRequest, details: Details) -> str:
    if details.after is not None and details.before is None:
        return "Write this new file?"
    return QUESTIONS.get(request.tool, "Allow this call?")


def _counted(view: DiffView) -> str:
    if view.diff is None:
        return "…"
    lines = f"+{view.diff.added:,}" + (f" −{view.diff.removed:,}" if view.diff.removed else "")
    unit = "line" if view.diff.added + view.diff.removed == 1 else "lines"
    return ", ".join((f"{lines} {unit}", *view.diff.notes))


def _left(seconds: float) -> str:
    left = max(0, round(seconds))
    return f"{left} s" if left < 120 else f"{left // 60} min"
