"""What `hermes sessions` was asked to do, a record a verb. A session is named by its id, the beginning of it, or its title."""

from __future__ import annotations

from typing import Literal

from tui.cli.options import SessionsOptions

Order = Literal["best", "newest", "oldest"]
Format = Literal["md", "jsonl"]
Mark = Literal["pin", "unpin", "archive", "unarchive"]

OLD_DAYS = 90  # what prune takes for old


class ListOptions(SessionsOptions, frozen=True):
    """`before` names the last session of the page before this one; `is_here` leaves other workspaces out."""

    limit: int
    before: str = ""
    is_here: bool = False
    with_archived: bool = False


class ShowOptions(SessionsOptions, frozen=True):
    """The last `limit` rows, or the last of those before the row with the id `before`."""

    session: str
    limit: int
    before: int | None = None


class SearchOptions(SessionsOptions, frozen=True):
    """`page` counts from 1. "" and None narrow nothing."""

    query: str
    limit: int
    page: int = 1
    role: str = ""
    session: str = ""
    since: float | None = None
    until: float | None = None
    folder: str = ""
    source: str = ""
    order: Order = "best"


class RenameOptions(SessionsOptions, frozen=True):
    session: str
    title: str


class MarkOptions(SessionsOptions, frozen=True):
    mark: Mark
    sessions: tuple[str, ...]


class DeleteOptions(SessionsOptions, frozen=True):
    """`yes` answers the question."""

    sessions: tuple[str, ...]
    yes: bool = False


class ExportOptions(SessionsOptions, frozen=True):
    """`format` is None where the name of the file tells it; `redact` None is what is usual for the format.

    `output` "" is stdout.
    """

    sessions: tuple[str, ...]
    is_all: bool = False
    format: Format | None = None
    output: str = ""
    redact: bool | None = None
    force: bool = False


class ImportOptions(SessionsOptions, frozen=True):
    """`is_neighbours`: the path is the state.db of hermes-agent, or a folder with one."""

    path: str
    is_neighbours: bool = False


class PruneOptions(SessionsOptions, frozen=True):
    older_than_days: int
    is_dry: bool = False
    is_vacuuming: bool = False
    yes: bool = False


class RepairOptions(SessionsOptions, frozen=True):
    is_dry: bool = False


class StatsOptions(SessionsOptions, frozen=True):
    """`days` is how many of the last days are told one by one."""

    days: int


class RelinkOptions(SessionsOptions, frozen=True):
    """One session and its new folder ("": this one), or the old and the new place of a folder that was moved."""

    session: str = ""
    folder: str = ""
    moved: tuple[str, str] | None = None
