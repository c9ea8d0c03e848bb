"""The one place that makes text from models, tools, files and people literal for a terminal.

`visible` spells out what would act, hide or mislead; `plain_output` also resolves what a program wrote for a terminal.
Neither raises; both are linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

_ACTING = frozenset({"Cc", "Cf", "Co", "Zl", "Zp"})
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"
# Letters, symbols and marks by category, that nevertheless show as nothing.
_BLANK_GLYPHS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_SELECTORS = ((0xFE00, 0xFE0D), (0xE0100, 0xE01EF))
# Assigned faster than Python's tables follow: an emoji or ideograph newer than the interpreter is still no oddity.
_GROWING = ((0x1F000, 0x1FAFF), (0x20000, 0x2FFFD), (0x30000, 0x3FFFD))

_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf"
    "\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
# Persian and the Indic scripts spell words with joiners.
_JOINED_SCRIPTS = "\u0620-\u06d3\u06fa-\u06ff\u0750-\u077f\u08a0-\u08c7\u0900-\u0dff"

# Cyrillic, Greek, Armenian and phonetic letters that a reader takes for an ASCII letter.
_LOOK_ALIKES = (
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u051b\u051d\u04cf\u0475"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405\u04c0\u050c\u051a\u051c"
    "\u03bf\u03bd\u03f2\u03f3\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u0585\u0570\u057d\u0578\u0131\u0251\u0261\u217c"
)
_LOOK_ALIKE = re.compile(f"[{_LOOK_ALIKES}]")
_NAME = re.compile(r"[\w.\-]+")
_LABEL = re.compile(r"[^\W_]+")
_ASCII_LETTER = re.compile("[A-Za-z]")
# From the beginning of a name only: looked for from each of its characters, one of 40,000 took twelve seconds.
_ENCODED_NAME = re.compile(r"(?<![\w.\-])[\w.\-]*?\bxn--[\w.\-]+", re.ASCII | re.IGNORECASE)

_ODD_SPACE = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_BLANK_RUN = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]{4,}"
)
_BLANK_NAMES = {" ": "space", "\t": "tab", "\n": "newline"}
# Blanks that still read as layout: a paragraph gap, an indentation, a column.
_MOST_NEWLINES, _MOST_TABS, _MOST_BLANKS = 3, 8, 40
_NAMED_IN_CAUTION = 5


def visible(text: str, *, fold_blanks: bool = False) -> str:
    r"""The text with everything that acts, hides or misleads spelled out, such as `\x1b`, `\u202e` or `\u0430pple.com`.

    `fold_blanks` is for a text that somebody decides on: long runs of blanks become a count, so that they cannot push
    the rest out of sight (C15), and spaces other than the ASCII one are spelled out.
    """
    if fold_blanks:
        text = _ODD_SPACE.sub(_spell_match, _BLANK_RUN.sub(_fold, text))
    return _spell_look_alikes(_spell(text))


def caution(text: str) -> str:
    """One line that names what `visible` has to spell out in this text, or "" when it reads as it is (C16)."""
    spelled = _spell(text)
    hidden = {shown for char in set(text) if (shown := _spell(char)) != char and shown in spelled}
    alikes = set(_LOOK_ALIKE.findall(spelled)) - set(_LOOK_ALIKE.findall(_spell_look_alikes(spelled)))
    parts = (
        ("characters that do not show or that act on the screen", hidden),
        ("letters of another script that look like Latin ones", {_escape(ord(char)) for char in alikes}),
        ("an encoded domain name that may read differently", set(_ENCODED_NAME.findall(text))),
    )
    found = [f"{what} ({', '.join(sorted(names)[:_NAMED_IN_CAUTION])})" for what, names in parts if names]
    return f"Careful, this holds {'; '.join(found)}." if found else ""


class _Spelling(dict[int, str]):
    """What stands for a code point, worked out at its first use: the table for `str.translate`."""

    _most_remembered = 20_000

    def __missing__(self, code: int) -> str:
        shown = _spell_code(code)
        if len(self) < self._most_remembered:
            self[code] = shown
        return shown


_SPELLING = _Spelling()


def _spell(text: str) -> str:
    """Everything but look-alikes. Joiners are judged last, by neighbours that are already as they will be shown."""
    if text.isascii() and text.isprintable():
        return text
    spelled = text.translate(_SPELLING)
    if spelled.isascii():
        return spelled
    return _joiner().sub(lambda match: _spell_match(match) if match["loose"] else match[0], spelled)


@cache
def _joiner() -> re.Pattern[str]:
    """Compiled when first needed: so many ranges take longer than all else in this module."""
    return re.compile(
        f"(?<=[{_EMOJI}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
        f"|(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f))\u200d(?=[{_EMOJI}])"
        f"|(?<=[{_JOINED_SCRIPTS}])[\u200c\u200d](?=[{_JOINED_SCRIPTS}])"
        f"|(?P<loose>[{_JOINERS}])"
    )


def _spell_code(code: int) -> str:
    char = chr(code)
    if char in "\n\t" or char in _JOINERS:
        return char
    category = unicodedata.category(char)
    if category == "Cs":
        return "\ufffd"
    if category in _ACTING or char in _BLANK_GLYPHS or _within(code, _SELECTORS):
        return _escape(code)
    if category == "Cn" and not _within(code, _GROWING):
        return _escape(code)
    return char


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= code <= last for first, last in ranges)


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _spell_match(match: re.Match[str]) -> str:
    return _escape(ord(match[0]))


def _spell_look_alikes(text: str) -> str:
    if text.isascii() or not _LOOK_ALIKE.search(text):
        return text
    return _NAME.sub(_spell_name, text)


def _spell_name(match: re.Match[str]) -> str:
    """A name such as `pay.example.com` misleads where it mixes look-alikes with ASCII letters, or sets them beside."""
    name = match[0]
    if not _LOOK_ALIKE.search(name) or not _ASCII_LETTER.search(name):
        return name
    return _LABEL.sub(_spell_label, name)


def _spell_label(match: re.Match[str]) -> str:
    label = match[0]
    misleads = _ASCII_LETTER.search(label) or all(char in _LOOK_ALIKES or char.isdigit() for char in label)
    return _LOOK_ALIKE.sub(_spell_match, label) if misleads else label


def _fold(match: re.Match[str]) -> str:
    run = match[0]
    counts = Counter(run)
    if len(run) <= _MOST_BLANKS and counts["\n"] <= _MOST_NEWLINES and counts["\t"] <= _MOST_TABS:
        return run
    line_end = "\n" if counts["\n"] else ""
    return f"⟨{', '.join(_counted(char, n) for char, n in counts.items() if n)}⟩{line_end}"


def _counted(char: str, number: int) -> str:
    name = _BLANK_NAMES.get(char)
    if name is None:
        return f"{number:,} × {_escape(ord(char))}"
    return f"{number:,} {name}{'' if number == 1 else 's'}"


# Only what ESC begins is a sequence here. Single C1 characters are spelled out: in text that was decoded wrongly they
# are common, and to obey them (U+009D opens a string) would swallow the rest of the line.
_SEQUENCE = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*+[ -/]*+[@-~]?"  # CSI: colours, cursor, modes
    r"|[\]PX^_][^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC, ended or cut off
    r"|[ -/]*+[0-~]?"  # two-character sequences, charsets, a lone ESC
    r")"
)
_LINE_END = re.compile(r"(?<!\r)\r++(?=\n|\Z)")
_EARLIER_FRAMES = re.compile(r"^[^\n]*\r", re.MULTILINE)
_LINE_WITH_BACKSPACE = re.compile(r"^[^\n]*\x08[^\n]*", re.MULTILINE)


def plain_output(text: str) -> str:
    r"""A program's output as still text: no colours or cursor moves (D06), of `\r` progress the last frame (D05).

    What remains of controls and of characters that do not show is spelled out as in `visible`.
    """
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text:
        text = _SEQUENCE.sub("", text)
    if "\r" in text:
        text = _EARLIER_FRAMES.sub("", _LINE_END.sub("", text))
    if "\b" in text:
        text = _LINE_WITH_BACKSPACE.sub(_apply_backspaces, text)
    return _spell(text.replace("\a", ""))


def _apply_backspaces(match: re.Match[str]) -> str:
    kept: list[str] = []
    for char in match[0]:
        if char != "\b":
            kept.append(char)
        elif kept:
            kept.pop()
    return "".join(kept)


class OutputFolder:
    """`plain_output` for text that comes in pieces: whole lines leave, an unfinished line waits (bounded)."""

    _longest_wait = 65_536  # characters

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._size = 0

    def feed(self, piece: str) -> str:
        """What is settled now."""
        self._waiting.append(piece)
        self._size += len(piece)
        if "\n" not in piece and self._size <= self._longest_wait:
            return ""
        lines, end, rest = "".join(self._waiting).rpartition("\n")
        if len(rest) > self._longest_wait:
            rest = rest[rest.rstrip("\r").rfind("\r") + 1 :]  # frames that a later one replaces
        if len(rest) > self._longest_wait:
            lines, end, rest = lines + end + rest, "", ""
        self._waiting, self._size = [rest], len(rest)
        return plain_output(lines + end)

    def finish(self) -> str:
        """What waited."""
        rest = "".join(self._waiting)
        self._waiting, self._size = [], 0
        return plain_output(rest)
