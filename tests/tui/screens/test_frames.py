"""When a batch of events reaches the screen."""

from __future__ import annotations

import asyncio
import time

from agent.events import Stamp, TextDelta, TurnEnded, TurnStarted
from agent.listener import Listener
from session.models import ExitReason
from tui.screens.frames import CALM_FRAME_S, FRAME_S, Frames

AT = Stamp("p", "s", 1)


async def first_and_last_s() -> float:
    """How long the first words of a turn and its end take to come out."""
    listener = Listener()
    frames = Frames(listener)
    listener.put(TurnStarted(AT))
    await frames.next()
    began = time.monotonic()
    listener.put(TextDelta(AT, "a"))
    await frames.next()
    listener.put(TurnEnded(AT, ExitReason.COMPLETED))
    await frames.next()
    return time.monotonic() - began


async def test_the_first_words_and_the_end_do_not_wait_for_a_frame():
    took_s = [await first_and_last_s() for _ in range(10)]
    assert min(took_s) < FRAME_S / 2, took_s  # one that met a busy machine proves nothing


async def test_in_between_a_frame_gathers_what_comes():
    listener = Listener()
    frames = Frames(listener)
    listener.put(TextDelta(AT, "a"))
    await frames.next()
    waiting = asyncio.create_task(frames.next())
    for _ in range(5):
        listener.put(TextDelta(AT, "b"))
        await asyncio.sleep(0)
    batch = await waiting
    assert "".join(event.text for event in batch) == "bbbbb"


async def test_a_reader_that_is_cancelled_loses_nothing():
    listener = Listener()
    frames = Frames(listener)
    listener.put(TextDelta(AT, "a"))
    await frames.next()
    waiting = asyncio.create_task(frames.next())
    listener.put(TextDelta(AT, "b"))
    await asyncio.sleep(0.005)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert [event.text for event in await frames.next()] == ["b"]


async def test_where_motion_is_unwanted_a_frame_gathers_for_longer():
    listener = Listener()
    frames = Frames(listener, lambda: True)
    listener.put(TextDelta(AT, "a"))
    await frames.next()
    began = time.monotonic()
    listener.put(TextDelta(AT, "b"))
    await frames.next()
    assert time.monotonic() - began > CALM_FRAME_S * 0.8
