"""The keys that a person chose in the place of others, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from textual.binding import Binding
from textual.keys import Keys

from tui import keys as tables

Chosen = Mapping[str, Sequence[str]]

# On the main screen these hold at once. Elsewhere a list or a modal has the keys to itself, but for those of the app.
_TOGETHER = ("APP_KEYS", "MAIN_KEYS", "COMPOSER_KEYS", "PROMPT_KEYS")
_AT_THE_DRAFT = ("app", "main", "composer", "prompt")
_MODIFIERS = ("ctrl", "alt", "shift", "super", "hyper", "meta")
_NAMED = frozenset(key.value.rpartition("+")[2] for key in Keys) | {"space", "enter", "tab", "escape", "backspace"}


def all_tables() -> dict[str, list[Binding]]:
    """Every table of bindings by its name."""
    found = {name: table for name, table in vars(tables).items() if name.endswith("_KEYS")}
    return {name: [binding for binding in table if isinstance(binding, Binding)] for name, table in found.items()}


def keymap_of(chosen: Chosen) -> dict[str, str]:
    """As Textual takes it, without what is wrong."""
    if not chosen:
        return {}
    known = {binding.id for table in all_tables().values() for binding in table}
    is_fine = {name: not any(_flaw(name, key) for key in keys) for name, keys in chosen.items()}
    return {name: ",".join(keys) for name, keys in chosen.items() if name in known and is_fine[name]}


def keys_of(binding: Binding, chosen: Chosen) -> Sequence[str]:
    """The keys that a binding has now."""
    return keymap_of(chosen).get(binding.id or "", binding.key).split(",")


def wrong_keys(chosen: Chosen) -> list[str]:
    """Sentences about names that nothing has, keys that are none, and keys that mean two things in one place."""
    return [*_unknown(chosen), *_flaws(chosen), *_clashes(chosen)] if chosen else []


def _unknown(chosen: Chosen) -> Iterator[str]:
    known = [binding.id or "" for table in all_tables().values() for binding in table]
    for name in chosen:
        if name not in known:
            near = get_close_matches(name, known, 1)
            told = f"did you mean {near[0]}?" if near else "/help lists those there are."
            yield f"keys: nothing is named {name}; {told}"


def _flaws(chosen: Chosen) -> Iterator[str]:
    for name, keys in chosen.items():
        yield from (f"keys: {name} keeps its keys: {flaw}." for key in keys if (flaw := _flaw(name, key)))


def _flaw(name: str, key: str) -> str:
    *modifiers, last = key.split("+")
    is_known = len(last) == 1 or last in _NAMED
    if not is_known or any(modifier not in _MODIFIERS for modifier in modifiers):
        return f"{key} is no key"
    is_letter = len(key) == 1 or key == "space"
    return f"{key} is a letter of the draft" if is_letter and name.partition(".")[0] in _AT_THE_DRAFT else ""


def _clashes(chosen: Chosen) -> Iterator[str]:
    found = all_tables()
    alone = {name: table for name, table in found.items() if name not in _TOGETHER}
    writing = [binding for name in _TOGETHER for binding in found[name]]
    told: set[str] = set()
    for table in (writing, *(table + found["APP_KEYS"] for table in alone.values())):
        for sentence in _clashes_in(table, chosen):
            if sentence not in told:
                told.add(sentence)
                yield sentence


def _clashes_in(table: Sequence[Binding], chosen: Chosen) -> Iterator[str]:
    by_key: dict[str, list[str]] = {}
    for binding in table:
        for key in keys_of(binding, chosen):
            by_key.setdefault(key, []).append(binding.id or "")
    for key, names in by_key.items():
        is_new = any(name in chosen and key in chosen[name] for name in names)
        if len(names) > 1 and is_new:
            yield f"keys: {key} would be {' and '.join(sorted(names))} in one place."
