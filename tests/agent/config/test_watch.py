"""A changed settings file is noticed without a timer, and looked for at most once a second."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.config.watch import Watch


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_each_kind_of_change_is_told_once(tmp_path: Path, clock: Clock):
    path = tmp_path / "config.yaml"
    watch = Watch(path, clock)
    changes = [
        lambda: path.write_text("a: 1\n"),
        lambda: path.write_text("a: 12\n"),
        lambda: _other(tmp_path, "a: 34\n").replace(path),
        lambda: path.unlink(),
    ]
    told: list[tuple[bool, bool]] = []
    for change in changes:
        change()
        clock.now_s += 1
        first = watch.changed()
        clock.now_s += 1
        told.append((first, watch.changed()))
    assert told == [(True, False)] * 4


def test_it_looks_once_a_second(tmp_path: Path, clock: Clock):
    path = tmp_path / "config.yaml"
    watch = Watch(path, clock)
    path.write_text("a: 1\n")
    clock.now_s += 0.9
    assert not watch.changed()
    clock.now_s += 0.2
    assert watch.changed()


def _other(folder: Path, text: str) -> Path:
    path = folder / "other.yaml"
    path.write_text(text)
    return path
