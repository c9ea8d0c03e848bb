"""Another model: chosen from a list, asked about where that is worth it, and switched to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.commands.key import ask_key
from agent.commands.model import Decision, switch, switch_or_ask
from agent.commands.table import KeyAsked, ModelsAsked, Said, SwitchAsked
from agent.model_offers import Offers
from agent.providers.registry import DEMO
from agent.session_model import Holds
from session.errors import UserError
from session.models import Level
from tui.app_of import app_of

if TYPE_CHECKING:
    from tui.screens.main import MainScreen

LEFT = "No model answers yet. /setup opens this page again."


async def ask_model(main: MainScreen, asked: ModelsAsked) -> None:
    """Let the person choose, then do as if the choice had been written behind /model."""
    from tui.screens.model import ModelScreen

    picked = await app_of(main).push_screen_wait(ModelScreen(main.hub, asked))
    if picked is None:
        return
    try:
        route = main.hub.models.resolve(picked.name, main.hub.runtime(asked.session_id).model.chosen)
        main.effects.follow(await switch_or_ask(main.hub, asked.session_id, route, picked.holds))
    except UserError as error:
        main.say(str(error), Level.ERROR)


async def what_is_offered(main: MainScreen) -> Offers:
    """What can be had at once; a key may have been saved in a shell just now."""
    await main.hub.profile.secrets.refresh()
    return await main.hub.models.offers()


async def set_up(main: MainScreen, session_id: str, offers: Offers) -> None:
    """Let the person choose a first model, until there is one or they leave."""
    from tui.screens.setup import SetupScreen, Step

    hub = main.hub
    quiet_s = hub.profile.settings.approvals.arm_ms / 1000
    # A config.yaml that can't be read can't be written, either.
    holds = Holds.SESSION if hub.profile.settings.unread else Holds.GLOBAL
    while True:
        match await app_of(main).push_screen_wait(SetupScreen(offers, quiet_s, main.composer.post_message)):
            case None:
                main.say(LEFT)
                return
            case Step.DEMO:
                await _take(main, session_id, DEMO, Holds.SESSION)
                return
            case Step.MODELS:
                before = hub.runtime(session_id).s.route
                await ask_model(main, ModelsAsked(session_id, holds))
                if hub.runtime(session_id).s.route != before:
                    return
            case Step.KEY:
                if await _give_key(main, session_id):
                    return
            case offer:
                await _take(main, session_id, offer.name, holds)
                return


async def _give_key(main: MainScreen, session_id: str) -> bool:
    """Ask for the key that the configured model lacks. False where none was given."""
    from tui.screens.key import KeyScreen

    asked = ask_key(main.hub, session_id, "")
    said = await app_of(main).push_screen_wait(KeyScreen(main.hub, asked)) if isinstance(asked, KeyAsked) else ""
    if said:
        main.effects.follow(Said(said))
    return bool(said)


async def _take(main: MainScreen, session_id: str, name: str, holds: Holds) -> None:
    try:
        route = main.hub.models.resolve(name, main.hub.runtime(session_id).model.chosen)
        main.effects.follow(await switch_or_ask(main.hub, session_id, route, holds))
    except UserError as error:
        main.say(str(error), Level.ERROR)


async def ask_switch(main: MainScreen, asked: SwitchAsked) -> None:
    """Ask whether the model is to change, and when."""
    from tui.screens.switch import BusySwitchScreen, SwitchScreen

    quiet_s = main.hub.profile.settings.approvals.arm_ms / 1000
    if asked.is_busy:
        decision = await app_of(main).push_screen_wait(BusySwitchScreen(asked, quiet_s))
    else:
        is_wanted = await app_of(main).push_screen_wait(SwitchScreen(asked, quiet_s))
        decision = Decision.SWITCH if is_wanted else None
    if decision is None:
        return
    try:
        main.effects.follow(await switch(main.hub, asked.session_id, asked.route, asked.holds, decision))
    except UserError as error:
        main.say(str(error), Level.ERROR)


async def confirm_provider(main: MainScreen, why: str) -> bool:
    """Ask before the first prompt goes to a provider that nobody named."""
    from tui.screens.confirm import ConfirmScreen

    quiet_s = main.hub.profile.settings.approvals.arm_ms / 1000
    if not await app_of(main).push_screen_wait(ConfirmScreen("Use this provider?", why, quiet_s)):
        return False
    try:
        await main.hub.models.confirm()
    except UserError as error:
        main.say(str(error), Level.ERROR)  # it will be asked again; this prompt is confirmed all the same
    return True
