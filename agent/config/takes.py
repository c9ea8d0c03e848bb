"""What a text in the settings may be: a sentence about what is allowed, and what is wrong with one."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from msgspec import Struct

RESERVED = ("demo",)
NAME_CHARS = 200
_PROVIDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_AZURE_QUERY = re.compile(r"api-version=[A-Za-z0-9.-]{1,40}")  # other queries could hold a key
_HEADER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
_OWN_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection", "authorization", "api-key"})
_HOST_RULE = re.compile(r"(?:\*\.)?[\w.-]+(?::[0-9]{1,5})?|(?:\*\.)?\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?")
_BINDING = re.compile(r"[a-z][a-z0-9_]*\.[a-z0-9_]+")
_KEY = re.compile(r"(?:[a-z]+\+){0,4}[^\s,+]{1,40}")
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
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment:
        return allowed
    if parts.query and not _AZURE_QUERY.fullmatch(parts.query):
        return f"{allowed}; nothing but an api-version may follow a question mark"
    return ""


def check_provider(name: str) -> str:
    if name.lower() in RESERVED:
        return f"takes other names than {name}, which is built in"
    return "" if _PROVIDER.fullmatch(name) else f"takes {TAKES['provider'].allowed}"


def check_key_env(name: str) -> str:
    return "" if _VARIABLE.fullmatch(name) else f"takes {TAKES['key_env'].allowed}"


def check_model(text: str) -> str:
    provider, colon, model = text.partition(":")
    is_named = text == "demo" or (bool(colon) and bool(model.strip()) and not check_provider(provider))
    return check_name(text) or ("" if is_named else f"takes {TAKES['model'].allowed}")


def check_variable(name: str) -> str:
    return "" if _VARIABLE.fullmatch(name) else f"takes {TAKES['variable'].allowed}"


def check_proxy(url: str) -> str:
    return f"takes {TAKES['proxy'].allowed}" if check_url(url) else ""


def check_header_name(name: str) -> str:
    if name.lower() in _OWN_HEADERS:
        return f"takes other names than {name}, which hermes writes itself; keys belong in .env"
    return "" if _HEADER.fullmatch(name) else f"takes {TAKES['header_name'].allowed}"


def check_header(text: str) -> str:
    return "" if text.isascii() and text.isprintable() else f"takes {TAKES['header'].allowed}"


def check_command_rule(text: str) -> str:
    from agent.approvals.shell_rules import BadRule, read_rule
    from agent.approvals.shell_verdict import Decision

    try:
        read_rule(Decision.DENY, text)
    except BadRule:
        return f"takes {TAKES['command_rule'].allowed}"
    return ""


def check_file_rule(text: str) -> str:
    is_local = text.strip("/") and not text.startswith(("/", "~")) and ".." not in text.split("/")
    return "" if is_local and text.isprintable() else f"takes {TAKES['file_rule'].allowed}"


def check_host_rule(text: str) -> str:
    return "" if _HOST_RULE.fullmatch(text) else f"takes {TAKES['host_rule'].allowed}"


def check_binding(text: str) -> str:
    return "" if _BINDING.fullmatch(text) else f"takes {TAKES['binding'].allowed}"


def check_key(text: str) -> str:
    return "" if _KEY.fullmatch(text) else f"takes {TAKES['key'].allowed}"


def check_folder(text: str) -> str:
    return "" if text.startswith("/") and text.isprintable() else f"takes {TAKES['folder'].allowed}"


TAKES = {
    "text": Takes("text", check_text),
    "name": Takes("one short line of text", check_name),
    "url": Takes("an address such as http://127.0.0.1:8000/v1", check_url),
    "proxy": Takes("an address such as http://127.0.0.1:3128, without a name or password in it", check_proxy),
    "header_name": Takes("names of letters, digits and dashes", check_header_name),
    "header": Takes("one line of plain ASCII text", check_header),
    "provider": Takes("names of letters, digits, dots, dashes and underscores", check_provider),
    "model": Takes("models as provider:model, such as openai:gpt-4.1", check_model),
    "variable": Takes("names of variables, such as OPENAI_API_KEY", check_variable),
    "command_rule": Takes("commands by their words, such as: = npm test, git push, ls *", check_command_rule),
    "file_rule": Takes("paths in the workspace, such as src/**", check_file_rule),
    "host_rule": Takes("hosts, such as docs.python.org or *.python.org", check_host_rule),
    "binding": Takes("what a key does, such as main.search; /help lists them", check_binding),
    "key": Takes("keys, such as ctrl+g, f5 or alt+up", check_key),
    "folder": Takes("full paths of folders", check_folder),
    "key_env": Takes(
        "the NAME of a variable, such as OPENAI_API_KEY, never the key itself; the key belongs in .env", check_key_env
    ),
}
