"""A transcript with the secrets in it masked, by a function that knows them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from session.json_columns import UnreadableColumn, decode, encode, with_texts
from session.jsonl import Call, Header, Row

Redact = Callable[[str], str]


def redacted_header(header: Header, redact: Redact) -> Header:
    return replace(
        header,
        title=redact(header.title),
        cwd=redact(header.cwd),
        workspace=redact(header.workspace),
        prompt=redact(header.prompt),
    )


def redacted_row(row: Row, redact: Redact) -> Row:
    return replace(
        row,
        content=redact(row.content),
        reasoning=redact(row.reasoning),
        refusal=redact(row.refusal),
        calls=tuple(redacted_call(call, redact) for call in row.calls),
        result=row.result and replace(row.result, cause=redact(row.result.cause)),
        sent=redact(row.sent),
        parts=redacted_json(row.parts, redact),
        extras=redacted_json(row.extras, redact),
    )


def redacted_call(call: Call, redact: Redact) -> Call:
    """One in which something was masked is not what was to run, and never runs."""
    arguments = redacted_json(call.arguments, redact)
    return replace(call, arguments=arguments, is_masked=call.is_masked or arguments != call.arguments)


def redacted_json(text: str, redact: Redact) -> str:
    """Masked within its texts, so that it stays JSON and a secret spelled with escapes is found; else as plain text."""
    try:
        value = decode(text) if text else ""
    except UnreadableColumn:
        return redact(text)
    masked = with_texts(value, redact)
    return text if masked == value else encode(masked)
