"""The size that a screen ends with, whatever came between."""

from __future__ import annotations

import asyncio

import pytest
from textual.events import Resize
from textual.geometry import Size

from tui.screens.approval import ApprovalScreen


async def resize(app, size: Size) -> None:
    """Until it lies in the queue of the screen, which need not have heard of it."""
    app.post_message(Resize(size, size))
    async with asyncio.timeout(15):
        while app.size != size or app._resize_event is not None:
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("asks", [False, True], ids=["main", "question"])
async def test_a_busy_screen_ends_with_the_last_of_two_sizes(desk, asks):
    small, last = Size(18, 5), Size(44, 18)
    async with desk(size=(80, 24)) as d:
        if asks:
            d.asks("touch a")
            await d.until(lambda: isinstance(d.app.screen, ApprovalScreen))
            await d.asked()
        screen, is_free = d.app.screen, asyncio.Event()
        screen.call_later(is_free.wait)
        for size in (small, last):
            await resize(d.app, size)
            screen.call_later(lambda: None)  # a message between the two, as a busy machine has them
        is_free.set()
        await d.pilot.pause()
        await d.pilot.pause()  # for what the first one put into the queue
        assert (screen.outer_size, screen.has_class("-too-small")) == (last, False)
