"""HTML as text, in a process of its own.

A page comes from anybody, and there is no parser that some page does not keep busy for minutes. This one is Python, so
that no page can do worse than that, and it runs where it can be ended. What comes in is one JSON line; what goes out is
another. The process ends with whoever started it.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from msgspec import Struct

if TYPE_CHECKING:
    from justhtml import Node

CPU_S = 60
MEMORY_BYTES = 2 * 1024**3
TITLE_CHARS = 300
# What a reader does not see, and what says nothing without a screen.
_UNREAD = (
    "script, style, noscript, template, svg, iframe, object, canvas, audio, video, button, select, textarea, input, "
    "datalist, dialog, [hidden], [aria-hidden=true]"
)


class Text(Struct, frozen=True):
    """A page as text (Markdown), and its title."""

    title: str
    text: str


def text_of(html: str, url: str) -> Text:
    """The page, with each link as a whole address; `url` is where it came from. Takes as long as it takes."""
    from justhtml import Drop, EditAttrs, JustHTML

    def absolute(node: Node) -> dict[str, str | None] | None:
        try:
            return {"href": urljoin(url, _attribute(node, "href"))}
        except ValueError:
            return {}

    def described(node: Node) -> dict[str, str | None] | None:
        return {"alt": _attribute(node, "alt")}

    page = JustHTML(
        html,
        transforms=[Drop(_UNREAD), EditAttrs("a[href]", absolute), Drop("img:not([alt])"), EditAttrs("img", described)],
    )
    title = page.query_one("title")
    return Text(" ".join(title.to_text().split())[:TITLE_CHARS] if title is not None else "", page.to_markdown())


def _attribute(node: Node, name: str) -> str:
    return str((node.attrs or {}).get(name) or "")


def main() -> None:
    """One page from stdin to stdout."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    asked = json.loads(sys.stdin.buffer.readline())
    Thread(target=_end_with_parent, daemon=True).start()
    page = text_of(asked["html"], asked["url"])
    sys.stdout.buffer.write(json.dumps({"title": page.title, "text": page.text}).encode())
    sys.stdout.buffer.flush()


def _end_with_parent() -> None:
    """The other end of stdin is closed where whoever started this is gone, however it ended."""
    os.read(0, 1)
    os._exit(1)
