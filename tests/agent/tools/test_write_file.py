"""A file is written whole or not at all."""

from __future__ import annotations

import asyncio
import os
import stat

import pytest

from agent.tools.base import BadArguments, CallContext
from agent.tools.registry import TOOLS
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
    await desk.call("read_file", path="run.sh")
    result = await desk.call("write_file", path="run.sh", content="new\n")
    assert result.text == f"Replaced {path}: 1 line, 4 bytes."
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert [path.name for path in desk.place.cwd.iterdir()] == ["run.sh"]


async def test_a_symlink_stays_and_its_target_is_written(desk):
    target = desk.place.cwd / "target"
    target.write_text("old")
    (desk.place.cwd / "link").symlink_to("target")
    await desk.call("read_file", path="target")
    await desk.call("write_file", path="link", content="new")
    assert (desk.place.cwd / "link").is_symlink()
    assert target.read_text() == "new"


async def test_a_reader_never_sees_half_of_it(desk):
    path = desk.place.cwd / "f"
    old, new = "o" * 3_000_000, "n" * 3_000_000
    await desk.call("write_file", path="f", content=old)
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


async def test_T18_a_file_that_was_not_read_is_not_replaced(desk, write):
    path = write("one\ntwo\n")
    result = await desk.call("write_file", path="f", content="new")
    assert result.outcome is CallOutcome.ERROR
    assert "has not been read in this session" in result.text
    await desk.call("read_file", path="f", limit=1)
    result = await desk.call("write_file", path="f", content="new")
    assert "only been read in part" in result.text
    assert path.read_text() == "one\ntwo\n"
    await desk.call("read_file", path="f", offset=2)
    assert (await desk.call("write_file", path="f", content="new")).outcome is CallOutcome.OK
    assert (await desk.call("write_file", path="f", content="newer")).outcome is CallOutcome.OK
    assert path.read_text() == "newer"


@pytest.mark.parametrize("content", ["x" * 3_000, "a\n" + "y" * 3_000 + "\nb\n"])
async def test_T18_a_line_that_was_cut_was_not_read(desk, write, content):
    write(content)
    await desk.call("read_file", path="f")
    assert "in part" in (await desk.call("write_file", path="f", content="new")).text


async def test_T18_a_file_that_changed_since_it_was_read_is_not_replaced(desk, write):
    path = write("old")
    await desk.call("read_file", path="f")
    about = path.stat()
    path.write_text("his")
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))  # as fast as the clock of the file system is coarse
    result = await desk.call("write_file", path="f", content="new")
    assert result.outcome is CallOutcome.ERROR
    assert "changed on disk since it was read; read it again" in result.text
    assert path.read_text() == "his"


async def test_an_empty_file_may_be_replaced_unread(desk, write):
    path = write("")
    assert (await desk.call("write_file", path="f", content="new")).outcome is CallOutcome.OK
    assert path.read_text() == "new"


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("\ufeffa\n".encode(), "UTF-8 with a byte order mark"),
        ("\ufeffa\n".encode("utf-16-le"), "UTF-16"),
        (b"a\r\nb\r\n", "CR LF"),
    ],
)
async def test_T06_T19_what_is_lost_of_the_old_form_is_said(desk, write, before, said):
    path = write(before)
    await desk.call("read_file", path="f")
    assert said in (await desk.call("write_file", path="f", content="new\n")).text
    assert path.read_bytes() == b"new\n"


async def test_T18_what_was_approved_is_what_is_made(desk, write):
    args = {"path": "f", "content": "new"}
    change = TOOLS["write_file"].preview(args, desk.place)
    assert (change.before, change.after, change.base) == ("", "new", "")
    path = write("made meanwhile")
    result = await TOOLS["write_file"].run(args, CallContext(desk.place, "c", desk.pieces.append, change=change))
    assert "after this change was looked at" in result.text
    assert path.read_text() == "made meanwhile"


async def test_a_refusal_is_told_before_anybody_is_asked(desk, write):
    write("unread")
    with pytest.raises(BadArguments, match="not been read"):
        TOOLS["write_file"].preview({"path": "f", "content": "new"}, desk.place)


async def test_of_two_writes_at_once_one_finds_the_file_changed(desk, write):
    path = write("a\nb\n")
    done = await asyncio.gather(
        desk.call("patch", path="f", old="a", new="A"), desk.call("patch", path="f", old="b", new="B")
    )
    made = [result.outcome is CallOutcome.OK for result in done]
    assert path.read_text() == {(True, True): "A\nB\n", (True, False): "A\nb\n", (False, True): "a\nB\n"}[*made]
