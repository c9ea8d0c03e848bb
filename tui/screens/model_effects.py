"""Another model: chosen from a list, asked about where that is worth it, and switched to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.commands.model import Decision, switch, switch_or_ask
from agent.commands.table import ModelsAsked, SwitchAsked
from session.errors import UserError
from session.models import Level
from tui.app_of import app_of

if TYPE_CHECKING:
    from tui.screens.main import MainScreen


async def ask_model(main: MainScreen, asked: ModelsAsked) -> None:
    """Let the person choose, then do as if the choice had been written behind /model."""
    from tui.screens.model import ModelScreen

    picked = await app_of(main).push_screen_wait(ModelScreen(main.hub, asked))
    if picked is None:
        return
    try:
        route = main.hub.resolve(picked.name, main.hub.runtime(asked.session_id).model.chosen)
        main.effects.follow(await switch_or_ask(main.hub, asked.session_id, route, picked.holds))
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
