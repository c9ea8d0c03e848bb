"""Thousands of spellings of dangerous and harmless commands: whatever is allowed unasked changes and gives away nothing.

Bash itself says what a spelling does, where it can be run in namespaces of its own; else the grammar stands alone.
"""

from __future__ import annotations

import os
import random
import shlex
import warnings
from collections.abc import Callable

import pytest

ROUNDS = int(os.environ.get("HERMES_SOAK") or 1)
A_ROUND = 400  # spellings, so that 50 rounds are 20,000
RUN_ONE_IN = 6  # of the dangerous ones, to know that they are

# Each changes a file of the workspace or the home, or shows a secret.
DANGEROUS = (
    "rm a.py",
    "rm -rf d",
    "mv a.py c.py",
    "cp b.py a.py",
    "touch P",
    "mkdir P",
    "rmdir src/../P2 ; touch P",
    "ln -s a.py P",
    "chmod 777 a.py",
    "truncate -s 0 a.py",
    "tee P",
    "dd if=a.py of=P",
    "install a.py P",
    "sed -i s/import/export/ a.py",
    "sed -n 'w P' a.py",
    "sed 's/import/x/w P' a.py",
    "sed '1e touch P' a.py",
    "sort -o P list.txt",
    "sort --output=P list.txt",
    "uniq list.txt P",
    "find . -name a.py -delete",
    "find . -name a.py -fprint P",
    "find . -maxdepth 0 -exec touch P \\;",
    "awk 'BEGIN{system(\"touch P\")}'",
    'python3 -c \'open("P","w")\'',
    "perl -e 'open(F,\">P\")'",
    "git -c alias.z='!touch P' z",
    "git -c core.fsmonitor='touch P' status",
    "git branch P",
    "git config user.name P",
    "git tag P",
    "git log --output=P",
    "xargs -a list.txt touch",
    "split list.txt P",
    "tar -cf P.tar a.py",
    "cat out/.ssh/id_rsa",
    "cat .env",
    "grep -R CANARY out",
    "head -1 ../home/.netrc",
    "patch a.py /dev/null ; touch P",
)
HARMLESS = (
    "ls",
    "ls -la src",
    "cat a.py",
    "cat a.py b.py",
    "head -n 2 a.py",
    "tail -1 list.txt",
    "wc -l a.py",
    "grep -n import a.py",
    "grep -rn import src",
    "grep 'rm -rf' notes.md",
    "grep -c x list.txt",
    "sort list.txt",
    "sort -u list.txt",
    "uniq -c list.txt",
    "cut -d: -f1 list.txt",
    "tr a-z A-Z",
    "pwd",
    "echo hello",
    "echo 'rm -rf /'",
    "echo 'curl x | sh'",
    "printf '%s\\n' hello",
    "git --version",
    "stat a.py",
    "file a.py",
    "which ls",
    "uname -a",
    "date +%s",
    "date -u",
    "basename src/main.py .py",
    "dirname src/main.py",
    "realpath a.py",
    "du -sh src",
    "id -u",
    "diff a.py b.py",
    "cmp a.py b.py",
    "find . -name '*.py'",
    "find src -type f -size +0",
    "sed -n '1,2p' a.py",
    "git status",
    "git log --oneline -3",
    "git diff --stat",
)

Change = Callable[[str, random.Random], str]


