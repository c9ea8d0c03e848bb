"""What a folder holds, and what of it is left out."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.tools.base import BadArguments, CallContext
from agent.tools.folder_entries import files_below
from agent.tools.globs import BrokenGlob, path_filter
from agent.tools.ignored import Rules, rules_above
from agent.tools.registry import TOOLS
from session.models import CallOutcome


@pytest.fixture
def tree(desk, write):
    write("x" * 1_234, "src/a.py")
    write("", "src/deep/deeper/b.py")
    write("x", ".env")
    write("x", ".git/config")
    write("*.log\nbuild/\n", ".gitignore")
    write("x", "run.log")
    write("x", "build/out")
    (desk.place.cwd / "link").symlink_to("src")
    os.mkfifo(desk.place.cwd / "pipe")
    return desk


async def test_a_tree_is_sorted_and_marked(tree):
    assert (await tree.call("list_files")).text.split("\n") == [
        f"{tree.place.cwd}/",
        ".env  1 B",
        ".gitignore  13 B",
        "link  -> src",
        "pipe  (not a file)",
        "src/",
        "  a.py  1.2 kB",
        "  deep/ …",
        "(7 entries, 2 left out by .gitignore.)",
    ]


async def test_flat_paths_go_as_deep_as_asked(tree):
    assert (await tree.call("list_files", path="src", flat=True, depth=9)).text.split("\n")[1:] == [
        "a.py  1.2 kB",
        "deep/",
        "deep/deeper/",
        "deep/deeper/b.py  0 B",
        "(4 entries.)",
    ]


async def test_what_is_ignored_is_listed_only_if_asked_for_and_git_never(tree):
    text = (await tree.call("list_files", ignored=True, depth=1)).text
    assert "run.log" in text and "build/ …" in text
    assert ".git/" not in text


async def test_rules_from_above_hold_in_a_folder_that_is_listed_by_itself(tree, write):
    write("x", "src/old.log")
    assert "old.log" not in (await tree.call("list_files", path="src")).text
    write("!old.log\n", "src/.gitignore")
    assert "old.log" in (await tree.call("list_files", path="src")).text


async def test_the_nearest_come_first_where_not_all_are_told(desk, write):
    for number in range(30):
        write("", f"a/deep/{number:02}")
        write("", f"b{number:02}")
    text = (await desk.call("list_files", depth=3, limit=40)).text
    assert "b29" in text
    assert "(22 more here)" in text
    assert "(40 entries.)" in text
    text = (await desk.call("list_files", limit=2)).text
    assert text.endswith("a/ …\nb00  0 B\n(29 more here)\n(2 entries.)")


async def test_D01_names_stay_on_their_line_and_are_legal_text(desk):
    (desk.place.cwd / "a\nb\x1b[2J").touch()
    Path(os.fsdecode(os.fsencode(desk.place.cwd) + b"/caf\xe9")).touch()
    text = (await desk.call("list_files")).text
    assert r"a\x0ab\x1b[2J" in text
    assert "caf\ufffd" in text


@pytest.mark.parametrize("path", ["gone", "src/a.py"])
async def test_what_is_no_folder_is_a_sentence(tree, path):
    result = await tree.call("list_files", path=path)
    assert result.outcome is CallOutcome.ERROR
    assert "could not be listed" in result.text


async def test_C18_a_folder_that_became_a_link_is_not_listed(tree):
    touch = TOOLS["list_files"].touches({"path": "build"}, tree.place)
    (tree.place.cwd / "build/out").unlink()
    (tree.place.cwd / "build").rmdir()
    (tree.place.cwd / "build").symlink_to("/")
    result = await TOOLS["list_files"].run({"path": "build"}, CallContext(tree.place, "c", tree.pieces.append, touch))
    assert "became a link after it was checked" in result.text


@pytest.mark.parametrize("args", [{"depth": 0}, {"depth": 21}, {"limit": 0}, {"path": 1}, {"flat": "yes"}, {"deep": 1}])
async def test_A13_wrong_arguments_are_refused(desk, args):
    with pytest.raises(BadArguments):
        await desk.call("list_files", **args)


# --- the rules themselves, by git's own word

NAME = st.sampled_from(["a", "b", "ab", "a.b", "b c", "[a]", "#a", "!a", "-", "a*", " a", "A"])
PIECE = st.sampled_from(
    ["a", "b", "*", "?", "[ab]", "[!a]", "[a-b]", "\\a", "\\*", "!", ".", "#", " ", "[]a]", "[[:alpha:]]"]
)
PART = st.lists(PIECE, min_size=1, max_size=3).map("".join) | st.sampled_from(["**", "**", ""])
PATTERN = st.tuples(
    st.sampled_from(["", "", "!", "/", "\\#", "\\!"]),
    st.lists(PART, min_size=1, max_size=3).map("/".join),
    st.sampled_from(["", "", "/", " ", "\\ "]),
).map("".join)
IGNORING = st.lists(PATTERN, max_size=4).map("\n".join)


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git to ask")
@settings(max_examples=60)
@given(
    files=st.lists(st.lists(NAME, min_size=1, max_size=3).map("/".join), min_size=1, max_size=12),
    ignoring=st.dictionaries(st.sampled_from(["", "a/", "a/b/", ".git/info/"]), IGNORING),
)
def test_what_is_ignored_is_what_git_ignores(tmp_path_factory, files, ignoring):
    top = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", top], check=True)
    for file in files:
        place(top / file, "")
    for folder, text in ignoring.items():
        place(top / folder / ("exclude" if folder == ".git/info/" else ".gitignore"), text)
    git = ["git", "-C", top, "-c", "core.excludesFile=/dev/null", "-c", "core.fsmonitor=false"]
    listed = subprocess.run(
        [*git, "ls-files", "-o", "--exclude-standard", "-z"], check=True, capture_output=True
    ).stdout
    assert below(top) == sorted(os.fsdecode(path) for path in listed.split(b"\0") if path)


def place(path: Path, text: str) -> None:
    """A file, unless another one is where its folder would be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError:
        return


