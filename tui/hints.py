"""Keys as the screen tells them: where a person chose others, those."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Protocol, runtime_checkable

from textual.binding import Binding
from textual.message_pump import MessagePump

from tui import keys
from tui.app_of import app_of

Keymap = Mapping[str, str]
"""The keys of bindings that were given others, by the ids of the bindings."""

NO_CHANGES: Keymap = {}
SIGNS = {
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "delete": "del",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}
_NAMED = re.compile(r"\{(\w+\.\w+(?: \w+\.\w+)*)\}")


@runtime_checkable
class Remapped(Protocol):
    """An app whose keys can be chosen."""

    keymap: Keymap


def with_keys(node: MessagePump, text: str) -> str:
    """A text of ours that names bindings in braces, such as `{outline.decide} goes there`, with their keys as they are."""
    return filled(text, keymap_of(node))


def keymap_of(node: MessagePump) -> Keymap:
    """The keys that were chosen in the app of a widget or screen."""
    app = app_of(node)
    return app.keymap if isinstance(app, Remapped) else NO_CHANGES


def hint(node: MessagePump, width: int, *parts: str) -> str:
    """As many of these texts, given in the order of their worth, as there is room for."""
    first, *more = (with_keys(node, part) for part in parts)
    for part in more:
        if part and len(first) + len(part) + 3 <= width:
            first += f" · {part}"
    return first


def filled(text: str, keymap: Keymap) -> str:
    """The same for a known keymap. Two names in one pair of braces are the keys of one thing: `↑↓`, `pgup/pgdn`."""

    def signs(found: re.Match[str]) -> str:
        each = [_sign(name, keymap) for name in found[1].split(" ")]
        return ("" if all(len(sign) == 1 for sign in each) else "/").join(each)

    return _NAMED.sub(signs, text)


def _sign(name: str, keymap: Keymap) -> str:
    first = keymap.get(name, _keys()[name]).split(",")[0]
    return SIGNS.get(first, first)


@cache
def _keys() -> dict[str, str]:
    tables = [table for name, table in vars(keys).items() if name.endswith("_KEYS")]
    return {one.id or "": one.key for table in tables for one in table if isinstance(one, Binding)}
