"""How large an image is in pixels, read from how its file begins."""

from __future__ import annotations

import struct

Size = tuple[int, int]  # width, height
UNTOLD: Size = (0, 0)

_PNG, _GIF = b"\x89PNG\r\n\x1a\n", (b"GIF87a", b"GIF89a")
# The segments of a JPEG that tell its size: those that begin a frame, whatever it is coded in.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_ALONE = frozenset((0x01, *range(0xD0, 0xD8)))  # marks without a segment behind them


def size_in(raw: bytes) -> Size:
    """UNTOLD where the bytes do not say it in the way of their kind."""
    try:
        if raw.startswith(_PNG):
            return struct.unpack_from(">II", raw, 16)
        if raw.startswith(_GIF):
            return struct.unpack_from("<HH", raw, 6)
        if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
            return _webp(raw)
        return _jpeg(raw) if raw.startswith(b"\xff\xd8") else UNTOLD
    except (struct.error, IndexError):
        return UNTOLD  # it is cut off


def _webp(raw: bytes) -> Size:
    match raw[12:16]:
        case b"VP8X":
            return int.from_bytes(raw[24:27], "little") + 1, int.from_bytes(raw[27:30], "little") + 1
        case b"VP8L":
            bits = struct.unpack_from("<I", raw, 21)[0]
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", raw, 26)
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return UNTOLD


def _jpeg(raw: bytes) -> Size:
    at = 2
    while raw[at] == 0xFF:
        mark = raw[at + 1]
        if mark in _FRAMES:
            height, width = struct.unpack_from(">HH", raw, at + 5)
            return width, height
        if mark == 0xFF:
            at += 1
        else:
            at += 2 if mark in _ALONE else 2 + struct.unpack_from(">H", raw, at + 2)[0]
    return UNTOLD
