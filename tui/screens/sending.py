"""What Enter makes of a draft: a prompt, a command, or one for the shell; and the images that go with it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.parse import Call, Mistyped, OwnCommand, Text, read_line
from agent.image_paths import may_name_images
from session.models import Level
from tui.commands.run import mistyped_text
from tui.hints import with_keys

if TYPE_CHECKING:
    from tui.screens.first_look import FirstLook
    from tui.screens.main import MainScreen

BUSY = "Something still runs here, so the command was not run. {main.interrupt} interrupts it, or wait for its end."
NO_COMMAND = "Write a command behind the !, such as: !git status. A leading space sends the line as text."
NOT_WITH = "Images go with a prompt, not with a command. Delete their labels, or write a prompt."


class Sending:
    """Sends what is written on a main screen, in the session that is shown at that moment."""

    def __init__(self, main: MainScreen, first_look: FirstLook) -> None:
        self._main = main
        self._first_look = first_look

    def take(self, text: str) -> None:
        """Enter. Called by the composer itself, so that nothing can come between."""
        main = self._main
        if not text.strip():
            self._send_next()
            return
        line = read_line(text)
        if main.composer.images and not isinstance(line, Text):
            main.say(NOT_WITH, Level.WARNING)
            return
        match line:
            case Call(command=command) as call:
                main.composer.set_draft("") if command.may_hold_secret else main.composer.clear()
                main.run_worker(main.effects.run(main.runtime.id, call, text))
            case Mistyped():
                main.say(mistyped_text(line), Level.WARNING)
            case OwnCommand(command=command):
                self._run(command)
            case Text(text=prompt):
                self._submit(prompt)

    def heed_paste(self, text: str) -> None:
        """A pasted text may be where an image lies, as terminals paste what is dropped on them; or nothing, where the
        clipboard holds an image."""
        if may_name_images(text):
            self._main.run_worker(self._attach(text), group="images")
        elif not text:
            self._main.run_worker(self._attach_clipboard(), group="images")

    # --- inside

    def _run(self, command: str) -> None:
        main = self._main
        if not command:
            main.say(NO_COMMAND, Level.WARNING)
        elif main.runtime.is_busy:
            main.say(with_keys(main, BUSY), Level.WARNING)
        else:
            main.runtime.run_command(command)
            self._sent()

    def _submit(self, prompt: str) -> None:
        main, hub = self._main, self._main.hub
        session_id, images = main.runtime.id, main.composer.images
        if self._first_look.lacks_model(session_id):
            self._first_look.refuse()
        elif images and (why := self._why_no_images()):
            main.say(f"{why} Nothing was sent.", Level.WARNING)
        elif why := hub.needs_confirmation(session_id):
            main.run_worker(self._confirm(why, session_id, prompt), group="confirm", exclusive=True)
        else:
            hub.submit(session_id, prompt, images=images)  # the request leaves first, then the screen is painted
            self._sent()

    def _sent(self) -> None:
        self._main.composer.clear()
        self._main.conversations.view.follow()
        self._main.tell()

    async def _confirm(self, why: str, session_id: str, prompt: str) -> None:
        from tui.screens.model_effects import confirm_provider

        main = self._main
        is_wanted = await confirm_provider(main, why)
        if is_wanted and session_id == main.runtime.id and main.composer.prompt == prompt:
            self._submit(prompt)

    def _send_next(self) -> None:
        runtime = self._main.runtime
        if runtime.queue_is_held and runtime.queue:
            runtime.release_queue()
            self._main.tell()

    async def _attach(self, text: str) -> None:
        """Put images in the place of their paths; whatever else the text may be, it stays as it is."""
        from agent.image_files import NoImage, look_at
        from agent.image_paths import paths_in

        main, session_id = self._main, self._main.runtime.id
        folder = Path(main.runtime.s.session.cwd)
        try:
            files = await asyncio.to_thread(lambda: [look_at(path) for path in paths_in(text, folder)])
        except NoImage:
            return
        if not files or session_id != main.runtime.id:
            return
        if why := self._why_no_images():
            main.say(f"{why} The path stays as text.", Level.WARNING)
        else:
            main.composer.attach(files, instead_of=text)

    async def _attach_clipboard(self) -> None:
        from tui.screens.screen_effects import attach_clipboard

        if why := self._why_no_images():
            self._main.say(why, Level.WARNING)
        else:
            await attach_clipboard(self._main, self._main.runtime.id)

    def _why_no_images(self) -> str:
        from agent.commands.draft import why_no_images

        return why_no_images(self._main.hub, self._main.runtime.id)
