"""Sessions on their way out: as Markdown to read, as lines of JSON to keep, and into a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from session.errors import UserError
from session.jsonl import Header, Row, encode_line, header_of
from session.markdown import markdown_head, markdown_row
from session.models import Kind, Session
from session.redaction import Redact, redacted_header, redacted_row
from session.tables import Tables


class NothingToExport(UserError):
    """A session that was asked for is not there (any more)."""

    sentence = (
        "There is no session {session_id}, so nothing was exported. `hermes sessions list` shows those there are."
    )


class ExportExists(UserError):
    """Something stands where an export was to be written."""

    sentence = "{path} is there already, so nothing was written. Choose another name, or remove it first."


class UnwritableExport(UserError):
    """An export could not be written; what stood at the path is as it was."""

    sentence = "{path} could not be written: {reason}. Choose another folder, or free some space."


def export_markdown(tables: Tables, session_id: str, redact: Redact | None) -> Iterator[str]:
    """One session to read, piece by piece: what was said, without what was taken back. Raises NothingToExport."""
    header = stored_header(tables, stored_session(tables, session_id))
    yield markdown_head(redacted_header(header, redact) if redact else header, is_redacted=redact is not None)
    for row in tables.transcripts.rows(session_id):
        if not row.rewound_by:
            yield markdown_row(redacted_row(row, redact) if redact else row)


def export_jsonl(tables: Tables, session_ids: Sequence[str], redact: Redact | None = None) -> Iterator[str]:
    """Sessions to keep and to import, line by line, exact where nothing is redacted. Raises NothingToExport.

    What is under way is left out: unsent input, half an answer, open questions.
    """
    together = list(dict.fromkeys(session_ids))
    for left, session_id in zip(reversed(range(len(together))), together, strict=True):
        session = stored_session(tables, session_id)
        header = replace(stored_header(tables, session), sessions_left=left)
        parent_id = session.parent_id if session.parent_id in together else ""
        if parent_id:
            header = joined(tables, header, session)
        yield encode_line(redacted_header(header, redact) if redact else header)
        yield from row_lines(
            tables.transcripts.rows(session_id, parent_id if session.kind is Kind.BRANCH else ""), redact
        )


def row_lines(rows: Iterable[Row], redact: Redact | None) -> Iterator[str]:
    for row in rows:
        yield encode_line(redacted_row(row, redact) if redact else row)


def stored_session(tables: Tables, session_id: str) -> Session:
    session = tables.sessions.get(session_id)
    if session is None:
        raise NothingToExport(session_id=session_id)
    return session


def stored_header(tables: Tables, session: Session) -> Header:
    return header_of(
        session,
        messages=tables.transcripts.count(session.id),
        sessions_left=0,
        prompt=tables.prompts.get(session.prompt_hash),
        usage=tables.transcripts.spendings(session.id),
    )


def joined(tables: Tables, header: Header, session: Session) -> Header:
    """The header of a session whose parent stands in the same file."""
    return replace(
        header,
        parent_id=session.parent_id,
        kind=session.kind,
        branched_at=tables.transcripts.ordinal(session.parent_id, session.branched_at) if session.branched_at else 0,
    )


def write_export(path: Path, pieces: Iterable[str], *, overwrite: bool = False) -> None:
    """Write all of it or nothing, for its owner's eyes only. Raises ExportExists, UnwritableExport."""
    try:
        target = Path(os.path.realpath(path))
    except OSError as error:  # a relative path, and the folder one is in was removed (E11)
        raise UnwritableExport(path=path, reason=error.strerror or error) from error
    if target.exists() and not (overwrite and target.is_file()):
        raise ExportExists(path=path)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:80]}.", dir=target.parent)  # made 0600
        unfinished = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.writelines(pieces)
                file.flush()
                os.fsync(descriptor)
            if not overwrite:
                os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            unfinished.replace(target)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    except FileExistsError as error:
        raise ExportExists(path=path) from error
    except OSError as error:
        raise UnwritableExport(path=path, reason=error.strerror or error) from error
