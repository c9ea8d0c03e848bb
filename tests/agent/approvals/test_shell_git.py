"""What git takes for a repository, and which files it shows: by names that no file on the disk needs to have."""

from __future__ import annotations

from pathlib import Path

import pytest


def _bare(folder: Path) -> Path:
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def _acting(folder: Path) -> Path:
    (_bare(folder) / "config").write_text("[core]\n\tfsmonitor = touch P\n")
    return folder


def test_C05_a_head_that_is_a_link_to_nothing_makes_a_repository(own_bench):
    head = _acting(own_bench.root / "sub") / "HEAD"
    head.unlink()
    head.symlink_to("refs/heads/main")
    assert own_bench.decides("cd sub && git status") == "ask"


def test_C05_a_folder_that_shares_a_repository_elsewhere_asks(own_bench):
    _acting(own_bench.root / "real")
    (own_bench.root / "sub").mkdir()
    (own_bench.root / "sub/HEAD").write_text("ref: refs/heads/main\n")
    assert own_bench.decides("cd sub && git status") == "allow"
    (own_bench.root / "sub/commondir").write_text("../real\n")
    assert own_bench.decides("cd sub && git status") == "ask"


@pytest.mark.parametrize("head", [None, "nothing\n", "ref: refs/heads/main\n"])
def test_C05_git_goes_past_what_is_no_whole_repository(own_bench, head):
    hollow = _acting(own_bench.root / "outer") / "sub/.git"
    hollow.mkdir(parents=True)
    if head is not None:
        (hollow / "HEAD").write_text(head)
    assert own_bench.decides("cd outer/sub && git status") == "ask"


def test_C05_an_index_that_is_split_asks(own_bench):
    (own_bench.root / ".git/sharedindex.0123").write_bytes(b"")
    assert own_bench.decides("git status") == "ask"


@pytest.mark.parametrize(
    "written, verdict",
    [("gitdir: x\n", "allow"), ("gitdir:  x\n", "ask"), ("gitdir: x \n", "ask"), ("gitdir: x\0", "ask")],
)
def test_C05_blanks_belong_to_the_name_of_a_repository_elsewhere(own_bench, written, verdict):
    tree = own_bench.root / "w"
    _bare(tree / "x")
    _acting(tree / " x")
    (tree / ".git").write_text(written)
    assert own_bench.decides("cd w && git status") == verdict


@pytest.mark.parametrize("common, verdict", [("../..\n", "allow"), ("../.. \n", "ask")])
def test_C05_a_work_tree_shares_the_repository_it_belongs_to(own_bench, common, verdict):
    linked = own_bench.root / ".git/worktrees/w"
    linked.mkdir(parents=True)
    (linked / "HEAD").write_text("ref: refs/heads/w\n")
    (linked / "commondir").write_text(common)
    (own_bench.root / "w").mkdir()
    (own_bench.root / "w/.git").write_text(f"gitdir: {linked}\n")
    assert own_bench.decides("cd w && git status") == verdict


@pytest.mark.parametrize(
    "command",
    [
        "git show HEAD:.env",
        "git show HEAD:./sub/.env",
        "git show :.env",
        "git show :0:.env",
        "git log -L1,5:.env",
        "git log -L '/x/,+5:.env'",
        "git cat-file -p :.env",
        "git blame gone.pem",
        "git diff -- ':.env'",
        "git diff -- ':(top,icase).ENV'",
        "git diff -- ':/.env'",
        "git diff -- ':!/.env'",
        "git log -p -- '*.env'",
        "git log -p -- '.e[n]v'",
        "git log -p -- '.en\\v'",
        "git log -p -- '*'",
        "git log -p -- '*.json'",
        "git log -p -- .ssh",
        "git log -p -- '.ssh/*.py'",
        "git grep . -- ':.env'",
        "git grep -n -e . .env.local",
    ],
)
def test_a_secret_that_git_shows_by_another_spelling_asks(bench, command):
    assert bench.decides(command) == "ask"


def test_a_secret_that_git_shows_asks_even_with_a_rule_for_git(bench):
    assert bench.decides("git show HEAD:.env", "allow git *") == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "git show HEAD:src/main.py",
        "git show HEAD~2:.env.example",
        "git log -L1,5:a.py",
        "git log -p -- '*.py' ':!src/*.py'",
        "git grep -n 'id_rsa.*x' -- '*.md'",
        "git diff HEAD^ main..HEAD -- src",
        "git tag -l 'v*'",
    ],
)
def test_what_git_shows_of_other_files_is_allowed(bench, command):
    assert bench.decides(command) == "allow"
