"""`hermes sessions search`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import to_builtins

from session.models import Role
from session.search import Found, Hit
from session.tables import Tables
from session.titles import UNTITLED
from tui.cli.console import Piece, answer_pieces
from tui.cli.sessions.options import SearchOptions
from tui.cli.sessions.store import Store, moment

NOTHING = 1  # the exit code, as grep has it


def run_search(options: SearchOptions, store: Store) -> int:
    session_id = store.find(options.session).id if options.session else None
    cwd = str(Path(options.folder).expanduser().resolve()) if options.folder else None

    def find(tables: Tables) -> Found:
        return tables.search.find(
            options.query,
            role=Role(options.role) if options.role else None,
            session_id=session_id,
            since=options.since,
            until=options.until,
            cwd=cwd,
            source=options.source or None,
            order=options.order,
            limit=options.limit + 1,
            offset=(options.page - 1) * options.limit,
            redact=store.masked,
        )

    found = store.read(find)
    hits, is_more = found.hits[: options.limit], len(found.hits) > options.limit
    if store.as_json:
        store.data({"hits": to_builtins(hits), "note": found.note})
    else:
        answer_pieces(piece for hit in hits for piece in _pieces(hit, store))
        _remarks(store, found.note, is_found=bool(hits), next_page=options.page + 1 if is_more else 0)
    return 0 if hits else NOTHING


def _remarks(store: Store, note: str, *, is_found: bool, next_page: int) -> None:
    if note:
        store.remark(note)
    if not is_found and not note:
        store.remark("Nothing was found.")
    if next_page:
        store.remark(f"There are more: --page {next_page}")


def _pieces(hit: Hit, store: Store) -> Iterator[Piece]:
    title = " ".join(hit.title.split()) or UNTITLED
    head = f"{hit.session_id}  {moment(hit.created_at)}  {title}  ({hit.role}, [{hit.message_id}])"
    yield Piece(f"{store.masked(head)}\n  ")
    end = 0
    for start, stop in hit.spans:
        yield Piece(hit.snippet[end:start])
        yield Piece(hit.snippet[start:stop], is_marked=True)
        end = stop
    yield Piece(f"{hit.snippet[end:]}\n")