def quoted(command: str, chance: random.Random) -> str:
    """Words spelled in other ways that mean the same."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if any(word in (";", "|", "&&") for word in words) and "find" not in words:
        return command
    return " ".join(spelled(word, chance) for word in words)


def spelled(word: str, chance: random.Random) -> str:
    if not word or "'" in word or "\n" in word:
        return shlex.quote(word)
    at = chance.randrange(len(word))
    ways = (
        lambda: shlex.quote(word),
        lambda: f"'{word}'",
        lambda: '"' + "".join(f"\\{c}" if c in '"$`\\' else c for c in word) + '"',
        lambda: "$'" + "".join(f"\\x{ord(c):02x}" if c.isascii() else c for c in word) + "'",
        lambda: "$'" + "".join(f"\\{ord(c):03o}" if c.isascii() else c for c in word) + "'",
        lambda: shlex.quote(word[:at]) + "''" + shlex.quote(word[at:]) if at else shlex.quote(word),
        lambda: "".join(f"\\{c}" for c in word),
        lambda: f"{shlex.quote(word[:at])}\\\n{shlex.quote(word[at:])}" if at else shlex.quote(word),
        lambda: (
            f'{shlex.quote(word[:at])}"{word[at]}"{shlex.quote(word[at + 1 :])}'
            if word[at].isalnum()
            else shlex.quote(word)
        ),
    )
    return chance.choice(ways)() or "''"


def around(form: str) -> Change:
    return lambda command, _: form.replace("@", command)


def inside(form: str) -> Change:
    """With the command as one quoted word."""
    return lambda command, _: form.replace("@", shlex.quote(command))


SAME: tuple[Change, ...] = (
    *(quoted,) * 8,
    *map(
        around,
        (
            "command @",
            "env @",
            "env LANG=C @",
            "timeout 5 @",
            "nohup @",
            "nice @",
            "nice -n 3 @",
            "stdbuf -o0 @",
            "setsid -w @",
            "time @",
            "exec @",
            "! @",
            "( @ )",
            "{ @; }",
            "if @; then :; fi",
            "if true; then @; fi",
            "for i in 1; do @; done",
            "while @; do break; done",
            "@ 2>/dev/null",
            "@ </dev/null",
            "@ 2>&1",
            "@ &\nwait",
            "@ | cat",
            "echo x | @",
            "ls; @",
            "@; ls",
            "ls && @",
            "false || @",
            "ls\n@",
            "# a\n@",
            "@ # a",
            "ls # \\\n@",
            "true & @",
            "LANG=C @",
            'echo "$(@)"',
            "echo `@`",
            "cat <(@)",
            "x=$(@)",
            "cat <<E\n$(@)\nE",
            'cat <<< "$(@)"',
            'for i in "$(@)"; do :; done',
            "cd src && cd .. && @",
            "\\\n@",
            "\t @",
        ),
    ),
    *map(inside, ("bash -c @", "sh -c @", "eval @", "bash -c 'eval \"$0\"' @")),
)
SLY: tuple[Change, ...] = (
    *map(
        around,
        (
            "f() { @; }; f",
            "ls() { @; }; ls",
            "case a in a) @;; esac",
            "coproc @\nwait",
            'ls "$(@)"',
            'echo "${u:-$(@)}"',
            "echo $((1+$(@ >/dev/null; echo 1)))",
            "[[ -n $(@) ]]",
            "(( $(@ >/dev/null; echo 1) ))",
            "cat <<'A' <<B\nA\n$(@)\nB",
            "cat <<'E'\nE\n@",
            "cat <<-\tE\n\tE\n@",
            'echo "$\\\n(@)"',
            "shopt -s expand_aliases\nalias q=':;@'\nq",
            "bash <<E\n@\nE",
            "bash <(echo '@')",
            "find . -maxdepth 0 -exec @ \\;",
            "echo | xargs @",
            "env -i PATH=/usr/bin:/bin @",
            "busybox @",
            "echo @ | bash",
            "select i in 1; do @; done <<< 1",
            "until @; do break; done",
            "a=(1 $(@))",
            "declare x=$(@)",
            "cat <<\\E\nE\n@\nE",
            "echo ${x#$(@)}",
            "echo 'a\\' ; @ ; echo 'b'",
            "echo \\\\; @",
            'echo "a\\\\"; @ ; echo "b"',
            "echo a#b; @",
            "echo $'it\\'s'; @; echo ''",
            "echo \"'\"; @ # '",
        ),
    ),
    *map(
        inside,
        (
            "trap @ EXIT",
            "trap @ DEBUG; ls",
            "env -S @",
            "bash -lc @",
            "source <(echo @)",
            "bash <<< @",
            "echo @ | sh",
            "c=@; $c",
            'c=@; eval "$c"',
            "PS4='$('@')'; set -x; ls",
            "x='a[$('@')]'; echo $((x))",
            "x='$('@')'; echo \"${x@P}\"",
            "test -v 'a[$('@')]'",
            "[ -v 'a[$('@')]' ]",
            "printf -v 'a[$('@')]' x",
            "printf '%n' 'a[$('@')]'",
            "read 'a[$('@')]' <<< 1",
            "unset 'a[$('@')]'",
            "let 'a[$('@')]=1'",
            "declare -i n='a[$('@')]'",
            "x='a[$('@')]'; [[ $x -eq 1 ]]",
            "mapfile -C @ -c 1 z < list.txt",
            "command_not_found_handle() { eval @; }; nothing_of_this_name",
            "printf '%s\\n' @ > t.sh; . ./t.sh",
            "BASH_ENV=<(echo @) bash -c ls",
            "hash -p /bin/sh ls; ls -c @",
        ),
    ),
)


def spelling(command: str, chance: random.Random, changes: tuple[Change, ...]) -> str:
    for _ in range(chance.choice((1, 1, 2, 2, 3))):
        command = chance.choice(changes)(command, chance)
    return command


@pytest.mark.soak
@pytest.mark.timeout(0 if ROUNDS > 1 else 60)
def test_no_spelling_of_a_dangerous_command_is_allowed(bench, sandbox, parses):
    """What is allowed unasked has no effect. A few of the others are run, too: the generator must not make duds."""
    if sandbox.why_not:
        warnings.warn(f"nothing was run, the grammar alone was asked: {sandbox.why_not}", stacklevel=1)
    run = effective = allowed = 0
    for number in range(ROUNDS * A_ROUND // 2):
        chance = random.Random(number)
        command = spelling(chance.choice(DANGEROUS), chance, SAME + SLY)
        decision = bench.decides(command)
        if decision == "allow":
            allowed += 1
            effect = sandbox.effect(command) if not sandbox.why_not else parses(command)
            assert not effect, f"allowed, and not harmless ({effect}): {command!r}"
        elif not sandbox.why_not and number % RUN_ONE_IN == 0:
            run += 1
            effective += bool(sandbox.effect(command))
    print(f"{allowed} of {ROUNDS * A_ROUND // 2:,} spellings of dangerous commands run unasked, and none does anything")
    assert sandbox.why_not or effective > run / 2, f"only {effective} of {run} did anything"


@pytest.mark.soak
@pytest.mark.timeout(0 if ROUNDS > 1 else 60)
def test_harmless_commands_are_not_called_dangerous_in_any_spelling(bench, sandbox, parses):
    """At most 2 %, and most of what is plain runs unasked; bash confirms that nothing allowed had an effect."""
    total = ROUNDS * A_ROUND // 2
    called = allowed = 0
    for number in range(total):
        chance = random.Random(-1 - number)
        command = spelling(chance.choice(HARMLESS), chance, SAME)
        verdict = bench.judge(command)
        called += bool(verdict.marks) or verdict.verdict == "never"
        if verdict.verdict == "allow":
            allowed += 1
            if ROUNDS > 1 or number % 3 == 0:
                effect = sandbox.effect(command) if not sandbox.why_not else not parses(command)
                assert not effect, f"allowed, and not harmless ({effect}): {command!r}"
    print(f"{called} of {total:,} spellings of harmless commands were called dangerous, {allowed:,} run unasked")
    assert called <= total * 0.02
    assert allowed >= total * 0.6


# Pieces that mean one thing or another by what stands around them; whatever bash makes of it, `touch P` would show.
PIECES = (
    *("touch P",) * 5,
    *("echo", "ls", "cat", "echo a", ":", "x=1", "printf x"),
    *("'", '"', "\\", "`", "$(", ")", "(", "{", "}", "${x:-", "$'", "$((", "))", "<(", '$"', "\\'", '\\"', "$"),
    *("\n", "\n", ";", "&", "|", "&&", "||", "#", " # ", "\\\n", "!", "=", "*", "~", "[", "]"),
    *("<<E\n", "<<'E'\n", "<<-E\n", "\nE\n", "\n\tE\n", "E", "<<<", "2>&1", "</dev/null", ">/dev/null", "&>/dev/null"),
    *("if", "then", "fi", "do", "done", "while", "for i in", "case a in", "esac", "in", "time", "eval", "bash -c"),
)


@pytest.mark.soak
@pytest.mark.timeout(0 if ROUNDS > 1 else 60)
def test_no_heap_of_shell_syntax_hides_a_command(bench, sandbox):
    """Each that is allowed and holds `touch P` is run: it must have been inert text."""
    if sandbox.why_not:
        pytest.skip(f"nothing can be run here: {sandbox.why_not}")
    run = 0
    for number in range(ROUNDS * A_ROUND * 3):
        chance = random.Random(f"heap {number}")
        pieces = chance.choices(PIECES, k=chance.randint(2, 9))
        command = "".join(piece + chance.choice(("", " ", " ")) for piece in pieces)
        if "touch P" in command and bench.decides(command) == "allow":
            run += 1
            effect = sandbox.effect(command)
            assert not effect, f"allowed, and not harmless ({effect}): {command!r}"
    assert run


# Texts that only mention `touch P`. A character more or less, and some of them run it.
INERT = (
    "echo 'touch P'",
    'echo "a; touch P"',
    "cat <<'E'\n$(touch P)\nE\nls",
    "cat <<E\ntouch P\nE\nls",
    "cat <<-E\n\ttouch P\n\tE\nls a.py",
    "ls # touch P\npwd",
    "echo a \\; touch P",
    "echo \\$\\(touch P\\)",
    'echo "\\$(touch P)" b',
    "echo '`touch P`' \"x\"",
    "echo $'it\\'s; touch P'",
    "echo \"$(echo 'touch P')\"",
    "for f in 'touch P' b; do echo \"$f\"; done",
    "if ls; then echo 'touch P'; fi | cat",
    "x='touch P'; echo \"$x\"",
    "cat <<< 'touch P' 2>/dev/null",
    "printf '%s\\n' \"touch P\" | wc -l && ls",
    "bash -c 'echo \"touch P\"'",
    "eval 'echo \"touch P\"'",
    "grep 'touch P' a.py || echo no",
    'echo ${x:-touch P} "$((1+2))"',
    "echo a{b,c} 'touch P' `echo d`",
    "cat <(echo 'touch P')",
    "{ echo 'touch P'; ls; } >/dev/null",
    '( echo "touch P" ) 2>&1 | sort',
    "echo a'b'\"c\"\\d touch P",
    "git log --grep='touch P' -1",
    "find . -name 'touch P' -o -type d",
    "sh -c 'echo a; echo \"touch P\"'",
    "[ 'touch P' = a ] || echo b",
    "cat <<A\n$(echo 'touch P')\nA\necho \"touch P\"",
    'while read -r l; do echo "$l touch P"; done < a.py',
    "LANG=C echo 'touch P' ; a='touch P'",
    "timeout 3 echo 'touch P'; env echo \"touch P\"",
)
EDITS = (*"'\"\\`$(){}#;|&<>\n EP~!=[]-*?,:@%+^/1a\t", "\\\n", "$(", "<<", "EOF", "touch P", "\ntouch P\n")


def edited(text: str, chance: random.Random) -> str:
    for _ in range(chance.choice((1, 1, 2, 2, 3))):
        at, other = sorted((chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)))
        way = chance.random()
        if way < 0.6:
            text = text[:at] + chance.choice(EDITS) + text[at:]
        elif way < 0.85:
            text = text[:at] + text[at + 1 :]
        else:
            text = text[:at] + text[other:] if other - at < 6 else text[:other] + text[at:other] + text[other:]
    return text


@pytest.mark.soak
@pytest.mark.timeout(0 if ROUNDS > 1 else 60)
def test_no_edit_of_an_inert_text_hides_a_command(bench, sandbox):
    """Each that is still allowed is run: `touch P` must still be nothing but text."""
    if sandbox.why_not:
        pytest.skip(f"nothing can be run here: {sandbox.why_not}")
    run = 0
    for number in range(ROUNDS * A_ROUND * 2):
        chance = random.Random(f"edit {number}")
        command = edited(chance.choice(INERT), chance)
        if "touch P" in command and bench.decides(command) == "allow":
            run += 1
            effect = sandbox.effect(command)
            assert not effect, f"allowed, and not harmless ({effect}): {command!r}"
    assert run


@pytest.mark.parametrize("command", DANGEROUS)
def test_dangerous_commands_are_asked_for(bench, command):
    assert bench.decides(command) != "allow"


@pytest.mark.parametrize("command", HARMLESS)
def test_harmless_commands_run_unasked(bench, command):
    verdict = bench.judge(command)
    assert (verdict.verdict, verdict.marks) == ("allow", ()), verdict


def test_dangerous_commands_do_what_they_are_said_to(sandbox):
    """Else the spellings of them would prove nothing."""
    if sandbox.why_not:
        pytest.skip(f"nothing can be run here: {sandbox.why_not}")
    missing = ("patch", "python3", "perl", "awk")
    assert [command for command in DANGEROUS if not sandbox.effect(command) and not command.startswith(missing)] == []
