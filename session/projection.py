"""What search sees of a row: its text, and that text as it is handed to the index. A change here needs a new index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import cast
from unicodedata import normalize

from session.connection import legal
from session.json_columns import UnreadableColumn, decode, decode_calls

TOOL_CHARS = 8_192  # how much of a tool's output is searched
# Scripts that write without spaces, of which unicode61 would take a whole clause for one word: Thai, Lao, Burmese and
# Khmer; Han, kana, bopomofo and hangul. Emoji too: it takes those newer than itself for letters of the word beside them.
# As what stands between the brackets of a regular expression.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3100-\u312f\u3130-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9d"
    "\U0001f000-\U0001faff\U00020000-\U0003ffff"
)
WORD_CHAR = rf"[^\W_{UNSPACED}]"  # of the other scripts


def searched_text(role: str, content: str, calls: str) -> str:
    """What can be found of a row, "" for one that is not searched. `calls` is the JSON of the column."""
    match role:
        case "notice":
            return ""
        case "tool":
            return content[:TOOL_CHARS]
        case _:
            return f"{content}\n{text_of_calls(calls)}" if calls else content


def projected(text: str) -> str:
    """The text for the index: composed, as macOS gives file names taken apart, and every unspaced character a word."""
    return text if text.isascii() else compiled(f"[{UNSPACED}]").sub(r" \g<0> ", normalize("NFC", text))


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """For patterns over `UNSPACED`, which take milliseconds to compile: too long for the start of the program."""
    return re.compile(pattern)


def text_of_calls(column: str) -> str:
    """The name of each tool and what it was given. A column that cannot be read is searched as it stands."""
    try:
        calls = decode_calls(column)
    except UnreadableColumn:
        return column
    return "\n".join(f"{call.name} {text_of_arguments(call.arguments)}" for call in calls)


def text_of_arguments(arguments: str) -> str:
    try:
        return legal(" ".join(leaves(decode(arguments))))
    except UnreadableColumn:
        return arguments


def leaves(value: object) -> Iterator[str]:
    """The texts and numbers of a JSON value, in their order. As JSON they would be full of escapes: "\\nprint"."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        match found:
            case dict():
                waiting += reversed(cast("dict[str, object]", found).values())
            case list():
                waiting += reversed(cast("list[object]", found))
            case str() as text:
                yield text
            case None | bool():
                pass
            case _:
                yield str(found)
