"""What a verdict is made of: reading with certainty, folders, programs, secrets, the floor, modes, rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.approvals.shell_judge import judge_command
from agent.approvals.shell_rules import BadRule, Rules, read_rule, rule_proposals
from agent.approvals.shell_verdict import Decision, Mode


def why(bench, command):
    return next(part.why for part in bench.judge(command).parts if part.verdict is not Decision.ALLOW)


# --- reading


@pytest.mark.parametrize(
    "command",
    [
        'echo "$\\\n(touch P)"',
        "echo $[1+a]",
        "echo $((a))",
        "echo $((1)) $((a[0]))",
        'echo "${!x}"',
        'echo "${x@P}"',
        'echo "${x[$(touch P)]}"',
        'echo "${x:=$(touch P)}"',
        "a[1]=2",
        "a[$(touch P)]=2",
        "a=(1 2)",
        'echo $"translated"',
        "echo $'\\c'",
        "f() { ls; }; f",
        "function f { ls; }; f",
        "case a in a) ls;; esac",
        "coproc ls",
        "(( 1 ))",
        "[[ -f a.py ]]",
        "for ((i=0; i<3; i++)); do ls; done",
        "select x in a; do ls; done",
        "for x; do ls; done",
        "for PATH in /tmp; do ls; done",
        "ls\u00a0a.py",
        "ls\u3000a.py",
        "ls\x0ba.py",
        "ls\ra.py",
        "ls \x1b[2K",
        "ls \udc80",
        "ls \0",
        "ls !(a.py)",
        "cat <<E\nls",
        "cat <<E\nE\\\nls\nE",
        "cat <<$x\n$x",
        "cat <(ls) <<E $(ls\nE\n)",
        "echo `echo \\`touch P\\``",
        "ls 'a",
        'ls "a',
        "ls \\",
        "ls )",
        "ls | ",
        "",
        "# nothing",
    ],
)
def test_what_cannot_be_read_with_certainty_asks(bench, command):
    assert bench.decides(command) == "ask"


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("l\\s 'a'\"b\"c", ("ls", "abc")),
        ("ls $'\\x61\\t'", ("ls", "a\t")),
        ("ls \"a b\" '' ~", ("ls", "a b", "", "HOME")),
        ("ls {a,b}{c,d} x{,y} {} {z}", ("ls", "ac", "ad", "bc", "bd", "x", "xy", "{}", "{z}")),
        ("ls src/*.py '*'", ("ls", "src/main.py", "src/util.py", "*")),
        ("ls \\\n a.py # c", ("ls", "a.py")),
        ("ls $'\\u00e9' é", ("ls", "é", "é")),
        ("ls a.py >/dev/null b.py", ("ls", "a.py", "b.py")),
    ],
)
def test_words_are_what_bash_makes_of_them(bench, command, argv):
    shown = bench.judge(command).parts[0].argv or bench.judge(command.replace("ls", "echo", 1)).parts[0].argv
    home = bench.place.environ["HOME"]
    assert shown[1:] == tuple(home if word == "HOME" else word for word in argv[1:])


@pytest.mark.parametrize(
    "command",
    [
        "if ls a.py; then cat a.py; elif pwd; then :; else ls; fi",
        'while read -r line; do echo "$line"; done < list.txt',
        "for f in a b 'c d'; do echo \"$f\"; done | sort",
        "{ ls; pwd; } 2>/dev/null | (cat; cat)",
        'n=$(wc -l < a.py); echo "$n lines"',
        "set -euo pipefail; git status --short | head -5 || true",
        "cat <<'E' | grep a\n$(rm d)\n`rm d`\nE\nls",
        "[ -f a.py ] && [ ! -d 'no such' ] && echo yes",
        'printf \'%s\\n\' "$x" "$(ls)"',
        "bash -c 'ls | wc -l'",
        "sh -c 'ls; pwd'",
        "eval 'ls -l'",
        "! grep -q zzz a.py",
        "sort list.txt | uniq -c | sort -rn | head -3",
    ],
)
def test_scripts_that_only_read_run_unasked(bench, command):
    verdict = bench.judge(command)
    assert verdict.verdict == "allow", verdict


def test_long_and_deep_texts_ask_and_end(bench):
    for command in (
        "ls " + "a" * 130_000,
        "ls;" * 13_000,
        "(" * 5_000,
        "$(" * 5_000,
        "{a}" * 3_000,
        "x | " * 5_000 + "x",
    ):
        assert bench.decides(command) == "ask"
    assert "longer than 128,000" in why(bench, "ls " + "a" * 130_000)


@given(st.text(alphabet="ab '\"\\$(){}`<>|&;\n#*~=-!1/E", max_size=30))
def test_no_text_is_too_strange_to_judge(bench, text):
    assert bench.judge(f"ls {text}").verdict in ("allow", "ask")


@pytest.mark.parametrize(
    "command", [f"[ {'! ' * 5_000} x ]", f"cat {'n' * 5_000} && cd {'n' * 5_000} && git status && diff {'n' * 5_000} x"]
)
def test_no_name_is_too_long_to_judge(bench, command):
    assert bench.decides(command) == "allow"


# --- folders


@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/passwd",
        "cat ../home/.bashrc",
        "cat out/.bashrc",
        "cat < out/.bashrc",
        "cat ~/.bashrc",
        "cat src/../../home/.bashrc",
        "cd .. && cat home/.bashrc",
        "cd out && cat .bashrc",
        "cd src; cd ..; cd ..; cat x",
        "cd src && cat ../../home/.bashrc",
        "cd out/.. && cat home/.bashrc",
        "cat /proc/self/cwd/a.py",
        "cat /dev/fd/0",
        "grep -f /etc/passwd a.py",
        "grep -r x /etc",
        "grep -R x .",
        "find / -name x",
        "find -L . -name x",
        "find . -newer /etc/passwd",
        "ls /",
        "ls /home/*",
        "echo /etc/*",
        "for f in /etc/*; do echo; done",
        "cat out/*",
        "diff src d",
        "git diff /etc/passwd /etc/group",
        "git -C .. log",
        "while true; do cat a.py; cd ..; done",
        "for d in 1 2; do cat x; eval 'cd ..'; done",
        "cd $x; cat a.py",
        "cd -; cat a.py",
        "cd; cat a.py",
        "pushd src; cat a.py",
        "wc -l out/../home/.bashrc",
    ],
)
def test_what_leaves_the_workspace_asks(bench, command):
    assert bench.decides(command) == "ask"


def test_a_link_through_proc_asks(own_bench):
    """Where it leads differs between this process and the command."""
    (own_bench.root / "sly").symlink_to("/proc/self/cwd")
    assert "differs from process to process" in why(own_bench, "cat sly/a.py")


def test_cdpath_asks(bench):
    place = replace(bench.place, environ={**bench.place.environ, "CDPATH": "/etc"})
    assert judge_command("cd src && cat main.py", place).verdict is Decision.ASK


@pytest.mark.parametrize(
    "name", [".env", ".env.local", "id_rsa", "server.key", ".ssh/config", "sub/.aws/credentials", ".netrc"]
)
def test_secrets_in_the_workspace_ask(bench, name):
    assert "secret" in why(bench, f"cat {name}")
    assert bench.decides(f"head -1 < {name}") == "ask"


def test_a_glob_that_takes_in_a_secret_asks(bench):
    assert bench.decides("cat *.py") == "allow"
    assert bench.decides("cat .e*") == "ask"


def test_a_file_that_is_named_like_an_option_is_judged_as_one(own_bench):
    (own_bench.root / "--output=P").write_text("")
    assert own_bench.decides("sort *") == "ask"
    assert own_bench.decides("sort ./*") != "never"


# --- programs


def put_program(folder, name):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("#!/bin/sh\ntouch P\n")
    (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize("entry", ["bin", "{root}/bin", "", ".", "{home}/bin", "{root}/../elsewhere"])
def test_a_program_of_the_workspace_or_of_a_relative_folder_asks(own_bench, entry):
    for folder in (
        own_bench.root / "bin",
        own_bench.root,
        own_bench.root.parent / "home" / "bin",
        own_bench.root.parent / "elsewhere",
    ):
        put_program(folder, "ls")
    entry = entry.format(root=own_bench.root, home=own_bench.place.environ["HOME"])
    place = replace(own_bench.place, environ={**own_bench.place.environ, "PATH": f"{entry}:/usr/bin:/bin"})
    assert judge_command("ls", place).verdict is Decision.ASK
    assert judge_command("nice ls", place).verdict is Decision.ASK
    assert judge_command("echo hi", place).verdict is Decision.ALLOW  # bash does that itself


def test_a_program_that_appears_or_becomes_one_counts_at_once(own_bench):
    early = own_bench.root / "bin"
    early.mkdir()
    place = replace(own_bench.place, environ={**own_bench.place.environ, "PATH": f"{early}:/usr/bin:/bin"})
    assert judge_command("ls", place).verdict is Decision.ALLOW
    (early / "ls").write_text("#!/bin/sh\n")
    (early / "ls").chmod(0o644)
    assert judge_command("ls", place).verdict is Decision.ALLOW
    (early / "ls").chmod(0o755)
    assert judge_command("ls", place).verdict is Decision.ASK


def test_a_rule_does_not_cover_a_program_of_the_workspace_by_a_bare_name(own_bench):
    put_program(own_bench.root / "bin", "tool")
    place = replace(
        own_bench.place, environ={**own_bench.place.environ, "PATH": f"{own_bench.root / 'bin'}:/usr/bin:/bin"}
    )
    rules = Rules((read_rule(Decision.ALLOW, "tool *"),))
    assert judge_command("tool x", place, rules).verdict is Decision.ASK


@pytest.mark.parametrize("name", ["EXECIGNORE", "GIT_DIR", "GIT_CONFIG_COUNT", "RIPGREP_CONFIG_PATH"])
def test_an_environment_that_changes_what_programs_do_asks(bench, name):
    command = "rg x" if name.startswith("RIP") else "git status"
    place = replace(bench.place, environ={**bench.place.environ, name: "x"})
    assert judge_command(command, place).verdict is Decision.ASK


@pytest.mark.parametrize(
    "command",
    [
        "alias ls='rm x'; shopt -s expand_aliases\nls",
        "hash -p /tmp/x ls; ls",
        "enable -n echo; echo x",
        "ls() { rm x; }; ls",
        "command_not_found_handle() { rm x; }; ls",
        "unset -f ls; ls",
        "source a.py; ls",
        "set -a; ls",
    ],
)
def test_what_changes_the_meaning_of_later_words_asks_whatever_rules_say(bench, command):
    rules = ("allow alias *", "allow shopt *", "allow hash *", "allow enable *", "allow unset *", "allow source *")
    assert bench.decides(command, *rules, "allow set *") == "ask"


# --- the floor, rules and modes


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -fr -- /",
        "rm -r --force /*",
        "rm -rf ~",
        "rm -rf ~/",
        'rm -rf "$HOME"',
        "rm -rf ${HOME}/*",
        "rm -rf /usr /x",
        "rm -rf /usr/../etc/.",
        "rm -rf //",
        "cd / && rm -rf *",
        "cd ~ && rm -rf .",
        "sudo rm -rf /",
        "sh -c 'rm -rf /'",
        "nice env A=1 rm -rf /",
        "r\\m -r''f /",
        "find . -exec rm -rf / \\;",
        "echo $(rm -rf /)",
        "mkfs.ext4 /dev/sda1",
        "dd if=/dev/zero of=/dev/sda",
        "cat a.py > /dev/nvme0n1",
        ":(){ :|:& };:",
        "bomb() { bomb | bomb & }; bomb",
        "kill -9 -1",
        "kill -s KILL -1",
        "shutdown -h now",
        "reboot",
        "systemctl poweroff",
        "init 0",
        "case a in a) reboot;; esac",
    ],
)
@pytest.mark.parametrize("mode", [Mode.ASK, Mode.YOLO, Mode.PLAN])
def test_the_floor_holds_in_every_mode_and_under_every_rule(bench, command, mode):
    rules = ("allow rm *", "allow sudo *", "allow kill *", "allow reboot", "allow dd *")
    assert bench.decides(command, *rules, mode=mode) == "never"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf ./build",
        "rm -rf build/",
        'rm -rf "$DIR/"',
        "kill -1 123",
        "echo reboot",
        "grep -r 'rm -rf /' .",
        "rm -rf /tmp/x",
    ],
)
def test_the_floor_is_not_wider_than_it_says(bench, command):
    assert bench.decides(command) != "never"


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("chmod -R 777 .", "permissions"),
        ("chown root a.py", "permissions"),
        ("psql -c 'DROP TABLE x'", "database"),
        ("sqlite3 a.db 'delete from t;'", "database"),
        ("echo x >> ~/.bashrc", "protected file"),
        ("tee ~/.ssh/authorized_keys", "protected file"),
        ("cp a.py /etc/cron.d/x", "protected file"),
        ("sed -i s/a/b/ .env", "protected file"),
        ("echo x > .git/hooks/pre-commit", "protected file"),
        ("mv x AGENTS.md", "protected file"),
        ("systemctl restart nginx", "service"),
        ("pkill node", "processes"),
        ("git reset --hard", "git"),
        ("git push --force", "git"),
        ("git push origin +main", "git"),
        ("git -C x clean -fd", "git"),
        ("git branch -D x", "git"),
        ("docker rm -f x", "containers"),
        ("docker compose down", "containers"),
        ("pkill hermes", "hermes"),
        ("hermes update", "hermes"),
        ("curl -o x http://h && chmod +x ./x && ./x", "code"),
        ("find . -name x -delete", "delete"),
        ("ls | xargs rm", "delete"),
        ("crontab -r", "delete"),
    ],
)
def test_danger_is_marked_by_what_runs(bench, command, kind):
    verdict = bench.judge(command)
    assert verdict.verdict == "ask"
    assert kind in [mark.kind for mark in verdict.marks]


@pytest.mark.parametrize(
    "command", ["cp a.py src/lib/x", "mkdir -p usr/bin && cp a.py usr/bin/x", "touch docs/agents.txt"]
)
def test_a_folder_of_the_workspace_is_not_taken_for_the_system_s(bench, command):
    assert bench.judge(command).marks == ()


def test_yolo_runs_all_but_the_floor_what_is_forbidden_and_protected_files(bench):
    assert bench.decides("rm -rf d; f() { ls; }; $x", mode=Mode.YOLO) == "allow"
    assert bench.decides("echo x > ~/.bashrc", mode=Mode.YOLO) == "ask"
    assert bench.decides("echo x | tee AGENTS.md", "allow tee *", mode=Mode.YOLO) == "ask"


def test_deny_wins_over_ask_and_ask_over_allow(bench):
    assert bench.decides("touch a", "allow touch *", "ask touch *", "deny touch *") == "deny"
    assert bench.decides("touch a", "allow touch *", "ask touch *") == "ask"
    assert bench.decides("touch a", "allow touch *") == "allow"
    assert bench.decides("ls", "deny ls") == "deny"
    assert bench.decides("ls", "ask ls") == "ask"


def test_a_rule_is_never_a_prefix_of_the_text(bench):
    assert bench.decides("touchy a", "allow touch *") == "ask"
    assert bench.decides("touch ab", "allow = touch a") == "ask"
    assert bench.decides("'touch a' b", "allow touch a *") == "ask"
    assert bench.decides("touch 'a'", "allow = touch a") == "allow"


def test_what_is_not_fixed_fits_a_prefix_in_front_of_it_alone(bench):
    assert bench.decides("touch $x", "allow touch *") == "allow"
    assert bench.decides("touch $x", "allow = touch a") == "ask"
    assert bench.decides("$x touch", "allow touch *") == "ask"
    assert bench.decides("ls | xargs touch", "allow touch *") == "allow"
    assert bench.decides("ls | xargs -I touch touch x", "allow touch *") == "ask"
    assert bench.decides("ls | xargs touch", "allow = touch") == "ask"


@pytest.mark.parametrize("text", ["", "*", "-x", "'a", "= "])
def test_what_names_no_command_is_no_rule(text):
    with pytest.raises(BadRule):
        read_rule(Decision.ALLOW, text)


@pytest.mark.parametrize("text", ["git push *", "= npm run 'a b'", "git commit", "ls *"])
def test_a_rule_reads_as_it_is_written(text):
    assert str(read_rule(Decision.ALLOW, text)) == text


def test_each_part_is_named_with_its_rule(bench):
    parts = bench.judge("git status && touch a | tee b > c", "allow touch *", "deny dd").parts
    assert [(part.text, str(part.verdict), part.rule) for part in parts] == [
        ("git status", "allow", "read-only"),
        ("touch a", "allow", "allow touch *"),
        ("tee b > c", "ask", "redirection"),
    ]
    assert rule_proposals(bench.judge("tee b"))[0].part.argv == ("tee", "b")
