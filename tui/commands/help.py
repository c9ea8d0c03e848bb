"""The keys of the screen as a page of markdown, from the tables that bind them."""

from __future__ import annotations

from collections.abc import Sequence

from textual.binding import Binding, BindingType

from tui.keys import APP_KEYS, APPROVAL_KEYS, COMPOSER_KEYS, MAIN_KEYS

SECTIONS: dict[str, Sequence[BindingType]] = {
    "Writing": COMPOSER_KEYS,
    "Conversation and sessions": MAIN_KEYS,
    "When a call asks": APPROVAL_KEYS,
    "Anywhere": APP_KEYS,
}


def keys_page() -> str:
    parts = [
        f"| {title} | |\n|---|---|\n" + "\n".join(_row(key) for key in keys if isinstance(key, Binding))
        for title, keys in SECTIONS.items()
    ]
    return "\n\n".join(parts)


def _row(binding: Binding) -> str:
    keys = ", ".join(f"`{_spoken(key)}`" for key in binding.key.split(","))
    return f"| {keys} | {binding.tooltip} |"


def _spoken(key: str) -> str:
    """A key as it is written on a keyboard."""
    return key.replace("escape", "esc").replace("pageup", "page up").replace("pagedown", "page down")
