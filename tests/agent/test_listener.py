"""Listeners read the same story as it happened, however slowly they read."""

from __future__ import annotations

from agent.events import CallOutput, Stamp, TextDelta, TurnStarted
from agent.listener import Listener


def text(words: str, session: str = "s", seq: int = 1) -> TextDelta:
    return TextDelta(Stamp("default", session, seq), words)


def test_adjacent_deltas_of_one_session_merge_in_order():
    listener = Listener()
    for words in ("a", "b", "c"):
        listener.put(text(words))
    [merged] = listener.drain()
    assert merged.text == "abc"


def test_deltas_of_two_sessions_or_two_calls_stay_apart():
    listener = Listener()
    listener.put(text("a", "one"))
    listener.put(text("b", "two"))
    listener.put(CallOutput(Stamp("default", "two", 1), "x", "1"))
    listener.put(CallOutput(Stamp("default", "two", 2), "y", "2"))
    assert len(listener.drain()) == 4


def test_a_listener_that_falls_behind_is_told_so_once():
    listener = Listener(bound=3)
    for seq in range(5):
        listener.put(TurnStarted(Stamp("default", "s", seq)))
    assert listener.fell_behind()
    assert not listener.fell_behind()
    assert len(listener.drain()) <= 3


async def test_wait_returns_when_there_is_news():
    listener = Listener()
    listener.put(text("a"))
    await listener.wait()
    assert listener.drain()
