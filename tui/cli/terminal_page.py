"""The page of `hermes doctor --terminal`: what the terminal is, how it draws, and what it makes of keys and the mouse."""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Mapping, Sequence

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.message import Message

from agent.doctor.finding import Finding, Grade
from agent.literal import visible
from tui.cli.terminal_answers import SAMPLES, WRITE_S, Told, ask, told_findings
from tui.ending import Asked, Ending
from tui.keyboard import Keyboard, esc_delay_s
from tui.terminal import Terminal, drain

LOOK_S = 0.5  # how soon another size of the window is noticed
READ_BYTES = 65_536
LEAVE = frozenset({"ctrl+c", "ctrl+q"})
MARKS = {Grade.OK: "✓", Grade.NOTE: "·", Grade.WARNING: "!", Grade.PROBLEM: "✗"}
LOOKS = {"bold": 1, "dim": 2, "italic": 3, "underlined": 4, "reversed": 7, "struck": 9}
SIGNS = "╭─╮ │ ╰─╯  ▁▃▅▇  ● ○ ✓ ✗ ▸ ▾"
HINT = "Press keys, click, paste, go to another window and back. Ctrl+C leaves."


def try_out(known: Sequence[Finding], environ: Mapping[str, str]) -> tuple[list[Finding], int | None]:
    """Show the page with what is known and what the terminal answers. Gives the latter, and the exit code of a signal.

    Raises NoTerminal.
    """
    terminal = Terminal.open()
    told: list[Finding] = []
    try:
        with Ending(terminal.restore, terminal.fd) as ending:
            try:
                with ending.raising():
                    page = TerminalPage(terminal, environ)
                    told += told_findings(page.ask())
                    page.show([*known, *told])
            except Asked:
                pass
            return told, ending.exit_code
    finally:
        terminal.close()


class TerminalPage:
    """First `ask`, then `show` what follows from the answers."""

    def __init__(self, terminal: Terminal, environ: Mapping[str, str]) -> None:
        self._terminal = terminal
        self._environ = environ
        self._keyboard = Keyboard(esc_delay_s(environ))
        self._pressed: deque[str] = deque(maxlen=40)
        self._mouse = "not moved yet"
        self._focus = "not changed yet"
        self._findings: Sequence[Finding] = ()

    def ask(self) -> Told:
        """Put the screen up and ask the terminal about itself."""
        self._write(self._terminal.enter())
        return ask(self._terminal.fd, self._environ)

    def show(self, findings: Sequence[Finding]) -> None:
        """The page with what is known, until the person leaves it or the terminal is gone."""
        self._findings = findings
        poller = select.poll()
        poller.register(self._terminal.fd, select.POLLIN)
        drawn = None
        while True:
            page = self._page(*self._terminal.size())
            if page != drawn:
                self._write(page)
                drawn = page
            wait_s = self._keyboard.wait_s
            if not poller.poll(1000 * (LOOK_S if wait_s is None else wait_s)):
                messages = self._keyboard.settle()
            elif (read := self._read()) is None:
                return
            else:
                messages = self._keyboard.feed(read)
            if any(self._take(message) for message in messages):
                return

    def _read(self) -> bytes | None:
        """None at the end of the terminal."""
        try:
            return os.read(self._terminal.fd, READ_BYTES) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    def _take(self, message: Message) -> bool:
        """Note what came. Whether it was a key that leaves."""
        match message:
            case events.Key(key=key):
                self._pressed.append(visible(key))
                return key in LEAVE
            case events.Paste(text=text):
                self._pressed.append(f"a paste of {len(text)}")
            case events.MouseDown(button=button):
                self._mouse = f"button {button} pressed at column {message.x + 1}, row {message.y + 1}"
            case events.MouseScrollUp() | events.MouseScrollDown():
                way = "up" if isinstance(message, events.MouseScrollUp) else "down"
                self._mouse = f"wheel {way} at column {message.x + 1}, row {message.y + 1}"
            case events.MouseMove():
                self._mouse = f"at column {message.x + 1}, row {message.y + 1}"
            case events.AppFocus():
                self._focus = "it came back"
            case events.AppBlur():
                self._focus = "it went away"
            case _:
                pass
        return False

    def _page(self, columns: int, lines: int) -> str:
        """All rows, each cut to the width, and no more than there is room for; the hint always."""
        rows = [
            f"hermes doctor --terminal · {columns} by {lines}",
            "",
            *(f"{MARKS[finding.grade]} {visible(' '.join(finding.text.split()))}" for finding in self._findings),
            "",
            f"Mouse         {self._mouse}",
            f"Focus         {self._focus}",
            f"Keys          {_newest(self._pressed, columns - 14)}",
            "",
            f"Signs         {SIGNS}",
        ]
        drawn = [set_cell_size(row, columns).rstrip() for row in rows]
        drawn += [_looks(columns), _colours(columns), *_samples(columns)]
        shown = [*drawn[: max(0, lines - 1)], set_cell_size(HINT, columns - 1).rstrip()]
        return "\x1b[H" + "\x1b[K\r\n".join(shown) + "\x1b[K\x1b[J"

    def _write(self, text: str) -> None:
        drain(self._terminal.fd, text.encode("utf-8", "replace"), WRITE_S)


def _newest(pressed: Sequence[str], cells: int) -> str:
    """As many of the newest as there is room for, in their order."""
    told = ""
    for name in reversed(pressed):
        longer = f"{name} {told}".rstrip()
        if cell_len(longer) > cells:
            break
        told = longer
    return told or "none yet"


def _looks(columns: int) -> str:
    plain = f"Looks         {'  '.join(LOOKS)}"
    if cell_len(plain) > columns:
        return ""
    return "Looks         " + "  ".join(f"\x1b[{code}m{name}\x1b[0m" for name, code in LOOKS.items())


def _colours(columns: int) -> str:
    """The sixteen of the terminal, and a run of colours that is smooth only where it has them all."""
    sixteen = "".join(f"\x1b[{code}m \x1b[0m" for code in (*range(40, 48), *range(100, 108)))
    steps = max(0, min(40, columns - 14 - 17))
    run = "".join(f"\x1b[48;2;{255 - 6 * n};{40 + 4 * n};{6 * n}m \x1b[0m" for n in range(steps))
    return "Colours       " + f"{sixteen} {run}" if columns >= 31 else ""


def _samples(columns: int) -> list[str]:
    """Characters with a bar where they should end; the bars stand below each other where the widths agree."""
    if columns < 24:
        return []
    width = max(map(cell_len, SAMPLES.values()))
    bars = [f"{sample}{' ' * (width - cell_len(sample))}│" for sample in SAMPLES.values()]
    each = max(1, (columns - 14) // (width + 1))
    parts = ["".join(bars[at : at + each]) for at in range(0, len(bars), each)]
    return [f"{'Widths' if number == 0 else '':<14}{part}" for number, part in enumerate(parts)]
