"""A Textual app of a few lines over our driver: each key shows, and some do harm. Arguments: the folder for its log.

b blocks the loop, f floods the screen, e prints to fd 1 and 2, x raises in a handler, w in a worker, q leaves.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from textual.app import App, ComposeResult
from textual.events import Key, MouseEvent, Paste, Resize
from textual.widgets import Static

from tui.driver import Hooks, driver_for
from tui.ending import Ending
from tui.terminal import Terminal, diverted_output
from tui.textual_seams import catch_crashes


class SmallApp(App[None]):
    ENABLE_COMMAND_PALETTE = False

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.frame = 0

    def compose(self) -> ComposeResult:
        yield Static("ready", id="seen", markup=False)
        yield Static("", id="flood", markup=False)

    def show(self, what: str) -> None:
        self.seen.append(what)
        self.query_one("#seen", Static).update(" ".join(self.seen[-12:]))

    def on_resize(self, event: Resize) -> None:
        if (event.size.width, event.size.height) != (100, 30):
            self.show(f"{event.size.width}x{event.size.height}")

    def on_paste(self, event: Paste) -> None:
        self.show(f"paste({len(event.text)})")

    def on_mouse_down(self, event: MouseEvent) -> None:
        self.show(f"mouse({event.x},{event.y})")

    def on_key(self, event: Key) -> None:
        match event.key:
            case "b":
                time.sleep(60)
            case "f":
                self.set_interval(1 / 60, self.flood)
            case "e":
                os.write(2, b"noise on two\n")
                os.write(1, b"noise on one\n")
            case "x":
                raise ValueError("a secret in x")
            case "w":
                self.run_worker(self.fail())
            case "q":
                self.exit()
            case _:
                pass
        self.show(event.key)

    async def fail(self) -> None:
        raise ValueError("a secret in w")

    def flood(self) -> None:
        self.frame += 1
        line = f"{self.frame:6} " + chr(97 + self.frame % 26) * 90
        self.query_one("#flood", Static).update("\n".join([line] * 25))


async def show(app: SmallApp, ending: Ending) -> int:
    ending.listen(app.exit)
    await app.run_async()
    ending.unlisten()
    return app.return_code or 0


def main(folder: Path) -> int:
    terminal = Terminal.open()
    log = os.open(folder / "fd.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    crashes = (folder / "crash.log").open("a")
    app = SmallApp()
    with Ending(terminal.restore, terminal.fd) as ending:
        app.driver_class = driver_for(
            terminal,
            Hooks(ending.lost_terminal, lambda: None, lambda is_enter: None),
            esc_delay_s=0.1,
            ask="",
        )
        catch_crashes(app, lambda error: print(repr(error), file=crashes, flush=True))
        with diverted_output(log):
            code = asyncio.run(show(app, ending))
    return ending.exit_code or code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
