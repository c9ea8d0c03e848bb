"""What the keys of the main screen do to the conversation, wherever the focus is."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tui.app_of import app_of
from tui.screens.sized import SizedScreen

if TYPE_CHECKING:
    from tui.screens.main import MainScreen
    from tui.widgets.conversations import Conversations
    from tui.widgets.prompt_composer import PromptComposer
    from tui.widgets.queue import QueueBar


class ConversationKeys(SizedScreen[None]):
    """Scrolls, goes from turn to turn, lists the prompts and all there is to do, and gives the conversation the focus and takes it back."""

    conversations: Conversations
    composer: PromptComposer
    queue_bar: QueueBar

    def action_page_up(self) -> None:
        self.conversations.view.action_page_up()

    def action_page_down(self) -> None:
        self.conversations.view.action_page_down()

    def action_follow(self) -> None:
        self.conversations.view.follow()

    def action_turn(self, step: int) -> None:
        self.conversations.view.action_turn(step)

    def action_read(self) -> None:
        """From the draft into the conversation, and back."""
        if self.focused is self.conversations.view:
            self.composer.focus()
        else:
            self.conversations.view.focus()

    def on_reading_view_left(self) -> None:
        self.composer.focus()

    def on_reading_view_outline_asked(self) -> None:
        self.action_outline()

    def action_take_back(self) -> None:
        self.queue_bar.take_back()

    def action_outline(self) -> None:
        from tui.screens.outline import OutlineScreen, prompt_lines

        view = self.conversations.view
        lines = prompt_lines(view.blocks, view.document.origins)
        if lines:
            app_of(self).push_screen(OutlineScreen(lines, view.current_prompt), self._go_to)
        else:
            app_of(self).notify("Nothing was asked in this conversation yet.", markup=False)

    def action_palette(self) -> None:
        from tui.screens import palette

        self.run_worker(palette.open_palette(self._main), group="palette", exclusive=True)

    def action_help(self) -> None:
        from tui.screens import palette

        self.run_worker(palette.open_help(self._main), group="palette", exclusive=True)

    def action_keys(self) -> None:
        from tui.screens import palette

        self.run_worker(palette.open_keys(self._main), group="palette", exclusive=True)

    def action_settings(self) -> None:
        from tui.screens.settings import open_settings

        self.run_worker(open_settings(self._main), group="edit", exclusive=True)

    def action_jump(self) -> None:
        from tui.screens.jump import JumpScreen

        places = self.focus_chain

        def go(number: int | None) -> None:
            if number is not None:
                places[number].focus()

        app_of(self).push_screen(JumpScreen([widget.region for widget in places]), go)

    @property
    def _main(self) -> MainScreen:
        return cast("MainScreen", self)

    def _go_to(self, block: int | None) -> None:
        if block is not None:
            self.conversations.view.go_to(block)
