"""The size that a screen ends with, whatever came between."""

from __future__ import annotations

import asyncio

from textual.events import Resize
from textual.geometry import Size


async def resize(app, size: Size) -> None:
    """Until it lies in the queue of the screen, which need not have heard of it."""
    app.post_message(Resize(size, size))
    async with asyncio.timeout(15):
        while app.size != size or app._resize_event is not None:
            await asyncio.sleep(0.001)


async def test_a_busy_screen_ends_with_the_last_of_two_sizes(desk):
    small, last = Size(18, 5), Size(44, 18)
    async with desk(size=(80, 24)) as d:
        d.asks("touch a")
        screen, is_free = await d.asked(), asyncio.Event()
        screen.call_later(is_free.wait)
        await resize(d.app, small)
        screen.call_later(lambda: None)  # anything between the two, as a busy machine has it
        await resize(d.app, last)
        is_free.set()
        await d.pilot.pause()
        await d.pilot.pause()  # for what the first one put into the queue
        assert (screen.outer_size, screen.has_class("-too-small")) == (last, False)
