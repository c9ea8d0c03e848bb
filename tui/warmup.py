"""What the first turn needs is imported after the first frame, in a thread that gives way to typing."""

from __future__ import annotations

import builtins
import gc
import logging
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module

log = logging.getLogger(__name__)

TYPING_S = 0.25  # a key younger than this means that the person is typing
STEP_S = 0.02
RUN_S, REST_S = 0.006, 0.002  # so long at once, so long nothing: a key that comes meanwhile waits for little of it


class Warmup:
    """One run of jobs. Call `key_pressed` for each key; after Enter something may wait for them, and nothing pauses."""

    def __init__(self, jobs: Sequence[Callable[[], None]]) -> None:
        self._jobs = jobs
        self._last_key = 0.0
        self._rested = 0.0
        self._may_pause = True
        self._thread = threading.Thread(target=self._run, name="hermes-warmup", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def key_pressed(self, is_enter: bool) -> None:
        self._last_key = time.monotonic()
        self._may_pause = self._may_pause and not is_enter

    def _pause(self) -> None:
        is_due = time.monotonic() - self._rested > RUN_S
        if self._may_pause and is_due:
            time.sleep(REST_S)
        while self._may_pause and time.monotonic() - self._last_key < TYPING_S:
            time.sleep(STEP_S)
        if is_due:
            self._rested = time.monotonic()

    def _run(self) -> None:
        with pausing_imports(self._pause):
            for job in self._jobs:
                self._pause()
                try:
                    job()
                except (ImportError, OSError, ValueError) as error:
                    log.warning("warming up failed, the first use will tell: %s", error)
        self._pause()
        settle_memory()


@contextmanager
def pausing_imports(pause: Callable[[], None]) -> Generator[None]:
    """Calls `pause` before every import statement that this thread runs, so that a big package comes in pieces."""
    plain, me = builtins.__import__, threading.get_ident()

    def pausing(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> object:
        if threading.get_ident() == me:
            pause()
        return plain(name, globals, locals, fromlist, level)

    builtins.__import__ = pausing  # type: ignore[assignment]
    try:
        yield
    finally:
        builtins.__import__ = plain


def settle_memory() -> None:
    """All that was loaded stays: later collections need not look at it, and take 3 ms instead of 100."""
    gc.collect()
    gc.freeze()
    gc.enable()


def first_turn_jobs() -> Sequence[Callable[[], None]]:
    """The turn itself, the SDK with one rehearsed request, markdown, highlighting, and what is shown of commands and
    questions."""
    return (_turn, _client, _markdown, _screens)


def _turn() -> None:
    for name in ("agent.turn", "agent.prompt_files", "agent.tools.registry", "agent.commands.completion"):
        import_module(name)


def _screens() -> None:
    for name in ("approval", "approval_step", "question"):
        import_module(f"tui.screens.{name}")


def _client() -> None:
    from agent.providers.http import rehearse

    for name in ("retry", "keyed", "chat"):
        import_module(f"agent.providers.{name}")
    rehearse()


def _markdown() -> None:
    from tui.transcript.markdown import parse

    import_module("pygments.lexers.python")
    parse("**warm** `up`\n\n```python\nprint()\n```\n\n| a |\n|---|\n")
