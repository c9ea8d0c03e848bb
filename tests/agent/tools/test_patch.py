"""Parts of a file are replaced on the disk, all of them or none."""

from __future__ import annotations

import os
import stat

import pytest

from agent.tools.base import BadArguments, CallContext, FileChange
from agent.tools.registry import TOOLS
from session.models import CallOutcome


async def test_an_edit_is_made_and_shown_as_a_short_diff(desk, write):
    path = write("".join(f"line {number}\n" for number in range(1, 101)))
    path.chmod(0o640)
    result = await desk.call("patch", path="f", old="line 50\n", new="line 50\nmore\n")
    assert result.text.split("\n") == [
        f"Changed {path} in 1 place: +1 -0 lines.",
        "@@ -49,4 +49,5 @@",
        " line 49",
        " line 50",
        "+more",
        " line 51",
        " line 52",
    ]
    assert path.read_text().split("\n")[48:52] == ["line 49", "line 50", "more", "line 51"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [path.name for path in desk.place.cwd.iterdir()] == ["f"]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n"),
        (b"a\rb\rc\r", b"a\rB\rc\r"),
        (b"a\r\nb\nc", b"a\r\nB\nc"),
        (
            "\ufeffa\r\nb\r\n日\ud800".encode("utf-16-le", "surrogatepass"),
            "\ufeffa\r\nB\r\n日\ud800".encode("utf-16-le", "surrogatepass"),
        ),
        ("\ufeffé\nb\n".encode(), "\ufeffé\nB\n".encode()),
        ("\ufeffé\nb\n".encode("utf-16-be"), "\ufeffé\nB\n".encode("utf-16-be")),
        (b"caf\xe9\nb\n\xff", b"caf\xe9\nB\n\xff"),
    ],
)
async def test_T06_T08_T19_line_ends_encoding_mark_and_odd_bytes_are_kept(desk, write, before, expected):
    path = write(before)
    result = await desk.call("patch", path="f", old="b", new="B")
    assert result.outcome is CallOutcome.OK
    assert path.read_bytes() == expected
    result.text.encode()


async def test_edits_are_made_in_order_each_on_what_the_last_one_made(desk, write):
    path = write("a\nb\n")
    edits = [{"old": "a", "new": "x"}, {"old": "x\nb", "new": "y"}]
    assert (await desk.call("patch", path="f", edits=edits)).outcome is CallOutcome.OK
    assert path.read_text() == "y\n"


async def test_if_one_edit_does_not_fit_none_is_made(desk, write):
    path = write("a\nb\nb\n")
    result = await desk.call("patch", path="f", edits=[{"old": "a", "new": "x"}, {"old": "b", "new": "c"}])
    assert result.outcome is CallOutcome.ERROR
    assert "Edit 2" in result.text and "at lines 2, 3" in result.text
    assert path.read_text() == "a\nb\nb\n"


async def test_a_tolerance_is_told(desk, write):
    path = write("  a\n  b\n")
    result = await desk.call("patch", path="f", old="a\nb\n", new="a\nc\n")
    assert "found but for the indentation" in result.text
    assert path.read_text() == "  a\n  c\n"


async def test_a_new_file_is_made_of_an_empty_old(desk):
    result = await desk.call("patch", path="new/f", old="", new="a\n")
    assert result.text.startswith(f"Created {desk.place.cwd / 'new/f'}")
    assert (desk.place.cwd / "new/f").read_text() == "a\n"
    result = await desk.call("patch", path="gone", old="a", new="b")
    assert "does not exist" in result.text


async def test_T18_a_file_that_changed_since_it_was_read_is_left_alone(desk, write):
    path = write("a\nb\n")
    await desk.call("read_file", path="f", limit=1)
    path.write_text("a\nc\nb\n")
    result = await desk.call("patch", path="f", old="b", new="B")
    assert result.outcome is CallOutcome.ERROR
    assert "changed on disk since it was read; read it again" in result.text
    assert path.read_text() == "a\nc\nb\n"
    await desk.call("read_file", path="f")
    assert (await desk.call("patch", path="f", old="b", new="B")).outcome is CallOutcome.OK


async def test_T18_its_own_changes_and_a_mere_touch_are_no_change(desk, write):
    path = write("a\nb\n")
    await desk.call("read_file", path="f")
    assert (await desk.call("patch", path="f", old="a", new="A")).outcome is CallOutcome.OK
    os.utime(path, (1, 1))
    assert (await desk.call("patch", path="f", old="b", new="B")).outcome is CallOutcome.OK
    assert (await desk.call("write_file", path="f", content="C")).outcome is CallOutcome.OK


async def test_T18_what_was_approved_is_what_is_made(desk, write):
    path = write("a\n")
    args = {"path": "f", "old": "a", "new": "b"}
    change = TOOLS["patch"].preview(args, desk.place)
    assert change == FileChange(path, "a\n", "b\n", change.base)
    path.write_text("# other\na\n")
    result = await TOOLS["patch"].run(args, CallContext(desk.place, "c", desk.pieces.append, change=change))
    assert "after this change was looked at" in result.text
    assert path.read_text() == "# other\na\n"


async def test_edits_that_do_not_fit_are_told_before_anybody_is_asked(desk, write):
    write("a\n")
    with pytest.raises(BadArguments, match="not found"):
        TOOLS["patch"].preview({"path": "f", "old": "x", "new": "y"}, desk.place)


@pytest.mark.parametrize("content", [b"\x7fELF\x00", b"a\0b", b"\xff\xfea"])
async def test_T10_what_is_no_text_is_not_changed(desk, write, content):
    path = write(content)
    result = await desk.call("patch", path="f", old="a", new="b")
    assert result.outcome is CallOutcome.ERROR
    assert path.read_bytes() == content


async def test_T10_a_folder_is_not_changed(desk):
    result = await desk.call("patch", path=".", old="a", new="b")
    assert result.outcome is CallOutcome.ERROR
    assert "a folder" in result.text


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({}, "old"),
        ({"old": "a"}, "new"),
        ({"old": 1, "new": "b"}, "old"),
        ({"old": "a", "new": "b", "edits": []}, "edits"),
        ({"edits": []}, "edits"),
        ({"edits": ["a"]}, "Edit 1"),
        ({"edits": [{"old": "a", "new": "b"}, {"old": "a"}]}, "Edit 2: .*new"),
        ({"old": "a", "new": "b", "replace_all": "yes"}, "replace_all"),
    ],
)
def test_A13_wrong_arguments_are_refused_by_name(desk, args, named):
    with pytest.raises(BadArguments, match=named):
        TOOLS["patch"].touches({"path": "f", **args}, desk.place)


def test_what_a_person_judges_names_every_line(desk):
    shown = TOOLS["patch"].shown({"path": "f", "edits": [{"old": "a\nb", "new": "c"}, {"new": "d", "at_end": True}]})
    assert shown == "f\n\n- a\n- b\n+ c\n\n(at the end)\n+ d"
