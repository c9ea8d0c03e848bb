"""What is found in files, the same with ripgrep and without."""

from __future__ import annotations

import asyncio
import shutil

import psutil
import pytest
from msgspec.structs import replace

from agent.approvals import policy
from agent.tools import search_files
from agent.tools.base import BadArguments, CallContext
from agent.tools.registry import TOOLS
from session.models import CallOutcome

HAS_RIPGREP = shutil.which("rg") is not None


@pytest.fixture(params=["ripgrep", "python"])
def desk(desk, request, peer_is_missing):
    """Once with ripgrep and once on a PATH that has none."""
    if request.param == "python":
        desk.place = replace(desk.place, environ={**desk.place.environ, "PATH": "/nowhere"})
    elif not HAS_RIPGREP:
        peer_is_missing("ripgrep is not installed")
    return desk


@pytest.fixture
def tree(desk, write):
    write("import os\n\ndef alpha():\n    return 1\n", "src/a.py")
    write("alpha = 2\r\nbeta = alpha\r\n", "src/deep/b.py")
    write("alpha in here\n", "notes.md")
    write("alpha\n", ".hidden/c.md")
    write("alpha\n", "build/out.py")
    write("alpha\n", ".git/config")
    write("build/\n*.log\n", ".gitignore")
    write("alpha\n", "run.log")
    write(b"\x7fELF\0alpha\n", "prog")
    write("\ufeffalpha\n".encode("utf-16-le"), "wide.txt")
    write(b"caf\xe9 alpha\n", "latin.txt")
    (desk.place.cwd / "link").symlink_to("src")
    return desk


async def test_lines_come_with_their_paths_in_order_of_paths(tree):
    result = await tree.call("search_files", pattern=r"\balpha\b")
    assert result.text.split("\n") == [
        ".hidden/c.md",
        "1: alpha",
        "latin.txt",
        "1: caf� alpha",
        "notes.md",
        "1: alpha in here",
        "src/a.py",
        "3: def alpha():",
        "src/deep/b.py",
        "1: alpha = 2",
        "2: beta = alpha",
        "wide.txt",
        "1: alpha",
        "(7 matching lines.)",
    ]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"pattern": "alpha$", "glob": "*.py"}, "src/deep/b.py\n2: beta = alpha\n(1 matching line.)"),
        ({"pattern": "alpha", "path": "src", "glob": "deep/**"}, "src/deep/b.py\n1: alpha = 2\n2: beta = alpha\n(2 m"),
        ({"pattern": "ALPHA", "ignore_case": True, "glob": "*.md"}, ".hidden/c.md\n1: alpha\nnotes.md\n1: alpha in"),
        (
            {"pattern": "alpha", "what": "counts", "glob": "*.{py,md}"},
            ".hidden/c.md: 1\nnotes.md: 1\nsrc/a.py: 1\nsrc/de",
        ),
        ({"pattern": "alpha()", "literal": True}, "src/a.py\n3: def alpha():\n(1 matching line.)"),
        ({"pattern": "def", "context": 1}, "src/a.py\n2- \n3: def alpha():\n4-     return 1\n(1 matching line.)"),
        ({"pattern": "alpha", "path": "src/a.py"}, "src/a.py\n3: def alpha():\n(1 matching line.)"),
        ({"pattern": "alpha", "path": "src/a.py", "what": "counts"}, "src/a.py: 1\n(1 file.)"),
        ({"pattern": "alpha", "path": "wide.txt"}, "wide.txt\n1: alpha\n(1 matching line.)"),
        ({"pattern": "alpha", "path": "build"}, "build/out.py\n1: alpha\n(1 matching line.)"),
        ({"pattern": "alpha", "ignored": True, "glob": "*.log"}, "run.log\n1: alpha\n(1 matching line.)"),
        ({"pattern": "*.py", "what": "names"}, "src/a.py\nsrc/deep/b.py\n(2 files.)"),
        ({"pattern": "src/*.py", "what": "names"}, "src/a.py\n(1 file.)"),
        ({"pattern": "**/deep/*", "what": "names"}, "src/deep/b.py\n(1 file.)"),
        ({"pattern": "A.PY", "what": "names", "ignore_case": True}, "src/a.py\n(1 file.)"),
        ({"pattern": "c.md", "what": "names"}, ".hidden/c.md\n(1 file.)"),
        ({"pattern": "nowhere to be found"}, "(Nothing was found.)"),
        ({"pattern": "--version"}, "(Nothing was found.)"),
    ],
)
async def test_what_is_asked_for_is_found(tree, args, expected):
    assert (await tree.call("search_files", **args)).text.startswith(expected)


async def test_pages_go_on_where_the_last_one_ended(tree):
    first = await tree.call("search_files", pattern="alpha", glob="*.py", limit=2)
    assert first.text.endswith("src/deep/b.py\n1: alpha = 2\n(Matching lines 1-2 of 3: go on with offset 2.)")
    second = await tree.call("search_files", pattern="alpha", glob="*.py", limit=2, offset=2)
    assert second.text == "src/deep/b.py\n2: beta = alpha\n(Matching lines 3-3 of 3.)"
    assert (await tree.call("search_files", pattern="alpha", offset=99)).text == "(There are only 7 matching lines.)"


