"""The history of prompts in the store of a profile."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from agent.config.masking import Masking
from agent.prompt_history import PromptHistory
from session.db import SessionDB


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    db = SessionDB.open(tmp_path / "state.db")
    yield db
    db.close()


async def texts(history: PromptHistory) -> list[str]:
    return [entry.text for entry in await history.newest()]


async def test_the_newest_thousand_are_kept_and_none_twice_in_a_row(db: SessionDB):
    history = PromptHistory(db, Masking(), count(1).__next__)
    for number in range(1_005):
        history.add(f"prompt {number}\nand more", {})
        history.add(f"prompt {number}\nand more", {})
    kept = await texts(history)
    assert (len(kept), kept[0], kept[-1]) == (1_000, "prompt 1004\nand more", "prompt 5\nand more")


async def test_two_processes_add_to_one_history(db: SessionDB, tmp_path: Path):
    here = PromptHistory(db, Masking())
    with_other = SessionDB.open(tmp_path / "state.db")
    there = PromptHistory(with_other, Masking())
    here.add("one", {})
    await texts(here)
    there.add("two", {})
    assert await texts(there) == ["two", "one"] and await texts(here) == ["two", "one"]
    with_other.close()


async def test_a_secret_is_kept_by_its_name_alone_also_in_a_pasted_text(db: SessionDB, tmp_path: Path):
    masking = Masking()
    masking.add("MY_KEY", "sk-no-ones-key-at-all-0123")
    history = PromptHistory(db, masking)
    history.add(
        "use sk-no-ones-key-at-all-0123 [Pasted text #1 · 5 lines]",
        {"[Pasted text #1 · 5 lines]": "sk-no-ones-key-at-all-0123"},
    )
    [entry] = await history.newest()
    assert "MY_KEY" in entry.text and "MY_KEY" in (await history.pasted(entry))["[Pasted text #1 · 5 lines]"]
    assert not any(b"sk-no-ones" in file.read_bytes() for file in tmp_path.iterdir())
