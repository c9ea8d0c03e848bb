"""`hermes sessions export`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from session.deletion import conversation
from session.export import export_jsonl, export_markdown, write_export
from session.redaction import Redact
from session.tables import Tables
from tui.cli.console import answer
from tui.cli.sessions.options import ExportOptions, Format
from tui.cli.sessions.store import Store, counted

EXACT = "This is exact: secrets that were said stand in it. With --redact those that hermes knows are masked."
MASKED = "Known secrets are masked."
ALL = -1


def run_export(options: ExportOptions, store: Store) -> int:
    """Conversations with all that goes on with them; in md what was taken back is left out."""
    form = options.format or ("jsonl" if options.output.endswith(".jsonl") else "md")
    is_redacted = form == "md" if options.redact is None else options.redact
    redact = store.masked if is_redacted else None
    ids = _ids(options, store)
    if options.output:
        path = Path(options.output).expanduser()
        store.read(
            lambda tables: write_export(path, _pieces(tables, ids, form, redact), overwrite=options.force),
        )
        record = {"file": os.path.realpath(path), "format": form, "sessions": len(ids), "redacted": is_redacted}
        store.tell(record, f"{counted(len(ids), 'session')} exported to {path}.")
    else:
        store.read(lambda tables: all(map(answer, _pieces(tables, ids, form, redact))))  # until nobody reads any more
    if not store.as_json:
        store.remark(MASKED if is_redacted else EXACT)
    return 0


def _ids(options: ExportOptions, store: Store) -> list[str]:
    def chosen(tables: Tables) -> list[str]:
        if options.is_all:
            return [session.id for session in tables.sessions.listing(ALL, include_archived=True)]
        return [session.id for session in named]

    named = store.find_all(options.sessions)
    lines = store.read(lambda tables: [conversation(tables.connection, id_) for id_ in chosen(tables)])
    return list(dict.fromkeys(id_ for line in lines for id_ in line))


def _pieces(tables: Tables, ids: list[str], form: Format, redact: Redact | None) -> Iterator[str]:
    if form == "jsonl":
        yield from export_jsonl(tables, ids, redact)
        return
    for number, id_ in enumerate(ids):
        yield "\n" if number else ""
        yield from export_markdown(tables, id_, redact)
