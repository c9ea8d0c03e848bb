"""A file as text: how it is encoded, where its lines end, and what it is when it is no text."""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from io import BufferedReader
from typing import TextIO

from msgspec import Struct

from agent.tools.opened import NotReadable

_PROBE_BYTES = 8_192
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
)
_SIGNATURES = (
    (b"\x7fELF", "an ELF program or library"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program or library"),
    (b"\xca\xfe\xba\xbe", "a Mach-O or Java program"),
    (b"MZ", "a Windows program"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"\x89PNG", "a PNG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive, or a document packed as one"),
    (b"\x1f\x8b\x08", "gzip data"),
    (b"SQLite format 3\0", "a SQLite database"),
)
_SURROGATE = re.compile("[\ud800-\udfff]")


class Encoding(Struct, frozen=True):
    """How a file holds text: a codec, and the byte order mark in front. `name` is what a person calls it."""

    codec: str
    mark: bytes = b""
    name: str = "UTF-8"

    @property
    def unit_bytes(self) -> int:
        """Every character takes a multiple of this."""
        return {"utf-16": 2, "utf-32": 4}.get(self.codec[:6], 1)


UTF_8 = Encoding("utf-8")


def encoding_of(start: bytes, size_bytes: int) -> Encoding:
    """How a file that begins so is encoded. Raises NotReadable for what is no text."""
    for mark, codec, name in _BOMS:
        if start.startswith(mark):
            return Encoding(codec, mark, name)
    for signature, what in _SIGNATURES:
        # Two bytes may begin a text as well; a program goes on with what no text holds.
        if start.startswith(signature) and (len(signature) > 2 or b"\0" in start):
            raise NotReadable(f"{what} ({size_bytes:,} bytes), not text")
    if b"\0" in start:
        raise NotReadable(f"binary ({size_bytes:,} bytes), not text")
    return UTF_8


def form_of(content: bytes) -> Encoding:
    """The same of a whole file, UTF-8 also for what is no text."""
    try:
        return encoding_of(content[:_PROBE_BYTES], len(content))
    except NotReadable:
        return UTF_8


def readable(content: bytes) -> str:
    """A whole file for a reader: BOM removed, invalid bytes as U+FFFD."""
    form = form_of(content)
    return content[len(form.mark) :].decode(form.codec, "replace")


def probed(file: BufferedReader) -> tuple[Encoding, str]:
    """The encoding of a file at its beginning, and where its lines end for a reader: at CR only where no LF is seen."""
    start = file.peek(_PROBE_BYTES)[:_PROBE_BYTES]
    encoding = encoding_of(start, os.fstat(file.fileno()).st_size)
    text = start.decode(encoding.codec, "replace")
    return encoding, "\r" if "\r" in text and "\n" not in text else "\n"


@contextmanager
def as_text(file: BufferedReader, encoding: Encoding, line_end: str) -> Generator[TextIO]:
    """The file from its first character on, BOM removed, invalid bytes as U+FFFD. The file stays open."""
    file.seek(len(encoding.mark))
    text = io.TextIOWrapper(file, encoding.codec, errors="replace", newline=line_end)
    try:
        yield text
    finally:
        text.detach()


class WholeText(Struct, frozen=True):
    """The text of a file, such that `encoded` gives back its bytes, also those that are no text."""

    text: str
    encoding: Encoding = UTF_8

    def encoded(self, text: str) -> bytes:
        return self.encoding.mark + text.encode(self.encoding.codec, _errors(self.encoding))


def whole_text(content: bytes) -> WholeText:
    """Raises NotReadable for what is no text, or is text that is damaged beyond keeping its bytes."""
    encoding = encoding_of(content[:_PROBE_BYTES], len(content))
    try:
        text = content[len(encoding.mark) :].decode(encoding.codec, _errors(encoding))
    except UnicodeDecodeError as error:
        raise NotReadable(f"damaged {encoding.name} (at byte {error.start:,})") from error
    return WholeText(text, encoding)


def _errors(encoding: Encoding) -> str:
    """The way that brings every byte back."""
    return "surrogateescape" if encoding.codec == "utf-8" else "surrogatepass"


def legal(text: str) -> str:
    """The text with U+FFFD for what stands for bytes that are no text."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
