"""A path is judged by where it really leads."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.approvals.paths import is_inside, resolve
from agent.tools.base import BadArguments, Workplace


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    tmp_path = tmp_path.resolve()
    (tmp_path / "ws/sub").mkdir(parents=True)
    (tmp_path / "ws-evil").mkdir()
    (tmp_path / "out").mkdir()
    return Workplace(tmp_path / "ws/sub", tmp_path / "ws", {"HOME": str(tmp_path / "home")}, tmp_path / "outputs")


@pytest.mark.parametrize(
    ("written", "real"),
    [
        ("x", "ws/sub/x"),
        ("../x", "ws/x"),
        ("../../x", "x"),
        ("./a/../b/./c", "ws/sub/b/c"),
        ("~/x", "home/x"),
        ("~", "home"),
        ("{tmp}/ws/../x", "x"),
        ("file://{tmp}/ws/a%20b", "ws/a b"),
        ("file://localhost{tmp}/x", "x"),
        ("FILE:{tmp}/x", "x"),
        ("~nobody-of-that-name/x", "ws/sub/~nobody-of-that-name/x"),
    ],
)
def test_C19_a_written_path_is_resolved(place, written, real):
    tmp = place.root.parent
    assert resolve(written.format(tmp=tmp), place) == tmp / real


def test_C19_the_kernel_view_of_a_folder_is_resolved(place):
    assert resolve("/proc/self/cwd/../x", place) in (Path.cwd().parent / "x", Path("/proc/self/x"))


def test_C18_symlinks_are_followed_to_where_they_lead(place):
    out = place.root.parent / "out"
    (place.root / "outbox").symlink_to(out)
    (place.cwd / "chain").symlink_to("../outbox")
    assert resolve("../outbox/e.md", place) == out / "e.md"
    assert resolve("chain/new/e.md", place) == out / "new/e.md"
    assert resolve("chain/../e.md", place) == out.parent / "e.md"


@pytest.mark.parametrize("written", ["", "a\0b", "file://elsewhere/x", "file://", "file:///a%00b", "file://[x"])
def test_what_is_no_path_is_refused(place, written):
    with pytest.raises(BadArguments):
        resolve(written, place)


def test_C19_a_common_prefix_is_not_inside(place):
    assert not is_inside(place.root.parent / "ws-evil/x", place.root)
    assert is_inside(place.root / "x", place.root)
    assert is_inside(place.root, place.root)
    assert not is_inside(place.root.parent, place.root)


def test_C18_a_root_behind_a_symlink_still_holds_its_files(place):
    """As /tmp is /private/tmp on macOS."""
    short = place.root.parent / "short"
    short.symlink_to(place.root)
    assert is_inside(short / "x", place.root)
    assert is_inside(place.root / "x", short)
    assert not is_inside(short / "../x", short)