async def test_lines_around_matches_are_told_once(desk, write):
    write("".join(f"{name}\n" for name in "axbxxcde"), "f")
    result = await desk.call("search_files", pattern="x", context=1)
    assert result.text == "f\n1- a\n2: x\n3- b\n4: x\n5: x\n6- c\n(3 matching lines.)"


async def test_T11_a_giant_line_is_cut_around_the_match(desk, write):
    write("é" * 200_000 + "NEEDLE" + "y" * 200_000, "f")
    result = await desk.call("search_files", pattern="NEEDLE")
    assert "NEEDLE" in result.text
    assert result.text.count("…") == 2
    assert len(result.text) < 400
    write("x" * 3_000_000 + "NEEDLE\nNEEDLE", "f")
    result = await desk.call("search_files", pattern="NEEDLE")
    assert "3,000,000 bytes into this line" in result.text and "2: NEEDLE" in result.text


async def test_T10_a_binary_file_is_told_not_searched(tree):
    result = await tree.call("search_files", pattern="alpha", path="prog")
    assert result.outcome is CallOutcome.ERROR
    assert "ELF" in result.text


@pytest.mark.parametrize("pattern", ["(", "["])
async def test_a_broken_expression_is_one_sentence(tree, pattern):
    result = await tree.call("search_files", pattern=pattern)
    assert result.outcome is CallOutcome.ERROR
    assert result.text.startswith('"pattern" cannot be searched for: ') and "\n" not in result.text


async def test_what_may_hold_keys_is_searched_only_by_name(desk, write):
    for name in (".env", "id_rsa", "server.pem", "secrets.py"):
        write("key = 1\n", name)
    left_out = "(Not searched, since it may hold keys: .env, id_rsa, server.pem.)"
    found = f"secrets.py\n1: key = 1\n(1 matching line.)\n{left_out}"
    assert (await desk.call("search_files", pattern="key")).text == found
    assert (await desk.call("search_files", pattern="nowhere")).text.endswith(left_out), "or one could guess at them"
    assert (await desk.call("search_files", pattern="key", path=".env")).text.startswith(".env\n1: key")


async def test_T12_a_flood_of_matches_is_stopped(desk, write):
    for number in range(30):
        write("x\n" * 100_000, f"f{number}")
    result = await desk.call("search_files", pattern="x", limit=3)
    assert "more than these 20,000" in result.text
    assert len(result.text) < 500


async def test_a_search_that_is_cancelled_leaves_no_process(desk, write, eventually):
    write("a" * 40 + "!\n", "f")
    for number in range(200):
        write("x\n" * 200_000, f"g{number}")
    pattern = "(a+)+$|nothing-like-this" if desk.place.environ["PATH"] == "/nowhere" else "nothing-like-this"
    searching = asyncio.create_task(desk.call("search_files", pattern=pattern))
    me = psutil.Process()

    def is_searching() -> bool:
        return any("nothing-like-this" in " ".join(child.cmdline()) for child in alive(me))

    while not searching.done() and not is_searching():
        await asyncio.sleep(0)
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    await eventually(lambda: not is_searching())


def alive(process: psutil.Process) -> list[psutil.Process]:
    return [child for child in process.children(recursive=True) if child.is_running() and child.status() != "zombie"]


async def test_a_search_that_takes_too_long_tells_what_it_has(desk, write, monkeypatch):
    monkeypatch.setattr(search_files, "MOST_S", 0.0)
    write("x\n", "f")
    result = await desk.call("search_files", pattern="x")
    assert "was stopped after" in result.text


async def test_C18_a_folder_that_became_a_link_is_not_searched(desk, write):
    write("key\n", "a/f")
    out = desk.place.cwd.parent / "out"
    out.mkdir()
    (out / "f").write_text("key\n")
    args = {"pattern": "key", "path": "a"}
    touch = TOOLS["search_files"].touches(args, desk.place)
    shutil.rmtree(desk.place.cwd / "a")
    (desk.place.cwd / "a").symlink_to(out)
    result = await TOOLS["search_files"].run(args, CallContext(desk.place, "c", desk.pieces.append, touch))
    assert result.outcome is CallOutcome.ERROR
    assert "became a link after it was checked" in result.text


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({}, "pattern"),
        ({"pattern": ""}, "pattern"),
        ({"pattern": "x", "what": "files"}, "what"),
        ({"pattern": "x", "glob": "["}, "glob"),
        ({"pattern": "x", "context": 11}, "context"),
        ({"pattern": "x", "path": 1}, "path"),
        ({"pattern": "f", "what": "names", "path": "f"}, "is a file"),
    ],
)
async def test_A13_wrong_arguments_are_refused_by_name(desk, write, args, named):
    write("x", "f")
    with pytest.raises(BadArguments, match=named):
        await desk.call("search_files", **args)


def test_searching_inside_the_workspace_is_allowed(desk):
    for name, args in (("search_files", {"pattern": "x"}), ("list_files", {})):
        touch = TOOLS[name].touches(args, desk.place)
        assert policy.judge(name, touch, desk.place) == policy.Allow()
        touch = TOOLS[name].touches({**args, "path": ".."}, desk.place)
        assert isinstance(policy.judge(name, touch, desk.place), policy.Ask)