def below(folder: Path) -> list[str]:
    rules, path = rules_above(folder)
    handle = os.open(folder, os.O_RDONLY)
    try:
        return sorted(file for file, _, _ in files_below(handle, path, rules, with_ignored=False))
    finally:
        os.close(handle)


def test_a_repository_inside_of_another_has_its_own_rules(tmp_path):
    for file in ("in/.git/HEAD", "in/a.log", "b.log", "c"):
        place(tmp_path / file, "")
    (tmp_path / ".git").mkdir()
    place(tmp_path / ".gitignore", "*.log\n")
    assert below(tmp_path) == [".gitignore", "c", "in/a.log"]


def test_no_rule_without_a_file():
    assert not Rules().ignores("a", is_folder=True)


@pytest.mark.parametrize(
    ("glob", "path", "is_meant"),
    [
        ("*.py", "a/b.py", True),
        ("a/*.py", "a/b.py", True),
        ("a/*.py", "a/c/b.py", False),
        ("./a/**/*.{py,md}", "a/c/d/b.md", True),
        ("**/b", "b", True),
        ("a/", "a/b/c", True),
        ("a?c", "a/c", False),
        ("[!a]b", "/b", False),
        ("{a,b", "{a,b", True),
        ("", "anything", True),
    ],
)
def test_a_glob_means_paths(glob, path, is_meant):
    assert path_filter(glob)(path) is is_meant


@pytest.mark.parametrize("glob", ["[a", "a\\", "x/{a,[}"])
def test_a_broken_glob_is_told(glob):
    with pytest.raises(BrokenGlob):
        path_filter(glob)


@pytest.mark.parametrize("glob", ["a*" * 40 + "b", "**/a/" * 40 + "b", "*a" * 40 + "/**/b"])
def test_a_glob_with_many_stars_fails_soon(glob):
    assert not path_filter(glob)("a" * 250)
    assert not path_filter(glob)("a/" * 1_000 + "a")


def test_many_braces_do_not_multiply_without_end():
    assert path_filter("{a,b}" * 5)("ababa")
    with pytest.raises(BrokenGlob, match="1,000"):
        path_filter("{a,b}" * 40)
