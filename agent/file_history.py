"""The seam to what records the files before and after a call, so that a rewind can put them back."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agent.checkpoints.plan import RestorePlan
    from agent.checkpoints.restore import Noted, Restored


class FileHistory(Protocol):
    """The record of one session's files, and the way back.

    All raise UserError; where nothing could be recorded around a call, the call runs all the same.
    """

    def prepare(self) -> None:
        """A call that may change something is being asked about: what takes long can be begun."""
        ...

    async def before(self, call_id: str, writes: Iterable[Path] | None = None) -> None:
        """A call is about to write these files (absolute, links resolved), or any where None."""
        ...

    async def after(self, call_id: str) -> None:
        """It ended, however it ended."""
        ...

    async def written(self) -> frozenset[Path]:
        """What calls of the session changed, in this process or an earlier one, as far as it was recorded."""
        ...

    async def changes_since(self, calls: Iterable[str]) -> RestorePlan:
        """What would have to be restored to go back to before the first of these calls."""
        ...

    async def note(self, plan: RestorePlan, also: Collection[str] = (), rewind: int = 0) -> Noted:
        """Record a restore, as part of a rewind, and of its conflicts those in `also`; nothing is changed yet."""
        ...

    async def note_undo(self, rewind: int) -> Noted:
        """Record the way back from what a rewind restored; nothing is changed yet."""
        ...

    async def carry_out(self, noted: Noted) -> Restored:
        """Do what was recorded, until `stop`."""
        ...

    @property
    def progress(self) -> tuple[int, int] | None:
        """How far the restore that is carried out is, and of how much; None where none is."""
        ...

    def stop(self) -> None:
        """Let the restore that is carried out end before its next file."""
        ...

    async def left_of(self, number: int) -> Noted:
        """What a kill left to do of the restore with this number."""
        ...

    async def standing_rewind(self, most: int) -> int:
        """The latest rewind, of so many, whose files were not brought back since, 0 for none."""
        ...


class NoHistory:
    """Nothing is recorded."""

    def prepare(self) -> None:
        pass

    async def before(self, call_id: str, writes: Iterable[Path] | None = None) -> None:
        pass

    async def after(self, call_id: str) -> None:
        pass

    async def written(self) -> frozenset[Path]:
        return frozenset()

    async def changes_since(self, calls: Iterable[str]) -> RestorePlan:
        from agent.checkpoints.plan import RestorePlan

        return RestorePlan()

    async def note(self, plan: RestorePlan, also: Collection[str] = (), rewind: int = 0) -> Noted:
        return await self.left_of(0)

    async def note_undo(self, rewind: int) -> Noted:
        return await self.left_of(0)

    async def carry_out(self, noted: Noted) -> Restored:
        from agent.checkpoints.restore import Restored

        return Restored()

    @property
    def progress(self) -> tuple[int, int] | None:
        return None

    def stop(self) -> None:
        pass

    async def left_of(self, number: int) -> Noted:
        from agent.checkpoints.restore import Noted

        return Noted()

    async def standing_rewind(self, most: int) -> int:
        return 0


NO_HISTORY: FileHistory = NoHistory()
