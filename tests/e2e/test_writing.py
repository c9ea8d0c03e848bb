"""A draft in the person's own editor, and after a kill, in a real terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

EDITOR = """#!/bin/sh
printf 'the editor has it' > /dev/tty
read -r go < /dev/tty
printf ' and more' >> "$1"
"""


def test_the_editor_gets_the_terminal_and_a_killed_draft_is_there_again(
    desk: Any, terminal: Callable[..., Any], tmp_path: Path
) -> None:
    editor = tmp_path / "my editor"
    editor.write_text(EDITOR)
    editor.chmod(0o700)
    hermes = str(Path(sys.executable).with_name("hermes"))
    first = terminal(program=("env", f"EDITOR='{editor}'", hermes))
    first.wait_for("Ask for anything")
    first.type("a thought")
    first.wait_for("a thought")
    first.type("\x07")
    first.wait_for("the editor has it")
    first.type("\r")
    first.wait_for("a thought and more")
    kept = "SELECT value FROM state WHERE value LIKE '%a thought and more%'"
    first.wait_until(lambda _: desk.query(kept), "the draft in the store")
    first.kill()
    second = terminal()
    second.wait_for("a thought and more")
