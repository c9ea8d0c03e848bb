"""What a text in the settings may be: a sentence about what is allowed, and what is wrong with one."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from msgspec import Struct

RESERVED = ("demo",)
NAME_CHARS = 200
_PROVIDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class Takes(Struct, frozen=True):
    """`allowed` completes "takes"; `complaint` says what else a text should be, "" for a right one."""

    allowed: str
    complaint: Callable[[str], str]


def check_text(text: str) -> str:
    return ""


def check_name(text: str) -> str:
    """A name goes into a status bar and a request: one line, not too long."""
    return "" if text.isprintable() and len(text) <= NAME_CHARS else "takes one short line of text"


def check_url(url: str) -> str:
    allowed = f"takes {TAKES['url'].allowed}"
    if not url.isprintable() or " " in url:
        return allowed
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return allowed
    if parts.username is not None or parts.password is not None:
        return "takes an address without a name or password in it; put the key in .env and its name in key_env"
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        return allowed
    return ""


def check_provider(name: str) -> str:
    if name.lower() in RESERVED:
        return f"takes other names than {name}, which is built in"
    return "" if _PROVIDER.fullmatch(name) else f"takes {TAKES['provider'].allowed}"


def check_key_env(name: str) -> str:
    return "" if _VARIABLE.fullmatch(name) else f"takes {TAKES['key_env'].allowed}"


def check_variable(name: str) -> str:
    return "" if _VARIABLE.fullmatch(name) else f"takes {TAKES['variable'].allowed}"


TAKES = {
    "text": Takes("text", check_text),
    "name": Takes("one short line of text", check_name),
    "url": Takes("an address such as http://127.0.0.1:8000/v1", check_url),
    "provider": Takes("names of letters, digits, dots, dashes and underscores", check_provider),
    "variable": Takes("names of variables, such as OPENAI_API_KEY", check_variable),
    "key_env": Takes(
        "the NAME of a variable, such as OPENAI_API_KEY, never the key itself; the key belongs in .env", check_key_env
    ),
}
