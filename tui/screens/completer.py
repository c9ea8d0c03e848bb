"""What can be named in a prompt, in the session that is shown: commands, files of its folder, other paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.suggestions import Suggestion
from agent.hub import Hub

if TYPE_CHECKING:
    from agent.workspace_files import WorkspaceFiles


class SessionCompleter:
    """Looks at the disk only when something is asked for."""

    def __init__(self, hub: Hub, shown: Callable[[], str]) -> None:
        self._hub = hub
        self._shown = shown
        self._files: WorkspaceFiles | None = None

    def command(self, line: str) -> tuple[int, Sequence[Suggestion]]:
        from agent.commands.completion import suggest  # all commands: loaded behind the first frame

        return suggest(self._hub, self._shown(), line)

    async def files(self, written: str) -> Sequence[str]:
        from agent.workspace_files import WorkspaceFiles  # a start need not pay for it

        folder = self._folder
        if self._files is None or self._files.root != folder:
            self._files = WorkspaceFiles(folder)
        return await self._files.like(written)

    async def paths(self, written: str) -> Sequence[str]:
        from agent.workspace_files import paths_like

        return await paths_like(written, self._folder)

    @property
    def _folder(self) -> Path:
        return Path(self._hub.runtime(self._shown()).s.session.cwd)
