"""Keys answered in the order they came: Textual runs a binding of the app's after letters that were typed behind it."""

from __future__ import annotations

from textual import events
from textual.screen import Screen
from textual.widget import Widget


async def run_bound(node: Widget | Screen[object], event: events.Key) -> None:
    """Do at once what a key does by a binding of this very node."""
    active = node.screen.active_bindings.get(event.key)
    if active is not None and active.node is node:
        event.stop()
        event.prevent_default()
        await node.run_action(active.binding.action)
