"""What a model gets of a file, and of what is none."""

from __future__ import annotations

import asyncio
import os
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.base import BadArguments
from agent.tools.file_lines import LINE_CHARS, last_lines, lines_of
from agent.tools.opened import file_at
from agent.tools.read_file import TOTAL_CHARS
from agent.tools.text_file import UTF_8, as_text
from session.models import CallOutcome


async def test_lines_are_numbered(desk, write):
    write("one\n\tt|wo\n\nlast")
    assert (await desk.call("read_file", path="f")).text == "1|one\n2|\tt|wo\n3|\n4|last"


async def test_offset_and_limit_choose_lines_and_say_how_to_go_on(desk, write):
    write("".join(f"{number}\n" for number in range(1, 1001)))
    result = await desk.call("read_file", path="f", offset=999)
    assert result.text == "999|999\n1000|1000"
    result = await desk.call("read_file", path="f", offset=2, limit=2)
    assert result.text == "2|2\n3|3\n(More lines follow: go on with offset 4.)"
    result = await desk.call("read_file", path="f")
    assert result.text.endswith("500|500\n(More lines follow: go on with offset 501.)")


@pytest.mark.parametrize("content", ["a\nb\n", "a\nb"])
async def test_an_offset_past_the_end_says_where_the_end_is(desk, write, content):
    write(content)
    for offset in (3, 9):
        assert "ends at line 2" in (await desk.call("read_file", path="f", offset=offset)).text


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(64), "ELF"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00", "JPEG"),
        (b"%PDF-1.7\n", "PDF"),
        (b"text then \0 a zero", "binary"),
    ],
)
async def test_T10_binary_is_described_not_read(desk, write, content, what):
    write(content, "photo.txt")
    result = await desk.call("read_file", path="photo.txt")
    assert result.outcome is CallOutcome.ERROR
    assert what in result.text
    assert f"{len(content)} bytes" in result.text
    assert len(result.text) < 300


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-8"])
async def test_T10_marked_unicode_is_decoded_without_its_mark(desk, write, encoding):
    write(("\ufeff" + "héllo\n日本\n").encode(encoding))
    assert (await desk.call("read_file", path="f")).text == "1|héllo\n2|日本"


async def test_T10_pipes_devices_sockets_and_folders_are_told_at_once(desk):
    os.mkfifo(desk.place.cwd / "pipe")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(desk.place.cwd / "sock"))
    started = time.monotonic()
    for path, what in (("pipe", "named pipe"), ("/dev/zero", "device"), (".", "folder"), ("sock", "socket")):
        result = await asyncio.wait_for(desk.call("read_file", path=path), 2)
        assert result.outcome is CallOutcome.ERROR
        assert what in result.text
    assert time.monotonic() - started < 2
    server.close()


async def test_T10_an_empty_file_is_said_to_be_empty(desk, write):
    write("")
    result = await desk.call("read_file", path="f")
    assert result.outcome is CallOutcome.OK
    assert "empty, 0 bytes" in result.text


async def test_T05_invalid_bytes_are_replaced_visibly(desk, write):
    write(b"caf\xe9\n")
    assert (await desk.call("read_file", path="f")).text == "1|caf\ufffd"


async def test_T11_a_giant_line_is_capped_and_the_way_to_the_rest_told(desk, write):
    write("x" * 500_000)
    result = await desk.call("read_file", path="f")
    assert "498,000 more characters on this line" in result.text
    assert "cut -c" in result.text
    assert len(result.text) < LINE_CHARS + 300


async def test_T11_a_giant_line_does_not_hide_its_neighbours(desk, write):
    write("<html>\n<img src='data:" + "A" * 100_000 + "'>\n</html>\n")
    lines = (await desk.call("read_file", path="f", offset=1, limit=3)).text.split("\n")
    assert lines[0] == "1|<html>"
    assert lines[1].startswith("2|<img") and "more characters" in lines[1]
    assert lines[2] == "3|</html>"


@pytest.mark.parametrize("length", [LINE_CHARS - 1, LINE_CHARS, LINE_CHARS + 1, LINE_CHARS + 2])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
async def test_T11_the_line_cap_is_exact(desk, write, length, end):
    write("x" * length + end + ("next" if end else ""))
    first, *rest = (await desk.call("read_file", path="f")).text.split("\n")
    over = f" ⟨{length - LINE_CHARS} more characters on this line⟩" if length > LINE_CHARS else ""
    assert first == "1|" + "x" * min(length, LINE_CHARS) + over
    assert not end or rest[0] == "2|next"


async def test_T11_the_total_is_capped(desk, write):
    write(("y" * 1_000 + "\n") * 1_000)
    result = await desk.call("read_file", path="f", limit=2_000)
    assert len(result.text) < TOTAL_CHARS + 300
    assert "go on with offset" in result.text


async def test_crlf_is_said_once(desk, write):
    write("a\r\nb\r\n")
    assert (await desk.call("read_file", path="f")).text == "1|a\n2|b\n(Lines end in CR LF.)"


