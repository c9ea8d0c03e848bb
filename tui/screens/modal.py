"""What opens over the main screen and gives an answer."""

from __future__ import annotations

from typing import TypeVar

from textual import events
from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

T = TypeVar("T")


class Modal(ModalScreen[T]):
    """A screen over another one that closes itself, and nothing but itself."""

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Close with an answer. A second key of the same burst must not close the screen below: Textual pops the topmost."""
        return super().dismiss(result) if self.is_active else AwaitComplete.nothing()


class FilteredModal(Modal[T]):
    """A list under a field that filters it."""

    async def on_key(self, event: events.Key) -> None:
        """Keys of the list in their order among what is typed."""
        active = self.active_bindings.get(event.key)
        if active is not None and active.node is self:
            event.stop()
            event.prevent_default()
            await self.run_action(active.binding.action)
