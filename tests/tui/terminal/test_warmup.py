"""Warming up: in the background, in pieces, and out of the way of whoever types."""

from __future__ import annotations

import builtins
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tui.warmup import Warmup, pausing_imports


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.freeze()
    gc.enable()


def wait_until(holds: Callable[[], bool]) -> bool:
    ends_at = time.monotonic() + 10
    while not holds() and time.monotonic() < ends_at:
        time.sleep(0.005)
    return holds()


@pytest.fixture
def typing() -> Iterator[Callable[[Warmup], None]]:
    """Somebody who types without a break until the test is over."""
    over = threading.Event()

    def begin(warmup: Warmup) -> None:
        warmup.key_pressed(is_enter=False)

        def go_on() -> None:
            while not over.wait(0.03):
                warmup.key_pressed(is_enter=False)

        threading.Thread(target=go_on, daemon=True).start()

    yield begin
    over.set()


def test_it_waits_while_somebody_types_and_hurries_after_enter(typing: Callable[[Warmup], None]) -> None:
    started = threading.Event()
    warmup = Warmup([started.set])
    typing(warmup)
    warmup.start()
    assert not started.wait(0.6)
    warmup.key_pressed(is_enter=True)
    assert started.wait(10)


@pytest.mark.parametrize("is_awaited", [False, True])
def test_it_rests_between_its_pieces_unless_somebody_waits(monkeypatch: pytest.MonkeyPatch, is_awaited: bool) -> None:
    monkeypatch.setattr("tui.warmup.RUN_S", -1.0)  # each piece is a long one
    monkeypatch.setattr("tui.warmup.REST_S", 60.0 if is_awaited else 1.0)
    done = threading.Event()
    warmup = Warmup([done.set])
    if is_awaited:
        warmup.key_pressed(is_enter=True)
    warmup.start()
    assert done.wait(0.1) <= is_awaited
    assert done.wait(10)


def test_only_the_warming_thread_pauses_at_its_imports() -> None:
    paused: list[str] = []

    def load() -> None:
        import colorsys  # noqa: F401

    before = builtins.__import__
    with pausing_imports(lambda: paused.append(threading.current_thread().name)):
        other = threading.Thread(target=load, name="other")
        other.start()
        other.join()
        load()
    assert set(paused) == {threading.current_thread().name}
    assert builtins.__import__ is before


def test_afterwards_the_collector_runs_again_and_looks_at_less() -> None:
    gc.disable()
    Warmup([lambda: None]).start()
    assert wait_until(gc.isenabled)
    assert gc.get_freeze_count() > 1000


def test_a_job_that_fails_leaves_the_others_their_turn() -> None:
    def fail() -> None:
        raise ImportError("not installed")

    done = threading.Event()
    Warmup([fail, done.set]).start()
    assert done.wait(10)


def test_what_the_first_turn_needs_is_loaded() -> None:
    code = (
        "import sys; from tui.warmup import first_turn_jobs\n"
        "assert not {'openai', 'httpx2', 'markdown_it', 'pygments'} & sys.modules.keys()\n"
        "for job in first_turn_jobs(): job()\n"
        "assert {'openai', 'httpx2', 'markdown_it', 'pygments.lexers.python'} <= sys.modules.keys()"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
