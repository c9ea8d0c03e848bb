"""From the bytes of a terminal to input events: whole sequences, pastes in one piece, and nothing that can raise.

When is ESC the Esc key? A terminal that speaks the kitty protocol reports the key as `CSI 27 u`, at once and without
doubt. Any other sends the bare byte, which also begins every arrow and Alt key, and only silence after it tells: 100 ms
on this machine, where bytes written together arrive together; 300 ms over ssh, where a packet may end between ESC and
`[A`; or what ESCDELAY says, in milliseconds. A false Esc would cancel a turn (F07), so the other sequences that may
stop in the middle wait longer and are then dropped: they are no key of anybody's.
"""

from __future__ import annotations

import logging
import re
from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping

from textual.events import Key, Paste
from textual.message import Message

from tui.background import told_background
from tui.textual_seams import InputParser, input_parser

log = logging.getLogger(__name__)

INCOMPLETE_S = 1.0  # silence after which the rest of a sequence will not come any more
PASTE_SILENCE_S = 2.0  # the same for a paste whose end got lost
MOST_HELD = 4096  # characters; no sequence is as long

PASTE_BEGIN, PASTE_END = "\x1b[200~", "\x1b[201~"

# Mouse reports in an encoding that is never asked for; their bytes need not be UTF-8 (Textualize/textual#6668).
_OLD_MOUSE = re.compile(rb"\x1b\[M[\s\S]{3}")

_SEQUENCE = re.compile(
    r"(?P<text>[^\x1b]+)"
    r"|(?P<csi>\x1b\[(?!M)[-0-?]*[ -/]*[@-~])"  # "-": Ghostty reports places left of the screen
    r"|(?P<ss3>\x1bO[ -~])"
    r"|(?P<meta>\x1b(?P<inner>\x1b\[[A-DFH]))"  # Alt+arrow of rxvt and iTerm2
    r"|(?P<esc>\x1b(?=\x1b[^\[]|\x1b\x1b))"
    r"|\x1b\]11;(?P<background>[^\x07\x1b]{0,64})(?:\x07|\x1b\\)"  # an answer to our question (tui/background.py)
    r"|(?P<dropped>\x1b\[M[\s\S]{3}"  # an old mouse report that came in two reads
    r"|\x1b\[(?!M)[-0-?]*+[ -/]*+(?=[^@-~])"  # broken off by something that cannot belong to it
    r"|\x1b[\]P](?=[\d>!$+|])[^\x07\x1b]*(?:\x07|\x1b\\)"  # an answer to a question of another program
    r"|\x1b(?=\x1b\[))"
    r"|(?P<alt>\x1b[^\x1b\[O\]P])"
    r"|(?P<open_alt>\x1b[\]P](?=[^\d>!$+|]))"
)


class Keyboard:
    """One terminal's input. After `feed`, call `settle` when nothing came for `wait_s` seconds."""

    def __init__(self, esc_delay_s: float) -> None:
        self._bare_esc_s = self._esc_s = esc_delay_s
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._parser: InputParser = input_parser()
        self._held = ""  # the beginning of a sequence, or what may be the end of a paste
        self._paste: list[str] | None = None

    @property
    def wait_s(self) -> float | None:
        """None when nothing is open."""
        if self._paste is not None:
            return PASTE_SILENCE_S
        if not self._held:
            return None
        return self._esc_s if self._held in ("\x1b", "\x1b\x1b", "\x1b[", "\x1bO") else INCOMPLETE_S

    def feed(self, data: bytes) -> list[Message]:
        if self._paste is None:
            data = _OLD_MOUSE.sub(b"", data)
        text, self._held = self._held + self._decode(data), ""
        return list(self._read(text))

    def settle(self) -> list[Message]:
        """The rest will not come: a bare ESC was the Esc key, an open paste is all there is, the rest is nothing."""
        held, self._held = self._held, ""
        if self._paste is not None:
            self._paste.append(held)
            return [self._end_paste()]
        if held.strip("\x1b"):
            return []
        self._esc_s = self._bare_esc_s
        return [_escape() for _ in held]

    # --- inside

    def _read(self, text: str) -> Iterator[Message]:
        at = 0
        while at < len(text):
            if self._paste is not None:
                end, at = text.find(PASTE_END, at), self._read_paste(text, at)
                if end >= 0:
                    yield self._end_paste()
                continue
            match = _SEQUENCE.match(text, at)
            if match is None:
                self._held = text[at:] if len(text) - at <= MOST_HELD else ""
                return
            at = match.end()
            yield from self._events(match)

    def _read_paste(self, text: str, at: int) -> int:
        """Take pasted text up to its end mark or as far as it came. Nothing in it is a key (F02)."""
        assert self._paste is not None
        end = text.find(PASTE_END, at)
        if end >= 0:
            self._paste.append(text[at:end])
            return end + len(PASTE_END)
        kept = next((n for n in range(len(PASTE_END) - 1, 0, -1) if text.endswith(PASTE_END[:n], at)), 0)
        self._paste.append(text[at : len(text) - kept])
        self._held = text[len(text) - kept :]
        return len(text)

    def _end_paste(self) -> Paste:
        pasted, self._paste = "".join(self._paste or ()), None
        return Paste(pasted.replace("\x00", ""))

    def _events(self, match: re.Match[str]) -> Iterator[Message]:
        sequence = match[0]
        match match.lastgroup:
            case "text":
                yield from self._parsed(sequence.replace("\ufffd", ""))
            case "csi" if sequence == PASTE_BEGIN:
                self._paste = []
            case "csi" if sequence.endswith("u"):
                self._esc_s = INCOMPLETE_S  # this terminal never sends the Esc key as a bare byte
                yield from self._parsed(sequence)
            case "csi" | "ss3":
                yield from _without_escape(self._parsed(sequence))
            case "meta" | "inner":
                yield from _without_escape(self._parsed(f"\x1b[1;3{sequence[-1]}"))
            case "esc":
                yield _escape()
            case "background":
                told = told_background(match["background"])
                yield from () if told is None else (told,)
            case "alt":
                yield from list(_without_escape(self._parsed(sequence))) or _alt(sequence[1])
            case _:
                return

    def _parsed(self, sequence: str) -> list[Message]:
        """What Textual makes of a whole sequence; of one it does not know, nothing."""
        try:
            events = list(self._parser.feed(sequence)) if sequence else []
        except (ValueError, ArithmeticError, LookupError, TypeError, RuntimeError):
            log.warning("the terminal sent %r, which can't be read", sequence)
            events = []
        if not events:
            self._parser = input_parser()  # an unknown sequence stays open in it and would swallow what follows
        return events


def esc_delay_s(environ: Mapping[str, str]) -> float:
    """How long a bare ESC waits for the rest of a sequence; see above."""
    wish = environ.get("ESCDELAY", "")
    if wish.isdecimal() and 0 < int(wish) <= 5000:
        return int(wish) / 1000
    return 0.3 if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY") else 0.1


def _without_escape(events: list[Message]) -> Iterator[Message]:
    """Textual reads some Alt sequences as Esc and a key; here Esc is only ever the key itself."""
    return (event for event in events if not (isinstance(event, Key) and event.key == "escape"))


def _escape() -> Key:
    return Key("escape", "\x1b")


def _alt(character: str) -> list[Message]:
    """Alt with a letter, digit or Enter, in Textual's spelling. It carries no character: nothing is typed."""
    if character in "\r\n":
        return [Key("alt+enter", None)]
    if not (character.isascii() and character.isalnum()):
        return []
    shift = "shift+" if character.isupper() else ""
    return [Key(f"alt+{shift}{character.lower()}", None)]
