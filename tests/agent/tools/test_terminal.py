"""What a command gets, what comes back of it, and what is said about its end."""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from agent.tools import terminal
from agent.tools.base import BadArguments
from agent.tools.output import HEAD_CHARS, TAIL_CHARS
from session.models import CallOutcome

SPELLINGS = [
    "cat <<'EOF'\nconst x = `${index + 1}`;\n$HOME \\n\nEOF",
    "cat <<EOF\n$((1 + 1)) \\$HOME\nEOF",
    "echo one \\\n  two",
    "echo 'wow!!' \"it is !important\" !x",
    "printf '%s\\n' $'a\\tb' \"it's 'quoted'\" 'say \"x\"'",
    "echo $0 $- $# $BASH_SUBSHELL",
    "f() { echo \"<$1>\"; }; f 'a  b'; f \"$(echo 'c d')\"",
    "if true; then\n  echo yes\nfi\n\n# the end",
    "echo é ü 日本 🙂 | wc -m",
    "x=1; ((x++)); echo $x; [[ a == a* ]] && echo match",
    "echo a; exit 7; echo b",
    "echo a\r",
]


@pytest.mark.parametrize("command", ["read x; echo got:$x", 'python3 -c "input()"', "cat", "head -c 1"])
async def test_T01_reading_input_meets_end_of_file_at_once(desk, command):
    started = time.monotonic()
    result = await desk.shell(command, timeout=10)
    assert time.monotonic() - started < 6  # long before the call's own limit
    assert result.exit_code is not None


@pytest.mark.parametrize(
    "command",
    [
        "git commit --allow-empty",
        "git rebase -i HEAD~1",
        "less f",
        "sh -c 'read x </dev/tty'",
        "git log",
        "$EDITOR f; $VISUAL f; $PAGER f",
    ],
)
async def test_T02_nothing_waits_for_a_person_at_a_terminal(desk, command):
    await desk.shell(
        "git init -q . && git config user.email a@b.c && git config user.name n && echo 1 > f && git add f"
        " && git commit -qm one && echo 2 > f && git commit -qam two"
    )
    result = await desk.shell(command, timeout=10)
    assert "Timed out" not in result.text
    assert "\x1b" not in desk.live


async def test_T02_a_command_has_no_controlling_terminal_and_leads_its_session(desk):
    result = await desk.shell("ps -o tty=,sid= -p $$; echo $$")
    tty, session, pid = result.text.split()[:3]
    assert tty in ("?", "??")
    assert session == pid


async def test_T02_start_up_files_and_functions_of_the_environment_do_not_run(desk, tmp_path):
    (tmp_path / "evil").write_text("echo evil\n")
    desk.place.environ.update(
        BASH_ENV=str(tmp_path / "evil"),
        ENV=str(tmp_path / "evil"),
        SHELLOPTS="xtrace",
        PROMPT_COMMAND="echo evil",
        **{"BASH_FUNC_ls%%": "() { echo evil; }"},
    )
    result = await desk.shell("ls")
    assert result.text == "(no output)\nExit code: 0"


async def test_T15_no_variable_of_the_environment_changes_what_bash_makes_of_a_command(desk):
    for folder in ("a", "b/a"):
        (desk.place.root / folder).mkdir(parents=True)
    command = (
        "cd a && pwd; cd ..; echo *; ls -d a; f() { echo f; }; g() { f; }; g; shopt -o posix; [[ abc =~ 'a.c' ]];"
        " echo $? $0; read x < <(sleep 1.1; echo late); echo $x; set -x; : q"
    )
    plain = await desk.shell(command)
    desk.place.environ.update(
        CDPATH=str(desk.place.root / "b"),
        GLOBIGNORE="a*",
        EXECIGNORE="/bin/ls:/usr/bin/ls",
        POSIXLY_CORRECT="1",
        POSIX_PEDANTIC="1",
        BASH_COMPAT="3.1",
        BASH_XTRACEFD="9",
        BASH_ARGV0="other",
        FUNCNEST="1",
        TMOUT="1",
        PS4="$(echo ran) ",
    )
    assert (await desk.shell(command)).text == plain.text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (r"caf\xc3\xa9", "café"),
        (r"\xe9\xff", "\ufffd\ufffd"),
        (r"\xc4\xe3\xba\xc3", "\ufffd"),
        (r"a\xe2\x82", "a\ufffd"),
    ],
)
async def test_T05_invalid_bytes_are_replaced_visibly(desk, raw, shown):
    result = await desk.shell(f"printf '{raw}'")
    assert shown in result.text
    assert shown in desk.live


async def test_T05_random_bytes_come_back_as_legal_text(desk):
    result = await desk.shell("head -c 4096 /dev/urandom")
    result.text.encode()
    assert result.outcome is CallOutcome.OK