async def test_a_missing_file_is_a_sentence(desk):
    result = await desk.call("read_file", path="gone")
    assert result.outcome is CallOutcome.ERROR
    assert "No such file" in result.text


@pytest.mark.parametrize(
    ("args", "named"),
    [({"path": 123}, "path"), ({"path": ["a"]}, "path"), ({}, "path"), ({"path": "f", "limit": 2001}, "limit")],
)
async def test_A13_wrong_arguments_are_refused_by_name(desk, args, named):
    with pytest.raises(BadArguments, match=f'"{named}"'):
        await desk.call("read_file", **args)


async def test_a_negative_offset_reads_the_last_lines(desk, write):
    write("".join(f"{number}\n" for number in range(1, 100_001)))
    result = await desk.call("read_file", path="f", offset=-2)
    assert result.text.startswith("-2|99999\n-1|100000\n(Counted from the end")
    result = await desk.call("read_file", path="f", offset=-2_000, limit=2)
    assert result.text.startswith("-2000|98001\n-1999|98002\n(More lines follow: go on with offset -1998.)")


@pytest.mark.parametrize("content", ["a\nb\n", "a\nb", "a\r\nb", "\ufeffa\nb"])
async def test_the_last_lines_of_a_short_file_are_numbered_from_its_front(desk, write, content):
    write(content)
    assert (await desk.call("read_file", path="f", offset=-9)).text.startswith("1|a\n2|b")
    assert (await desk.call("read_file", path="f", offset=-1)).text.startswith("-1|b\n(Counted")


async def test_the_last_lines_of_a_huge_file_take_no_look_at_the_rest(desk, write):
    path = write("head\n" * 2_000)
    with path.open("r+b") as file:
        file.truncate(2**40)  # a terabyte of nothing, which nobody reads in a test
        file.seek(0, os.SEEK_END)
        file.write(b"\nlast but one\nlast\n")
    result = await asyncio.wait_for(desk.call("read_file", path="f", offset=-2), 5)
    assert result.text.startswith("-2|last but one\n-1|last\n")


async def test_T11_a_giant_last_line_is_shown_by_its_end(desk, write):
    write("first\n" + "x" * 5_000_000 + "END")
    result = await desk.call("read_file", path="f", offset=-1)
    assert result.text.startswith("-1|⟨the line begins farther back⟩ xxx")
    assert "xEND\n" in result.text
    assert len(result.text) < LINE_CHARS + 500


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-be", "utf-8"])
async def test_T10_T19_the_last_lines_in_any_encoding(desk, write, encoding):
    write(("\ufeff" + "日本🙂\n" * 40_000 + "Ċ\nend").encode(encoding))
    assert (await desk.call("read_file", path="f", offset=-3)).text.startswith("-3|日本🙂\n-2|Ċ\n-1|end\n")


@given(
    lines=st.lists(st.text(alphabet="ab\r日", max_size=5), max_size=9),
    line_end=st.sampled_from(["\n", "\r\n"]),
    count=st.integers(1, 9),
    is_ended=st.booleans(),
)
def test_the_last_lines_are_those_that_reading_from_the_front_ends_with(
    tmp_path_factory, lines, line_end, count, is_ended
):
    path = tmp_path_factory.mktemp("lines") / "f"
    path.write_text(line_end.join(lines) + line_end * is_ended, newline="")
    with file_at(path.resolve()) as file, as_text(file, UTF_8, "\n") as text:
        whole = list(lines_of(text, "\n"))
    with file_at(path.resolve()) as file:
        found = last_lines(file, UTF_8, "\n", count)
    assert found.lines == whole[-count:]
    assert found.are_all == (count >= len(whole))


async def test_lines_that_end_in_carriage_returns_alone_are_lines(desk, write):
    write("a\rb\rc")
    assert (await desk.call("read_file", path="f")).text == "1|a\n2|b\n3|c\n(Lines end in CR.)"
    write("a\rb\rd")
    assert (await desk.call("read_file", path="f", offset=3)).text.startswith("3|d")


async def test_there_is_no_line_0(desk, write):
    write("a")
    with pytest.raises(BadArguments, match="no line 0"):
        await desk.call("read_file", path="f", offset=0)


async def test_what_was_read_and_is_unchanged_is_not_repeated_unless_asked_for_again(desk, write):
    path = write("a\nb\n")
    whole = (await desk.call("read_file", path="f")).text
    for args in ({}, {"limit": 1}, {"offset": 2}):
        assert "unchanged since" in (await desk.call("read_file", path="f", **args)).text
        assert "unchanged" not in (await desk.call("read_file", path="f")).text
    path.write_text("a\nB\n")
    assert (await desk.call("read_file", path="f")).text == whole.replace("b", "B")


async def test_what_was_not_shown_before_is_shown(desk, write):
    write("".join(f"{number}\n" for number in range(1, 10)))
    await desk.call("read_file", path="f", limit=5)
    assert (await desk.call("read_file", path="f", offset=5, limit=2)).text.startswith("5|5\n6|6")
    assert "unchanged" in (await desk.call("read_file", path="f", offset=2, limit=5)).text
