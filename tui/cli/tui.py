"""`hermes tui`: the screen, from an opened profile to a restored terminal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.hub import Hub
from agent.profile import Profile
from agent.profiles import Front, OpenProfiles
from agent.workspace import find_workspace
from tui.background import ASK_BACKGROUND, can_be_asked
from tui.cli.console import has_screen, remark
from tui.cli.log_file import LogFile, open_log
from tui.cli.opening import open_stored, set_up
from tui.cli.options import TuiOptions, folder
from tui.cli.resuming import how_to_resume
from tui.ending import Ending
from tui.keyboard import esc_delay_s
from tui.terminal import ASK_SYNC, Terminal, diverted_output
from tui.warmup import Warmup, first_turn_jobs

if TYPE_CHECKING:
    from textual.driver import Driver

    from tui.app import HermesApp

log = logging.getLogger(__name__)

WARM_AFTER_S = 0.25  # after the first frame: an import that starts at once would delay the first key
LEAVE_S = 5.0  # for stopping what still runs after the person left
USAGE = 2


def run_tui(options: TuiOptions, environ: Mapping[str, str]) -> int:
    """Show the screen until the person leaves; returns the exit code. Raises UserError before the screen is up."""
    if not has_screen() or environ.get("TERM") == "dumb":
        remark("hermes: the screen needs a terminal that can draw. For one prompt without it: hermes chat -q TEXT")
        return USAGE
    cwd = folder(options.cwd)
    profile = Profile.load(environ, name=options.profile, cwd=cwd, flags=options.flags)
    profiles = OpenProfiles(environ, profile, Front("tui", is_attended=True, cwd=cwd))
    try:
        log_file = open_log(profile.home, profiles.mask)
        return Run(options, profile, profiles, cwd, log_file).until_left()
    finally:
        profile.close()


class Run(Struct, frozen=True):
    """One sitting at the screen."""

    options: TuiOptions
    profile: Profile
    profiles: OpenProfiles
    cwd: Path
    log_file: LogFile

    def until_left(self) -> int:
        terminal = Terminal.open()
        try:
            with Ending(lambda: self._last_words(terminal), terminal.fd) as ending:
                try:
                    code, way_back = asyncio.run(self._show(terminal, ending))
                except asyncio.CancelledError:
                    code, way_back = 0, ""  # asked to end before the screen was up
                finally:
                    terminal.restore()
        finally:
            terminal.close()
        if code == 1 and ending.number is None:
            remark(
                "hermes ended because of an error in it. Your conversations are stored; "
                f"the details are in {self.log_file.shown}"
            )
        self._tell_losses()
        if way_back:
            remark(way_back)
        return ending.exit_code or code or int(bool(self.profiles.losses))

    def _last_words(self, terminal: Terminal) -> None:
        terminal.restore()
        self._tell_losses()

    def _tell_losses(self) -> None:
        """Say what is not in the store when hermes ends."""
        for loss in self.profiles.losses:
            remark(f"hermes: {loss}")

    async def _show(self, terminal: Terminal, ending: Ending) -> tuple[int, str]:
        """The exit code, and how to come back to the session that was shown last."""
        task = asyncio.current_task()
        assert task is not None
        ending.listen(task.cancel)
        hub = await self.profiles.open(self.profile.name, self.options.model)
        try:
            app = await self._app(hub)
            with self._on(app, terminal, ending):
                ending.listen(app.exit)
                await app.run_async()
        finally:
            ending.listen(lambda: None)
            ending.limit(LEAVE_S)
            await self.profiles.close("hermes was closed")
            ending.unlisten()
        left = app.main
        return app.return_code or 0, how_to_resume(left.hub, left.runtime.id, self.profile.environ)

    async def _app(self, hub: Hub) -> HermesApp:
        from tui.app import HermesApp

        return HermesApp(self.profiles, hub, await self._first(hub), asks=True)

    async def _first(self, hub: Hub) -> str:
        """The session to show first. Raises UserError."""
        stored = self.options.resume
        if self.options.go_on:
            stored = await hub.latest(find_workspace(self.cwd)) or ""
        runtime = await open_stored(hub, stored, self.options.model) if stored else hub.create(self.cwd)
        await set_up(runtime, self.options.mode, self.options.personality)
        return runtime.id

    def _on(self, app: HermesApp, terminal: Terminal, ending: Ending) -> AbstractContextManager[None]:
        """Connect the app to the terminal, with our driver where it can be used."""
        from tui.textual_seams import catch_crashes

        terminal.parting = lambda: app.announcer.parting
        catch_crashes(app, lambda error: log.error("the screen failed", exc_info=error))
        warmup = Warmup(first_turn_jobs())
        driver = self._driver(terminal, ending, warmup)
        if driver is None:
            asyncio.get_running_loop().call_later(2 * WARM_AFTER_S, warmup.start)
            return terminal.lent()
        app.driver_class = driver
        return diverted_output(self.log_file.fd)

    def _driver(self, terminal: Terminal, ending: Ending, warmup: Warmup) -> type[Driver] | None:
        from tui.driver import Hooks, driver_for

        environ = self.profile.environ
        hooks = Hooks(
            gone=ending.lost_terminal,
            drawn=lambda: asyncio.get_running_loop().call_later(WARM_AFTER_S, warmup.start),
            key=warmup.key_pressed,
        )
        return driver_for(terminal, hooks, esc_delay_s=esc_delay_s(environ), ask=_questions(environ))


def _questions(environ: Mapping[str, str]) -> str:
    """What the terminal is asked at the start. Nobody waits for the answers."""
    # Apple's terminal prints the question whether it can draw frames in one piece.
    sync = "" if environ.get("TERM_PROGRAM") == "Apple_Terminal" else ASK_SYNC
    return sync + (ASK_BACKGROUND if can_be_asked(environ) else "")
