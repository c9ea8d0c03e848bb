"""The running app, typed: Textual leaves the type of `node.app` open, which strict checking cannot use."""

from __future__ import annotations

from typing import cast

from textual.app import App
from textual.message_pump import MessagePump


def app_of(node: MessagePump) -> App[object]:
    """The app that a widget or screen belongs to."""
    return cast("App[object]", node.app)  # pyright: ignore[reportUnknownMemberType]
