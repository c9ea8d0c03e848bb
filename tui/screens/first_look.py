"""What a person is told and asked by itself when a profile comes to the screen, after the first frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.commands.table import TrustAsked
from session.errors import UserError
from session.models import ApiMode, Level, Route
from tui.app_of import app_of

if TYPE_CHECKING:
    from agent.model_offers import Offers
    from tui.screens.main import MainScreen

NOTHING_SENT = "No model answers yet, so nothing was sent. /setup chooses one; the demo is there, too."
WAITS = "No model answers yet. /setup chooses one."
UNASKED = "This folder brings files that wait to be trusted; they have no effect. /trust asks about them."


class FirstLook:
    """Of one profile. `asks`: a model is asked for where none can be had, and trust where a folder wants it.

    Nothing is asked over a draft that was begun, nor over another question: then a line says which command asks.
    """

    def __init__(self, main: MainScreen, *, asks: bool) -> None:
        self._main = main
        self._asks = asks
        self._was_asked = False  # for a model

    async def look(self) -> None:
        """What is wrong, what other processes did, and then the questions."""
        main, hub = self._main, self._main.hub
        for sentence in hub.remarks:
            main.say(sentence, Level.WARNING)
        try:
            main.sessions.sync(await hub.catch_up())
            await self._ask_model()
            await self._ask_trust()
        except UserError as error:
            main.say(str(error), Level.ERROR)
        for sentence in await hub.look_around():
            main.say(sentence)

    def lacks_model(self, session_id: str) -> bool:
        """Whether a prompt would reach nobody: the demo would answer it though nobody wants that."""
        runtime = self._main.hub.runtime(session_id)
        is_demo = runtime.s.route.api_mode is ApiMode.DEMO
        is_new = not runtime.s.is_stored or runtime.model.is_unwritten  # an earlier conversation with the demo goes on
        return self._asks and is_demo and is_new and self._main.hub.models.lacks_one

    def intro(self) -> str:
        """What stands above the first message: where the session works, what answers in it, and how to begin."""
        hub, s = self._main.hub, self._main.runtime.s
        is_demo = s.route.api_mode is ApiMode.DEMO
        is_chosen = s.route != hub.choice.route or (is_demo and hub.models.is_demo_wanted)
        who = answers_here(s.route) if is_chosen else hub.greeting
        start = "Type help to see what the demo can do." if is_demo else "Ask for something below."
        if self.lacks_model(s.id):
            who, start = WAITS, "The demo is among its answers: it needs no model and sends nothing."
        return f"Working in {s.session.cwd}\n\n{who}\n\n{start} /help lists commands and keys."

    def refuse(self) -> None:
        """A prompt was not sent, and stays where it was written: ask for a model, else say what to do."""
        if self._was_asked:
            self._main.say(NOTHING_SENT, Level.WARNING)
        else:
            self._main.run_worker(self._set_up(), group="model", exclusive=True)

    # --- inside

    @property
    def _may_ask(self) -> bool:
        """Whether nobody is in the middle of something."""
        main = self._main
        return not (main.is_away or main.composer.text) and app_of(main).screen is main

    async def _ask_model(self) -> None:
        if not self.lacks_model(self._main.runtime.id):
            return
        from tui.screens.model_effects import what_is_offered

        offers = await what_is_offered(self._main)
        if self._may_ask:
            await self._set_up(offers)
        else:
            self._main.say(WAITS, Level.WARNING)

    async def _set_up(self, offers: Offers | None = None) -> None:
        from tui.screens.model_effects import set_up, what_is_offered

        await set_up(self._main, self._main.runtime.id, offers or await what_is_offered(self._main))
        self._was_asked = not self._main.composer.text  # else it was left for what was being typed

    async def _ask_trust(self) -> None:
        said = self._main.hub.ignored
        asked = await self._question() if self._asks else None
        if asked is not None and self._may_ask:
            await ask_trust(self._main, asked)
        elif said := said or (UNASKED if asked is not None else ""):
            self._main.say(said, Level.WARNING)

    async def _question(self) -> TrustAsked | None:
        from agent.commands.trust import first_question

        return await first_question(self._main.hub, self._main.runtime.id)


def answers_here(route: Route) -> str:
    """Which model a person chose for a session."""
    named = "The built-in demo" if route.api_mode is ApiMode.DEMO else f"{route.model} at {route.provider}"
    return f"{named} answers here, as you chose. Another one: /model"


async def ask_trust(main: MainScreen, asked: TrustAsked) -> None:
    """Ask whether what a folder brings may act, and say from when on it does."""
    from tui.screens.trust import TrustScreen

    quiet_s = main.hub.profile.settings.approvals.arm_ms / 1000
    is_trusted = await app_of(main).push_screen_wait(TrustScreen(asked, quiet_s, main.composer.post_message))
    try:
        if is_trusted:
            main.say(await asked.trust())
            return
        main.say("Not trusted: what the folder brings has no effect. /trust asks again.")
        if is_trusted is not None:  # and not left for what was being typed
            await asked.refuse()
    except UserError as error:
        main.say(str(error), Level.ERROR)
