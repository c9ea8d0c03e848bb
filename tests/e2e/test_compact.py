"""/compact in a real terminal, against a server on loopback: it is shown, cancelled, done and undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

TALE = "The harbour was quiet that morning, and nobody had seen the ferry leave. " * 80
SUMMARY = "## Done\n1. The harbour was watched all morning."
HELD_S = 30.0
ROWS = "SELECT content, active, compacted FROM messages WHERE role IN ('user', 'assistant') ORDER BY id"


def tell(wire: Any, text: str, read: int, *, is_held: bool = False) -> None:
    """An answer that was counted; where it is held, it never ends."""
    usage = {"prompt_tokens": read, "completion_tokens": len(text) // 5, "total_tokens": read + len(text) // 5}
    rest = [HELD_S] if is_held else [wire.chunk({}, "stop"), wire.chunk(None, usage=usage), b"data: [DONE]\n\n"]
    wire.stream(wire.chunk({"content": text}), *rest)


def flat(screen: str) -> str:
    return " ".join(screen.split())


def test_a_conversation_is_compacted_and_brought_back_and_esc_cancels_without_loss(
    desk: Any, terminal: Callable[..., Any], wire: Any
) -> None:
    desk.serve_model(wire.base_url, auxiliary={"titles": False})
    for turn in range(5):
        tell(wire, TALE, 1_000 + 1_300 * turn)
    tell(wire, "## Do", 7_000, is_held=True)
    tell(wire, SUMMARY, 7_000)
    term = terminal(cols=80, rows=24)
    term.wait_for("Ask for anything")
    for turn in range(5):
        term.send(f"question {turn}")
        term.wait_until(lambda screen, turn=turn: len(wire.keys) > turn and "○ idle" in screen, "an answer")
    spoken = desk.query(ROWS)
    assert len(spoken) == 10

    term.send("/compact")
    term.wait_until(lambda screen: "● compacting" in screen and "esc cancels" in screen, "the compaction")
    term.wait_until(lambda _: len(wire.keys) == 6, "the request for a summary")
    term.press("escape")
    term.wait_for("○ idle")
    assert desk.query(ROWS) == spoken

    term.send("/compact")
    term.wait_until(lambda screen: "became a summary" in flat(screen), "what it came to")
    compacted = desk.query(ROWS)
    assert any("The harbour was watched all morning." in text for text, is_active, _ in compacted if is_active)
    assert sum(is_active for _, is_active, _ in compacted) < len(spoken)
    assert {text for text, _, _ in spoken} <= {text for text, _, _ in compacted}

    term.send("/compact undo")
    term.wait_until(lambda screen: "messages are back" in flat(screen), "the undoing")
    assert [row for row in desk.query(ROWS) if row[1]] == spoken
    term.send("/quit")
    assert term.wait_exit() == 0
