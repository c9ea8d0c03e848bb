"""Bytes of terminals, as they come, to keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Key, Paste
from textual.message import Message

from tui.keyboard import Keyboard, esc_delay_s


def names(messages: list[Message]) -> list[str]:
    return [message.key if isinstance(message, Key) else type(message).__name__ for message in messages]


def pressed(*reads: bytes) -> list[str]:
    """The keys of some reads, then silence."""
    keyboard = Keyboard(0.1)
    messages = [message for read in reads for message in keyboard.feed(read)]
    return names(messages if keyboard.wait_s is None else [*messages, *keyboard.settle()])


@pytest.mark.parametrize(
    ("reads", "keys"),
    [
        ([b"\x1b", b"[A"], ["up"]),
        ([b"\x1b[", b"A"], ["up"]),
        ([b"\x1b", b"O", b"A"], ["up"]),
        ([b"\x1b[1;", b"3A"], ["alt+up"]),
        ([b"\x1b[1;3A"], ["alt+up"]),
        ([b"\x1b\x1b[A"], ["alt+up"]),
        ([b"\x1bb"], ["ctrl+left"]),
        ([b"\x1bx"], ["alt+x"]),
        ([b"\x1bX"], ["alt+shift+x"]),
        ([b"\x1b\r"], ["alt+enter"]),
        ([b"\x1b["], []),
        ([b"\x1bO"], []),
        ([b"\x1b[1;3"], []),
        ([b"\x1b"], ["escape"]),
        ([b"\x1b\x1b"], ["escape", "escape"]),
        ([b"\x1b[27u"], ["escape"]),
    ],
)
def test_F07_only_the_esc_key_is_esc(reads: list[bytes], keys: list[str]) -> None:
    assert pressed(*reads) == keys


def test_F07_a_terminal_that_names_its_keys_gets_time_for_the_rest_of_a_sequence() -> None:
    """Its Esc is no bare byte, so a bare one is a piece of an arrow, however slow the line is."""
    keyboard = Keyboard(0.1)
    keyboard.feed(b"\x1b")
    assert keyboard.wait_s == 0.1
    keyboard.feed(b"[97u\x1b")
    assert (keyboard.wait_s or 0) >= 1


def test_F07_the_wait_for_a_bare_esc_is_longer_over_ssh_and_settable() -> None:
    assert esc_delay_s({}) < esc_delay_s({"SSH_CONNECTION": "1.2.3.4 5 6.7.8.9 22"})
    assert esc_delay_s({"ESCDELAY": "25", "SSH_TTY": "/dev/pts/1"}) == 0.025
    assert esc_delay_s({"ESCDELAY": "soon"}) == esc_delay_s({})


@pytest.mark.parametrize(
    "report",
    [
        b"\x1b[M\xff\xfe\xfd",  # an old mouse report beyond column 95: no UTF-8 (textual #6668)
        b"\x1b[M \xc5\x85",  # the same, by chance UTF-8
        b"\x1b[<0;5",  # cut off by what follows
        b"\x1b[<64;-1;-1M",
        b"\x1b[99999999999999u",
        b"\x1b[?62;22c",
        b"\x1b]10;rgb:1e1e/1e1e/2e2e\x1b\\",
        b"\x1b]11;?\x07",
        b"\x1bP>|tmux 3.4\x1b\\",
        b"\x1b[27;1:1u",
        b"\xff\xc3",
    ],
)
def test_a_report_nobody_asked_for_types_nothing_and_eats_nothing(report: bytes) -> None:
    assert pressed(report, b"\x1b[Aq") == ["up", "q"]


@pytest.mark.parametrize("cut", [2, 4, 12, 27])
def test_the_background_that_a_terminal_tells_types_nothing_wherever_its_reads_end(cut: int) -> None:
    answer = b"\x1b]11;rgb:fafa/fafa/f7f7\x1b\\"
    keyboard = Keyboard(0.1)
    messages = [*keyboard.feed(answer[:cut]), *keyboard.feed(answer[cut:]), *keyboard.feed(b"q")]
    assert names(messages) == ["TerminalBackground", "q"]


@pytest.mark.parametrize("cut", range(1, 40))
def test_F01_a_paste_is_one_event_wherever_its_reads_end(cut: int) -> None:
    sent = "\x1b[200~ein Ü\nzwei\x1b[A \x1b[20 3\x1b[201~z".encode()
    keyboard = Keyboard(0.1)
    messages = [*keyboard.feed(sent[:cut]), *keyboard.feed(sent[cut:])]
    assert [m.text if isinstance(m, Paste) else m for m in messages[:1]] == ["ein Ü\nzwei\x1b[A \x1b[20 3"]
    assert names(messages[1:]) == ["z"]


def test_a_paste_whose_end_got_lost_ends_by_silence() -> None:
    assert pressed(b"\x1b[200~abc\x1b[2") == ["Paste"]


@given(st.lists(st.binary(max_size=12) | st.sampled_from([b"\x1b", b"\x1b[", b"\x1b[200~", b"\x1b[<", b"\x1bO", b"M"])))
def test_no_bytes_raise_and_afterwards_a_key_is_a_key(reads: list[bytes]) -> None:
    keyboard = Keyboard(0.1)
    for read in reads:
        keyboard.feed(read)
    while keyboard.wait_s is not None:
        keyboard.settle()
    keyboard.feed(b" ")  # ends a character that was cut off
    assert names(keyboard.feed(b"q"))[-1:] == ["q"]
