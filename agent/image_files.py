"""Image files of a person's, on their way into a prompt."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Sequence
from io import FileIO
from pathlib import Path

from msgspec import Struct

from agent.image_size import size_in
from agent.images import LARGEST_IMAGE_BYTES
from session.errors import UserError
from session.json_columns import encode

# How files of a kind begin: their names say nothing that a server would believe.
KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif"}


class NoImage(UserError):
    """A file can't be sent as an image."""

    sentence = "{path} can't be sent: {why}. Nothing was sent."


class ImageFile(Struct, frozen=True):
    """An image on the disk; width and height in pixels are 0 where it does not tell them."""

    path: Path
    width: int
    height: int


class Prompt(Struct, frozen=True):
    """What a person asks: its text, and `parts` as a row keeps them, "" where it is text alone."""

    text: str
    parts: str = ""


def with_images(text: str, paths: Sequence[Path]) -> Prompt:
    """The text, which names the images, and these behind it. Looks at the disk. Raises NoImage."""
    if not paths:
        return Prompt(text)
    text = "\n".join([text, "", *(f"[image: {path.name}]" for path in paths)])
    return Prompt(text, parts_of(text, paths))


def parts_of(text: str, paths: Sequence[Path]) -> str:
    """The parts of a row that says a text and shows images, "" without any. Looks at the disk. Raises NoImage."""
    images = [{"type": "image_url", "image_url": {"url": _data_url(path)}} for path in paths]
    return encode([{"type": "text", "text": text}, *images]) if images else ""


def look_at(path: Path) -> ImageFile:
    """Looks at the disk. Raises NoImage for what could not be sent."""
    raw, _ = _checked(path)
    return ImageFile(path, *size_in(raw))


def _data_url(path: Path) -> str:
    raw, kind = _checked(path)
    return f"data:image/{kind};base64,{base64.b64encode(raw).decode()}"


def _checked(path: Path) -> tuple[bytes, str]:
    """What is in it, and its kind."""
    raw = _read(path)
    if len(raw) > LARGEST_IMAGE_BYTES:
        raise NoImage(path=path, why=f"it is larger than {LARGEST_IMAGE_BYTES // 1_000_000} MB")
    kind = _kind(raw)
    if not kind:
        raise NoImage(path=path, why="it is no PNG, JPEG, GIF or WebP image")
    return raw, kind


def _kind(raw: bytes) -> str:
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "webp"
    return next((kind for head, kind in KINDS.items() if raw.startswith(head)), "")


def _read(path: Path) -> bytes:
    try:
        # A named pipe would otherwise wait for a writer for ever.
        with FileIO(path, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise NoImage(path=path, why="it is no regular file")
            return file.read(LARGEST_IMAGE_BYTES + 1) or b""
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise NoImage(path=path, why=f"it can't be read ({why or 'its name is not usable'})") from error
