"""A hermes that runs one command, in front and in the background, and is there to be killed.

`python watched_hermes.py HOME COMMAND`. It prints what the command writes.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from agent.tools import terminal
from agent.tools.base import CallContext, Workplace
from agent.tools.call_record import CallRecords


async def main(home: Path, command: str) -> None:
    place = Workplace(
        *(home, home, {"PATH": os.environ["PATH"]}, home / "outputs" / "s"),
        records=CallRecords(home / "running", "s", lambda text: text),
    )
    place.outputs.parent.mkdir(exist_ok=True)

    async def run(**more: object) -> None:
        ctx = CallContext(place, "c", lambda text: print(text, end="", flush=True))
        await terminal.run({"command": command, **more}, ctx)

    await asyncio.gather(run(background=True), run())
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
