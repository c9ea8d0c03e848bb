"""A line that begins with a slash is a command only when it names one."""

from __future__ import annotations

import pytest

from agent.commands.parse import Call, Mistyped, Text, read_line


@pytest.mark.parametrize("line", ["/home/u/p/x.py:45 fix this", "/tmp", "/README.md is wrong", "//", "/", "/ help"])
def test_F09_a_message_that_begins_with_a_path_is_sent_as_text(line):
    assert read_line(line) == Text(line)


@pytest.mark.parametrize(
    ("line", "suggestion"), [("/modle", "model"), ("/eixt", "exit"), ("/personalty x", "personality")]
)
def test_F10_a_mistyped_command_is_neither_run_nor_sent(line, suggestion):
    assert isinstance(found := read_line(line), Mistyped)
    assert found.suggestion == suggestion


@pytest.mark.parametrize(
    ("line", "argument"), [("/model\tgpt", "gpt"), ("/help\n", ""), ("/model a:b", "a:b"), ("/EXIT", "")]
)
def test_F11_white_space_of_any_kind_ends_the_name(line, argument):
    assert isinstance(found := read_line(line), Call)
    assert found.argument == argument


@pytest.mark.parametrize("line", ["please use /model now", " /model"])
def test_F11_a_command_in_the_middle_of_text_is_text(line):
    assert read_line(line) == Text(line)