async def test_T05_a_character_split_at_a_read_edge_stays_whole(desk):
    """é lies across byte 65,536, and arrives in two writes."""
    script = r"import os,time; os.write(1,b'a'*65535+b'\xc3'); time.sleep(0.1); os.write(1,b'\xa9')"
    result = await desk.shell(f'python3 -c "{script}"')
    assert "é\n" in result.text
    assert "\ufffd" not in desk.live + result.text


async def test_T12_a_flood_keeps_memory_flat_and_the_loop_responsive(desk):
    gaps: list[float] = []

    async def heartbeat() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            gaps.append(time.monotonic() - before - 0.005)

    await desk.shell("seq 100000")
    beating = asyncio.create_task(heartbeat())
    before = psutil.Process().memory_info().rss
    result = await desk.shell("yes", timeout=2)
    grown = psutil.Process().memory_info().rss - before
    beating.cancel()
    assert grown < 30 * 1024**2
    assert statistics.quantiles(gaps, n=20)[-1] < 0.1
    assert "Timed out after 2 s" in result.text
    assert len(desk.live) < 4_000_000


async def test_T12_head_and_tail_are_kept_and_the_log_has_all(desk):
    result = await desk.shell("seq 1 200000")
    assert result.text.startswith("1\n2\n3\n")
    assert result.text.endswith("199999\n200000\nExit code: 0")
    assert len(result.text) < HEAD_CHARS + TAIL_CHARS + 300
    [log] = desk.logs
    assert str(log) in result.text
    assert log.read_text() == "".join(f"{number}\n" for number in range(1, 200_001))


async def test_D12_of_a_huge_output_the_conversation_gets_a_bounded_part(desk):
    """1.4 MB, with a line of 200,000 characters at its end."""
    result = await desk.shell("seq 1 210000; head -c 200000 /dev/zero | tr '\\0' x; echo; echo end")
    assert len(result.text) < HEAD_CHARS + TAIL_CHARS + 300
    assert result.text.endswith("xx\nend\nExit code: 0")
    assert desk.logs[0].stat().st_size > 1_400_000


async def test_T12_output_is_shown_while_the_command_runs(desk, eventually):
    running = asyncio.create_task(desk.shell("echo early; sleep 300"))
    await eventually(lambda: desk.live == "early\n")
    assert not running.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_short_output_leaves_no_file(desk):
    await desk.shell("echo short")
    assert desk.logs == []


@pytest.mark.parametrize(
    ("command", "exit_code", "outcome"),
    [
        ("grep nope f", 1, CallOutcome.OK),
        ("cat f | grep nope", 1, CallOutcome.OK),
        ("diff f g", 1, CallOutcome.OK),
        ("grep x missing", 2, CallOutcome.ERROR),
        ("echo grep; false", 1, CallOutcome.ERROR),
        ("kill -TERM $$", 143, CallOutcome.ERROR),
        ("kill -KILL $$", 137, CallOutcome.ERROR),
        ("exit 127", 127, CallOutcome.ERROR),
        ("true", 0, CallOutcome.OK),
    ],
)
async def test_T13_the_code_is_told_and_a_no_is_not_a_failure(desk, command, exit_code, outcome):
    (desk.place.cwd / "f").write_text("1\n")
    (desk.place.cwd / "g").write_text("2\n")
    result = await desk.shell(command)
    assert (result.exit_code, result.outcome) == (exit_code, outcome)
    assert f"Exit code: {exit_code}" in result.text
    assert "Timed out" not in result.text


async def test_T14_every_call_starts_in_the_session_folder(desk):
    await desk.shell("cd /; export A=1")
    result = await desk.shell("pwd; echo A=$A")
    assert result.text.startswith(f"{desk.place.cwd}\nA=\n")
    assert "does not carry over" in terminal.DESCRIPTION


async def test_workdir_is_resolved_from_the_session_folder(desk):
    (desk.place.cwd / "sub").mkdir()
    result = await desk.shell("pwd", workdir="./sub/../sub")
    assert result.text.startswith(f"{desk.place.cwd / 'sub'}\n")


async def test_a_missing_workdir_runs_nothing(desk):
    result = await desk.shell("touch ran", workdir="gone")
    assert result.outcome is CallOutcome.ERROR
    assert str(desk.place.cwd / "gone") in result.text
    assert not (desk.place.cwd / "ran").exists()


@pytest.mark.parametrize("command", SPELLINGS, ids=range(len(SPELLINGS)))
async def test_T15_a_command_runs_as_bash_itself_would_run_it(desk, command):
    plain = subprocess.run(
        ("/bin/bash", "--noprofile", "--norc", "-c", command),
        **{"cwd": desk.place.cwd, "env": dict(desk.place.environ), "stdin": subprocess.DEVNULL},
        **{"capture_output": True, "text": True, "check": False},
    )
    result = await desk.shell(command)
    assert result.text == f"{plain.stdout.rstrip()}\nExit code: {plain.returncode}"


