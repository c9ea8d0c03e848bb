"""What a yes for good would save: seen in full before it is saved, and as narrow as the person wants it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from agent.approvals.details import Offer, decoded
from agent.approvals.inbox import Answer
from agent.hub import Hub
from agent.literal import visible
from session.models import Approval, ApprovalRequest
from tui.app_of import app_of
from tui.hints import hint
from tui.keys import ALWAYS_KEYS
from tui.screens.approval_step import ApprovalStep
from tui.widgets.choices import Choice
from tui.widgets.literal_view import LiteralView

JUDGED = 200  # commands that an offer was tried on
WIDTHS = {
    "exact": "this very command",
    "subcommand": "this subcommand, whatever follows",
    "prefix": "this program, whatever follows",
    "path": "this file",
    "folder": "this folder and all below it",
    "host": "this host",
}
COUNTED = ("exact", "subcommand", "prefix")  # what past commands can be held against
KEYS = (
    "{always.decide} takes the marked row",
    "{always.narrower always.wider} change it",
    "{always.leave} back",
    "{always.above always.below} move",
)
SAVE, BACK = "Allow, and save this", "Back, save nothing"


class AlwaysStep(ApprovalStep):
    """A row for each rule and one for where they count, all narrow at first; then save, and back, which is marked."""

    BINDINGS = ALWAYS_KEYS
    DEFAULT_CSS = """
    AlwaysStep LiteralView { margin: 1 0; padding: 0 1; background: $background; scrollbar-background: $background; }
    AlwaysStep #intro { height: auto; max-height: 2; color: $foreground 68%; }
    AlwaysStep.-low LiteralView { margin: 0; }
    AlwaysStep.-low #intro { display: none; }
    """

    def __init__(self, hub: Hub, request: ApprovalRequest, below: Callable[[str], None]) -> None:
        self._offers = [offers for offers in decoded(request.details).offers if offers]
        self._chosen = [0] * len(self._offers)
        self._is_everywhere = False
        self._save, self._back = len(self._offers) + 1, len(self._offers) + 2
        super().__init__(hub, request, below, [Choice("")] * self._save + [Choice(SAVE), Choice(BACK)], self._back)
        self._folder = hub.runtime(request.session_id).s.session.workspace
        self._text = LiteralView("")
        self._box = Vertical(id="box")
        self._state = Static(id="state", markup=False)

    def compose(self) -> ComposeResult:
        self._box.border_title = Content("Always allow")
        with self._box:
            yield Static(
                Content("From now on, what these rules name runs without a question:"), id="intro", markup=False
            )
            yield self._text
            yield self.answers
            yield self._state
        self._show()
        self._fit(app_of(self).size.height)

    def on_resize(self, event: events.Resize) -> None:
        # After the base class, which knows nothing of how many rows there are.
        self.call_after_refresh(self._fit, event.size.height)

    def laid_out(self) -> None:
        self._tell()

    def take(self, index: int) -> None:
        if index == self._save:
            rules = tuple(offer.rule for offer in self._picked())
            self.dismiss(Answer(Approval.ALLOWED_ALWAYS, rules=rules, is_everywhere=self._is_everywhere))
        elif index == self._back:
            self.dismiss(None)
        else:
            self._turn(index, 1, goes_round=True)
            self.is_armed = True  # nothing was decided

    def action_turn(self, step: int) -> None:
        self._turn(self.answers.marked, step, goes_round=False)

    def action_scroll(self, pages: int) -> None:
        (self._text.scroll_page_down if pages > 0 else self._text.scroll_page_up)(animate=False)

    def watch_is_armed(self, is_armed: bool) -> None:
        super().watch_is_armed(is_armed)
        self._tell()

    # --- inside

    def _picked(self) -> Iterator[Offer]:
        return (offers[at] for offers, at in zip(self._offers, self._chosen, strict=True))

    def _turn(self, index: int, step: int, *, goes_round: bool) -> None:
        """Another width for a rule, or another place for all of them."""
        if index < len(self._offers):
            most, at = len(self._offers[index]), self._chosen[index] + step
            self._chosen[index] = at % most if goes_round else min(max(at, 0), most - 1)
        elif index == len(self._offers):
            self._is_everywhere = not self._is_everywhere if goes_round else step > 0
        self._show()

    def _show(self) -> None:
        for index, offer in enumerate(self._picked()):
            of = f" · {self._chosen[index] + 1} of {len(self._offers[index])}" if len(self._offers[index]) > 1 else ""
            name = f"Rule {index + 1}" if len(self._offers) > 1 else "Rule"
            self.answers.put(index, Choice(f"{name}: {WIDTHS.get(offer.width, offer.width)}{of}"))
        where = "everywhere · 2 of 2" if self._is_everywhere else "in this project · 1 of 2"
        self.answers.put(len(self._offers), Choice(f"Where: {where}"))
        self._text.put("\n".join(self._told()))
        self._tell()

    def _told(self) -> Iterator[str]:
        for offer in self._picked():
            yield f"allow  {visible(offer.rule, fold_blanks=True)}"
            if offer.width in COUNTED:
                yield f"       {_covered(offer)}"
        yield ""
        yield "Saved for every project." if self._is_everywhere else f"Saved for this project: {visible(self._folder)}"

    def _fit(self, height: int) -> None:
        rows = len(self.answers.choices)
        is_low = height < rows + 12
        self.set_class(is_low, "-low")
        self.answers.is_flat = is_low
        self._text.styles.max_height = max(1, height - (4 if is_low else rows + 8))

    def _tell(self) -> None:
        if not self.is_armed:
            self._state.update(Content("wait… keys count after a quiet moment"), layout=False)
            return
        self._state.update(Content(hint(self, self._state.size.width, *KEYS)), layout=False)


def _covered(offer: Offer) -> str:
    return f"would also have allowed {offer.covers} of the last {JUDGED} commands"
