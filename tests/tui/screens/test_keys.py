"""What every binding owes: an id of its own and a sentence that tells what it does."""

from __future__ import annotations

from textual.binding import Binding

from tui import keys


def all_bindings() -> list[Binding]:
    tables = [value for name, value in vars(keys).items() if name.endswith("_KEYS")]
    return [binding for table in tables for binding in table]


def test_every_binding_has_its_own_id():
    ids = [binding.id for binding in all_bindings()]
    assert None not in ids and len(ids) == len(set(ids))


def test_every_binding_has_a_tooltip():
    assert [binding.key for binding in all_bindings() if not binding.tooltip] == []


def test_no_key_means_two_things_in_one_place():
    for name, table in vars(keys).items():
        if name.endswith("_KEYS"):
            pressed = [key for binding in table for key in binding.key.split(",")]
            assert len(pressed) == len(set(pressed)), name
