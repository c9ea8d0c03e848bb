"""What a command has the screen do beside its sessions: draw anew, unfold, show the log or an examination, fill the draft."""

from __future__ import annotations

import asyncio
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from agent.commands.report import Part, Report, Sentence, Tone
from agent.commands.table import EditorAsked, ImagesAsked, OnScreen, ScreenAsked
from agent.config.display_settings import ReasoningShown
from agent.hub import Hub
from session.errors import UserError
from session.models import Level
from tui.app_of import app_of
from tui.screens.page import PageScreen
from tui.screens.report import ReportScreen

if TYPE_CHECKING:
    from tui.screens.main import MainScreen

THINKING = {
    OnScreen.SHOW_THINKING: ReasoningShown.OPEN,
    OnScreen.FOLD_THINKING: ReasoningShown.FOLDED,
    OnScreen.HIDE_THINKING: ReasoningShown.HIDDEN,
}


class ReloadAsked(Message):
    """The files of the home are to be read anew: the app's to do."""


async def follow(main: MainScreen, asked: ScreenAsked | EditorAsked | ImagesAsked) -> None:
    match asked:
        case EditorAsked(text=text):
            main.composer.edit_outside(text)
        case ImagesAsked(files=files) if files:
            if asked.session_id == main.runtime.id:
                main.composer.attach(files)
        case ImagesAsked(session_id=session_id):
            await attach_clipboard(main, session_id)
        case ScreenAsked():
            await _show(main, asked)


async def attach_clipboard(main: MainScreen, session_id: str) -> None:
    """Put the image that is on the clipboard into the draft. What a program gives is kept with the session's output."""
    from tui.clipboard_image import take_image

    profile = main.hub.profile
    try:
        image = await take_image(profile.environ, profile.home.outputs / session_id)
    except UserError as error:
        main.say(str(error), Level.WARNING)
        return
    if session_id == main.runtime.id:
        main.composer.attach([image])


async def _show(main: MainScreen, asked: ScreenAsked) -> None:
    match asked.wish:
        case OnScreen.REDRAW:
            app_of(main).refresh(repaint=True, layout=True)
            main.refresh(repaint=True, layout=True)
        case OnScreen.RELOAD:
            main.post_message(ReloadAsked())
        case OnScreen.UNFOLD | OnScreen.FOLD:
            main.conversations.view.unfold_all(is_unfolded=asked.wish is OnScreen.UNFOLD)
        case OnScreen.LOG:
            lines = await asyncio.to_thread(_log, main.hub, asked.lines)
            app_of(main).push_screen(PageScreen("Log", lines))
        case OnScreen.DOCTOR:
            main.say("Looking at the machine, the home and the store …")
            report = await asyncio.to_thread(_examined, main.hub, main.runtime.s.session.cwd)
            app_of(main).push_screen(ReportScreen(report))
        case OnScreen.KEYS:
            main.action_keys()
        case OnScreen.PALETTE:
            main.action_palette()
        case _:
            main.conversations.show_reasoning(THINKING[asked.wish])


def _log(hub: Hub, count: int) -> str:
    """The last lines of the log, with what became a secret only since masked too. Blocks."""
    from tui.cli.log_reading import last_lines

    file = hub.profile.home.logs / "hermes.log"
    lines = last_lines(file, count)
    return _as_text(hub, "\n".join(lines)) if lines else f"The log is empty: `{hub.profile.home.shown}/logs/hermes.log`"


def _examined(hub: Hub, cwd: str) -> Report:
    """What `hermes doctor` tells, but for the terminal, which is not that of a command here. Blocks."""
    from agent.doctor.examination import examine
    from agent.doctor.finding import Grade
    from agent.workspace import find_workspace

    profile = hub.profile
    found = examine(profile.environ, profile.name, find_workspace(Path(cwd)), is_offline=True)
    parts: list[Part] = []
    for area, group in groupby(found, lambda finding: finding.area):
        parts.append(Sentence(area, Tone.TITLE))
        for one in group:
            tone = Tone.WARNING if one.grade is Grade.PROBLEM else Tone.PLAIN
            parts.append(Sentence(profile.secrets.mask(f"{one.grade.value}: {' '.join(one.text.split())}"), tone))
            parts += [Sentence(profile.secrets.mask(f"  {one.fix}"), Tone.QUIET)] if one.fix else []
    return Report("Doctor", tuple(parts))


def _as_text(hub: Hub, text: str) -> str:
    return "```text\n" + hub.profile.secrets.mask(text).replace("```", "` ` `") + "\n```"
