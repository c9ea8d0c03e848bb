"""/rewind, /undo and /retry on the main screen: which prompt, what goes, and what stands in the draft afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.commands.rewind import carry_out
from agent.commands.table import Opened, RewindAsked, TakenBack
from agent.hub import Hub
from agent.rewinding import Preview, prompts
from session.errors import UserError
from session.models import Level
from tui.app_of import app_of
from tui.screens.outline import Line
from tui.screens.rewind import BranchOff, Decision, PromptChoice, RewindScreen

if TYPE_CHECKING:
    from tui.screens.main import MainScreen


async def ask(main: MainScreen, asked: RewindAsked) -> None:
    """Ask until something is decided, or nothing is to go back. Runs in a worker."""
    quiet_s, marked = main.hub.profile.settings.approvals.arm_ms / 1000, 0
    try:
        while seen := asked.seen or await _chosen(main, asked.session_id, marked):
            marked = seen.prompt.id
            screen = RewindScreen(seen, quiet_s, is_retry=asked.is_retry)
            decided = await app_of(main).push_screen_wait(screen)
            if decided is not None:
                await _do(main, asked, seen, decided)
            if decided is not None or asked.seen is not None:
                return
    except UserError as error:
        main.say(str(error), Level.ERROR)


def tell(main: MainScreen, done: TakenBack) -> None:
    """Say what was taken back, and put the prompt where it was written."""
    main.drafts.give_back(done.session_id, done.prompt)
    main.say(done.said, done.level)
    main.tell_line()


async def _chosen(main: MainScreen, session_id: str, marked: int) -> Preview | None:
    lines = _lines(main.hub, session_id)
    prompt_id = await app_of(main).push_screen_wait(PromptChoice(lines, marked or lines[0].block))
    return await main.hub.rewind_preview(session_id, prompt_id) if prompt_id is not None else None


def _lines(hub: Hub, session_id: str) -> list[Line]:
    """The prompts, the last first."""
    found = prompts(hub.runtime(session_id).s)
    return [Line(len(found) - at, row.id, row.content, row.created_at) for at, row in enumerate(found)]


async def _do(main: MainScreen, asked: RewindAsked, seen: Preview, decided: Decision) -> None:
    match decided:
        case BranchOff():
            branched = await main.hub.branch(asked.session_id, before_id=seen.prompt.id)
            main.drafts.give_back(branched, seen.text)
            main.effects.follow(Opened(branched))
        case None:
            pass
        case _:
            done = await carry_out(
                main.hub, asked.session_id, seen, decided.scope, decided.also, is_retry=asked.is_retry
            )
            main.effects.follow(done)
