"""Files of a workspace by a few letters of their paths."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from agent.workspace_files import WorkspaceFiles, ranked

PATHS = ["docs/", "docs/main.md", "src/", "src/main.py", "src/domain.py", "src/mail/agent/inbox.py", "README.md"]


@pytest.mark.parametrize(
    ("written", "first"),
    [
        ("main", "src/main.py"),
        ("src/m", "src/main.py"),
        ("DOMAIN", "src/domain.py"),
        ("mlbox", "src/mail/agent/inbox.py"),
    ],
)
def test_what_stands_together_or_begins_a_name_comes_first(written: str, first: str):
    assert ranked(written, PATHS)[0] == first


def test_what_does_not_hold_the_letters_is_left_out():
    assert ranked("zz", PATHS) == [] and ranked("[.*", PATHS) == []


def test_twenty_thousand_paths_are_looked_through_without_delay():
    paths = [f"some/long/folder{number % 97}/name{number}.py" for number in range(20_000)]
    began_s = time.process_time()
    assert ranked("sonam99", paths)
    assert time.process_time() - began_s < 1


async def test_ignored_and_unprintable_names_and_git_itself_are_left_out(tmp_path: Path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name in ("kept.py", "left.log", "a\nb.py", "deep/also.log", "deep/kept too.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("*.log\n")
    assert sorted(await WorkspaceFiles(tmp_path).like("")) == [".gitignore", "deep/", "deep/kept too.py", "kept.py"]


async def test_a_folder_that_is_gone_has_no_files(tmp_path: Path):
    assert await WorkspaceFiles(tmp_path / "gone").like("a") == []
