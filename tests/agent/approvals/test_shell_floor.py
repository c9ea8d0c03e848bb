"""What stays out of reach in every mode: the floor, and the files that are asked about even in yolo, by any spelling."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.approvals.shell_judge import judge_command
from agent.approvals.shell_rules import NO_RULES
from agent.approvals.shell_verdict import Mode


@pytest.mark.parametrize(
    "command",
    [
        "echo x > //dev/sda",
        "echo x > /dev/../dev/sda",
        "cd /dev && echo x > sda",
        "cp a.py /dev/disk/by-id/ata-1",
        "dd if=a.py of=/dev//sda",
        "shred /dev/sda",
        "truncate -s0 /dev/nvme0n1",
        "blkdiscard -f /dev/sda",
        "echo b > /proc/sysrq-trigger",
        "echo b | tee /proc/sysrq-trigger",
    ],
)
def test_a_disk_is_never_written_to_by_any_spelling_of_its_path(bench, command):
    assert bench.decides(command, mode=Mode.YOLO) == "never"
    assert bench.decides(command) == "never"


@pytest.mark.parametrize(
    "command",
    [
        "find / -delete",
        "find ~ -delete",
        "cd / && find -delete",
        "find / -name '*' -delete",
        "find / -exec rm -rf {} +",
        "find / -type f -exec sh -c 'rm \"$0\"' {} \\;",
        "echo / | xargs rm -rf",
        "printf '%s\\n' a / | xargs -I{} rm -rf {}",
        "find / | xargs rm -rf",
        "rm -rf /*/",
        "rm -rf /??*",
        "rm -rf /[a-z]*",
        "rm -rf ~/*/*",
        "bash -c -- 'rm -rf /'",
        "bash -euo pipefail -c 'rm -rf /'",
        "bash -c 'rm -rf \"$1\"' _ /",
        "sh -c 'rm -rf $@' _ a /etc",
        "[[ -d / ]] && rm -rf /",
        "pushd / && rm -rf *",
        "x=/; rm -rf $x",
        'export x=/; rm -rf "${x}"',
        "x=; rm -rf $x/*",
        "x='rm -rf /'; $x",
        "for x in a /; do rm -rf $x; done",
    ],
)
def test_the_system_and_the_home_are_never_deleted_in_yolo(bench, command):
    assert bench.decides(command, mode=Mode.YOLO) == "never"


@pytest.mark.parametrize(
    "command",
    [
        "find . -name '*.pyc' -delete",
        "find ~ -name .DS_Store -delete",
        "find . -type f | xargs rm -f",
        "x=/; y=d; rm -rf $y",
        "echo 'rm -rf /' > notes.txt",
        "[[ -d d ]] && echo 'rm -rf /'",
        "bash -c 'rm -rf \"$1\"' _ d",
        "rm -rf /tmp/a*",
        "pushd d && rm -rf *",
        "git config user.name me",
        "git config --get core.pager",
        "cp -t d a.py b.py",
        "cd d && echo x > y 2>&1",
        "touch a.py; sort -o b.py a.py; mv a.py c.py",
        "test -f .env && echo yes",
    ],
)
def test_what_only_looks_like_it_runs_in_yolo(bench, command):
    assert bench.decides(command, mode=Mode.YOLO) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "cd .git/hooks && echo x > pre-commit",
        "cd .git && cd hooks && echo x >> pre-commit",
        "pushd .git/hooks && echo x > pre-commit",
        "cd $d && echo x > pre-commit",
        "cp -t .git/hooks x",
        "cp x -t.git/hooks",
        "mv --target-directory=.git/hooks x",
        "install --target-dir .git/hooks x",
        "git config core.fsmonitor x",
        "git config set alias.st '!x'",
        "git -C src config core.hooksPath x",
        "touch .git/hooks/x",
        "sort -o .git/config a.py",
        "sort -uo.git/config a.py",
        "truncate -s 0 .git/config",
        "rm AGENTS.md",
        "rm -- AGENTS.md",
        "rm -rf .git/hooks",
        "mv .git/config z",
    ],
)
def test_protected_files_are_asked_about_in_yolo(bench, command):
    assert bench.decides(command, mode=Mode.YOLO) == "ask"


# --- globs


def _in(bench, folder: Path, command: str) -> str:
    place = replace(bench.place, root=folder, cwd=folder)
    return str(judge_command(command, place, NO_RULES, Mode.ASK).verdict)


@pytest.mark.parametrize("command", ["rm -rf /u*", "rm -rf /*/bin", "rm -rf /??*", "rm -rf ~/.*", "rm -rf ~/[a-z]*"])
def test_a_glob_that_takes_in_the_system_or_all_of_the_home_is_floor(bench, command):
    assert bench.decides(command) == "never"


@pytest.mark.parametrize("command", ["rm -rf ~/old-*", "rm -rf /opt/thing-*"])
def test_a_glob_for_some_of_the_home_is_asked_about(bench, command):
    assert bench.decides(command) == "ask"


@pytest.mark.parametrize("name", ["é", "sub/é", ".é"])
def test_a_question_mark_is_not_told_beside_names_that_another_locale_reads_otherwise(bench, tmp_path, name):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    (tmp_path / "sub").mkdir(exist_ok=True)
    file.write_text("x")
    (tmp_path / "sub" / "a").write_text("x")
    pattern = "*/?*" if "/" in name else "??*"
    assert _in(bench, tmp_path, f"cat {pattern}") == "ask"
    assert _in(bench, tmp_path, "cat s*/a") == "allow"


def test_a_question_mark_beside_plain_names_is_told(bench, tmp_path):
    (tmp_path / "ab").write_text("x")
    assert _in(bench, tmp_path, "cat a?") == "allow"


@pytest.mark.parametrize("command", ["LC_ALL=C; cat a.py", "LANG=C && ls", "LC_CTYPE=C"])
def test_a_locale_that_stays_for_the_rest_of_the_line_asks(bench, command):
    assert bench.decides(command) == "ask"
    assert bench.decides("LC_ALL=C ls") == "allow"


def test_a_glob_with_a_dot_in_front_also_finds_the_folder_above(bench):
    assert bench.decides("ls .*") == "ask"
    assert bench.decides("ls d/.*") == "allow"
    assert bench.decides("ls .*/.*") == "ask"
    assert bench.decides("ls .gi*") == "allow"


# --- reading


@pytest.mark.parametrize(
    "command", ["test -f ~/.ssh/id_rsa", "[ -e /etc/shadow ]", "[ a.py -nt /etc/passwd ]", "[ ! -d ../home ]"]
)
def test_whether_a_file_outside_exists_is_not_told_unasked(bench, command):
    assert bench.decides(command) == "ask"
    assert bench.decides("[ -f a.py ] && test -d d") == "allow"
