"""What a server sent, as text: in the characters it names, HTML as Markdown."""

from __future__ import annotations

import asyncio
import codecs
import json
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

from msgspec import Struct

from agent.tools.web_request import Answer, NotFetched

_PROJECT = str(Path(__file__).resolve().parent.parent.parent)
_CHILD = "import sys; sys.path.insert(0, sys.argv[1]); from agent.tools.page_text import main; main()"
_PIPE_BYTES = 64 * 1024 * 1024  # of what comes back
_LOOKED_AT_BYTES = 1_024  # in which a page says its characters, and what it is

# Nothing in these is given back once it was taken: a page of 200 bytes could keep them busy for hours.
_CHARSET = re.compile(r"""charset\s*+=\s*+["']?\s*+([\w.:-]{1,40})""", re.IGNORECASE | re.ASCII)
_MARKUP = re.compile(rb"\s*(?>(?><!--.*?-->)\s*)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# As browsers read them: whoever says Latin-1 means Windows' own.
_MEANT = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
# Encodings of Python's that stand for no writing of the web, or read as something else what they get.
_NO_CHARSETS = frozenset(
    {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7", "mbcs", "oem"}
)


class PageText(Struct, frozen=True):
    """`kind` is what the server called it, `title` what the page calls itself, "" for none."""

    kind: str
    text: str
    title: str = ""


async def text_of(answer: Answer) -> PageText:
    """Raises NotFetched for what is no text after all, and for a page that no parser copes with."""
    kind, body = answer.content_type.partition(";")[0].strip().lower(), answer.body
    is_html = kind in ("text/html", "application/xhtml+xml") or (not kind and _MARKUP.match(body) is not None)
    charset = charset_of(answer.content_type, body, is_html=is_html, is_cut=answer.is_cut)
    if b"\0" in body[:_LOOKED_AT_BYTES] and not charset.startswith(("utf-16", "utf-32")):
        raise NotFetched(
            f"{answer.url} says it is {kind or 'nothing in particular'} and holds binary data, so it was not read."
        )
    text = await asyncio.to_thread(_decoded, body, charset)
    if is_html:
        return await _markdown(kind or "text/html", text, answer.url)
    return PageText(kind or "text without a type", text)


def charset_of(content_type: str, body: bytes, *, is_html: bool, is_cut: bool) -> str:
    """The codec for a body: by its first bytes, else as the header says, else the page itself, else UTF-8 if it is that."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return name
    named = [_CHARSET.search(content_type)]
    if is_html:
        named.append(_CHARSET.search(body[:_LOOKED_AT_BYTES].decode("ascii", "replace")))
    for found in filter(None, named):
        if codec := _codec(found[1]):
            return codec
    return "utf-8" if _is_utf8(body, is_cut=is_cut) else "cp1252"


def _codec(label: str) -> str:
    """The name of a codec by what a server calls it, "" for none that reads text."""
    try:
        found = codecs.lookup(label)
        b"x".decode(found.name, "replace")
    except (LookupError, UnicodeError, ValueError):
        return ""
    name = found.name.replace("_", "-")
    return "" if name in _NO_CHARSETS else _MEANT.get(name, name)


def _is_utf8(body: bytes, *, is_cut: bool) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body, final=not is_cut)
    except UnicodeDecodeError:
        return False
    return True


def _decoded(body: bytes, charset: str) -> str:
    text = body.decode(charset, "replace").removeprefix("\ufeff")
    return text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")


async def _markdown(kind: str, html: str, url: str) -> PageText:
    """In a process of its own (agent/tools/page_text.py), which ends when this does."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", _CHILD, _PROJECT, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={}, limit=_PIPE_BYTES
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(json.dumps({"html": html, "url": url}).encode() + b"\n")
        said = await child.stdout.read()
    finally:
        if child.returncode is None:
            _kill(child)
        await asyncio.shield(child.wait())
    try:
        page = json.loads(said)
        return PageText(kind, str(page["text"]), str(page["title"]))
    except ValueError as error:
        raise NotFetched(f"The page at {url} could not be made into text: it is too large or too tangled.") from error


def _kill(child: asyncio.subprocess.Process) -> None:
    try:
        child.kill()
    except ProcessLookupError:
        pass
