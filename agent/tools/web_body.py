"""The body of an answer as it arrives: unpacked no further than it fits, so that a small one never becomes gigabytes."""

from __future__ import annotations

import zlib
from typing import Protocol

_GZIP, _DEFLATE, _BARE = zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"


class UnknownCoding(Exception):
    """A body is packed in a way that was not asked for. The text names it."""


class BrokenPacking(Exception):
    """A body is not packed as it says."""


class _Unpack(Protocol):
    def __call__(self, piece: bytes, most_bytes: int) -> bytes: ...


class Body:
    """The first `most_bytes` of a body, unpacked. `coding` is the Content-Encoding. Raises UnknownCoding."""

    def __init__(self, coding: str, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._held = bytearray()
        self._unpack = _unpacker(coding.strip().lower())

    @property
    def is_cut(self) -> bool:
        return len(self._held) > self._most_bytes

    @property
    def content(self) -> bytes:
        return bytes(self._held[: self._most_bytes])

    def add(self, piece: bytes) -> bool:
        """Take what arrived. False when no more is wanted. Raises BrokenPacking."""
        self._held += self._unpack(piece, self._most_bytes + 1 - len(self._held))
        return not self.is_cut


def _unpacker(coding: str) -> _Unpack:
    match coding:
        case "" | "identity":
            return lambda piece, most_bytes: piece[:most_bytes]
        case "gzip" | "x-gzip":
            return _Packed(_GZIP)
        case "deflate":
            return _Packed(_DEFLATE)
        case _:
            raise UnknownCoding(coding)


class _Packed:
    def __init__(self, form: int) -> None:
        self._form = form
        self._stream = zlib.decompressobj(form)
        self._is_begun = False

    def __call__(self, piece: bytes, most_bytes: int) -> bytes:
        unpacked = bytearray()
        while piece and len(unpacked) < most_bytes:
            unpacked += self._some(piece, most_bytes - len(unpacked))
            piece = self._behind()
        return bytes(unpacked)

    def _some(self, piece: bytes, most_bytes: int) -> bytes:
        try:
            part = self._stream.decompress(piece, most_bytes)
        except zlib.error as error:
            if self._is_begun or self._form != _DEFLATE:
                raise BrokenPacking from error
            self._form, self._stream = _BARE, zlib.decompressobj(_BARE)  # what some servers mean by deflate
            return self._some(piece, most_bytes)
        self._is_begun = True
        return part

    def _behind(self) -> bytes:
        """What is left of a piece: of the same stream, or of another gzip stream behind it. Anything else is not read."""
        if not self._stream.eof:
            return self._stream.unconsumed_tail
        rest = self._stream.unused_data
        if self._form != _GZIP or not rest.startswith(_GZIP_MAGIC):
            return b""
        self._stream = zlib.decompressobj(self._form)
        return rest
