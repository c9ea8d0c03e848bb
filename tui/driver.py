"""How the app meets the terminal: no thread and no polling, frames that never block the loop.

Textual's own driver reads in a thread that wakes ten times a second and writes in another one; both need the GIL while
an answer streams, and when the terminal goes away the first spins and the second blocks the exit.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import signal
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct
from textual import constants
from textual.app import App
from textual.driver import Driver
from textual.events import Key, Resize
from textual.geometry import Size
from textual.message import Message

from tui.keyboard import Keyboard
from tui.terminal import Terminal, drain
from tui.textual_seams import hold_drawing, own_driver_fits, resume_drawing

READ_BYTES = 65_536
SLOW_S = 0.1  # a terminal that takes longer than this over a frame gets no more of them until it has caught up
MOST_WAITING = 4_000_000  # bytes; the largest frame of the largest screen is a quarter of it
PARTING_S = 0.3  # how long a last frame may take on the way out


class Hooks(Struct, frozen=True):
    """What the driver tells those who started it: the terminal went away, the first frame is out, a key came (Enter?)."""

    gone: Callable[[], None]
    drawn: Callable[[], object]
    key: Callable[[bool], None]


class Output:
    """Writes each frame at once. What a slow terminal does not take waits; meanwhile nothing is drawn."""

    def __init__(self, terminal: Terminal, app: App[None], gone: Callable[[], None]) -> None:
        self._terminal = terminal
        self._app = app
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._parts: list[str] = []
        self._rest = b""
        self._patience: asyncio.TimerHandle | None = None
        self._is_holding = False

    def write(self, text: str) -> None:
        """Text for the next flush. A bell or a clipboard write has none of its own: one follows in any case."""
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(text)

    def flush(self) -> None:
        data = "".join(self._parts).encode("utf-8", "replace")
        self._parts.clear()
        if not data or not self._terminal.is_up:
            return
        if self._rest:
            self._wait_behind(data)
            return
        self._rest = self._send(data)
        if self._rest:
            self._loop.add_writer(self._terminal.fd, self._go_on)
            self._patience = self._loop.call_later(SLOW_S, self._hold)

    def finish(self) -> None:
        """The last words before the terminal is put back."""
        self.flush()
        if self._rest:
            self._loop.remove_writer(self._terminal.fd)
            self._terminal.cut_output = bool(drain(self._terminal.fd, self._rest, PARTING_S))
        self._settle()

    def _wait_behind(self, data: bytes) -> None:
        """What still comes while drawing is held, titles for instance, must not add up to all memory there is."""
        if len(self._rest) + len(data) <= MOST_WAITING:
            self._rest += data
        else:
            self._hold()  # what is left out here is drawn when all is drawn again

    def _send(self, data: bytes) -> bytes:
        try:
            return data[os.write(self._terminal.fd, data) :]
        except BlockingIOError:
            return data
        except OSError:
            self._gone()
            return b""

    def _go_on(self) -> None:
        self._rest = self._send(self._rest)
        if not self._rest:
            self._loop.remove_writer(self._terminal.fd)
            self._settle()

    def _hold(self) -> None:
        if not self._is_holding:
            self._is_holding = True
            hold_drawing(self._app)

    def _settle(self) -> None:
        self._rest = b""
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if self._is_holding:
            self._is_holding = False
            resume_drawing(self._app)


class TtyDriver(Driver):
    """Keys and frames over one non-blocking file descriptor on the app's own loop."""

    def __init__(
        self,
        app: App[None],
        *,
        terminal: Terminal,
        hooks: Hooks,
        esc_delay_s: float,
        ask: str,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._terminal = terminal
        self._hooks = hooks
        self._ask = ask
        self._keyboard = Keyboard(esc_delay_s)
        self._output = Output(terminal, app, self._lose)
        self._silence: asyncio.TimerHandle | None = None
        self._is_lost = False
        self._has_drawn = False

    @property
    def can_suspend(self) -> bool:
        return True

    # --- output

    def write(self, data: str) -> None:
        self._output.write(data)

    def flush(self) -> None:
        """Called after each frame."""
        self._output.flush()
        if not self._has_drawn:
            self._has_drawn = True
            self._hooks.drawn()

    # --- modes

    def start_application_mode(self) -> None:
        self._output.write(self._terminal.enter(kitty=not constants.DISABLE_KITTY_KEY, ask=self._ask))
        self._output.flush()
        self._loop.add_reader(self._terminal.fd, self._read)
        self._loop.add_signal_handler(signal.SIGWINCH, self._resize)
        self._loop.add_signal_handler(signal.SIGTSTP, self._stop)
        self._loop.add_signal_handler(signal.SIGCONT, self._continue)
        self._resize()

    def disable_input(self) -> None:
        self._loop.remove_reader(self._terminal.fd)
        for number in (signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT):
            self._loop.remove_signal_handler(number)
        if self._silence is not None:
            self._silence.cancel()

    def stop_application_mode(self) -> None:
        self.disable_input()
        if self._terminal.is_up:
            self._output.finish()
            self._terminal.restore()

    def _stop(self) -> None:
        """Ctrl+Z from outside (the key itself is the app's): the shell gets its terminal back first (F13)."""
        self.suspend_application_mode()
        os.kill(os.getpid(), signal.SIGSTOP)  # returns when the shell continues us
        self.resume_application_mode()
        self.send_message(self.SignalResume())
        self._app.refresh()

    def _continue(self) -> None:
        """Continued after a SIGSTOP that nobody could catch: the shell changed the modes under us."""
        if self._terminal.is_up:
            self._terminal.restore()
            self._output.write(self._terminal.enter(kitty=not constants.DISABLE_KITTY_KEY))
            self._app.refresh()

    def _resize(self) -> None:
        size = Size(*self._terminal.size())
        self.send_message(Resize(size, size))

    # --- input

    def send_message(self, message: Message) -> None:
        """To the app at once; we are on its loop."""
        self._app.post_message(message)

    def _read(self) -> None:
        try:
            data = os.read(self._terminal.fd, READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._lose()
            return
        self._deliver(self._keyboard.feed(data))
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None
        if (wait_s := self._keyboard.wait_s) is not None:
            self._silence = self._loop.call_later(wait_s, self._settle_keys)

    def _settle_keys(self) -> None:
        self._silence = None
        self._deliver(self._keyboard.settle())

    def _deliver(self, messages: list[Message]) -> None:
        for message in messages:
            if isinstance(message, Key):
                self._hooks.key(message.key == "enter")
            self.process_message(message)

    def _lose(self) -> None:
        """End of file or an error: there is no terminal any more. Watching it further would spin."""
        if self._is_lost:
            return
        self._is_lost = True
        for forget in (self._loop.remove_reader, self._loop.remove_writer):
            with suppress(OSError, ValueError):
                forget(self._terminal.fd)
        self._hooks.gone()


def driver_for(terminal: Terminal, hooks: Hooks, *, esc_delay_s: float, ask: str) -> type[Driver] | None:
    """A driver class bound to this terminal; None where Textual's own must do."""
    if not (own_driver_fits() and _can_be_watched(terminal.fd)):
        return None

    class BoundDriver(TtyDriver):
        def __init__(
            self, app: App[None], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
        ) -> None:
            super().__init__(
                app,
                terminal=terminal,
                hooks=hooks,
                esc_delay_s=esc_delay_s,
                ask=ask,
                debug=debug,
                mouse=mouse,
                size=size,
            )

    return BoundDriver


def _can_be_watched(fd: int) -> bool:
    """Whether the loop's selector takes this file descriptor; kqueue refuses some terminals."""
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(fd, selectors.EVENT_READ | selectors.EVENT_WRITE)
        except (OSError, ValueError):
            return False
    return True
