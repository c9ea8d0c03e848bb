"""In yolo, too, a recursive delete and the like of what nobody can know beforehand is asked about."""

from __future__ import annotations

import pytest

from agent.approvals.shell_verdict import Mode


@pytest.mark.parametrize(
    "command",
    [
        "cat f | xargs rm -rf",
        "xargs rm -rf < f",
        "ls | xargs sudo rm -r",
        "find . -name x | xargs rm -rf",
        "find / -name x -print0 | xargs -0 rm -rf",
        "echo a | xargs -a f rm -rf",
        "printf '\\x2f' | xargs rm -rf",
        "cat f | parallel rm -rf {}",
        "cat f | xargs -I{} sh -c 'rm -rf {}'",
        "cat f | xargs chmod -R 777",
        'while read x; do rm -rf "$x"; done',
        'rm -rf "$1"',
        "rm $x",
        'rm -rf "${x%/}"',
        'rm -rf "${a[@]}"',
        "rm -rf $(cat f)",
        "rm -rf `cat f`",
        "rm -rf ~+",
        "rm --recur $x",
        'x=d; read x < f; rm -rf "$x"',
        "x=d; x+=/../..; rm -rf $x",
        "x=d y; IFS=y; rm -rf $x",
        "[ -f a ] && x=/tmp/y; rm -rf $x/*",
        "a=/e; b=tc; rm -rf $a$b",
        'x=/; bash -c "rm -rf $x"',
        "x=/; eval rm -rf $x",
        "bash -c 'rm -rf \"$1\"' _ $x",
        'f() { rm -rf "$1"; }; f /',
        "HOME=/; rm -rf ~/etc",
        "HOME=/ bash -c 'rm -rf ~/etc'",
        "cd $x && rm -rf *",
        "cd; rm -rf *",
        "for i in 1 2 3; do cd ..; done; rm -r x",
        "$x -rf /",
        'chmod -R 777 "$x"',
        "chown -R me /",
        "dd if=a.py of=$x",
        "cat a.py > /dev/$x",
        'find "$x" -delete',
        "find $x -exec rm -r {} +",
        "rm -rf \x1b $x",
    ],
)
def test_a_delete_of_what_nobody_knows_is_asked_about_in_yolo(bench, command):
    assert bench.decides(command, mode=Mode.YOLO) == "ask"
    assert bench.decides(command) != "allow"


@pytest.mark.parametrize(
    "command",
    [
        'x=d; rm -rf "$x"',
        'set -e; x=d; rm -rf "$x"',
        'n=$(ls | wc -l); x=d; rm -rf "$x/a"',
        "for x in d src; do rm -rf $x; done",
        "bash -c 'rm -rf \"$1\"' _ d",
        'rm -rf "$HOME/.cache/thing" "$PWD/d"',
        "echo d src | xargs rm -rf",
        "printf '%s\\n' d | xargs -n 1 rm -rf",
        "find . -name d -print0 | xargs -0 rm -rf",
        "find . -name d -exec rm -rf {} +",
        "find . -type f | xargs rm -f",
        'rm -f "$x"',
        "cd d && rm -rf keep",
        "pushd d && rm -rf *",
        'chmod -R u+w d && chmod 644 "$x"',
        "dd if=$x of=d/a",
        "$x -m pytest",
        "python3 a.py | sh",
    ],
)
def test_what_is_known_or_no_such_thing_runs_in_yolo(bench, command):
    assert bench.decides(command, mode=Mode.YOLO) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "echo 'rm -rf /' | sh",
        "printf 'rm -rf ~\\n' | bash -s",
        "bash <<< 'rm -rf /'",
        "bash <<E\nrm -rf /\nE",
        "bash <(echo 'rm -rf /')",
        "source <(echo 'rm -rf /')",
        "su -c 'rm -rf /'",
        "flock x -c 'rm -rf /'",
        "script -qc 'rm -rf /'",
        "parallel rm -rf ::: /",
        "exec -a x rm -rf /",
        "rm --rec /etc",
        "rm -rf ~root",
        "mv ~ /tmp/x",
        "rsync -a --delete x/ /",
        "pushd d; cd /; rm -rf *",
        "d=/dev/sda; cat a.py > $d",
        "d=sda; cat a.py > /dev/$d",
        "sgdisk --zap-all /dev/sda",
        "cryptsetup luksFormat /dev/sda",
        "killall5 -9",
        "pkill -9 .",
        "loginctl poweroff",
        "systemctl start reboot.target",
    ],
)
def test_the_floor_is_found_by_more_ways(bench, command):
    assert bench.decides(command, mode=Mode.YOLO) == "never"


@pytest.mark.parametrize(
    "command",
    [
        "echo 'rm -rf /' | bash a.sh",
        "echo 'echo hi' | sh",
        "mv d e",
        "rsync -a --delete src/ d/",
        "sgdisk -p /dev/sda",
        "parted -l",
        "cryptsetup status x",
        "pkill -f server",
        "exec -a x npm test",
        "script -qc 'ls'",
    ],
)
def test_what_only_looks_like_the_floor_runs_in_yolo(bench, command):
    assert bench.decides(command, mode=Mode.YOLO) == "allow"


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.YOLO])
def test_thousands_of_operands_are_not_looked_into_and_ask(bench, mode):
    command = "rm -rf " + " ".join(f"f{number}" for number in range(18_000))
    assert bench.decides(command, "allow rm *", mode=mode) == "ask"
    assert bench.decides(command, "deny rm", mode=mode) == "deny"
    assert bench.decides(command, mode=Mode.PLAN) == "deny"
    assert bench.decides("rm " + " ".join("abc" * 300), "allow rm *", mode=mode) == "allow"
