"""`hermes sessions import`."""

from __future__ import annotations

from pathlib import Path

from msgspec import to_builtins

from tui.cli.sessions.options import ImportOptions
from tui.cli.sessions.store import Store, counted


def run_import(options: ImportOptions, store: Store) -> int:
    """A file of our own comes in whole or not at all; of hermes-agent's each session does."""
    path = Path(options.path).expanduser()
    if options.is_neighbours:
        from session.import_hermes_agent import import_hermes_agent as bring
    else:
        from session.import_jsonl import import_jsonl as bring
    imported = bring(store.profile.db, path)
    what = f"{counted(imported.sessions, 'session')} with {counted(imported.messages, 'message')}"
    store.tell(to_builtins(imported), f"{what} imported from {path}.")
    if not store.as_json:
        for reason in imported.reasons:
            store.remark(f"Left out: {reason}")
    return 0
