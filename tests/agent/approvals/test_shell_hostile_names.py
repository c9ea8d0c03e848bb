"""A cloned repository chooses the names of its files: whatever words they become, nothing runs unasked by them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agent.approvals.shell_judge import judge_command
from agent.approvals.shell_verdict import Decision

MANY = [f"{number}p" for number in range(2, 40)]


@pytest.fixture
def hostile(own_bench):
    """Files named like programs, like scripts of sed and like settings; and links to a secret outside."""
    root = own_bench.root
    for folder, names in (
        ("progs", ("cp", "cat", "cksum", "cmp", "comm", "cut", "cz")),
        ("scripts", ("1e touch P", *MANY)),
        ("two", "ab"),
    ):
        (root / folder).mkdir()
        for name in names:
            (root / folder / name).write_text("x\n")
    (root / "two" / "zz").symlink_to("../../home/.ssh/id_rsa")
    (root / "o=a").symlink_to("../home/.ssh/id_rsa")
    return own_bench


@pytest.mark.parametrize(
    "command",
    ["cat o={a,b}", "uniq o={list.txt,P}", "sort o={a,b}", "env cat o={a,b}", "bash -c 'uniq o={list.txt,P}'"],
)
def test_C07_braces_behind_an_equals_sign_are_words_of_their_own(hostile, command):
    assert hostile.decides(command) == "ask"
    assert hostile.decides("cat {a,b}.py") == "allow"
    assert hostile.decides("a={1,2}; ls") == "allow"


@pytest.mark.parametrize(
    "command", ["cd progs && c*", "cd progs && nice c*", "cd progs && timeout 5 c*", "cd progs && command c*"]
)
def test_C09_no_glob_of_several_names_chooses_the_program(hostile, command):
    assert hostile.decides(command) == "ask"


@pytest.mark.parametrize(
    "command", ["sed *", "sed -n *", "sed -e *", "jq *", "printf *", "printf -- *", "git *", "date -d *", "ps *"]
)
def test_C07_no_glob_of_several_names_chooses_what_a_program_does(hostile, command):
    assert hostile.decides(f"cd scripts && {command}") == "ask"


@pytest.mark.parametrize("command", ["grep *", "grep -e *", "head -n *", "cut -d *", "sort -k *", "rg *", "cat *"])
def test_C18_each_name_of_a_glob_may_be_the_one_that_is_read(hostile, command):
    assert hostile.decides(f"cd two && {command}") == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "grep import *.py",
        "sed -n 1p *.py",
        "printf '%s\\n' *",
        "wc -l *.py",
        "git log -- *.py",
        "test -f *.py",
        "jq . *.py",
    ],
)
def test_globs_behind_the_words_that_count_run_unasked(bench, command):
    assert bench.decides(command) == "allow"


@pytest.mark.parametrize("command", ["echo links/*", "printf '%s\\n' links/*", 'for f in links/*; do echo "$f"; done'])
def test_C18_no_glob_lists_a_folder_that_a_link_leads_to(own_bench, command):
    (own_bench.root.parent / "home" / "plain").write_text("x")
    (own_bench.root / "links").symlink_to("../home")
    assert own_bench.decides(command) == "ask"
    assert own_bench.decides(command.replace("links", "src")) == "allow"


def test_C26_a_rule_covers_the_words_in_front_of_a_glob(hostile):
    assert hostile.decides("cd progs && npm c*", "allow npm cmp", "allow npm cut") == "ask"
    assert hostile.decides("cd progs && npm run c*", "allow npm run") == "allow"


@pytest.mark.parametrize("locale", ["zh_CN.GBK", "ja_JP.SJIS", "zh_TW", "zh_HK.big5hkscs", "a/b"])
def test_C14_a_locale_in_which_a_backslash_is_half_a_character_asks(bench, locale):
    assert bench.decides(f'LC_ALL={locale} bash -c \'echo "あ\\"; touch P #"\'') == "ask"
    assert bench.decides(f"env LANG={locale} ls") == "ask"
    assert bench.decides("LC_ALL=C.UTF-8 ls && LANG=de_DE.utf8 ls && LC_ALL=POSIX ls") == "allow"


def test_C14_in_such_a_locale_only_plain_characters_are_read(bench):
    place = replace(bench.place, environ={**bench.place.environ, "LC_ALL": "zh_TW.BIG5"})
    assert judge_command('echo "あ\\"; touch P #"', place).verdict is Decision.ASK
    assert judge_command("echo 'あ'", place).verdict is Decision.ASK
    assert judge_command("echo a", place).verdict is Decision.ALLOW


@pytest.mark.parametrize("command", ["\\time ls", "'time' ls", "command time ls", "ls | time cat"])
def test_C08_a_program_named_time_in_the_workspace_is_no_wrapper(own_bench, command):
    folder = own_bench.root / "bin"
    folder.mkdir()
    (folder / "time").write_text("#!/bin/sh\ntouch P\n")
    (folder / "time").chmod(0o755)
    place = replace(own_bench.place, environ={**own_bench.place.environ, "PATH": f"{folder}:/usr/bin:/bin"})
    assert judge_command(command, place).verdict is Decision.ASK
    assert judge_command("time ls", place).verdict is Decision.ALLOW
