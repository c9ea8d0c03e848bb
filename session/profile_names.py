"""Where a store names the profile it belongs to."""

from __future__ import annotations

from session.connection import Connection


class ProfileNames:
    """The places: each table with a column `profile`, which holds the name and nothing else."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def tables(self) -> list[str]:
        found = self._connection.rows(
            "SELECT held.name FROM sqlite_schema AS held JOIN pragma_table_info(held.name) AS named "
            "WHERE held.type = 'table' AND named.name = 'profile'"
        )
        return [str(name) for (name,) in found]

    def rename(self, old: str, new: str) -> int:
        return sum(
            self._connection.run(f'UPDATE "{table}" SET profile = ? WHERE profile = ?', new, old)
            for table in self.tables()
        )
