"""Image files: their paths as people give them, and their sizes as they tell them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from agent.image_files import NoImage, look_at
from agent.image_paths import may_name_images, paths_in

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
JPEG = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc4\0\x03a\xff\xc2\0\x11\x08" + struct.pack(">HH", 480, 640)
VP8 = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640, 480)
VP8L = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 639 | 479 << 14)
VP8X = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0" + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")


@pytest.mark.parametrize("raw", [PNG, GIF, JPEG, VP8, VP8L, VP8X], ids=["png", "gif", "jpeg", "vp8", "vp8l", "vp8x"])
def test_an_image_tells_its_size_and_a_cut_one_does_not(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "image"
    path.write_bytes(raw)
    assert (look_at(path).width, look_at(path).height) == (640, 480)
    path.write_bytes(raw[:-3])
    assert look_at(path).width in (0, 640)


@pytest.mark.parametrize("raw", [b"", b"\xff\xd8", b"words", b"RIFF\0\0\0\0WAVE"])
def test_what_is_no_image_is_refused(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "a.png").write_bytes(raw)
    with pytest.raises(NoImage):
        look_at(tmp_path / "a.png")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/a/b.png", True),
        ("~/b.JPG", True),
        ("'/a/b c.webp' ", True),
        ("file:///a/b.gif\n", True),
        ("./b.png", True),
        ("b.png", False),
        ("see /a/b.png", False),
        ("/a/b.py", False),
        ("/" + "x" * 20_000 + ".png", False),
    ],
)
def test_only_a_path_of_an_image_is_looked_for(text: str, expected: bool) -> None:
    assert may_name_images(text) is expected


def test_paths_are_read_as_terminals_write_them(tmp_path: Path) -> None:
    (tmp_path / "a b.png").write_bytes(PNG)
    whole, other = tmp_path / "a b.png", Path("/x/c.png")
    assert paths_in(f"{whole}\n", tmp_path) == [whole]
    assert paths_in("a\\ b.png '/x/c.png'", tmp_path) == [whole, other]
    assert paths_in("file:///x/c.png file://host/x/c%20d.png", tmp_path) == [other, Path("/x/c d.png")]
    assert paths_in("it's /x/c.png", tmp_path) == []
