"""What a person meets when something around the app is wrong: one clear sentence, and nothing lost."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from typing import Any


def test_a_server_that_is_not_there_is_told_at_once_and_the_prompt_is_kept(
    desk: Any, terminal: Callable[..., Any]
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        desk.serve_model(f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
        term = terminal()
        term.wait_for("Ask for anything")
        term.send("anybody there")
        screen = term.wait_for("✗ failed · peer-model · ~")
    assert "cannot be reached: the connection was refused" in " ".join(screen.split())
    assert desk.query("SELECT content FROM messages WHERE role = 'user'") == [("anybody there",)]


def test_a_server_that_fails_is_asked_again_counted_and_esc_gives_up(
    desk: Any, terminal: Callable[..., Any], wire: Any
) -> None:
    wire.refuse("502 Bad Gateway", "<html>down</html>", "text/html")
    desk.serve_model(wire.base_url)
    term = terminal()
    term.wait_for("Ask for anything")
    term.send("anybody there")
    term.wait_for("(2 of 4)")
    term.press("escape")
    term.wait_for("○ idle · peer-model · ~")
    assert "of 4" not in term.screen()
    assert desk.query("SELECT content FROM messages WHERE role = 'user'") == [("anybody there",)]


def test_a_broken_config_is_named_with_its_line_and_the_demo_stands_in(desk: Any, terminal: Callable[..., Any]) -> None:
    (desk.home / "config.yaml").write_text("model:\n  default: [\nproviders: }\n")
    term = terminal(cols=120)
    term.wait_for("line 3: this is not valid YAML")
    term.choose("The built-in demo")
    term.send("help")
    term.wait_for("read FILE")


def test_a_home_that_is_no_folder_is_refused_before_the_screen_is_up(desk: Any, terminal: Callable[..., Any]) -> None:
    (desk.home / "config.yaml").unlink()
    desk.home.rmdir()
    desk.home.write_text("a file")
    term = terminal()
    term.wait_for(re.compile(r"can't\s+be\s+used"))
    assert term.wait_exit() == 1
    assert "\x1b[?1049h" not in term.written()
    assert desk.home.read_text() == "a file"


def test_a_tiny_terminal_shows_something_and_takes_the_command_to_leave(terminal: Callable[..., Any]) -> None:
    term = terminal(cols=20, rows=5)
    term.wait_until(str.strip, "anything")
    term.press("ctrl+q")
    assert term.wait_exit() == 0
