"""What runs unasked, and the reason given where a person is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.approvals.policy import Allow, Ask, judge
from agent.tools.base import Touch, Workplace
from agent.tools.registry import TOOLS, definitions


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    root = tmp_path.resolve() / "ws"
    root.mkdir()
    return Workplace(root, root, {"HOME": str(tmp_path)}, tmp_path / "outputs")


def verdict(place: Workplace, name: str, **args: object):
    return judge(name, TOOLS[name].touches(args, place), place)


def test_reading_inside_the_workspace_is_allowed(place):
    assert verdict(place, "read_file", path="a/b") == Allow()


@pytest.mark.parametrize("path", ["../x", "~/x", "/etc/passwd", "file:///etc/passwd", "../ws-evil/x"])
def test_C19_reading_outside_asks_and_names_the_real_path(place, path):
    [real] = TOOLS["read_file"].touches({"path": path}, place).reads
    assert verdict(place, "read_file", path=path) == Ask(f"reads a file outside the workspace ({real})")


def test_writing_asks_and_says_so_when_outside(place):
    assert verdict(place, "write_file", path="a", content="") == Ask("writes a file")
    outside = place.root.parent / "x"
    assert verdict(place, "write_file", path="../x", content="") == Ask(
        f"writes a file outside the workspace ({outside})"
    )


def test_C18_a_symlink_out_of_the_workspace_asks(place):
    out = place.root.parent / "out"
    out.mkdir()
    (place.root / "outbox").symlink_to(out)
    assert verdict(place, "read_file", path="outbox/e.md") == Ask(
        f"reads a file outside the workspace ({out / 'e.md'})"
    )
    assert verdict(place, "write_file", path="outbox/e.md", content="") == Ask(
        f"writes a file outside the workspace ({out / 'e.md'})"
    )


def test_every_command_asks(place):
    assert verdict(place, "terminal", command="ls") == Ask("runs a command")
    ssh = place.root.parent / ".ssh"
    assert verdict(place, "terminal", command="ls", workdir="../.ssh") == Ask(
        f"runs a command outside the workspace ({ssh})"
    )


def test_what_is_not_known_asks(place):
    assert judge("mystery", Touch(reads=(place.root / "a",)), place) == Ask("uses mystery, a tool without a rule")
    assert isinstance(judge("read_file", Touch(), place), Ask)


def test_definitions_name_every_tool_in_the_chat_shape():
    named = {entry["function"]["name"]: entry["function"]["parameters"]["required"] for entry in definitions()}
    assert named == {"terminal": ["command"], "read_file": ["path"], "write_file": ["path", "content"]}


def test_what_was_cut_from_an_output_may_be_read_back(tmp_path):
    place = Workplace(cwd=tmp_path, root=tmp_path / "ws", environ={}, outputs=tmp_path / "outputs")
    log = tmp_path / "outputs" / "terminal-1.log"
    assert isinstance(judge("read_file", Touch(reads=(log,)), place), Allow)
    assert isinstance(judge("write_file", Touch(writes=(log,)), place), Ask)
