"""What one session knows of the sandbox: whether its commands are to run inside, and what failed there."""

from __future__ import annotations

from agent.config.terminal_settings import Sandboxing

_MOST_REMEMBERED = 200


class SessionSandbox:
    """What failed is remembered so that a question about the same command can tell why it is put."""

    def __init__(self, wanted: Sandboxing = Sandboxing.OFF) -> None:
        self.wanted = wanted
        self._failures: dict[str, str] = {}

    @property
    def is_on(self) -> bool:
        return self.wanted is not Sandboxing.OFF

    def note_failure(self, command: str, line: str) -> None:
        self._failures.pop(command, None)
        if len(self._failures) >= _MOST_REMEMBERED:
            del self._failures[next(iter(self._failures))]
        self._failures[command] = line

    def failure(self, command: str) -> str:
        """What this very command said when it failed inside, "" where it did not."""
        return self._failures.get(command, "")


NO_SANDBOX = SessionSandbox()