@pytest.mark.parametrize("size", [99_999, 100_000, 131_071, 131_072, 200_000, 4_000_000])
async def test_T15_a_command_of_any_length_runs(desk, size):
    """An argument of more than 128 KiB is none that Linux takes."""
    command = "echo $BASH_SUBSHELL '" + "x" * (size - 28) + "' | wc -c"
    result = await desk.shell(command)
    assert result.text.split() == [str(size - 28 + 3), "Exit", "code:", "0"]


async def test_what_the_system_does_not_start_is_a_sentence(desk):
    desk.place.environ["LONG"] = "x" * 4_000_000
    result = await desk.shell("touch ran")
    assert result.outcome is CallOutcome.ERROR
    assert f"The command could not be started in {desk.place.cwd}: Argument list too long." in result.text
    assert not (desk.place.cwd / "ran").exists()


@pytest.mark.skipif(not shutil.which("sudo") or os.geteuid() == 0, reason="sudo would ask for nothing here")
async def test_T16_sudo_fails_at_once(desk):
    result = await desk.shell("sudo -k id", timeout=10)
    assert result.outcome is CallOutcome.ERROR
    assert "Timed out" not in result.text


@pytest.mark.parametrize("helper", ["SUDO_ASKPASS", "SSH_ASKPASS", "GIT_ASKPASS"])
async def test_T16_no_helper_asks_for_a_password_in_a_window(desk, helper):
    """What sudo, ssh and git do without a terminal, as their manuals say it, where a helper is named."""
    desk.place.environ.update({helper: "touch asked", "DISPLAY": ":0"})
    await desk.shell(
        "(: </dev/tty) || ${SUDO_ASKPASS:-:}; [ $SSH_ASKPASS_REQUIRE = never ] || ${SSH_ASKPASS:-:};"
        " ${GIT_ASKPASS-${SSH_ASKPASS:-:}}"
    )
    assert not (desk.place.cwd / "asked").exists()


async def test_T13_a_program_gets_the_signals_that_a_shell_would_give_it(desk):
    """SIGPIPE ends `yes`; were it ignored, `yes` would complain instead."""
    result = await desk.shell("yes | head -1; echo ${PIPESTATUS[0]}; trap; grep -E 'Sig(Ign|Blk)' /proc/self/status")
    lines = result.text.splitlines()
    assert lines[:2] == ["y", "141"]
    ignored, blocked = (int(line.split()[1], 16) & 0x7FFF_FFFF for line in lines[2:4])  # above are the C library's own
    assert (ignored, blocked) == (0, 0)


async def test_D05_the_model_gets_the_last_frame_of_progress(desk):
    command = r"for i in $(seq 5000); do printf 'Progress %d\r' $i; done; printf 'Progress 100%%\nDone\n'"
    result = await desk.shell(command)
    assert result.text == "Progress 100%\nDone\nExit code: 0"


@pytest.mark.parametrize("raw", [r"\033[2J\033[H", r"\033[?1049l", r"\033]0;t\a", r"\033Pq\033\\", r"\033"])
async def test_D06_no_control_reaches_the_result(desk, raw):
    result = await desk.shell(f"printf '<{raw}\033[31mred\033[0m>'")
    assert result.text == "<red>\nExit code: 0"


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({}, "command"),
        ({"command": 1}, "command"),
        ({"command": {"x": 1}}, "command"),
        ({"command": None}, "command"),
        ({"command": "  "}, "command"),
        ({"command": "a\0b"}, "command"),
        ({"command": "echo \ud800"}, "command"),
        ({"command": "ls", "timeout": 601}, "timeout"),
        ({"command": "ls", "timeout": 0}, "timeout"),
        ({"command": "ls", "timeout": "9"}, "timeout"),
        ({"command": "ls", "timeout": True}, "timeout"),
        ({"command": "ls", "workdir": ["a"]}, "workdir"),
        ({"command": "ls", "background": "yes"}, "background"),
        ({"command": "ls", "cwd": "/"}, "cwd"),
    ],
)
async def test_A13_wrong_arguments_are_refused_by_name(desk, args, named):
    with pytest.raises(BadArguments, match=f'"{named}"'):
        await desk.call("terminal", **args)


def test_shown_is_the_command_and_touches_name_command_and_folder(desk):
    assert terminal.shown({"command": "rm -rf x #\x1b[2K"}) == "rm -rf x #\x1b[2K"
    touch = terminal.touches({"command": "ls", "workdir": "../.ssh"}, desk.place)
    assert touch.runs == ("ls",)
    assert touch.reads == (Path(desk.place.cwd.parent / ".ssh"),)


async def test_E10_a_session_whose_folder_moved_is_told_how_to_follow_it(desk):
    desk.place.cwd.rename(desk.place.cwd.with_name("moved"))
    result = await desk.shell("echo one")
    assert result.outcome is CallOutcome.ERROR
    assert f"The folder {desk.place.cwd} does not exist, so nothing was run." in result.text
    assert "hermes sessions relink" in result.text
    elsewhere = await desk.shell("echo one", workdir="nowhere")
    assert "relink" not in elsewhere.text
