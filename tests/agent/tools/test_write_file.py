"""A file is written whole or not at all."""

from __future__ import annotations

import asyncio
import os
import stat

import pytest

from agent.tools.base import BadArguments
from session.models import CallOutcome


async def test_a_new_file_has_exactly_the_content_and_the_umask_mode(desk):
    content = "a\r\nb\n\tü\x1b"
    before = os.umask(0o027)
    try:
        result = await desk.call("write_file", path="new/deep/a.txt", content=content)
    finally:
        os.umask(before)
    path = desk.place.cwd / "new/deep/a.txt"
    assert path.read_bytes() == content.encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert result.text == f"Created {path}: 3 lines, {len(content.encode())} bytes."


async def test_a_replaced_file_keeps_its_mode_and_leaves_no_draft(desk):
    path = desk.place.cwd / "run.sh"
    path.write_text("old")
    path.chmod(0o755)
    result = await desk.call("write_file", path="run.sh", content="new\n")
    assert result.text == f"Replaced {path}: 1 line, 4 bytes."
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert [path.name for path in desk.place.cwd.iterdir()] == ["run.sh"]


async def test_a_symlink_stays_and_its_target_is_written(desk):
    target = desk.place.cwd / "target"
    target.write_text("old")
    (desk.place.cwd / "link").symlink_to("target")
    await desk.call("write_file", path="link", content="new")
    assert (desk.place.cwd / "link").is_symlink()
    assert target.read_text() == "new"


async def test_a_reader_never_sees_half_of_it(desk):
    path = desk.place.cwd / "f"
    old, new = "o" * 3_000_000, "n" * 3_000_000
    path.write_text(old)
    writing = asyncio.create_task(desk.call("write_file", path="f", content=new))
    while not writing.done():
        assert path.read_text() in (old, new)
        await asyncio.sleep(0)
    assert path.read_text() == new


@pytest.mark.parametrize("kind", ["folder", "pipe"])
async def test_what_is_no_file_is_not_replaced(desk, kind):
    path = desk.place.cwd / "x"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    result = await desk.call("write_file", path="x", content="new")
    assert result.outcome is CallOutcome.ERROR
    assert kind in result.text
    assert not path.is_file()


async def test_a_failure_leaves_the_old_file_and_no_draft(desk):
    (desk.place.cwd / "f").write_text("a file, not a folder")
    result = await desk.call("write_file", path="f/under", content="x")
    assert result.outcome is CallOutcome.ERROR
    assert "was not written" in result.text
    assert [path.name for path in desk.place.cwd.iterdir()] == ["f"]


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({"path": "f"}, "content"),
        ({"path": "f", "content": None}, "content"),
        ({"path": "f", "content": {"x": 1}}, "content"),
        ({"path": "f", "content": "half \ud83d"}, "content"),
        ({"path": 1, "content": ""}, "path"),
    ],
)
async def test_A13_wrong_arguments_write_nothing(desk, args, named):
    with pytest.raises(BadArguments, match=f'"{named}"'):
        await desk.call("write_file", **args)
    assert [path.name for path in desk.place.cwd.iterdir()] == []
