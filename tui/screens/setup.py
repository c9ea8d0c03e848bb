"""The page of a first start: what can answer, to choose one."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from agent.literal import visible
from agent.model_offers import Offer, Offers
from tui.hints import with_keys
from tui.keys import SETUP_KEYS
from tui.screens.giving_way import GivingWay
from tui.widgets.choices import Choice

MOST_OFFERS = 6  # so that each answer has a digit


class Step(StrEnum):
    """What a person can do beside taking what lies ready."""

    KEY = "key"
    MODELS = "models"
    DEMO = "demo"


Picked = Offer | Step


class SetupScreen(GivingWay[Picked]):
    """Gives what was chosen, None for Esc. Nothing is changed here."""

    BINDINGS = SETUP_KEYS
    FREE: ClassVar[dict[str, str]] = {"escape": "back_out", "ctrl+c": "back_out"}
    DEFAULT_CSS = """
    SetupScreen { align: center middle; background: $background 60%; }
    SetupScreen #box {
        width: 92%; max-width: 84; height: auto; max-height: 96%; background: $surface;
        border: round $accent; border-title-color: $text-accent; border-title-style: bold;
        border-subtitle-color: $foreground 68%; padding: 0 1;
    }
    SetupScreen #about { height: auto; max-height: 8; margin: 0 0 1 0; }
    SetupScreen.-low #about { max-height: 2; margin: 0; }
    """

    def __init__(self, offers: Offers, quiet_s: float, draft: Callable[[events.Event], object]) -> None:
        self._about = offers.about
        rows: list[tuple[str, Picked]] = [(offer.label, offer) for offer in offers.offers[:MOST_OFFERS]]
        if offers.key:
            rows.append((f"Give the key {offers.key}", Step.KEY))
        rows.append(("Give the key of a provider, or choose from all models …", Step.MODELS))
        rows.append(("The built-in demo: no model, shows what hermes does", Step.DEMO))
        self._picks = [pick for _, pick in rows]
        super().__init__([Choice(visible(label)) for label, _ in rows], 0, quiet_s, draft)

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = "Which model is to answer?"
            box.border_subtitle = Content(with_keys(self, "{setup.decide} or a number chooses · {setup.leave} leaves"))
            yield Static(Content(visible(self._about)), id="about", markup=False)
            yield self.answers

    def take(self, index: int) -> None:
        self.dismiss(self._picks[index])

    def action_back_out(self) -> None:
        self.dismiss(None)
