"""What a server said went wrong, made safe to show: read from any shape of error body, cleaned, bounded, masked."""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec import Struct

from agent.providers.quotas import reset_of
from agent.providers.wire_json import NO_FIELDS, Object, as_list, as_object, as_text, parsed, whole_characters

LONGEST_MESSAGE = 400  # characters
READ_CHARS = 20_000  # of what a server says: megabytes of it are searched by nobody
SHORTEST_SECRET = 6  # characters; masking anything shorter would only blank ordinary words


class Fault(Struct, frozen=True):
    """A server's own account of an error, as it sent it. `code` joins its code and type, in lower case.

    `resets_at` is when a limit that was reached begins anew, a Unix time, None where nothing is said of it.
    """

    message: str = ""
    code: str = ""
    status: int | None = None
    resets_at: float | None = None


def fault_in(chunk: Object) -> Fault | None:
    """The fault in a JSON value, or None when it reports none. `error` may be an object or a text."""
    error = chunk.get("error")
    if not error:
        return None
    if isinstance(error, str):
        return Fault(error[:READ_CHARS], _code(chunk))
    return _fault(as_object(error))


def fault_of_body(body: str, status: int | None = None) -> Fault:
    """The fault that a whole body reports; a web page has no message that is worth showing."""
    try:
        value = parsed(body)
    except ValueError:
        return Fault("" if is_page(body) else body.lstrip()[:READ_CHARS], status=status)
    value = as_object(next(iter(as_list(value)), value))  # Google sends a list of one
    found = fault_in(value) or _fault(value)
    return Fault(found.message, found.code, status, found.resets_at)


def is_page(body: str | bytes) -> bool:
    """The body is a web page or other markup, not an answer for programs."""
    return body.lstrip()[:1] in ("<", b"<")


def shown(message: str, secrets: Collection[str]) -> str:
    """A message for the screen: one line, no control characters, no secret, and not too long."""
    plain = re.sub(r"\s+", " ", whole_characters(message))
    plain = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in plain).strip()
    for secret in secrets:
        if len(secret) >= SHORTEST_SECRET:
            plain = plain.replace(secret, "***")
    return plain if len(plain) <= LONGEST_MESSAGE else plain[: LONGEST_MESSAGE - 1] + "…"


def _fault(error: Object) -> Fault:
    message = as_text(error.get("message")) or as_text(error.get("detail")) or _details(error.get("detail"))
    # OpenRouter says only "Provider returned error" and keeps the provider's own words here.
    raw = as_text(as_object(error.get("metadata")).get("raw"))
    said = f"{message}: {raw}" if raw else message
    return Fault(said[:READ_CHARS], _code(error)[:READ_CHARS], _status(error), reset_of(error))


def _details(value: object) -> str:
    """FastAPI's list of what did not fit."""
    return "; ".join(as_text(as_object(item).get("msg")) for item in as_list(value))


def _code(error: Object = NO_FIELDS) -> str:
    return " ".join(str(error[key]) for key in ("code", "type") if isinstance(error.get(key), str | int)).lower()


def _status(error: Object) -> int | None:
    for key in ("code", "status_code", "status"):
        value = error.get(key)
        if isinstance(value, str) and value.isdecimal():
            value = int(value[:4])
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return None
