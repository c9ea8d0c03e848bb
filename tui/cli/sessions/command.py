"""From the options of a verb to the module that carries it out."""

from __future__ import annotations

from collections.abc import Mapping

from agent.profile import Profile
from tui.cli.options import SessionsOptions
from tui.cli.sessions.options import (
    DeleteOptions,
    ExportOptions,
    ImportOptions,
    ListOptions,
    MarkOptions,
    PruneOptions,
    RelinkOptions,
    RenameOptions,
    RepairOptions,
    SearchOptions,
    ShowOptions,
    StatsOptions,
)
from tui.cli.sessions.store import Store


def run_sessions(options: SessionsOptions, environ: Mapping[str, str]) -> int:
    """Returns the exit code: 1 where a search found nothing, a repair left something, or a person said no.

    With --json one object or array is printed. Raises UserError.
    """
    if isinstance(options, RepairOptions):  # it must also do where a profile cannot be opened
        from tui.cli.sessions.repairing import run_repair

        return run_repair(options, environ)
    profile = Profile.load(environ, name=options.profile)
    try:
        return _run(options, Store(profile, options.as_json))
    finally:
        profile.close()


def _run(options: SessionsOptions, store: Store) -> int:
    match options:
        case ListOptions():
            from tui.cli.sessions.listing import run_list

            return run_list(options, store)
        case ShowOptions():
            from tui.cli.sessions.showing import run_show

            return run_show(options, store)
        case SearchOptions():
            from tui.cli.sessions.searching import run_search

            return run_search(options, store)
        case RenameOptions() | MarkOptions() | RelinkOptions():
            from tui.cli.sessions.changing import run_change

            return run_change(options, store)
        case DeleteOptions() | PruneOptions():
            from tui.cli.sessions.removing import run_removal

            return run_removal(options, store)
        case ExportOptions():
            from tui.cli.sessions.exporting import run_export

            return run_export(options, store)
        case ImportOptions():
            from tui.cli.sessions.importing import run_import

            return run_import(options, store)
        case StatsOptions():
            from tui.cli.sessions.counting import run_stats

            return run_stats(options, store)
        case _:
            raise AssertionError(options)
