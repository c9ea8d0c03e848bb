"""A path that was judged is opened as it was judged, or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.tools.base import CallContext, ToolResult
from agent.tools.registry import TOOLS
from session.models import CallOutcome

CALLS: list[tuple[str, dict[str, object]]] = [
    ("read_file", {}),
    ("write_file", {"content": "new"}),
    ("patch", {"old": "secret", "new": "new"}),
    ("patch", {"old": "", "new": "new"}),
]


@pytest.fixture
def world(desk) -> Path:
    """A workspace with a folder in it, and one outside that holds the same names."""
    for folder in (desk.place.cwd / "a/b", desk.place.cwd.parent / "out/b"):
        folder.mkdir(parents=True)
        (folder / "f").write_text("secret")
    return desk.place.cwd


@pytest.fixture
def judged_before(desk) -> Callable[..., object]:
    """Run a call by the path that it had before something happened."""

    async def call(name: str, args: dict[str, object], happens: Callable[[], object]) -> ToolResult:
        touch = TOOLS[name].touches(args, desk.place)
        happens()
        return await TOOLS[name].run(args, CallContext(desk.place, "call-1", desk.pieces.append, touch))

    return call


def linked(path: Path, target: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.symlink_to(target)


@pytest.mark.parametrize(("name", "args"), CALLS)
@pytest.mark.parametrize("part", ["a", "a/b", "a/b/f"])
async def test_C18_what_became_a_link_after_it_was_checked_is_not_followed(
    desk, world, judged_before, name, args, part
):
    out = world.parent / "out"
    to = {"a": out, "a/b": out / "b", "a/b/f": out / "b/f"}[part]
    result = await judged_before(name, {"path": "a/b/f", **args}, lambda: linked(world / part, to))
    assert result.outcome is CallOutcome.ERROR
    assert f"{world / part} became a link after it was checked; nothing was done" in result.text
    assert (out / "b/f").read_text() == "secret"
    assert [path.name for path in (out / "b").iterdir()] == ["f"]


@pytest.mark.parametrize(("name", "args"), [call for call in CALLS if call[0] != "read_file"][::2])
async def test_C18_a_missing_folder_is_not_made_behind_a_link(desk, world, judged_before, name, args):
    out = world.parent / "out"
    args = {"path": "a/new/f", "content": "new"} if name == "write_file" else {"path": "a/new/f", **args}
    result = await judged_before(name, args, lambda: linked(world / "a", out))
    assert result.outcome is CallOutcome.ERROR
    assert not (out / "new").exists()


async def test_C18_a_path_through_links_that_were_there_is_followed(desk, world):
    (world / "short").symlink_to("a/b")
    assert (await desk.call("read_file", path="short/f")).text == "1|secret"
    assert (await desk.call("write_file", path="short/f", content="new")).outcome is CallOutcome.OK
    assert (world / "a/b/f").read_text() == "new"


async def test_a_folder_that_can_be_entered_but_not_listed_is_passed(desk, world):
    if os.geteuid() == 0 or not hasattr(os, "O_PATH"):
        pytest.skip("root lists everything, and only O_PATH passes")
    (world / "a").chmod(0o111)
    assert (await desk.call("read_file", path="a/b/f")).text == "1|secret"
