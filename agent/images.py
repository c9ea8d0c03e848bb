"""Images in a prompt: what of them goes to a model, and what is said of those that are too large."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from session.json_columns import decode_parts
from session.models import Message

LARGEST_IMAGE_BYTES = 20_000_000

Part = dict[str, object]


def sendable(part: Part) -> Part:
    """A stored part as Chat Completions takes it; a few words in the place of what can't be sent."""
    match part:
        case {"type": "text" | "input_text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "image_url" | "input_image"} if url := _url(part):
            if _size_bytes(url) > LARGEST_IMAGE_BYTES:
                return {
                    "type": "text",
                    "text": f"[An image was left out: it is larger than {_mb(LARGEST_IMAGE_BYTES)}.]",
                }
            return {"type": "image_url", "image_url": {"url": url, **_detail(part)}}
        case _:
            return {"type": "text", "text": "[Something that is neither text nor an image was left out.]"}


def left_out(rows: Sequence[Message]) -> Iterator[str]:
    """A sentence for each image of these rows that is too large to be sent."""
    for row in rows:
        for part in decode_parts(row.parts) if row.parts else ():
            if (size_bytes := _size_bytes(_url(part))) > LARGEST_IMAGE_BYTES:
                yield (
                    f"An image of {_mb(size_bytes)} was not sent to the model: at most {_mb(LARGEST_IMAGE_BYTES)} are. "
                    "Make it smaller and send it again."
                )


def _url(part: Part) -> str:
    """Where an image is: `image_url` is a text, or an object that holds it."""
    match part.get("image_url"):
        case str(url) | {"url": str(url)}:
            return url
        case _:
            return ""


def _detail(part: Part) -> Part:
    match part.get("image_url"):
        case {"detail": str(detail)}:
            return {"detail": detail}
        case _:
            return {}


def _size_bytes(url: str) -> int:
    """Of the image in a data URL; what lies elsewhere is not ours to measure."""
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:")):
        return 0
    return len(data) * 3 // 4 if head.endswith(";base64") else len(data)


def _mb(size_bytes: int) -> str:
    return f"{-(-size_bytes // 1_000_000)} MB"
