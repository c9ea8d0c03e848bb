"""What is loaded when the first frame goes to the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Warmed up afterwards, or loaded on first use.
LATE = {"openai", "httpx", "httpx2", "rich.markdown", "markdown_it", "pygments", "pydantic", "anyio"}

WATCHED = """
import os, sys

plain_write = os.write

def write(fd, data):
    if b"for anything" in bytes(data) and not os.path.exists(sys.argv[1]):
        with open(sys.argv[1], "w") as loaded:
            loaded.write("\\n".join(sys.modules))
    return plain_write(fd, data)

os.write = write
from tui.cli.main import main
sys.exit(main([]))
"""


def test_nothing_heavy_is_loaded_at_the_first_frame(terminal: Callable[..., Any], tmp_path: Path) -> None:
    loaded = tmp_path / "loaded"
    term = terminal(str(loaded), program=[sys.executable, "-c", WATCHED])
    term.wait_for("for anything")
    names = set(loaded.read_text().splitlines())
    assert "tui.app" in names
    assert names & LATE == set()
