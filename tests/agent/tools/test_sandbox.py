"""Commands in the sandbox: what they reach, what is said of it, and what becomes of them. Skipped where none can be made."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.config.terminal_settings import Sandboxing
from agent.tools import sandbox
from agent.tools.base import BadArguments
from agent.tools.session_sandbox import SessionSandbox
from session.models import CallOutcome


@pytest.fixture
def walled(desk, tmp_path):
    """The desk with a sandbox that has to work, and a home of hermes with a key in it."""
    home = tmp_path / "hermes"
    (home / "profiles/other").mkdir(parents=True)
    (home / ".env").write_text("KEY=CANARY")
    outputs = home / "profiles/mine/outputs/s1"
    outputs.mkdir(parents=True)
    desk.place = replace(
        desk.place, home=home / "profiles/mine", outputs=outputs, sandbox=SessionSandbox(Sandboxing.REQUIRE)
    )
    return desk


@pytest.fixture
def inside(walled):
    if why := sandbox.why_not(walled.place):
        pytest.skip(f"no command can run in a sandbox here: {why}")
    return walled


@pytest.mark.parametrize(
    "command",
    [
        "touch {outside}/x",
        "touch /etc/hermes-probe",
        "touch /var/tmp/hermes-probe",
        "touch $HOME/x",
        "echo x >> {outside}/there",
        "rm {outside}/there",
        "echo core > /proc/sys/kernel/core_pattern",
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)'",
        "cat {hermes}/.env",
        "touch {hermes}/profiles/other/x",
        "echo evil > .git/config",
        "echo evil > .git/hooks/post-checkout",
        "echo evil > .git/info/attributes",
        "mv .git g",
        "kill -0 {pid}",
        "cat /proc/{pid}/environ",
        "ls /run/* | grep .",
    ],
)
async def test_inside_nothing_but_the_workspace_can_be_changed_or_reached(inside, tmp_path, command):
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "there").write_text("there")
    subprocess.run(["git", "init", "-q", inside.place.root], check=True)
    for name in ("hooks", "info"):
        (inside.place.root / ".git" / name).mkdir(exist_ok=True)
    before = _files(tmp_path), _files(outside)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        written = command.format(outside=outside, hermes=tmp_path / "hermes", port=port, pid=os.getpid())
        result = await inside.shell(written)
    assert result.exit_code != 0, result.text
    assert "CANARY" not in result.text
    assert (_files(tmp_path), _files(outside)) == before


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".log"}


async def test_inside_a_command_works_in_its_workspace_as_it_would_outside(inside):
    subprocess.run(["git", "init", "-q", inside.place.root], check=True)
    (inside.place.outputs / "terminal-1.log").write_text("from before")
    result = await inside.shell(
        "mkdir a && echo one > a/f && mv a b && git add b && git ls-files && mktemp -u && echo two > /dev/stdout"
        f" && python3 -c 'print(3)' && cat {inside.place.outputs}/terminal-1.log && pwd && exit 7"
    )
    said = result.text.splitlines()
    assert said[0] == "b/f"
    assert said[1].startswith("/tmp/")
    assert said[2:] == [
        "two",
        "3",
        f"from before{inside.place.root}",
        "Exit code: 7",
        "In the sandbox.",
    ]
    mine = (inside.place.root / "b/f").stat()
    assert (mine.st_uid, stat.S_IMODE(mine.st_mode)) == (os.geteuid(), 0o644)


async def test_T15_a_command_of_any_length_runs_inside(inside):
    result = await inside.shell(": " + "x" * 300_000 + "\necho done")
    assert result.text.startswith("done\n")


async def test_inside_a_signal_ends_a_command_as_it_does_outside(inside):
    assert (await inside.shell("kill -9 $$")).exit_code == 137


async def test_T03_inside_a_timeout_lets_the_command_end_itself_and_leaves_nothing(inside, trail, eventually):
    command = f"trap 'echo bye > ended; exit' TERM; (trap '' TERM; exec -a x setsid sleep {trail.seconds}) & echo; wait"
    result = await inside.shell(command, timeout=2)
    assert "Timed out" in result.text
    assert (inside.place.root / "ended").read_text() == "bye\n"
    await eventually(lambda: not trail.alive(), 15.0)


async def test_inside_what_a_command_leaves_running_ends_with_it(inside, trail, eventually):
    result = await inside.shell(f"setsid sleep {trail.seconds} & echo started")
    assert result.text == "started\nExit code: 0\nIn the sandbox."
    await eventually(lambda: not trail.alive(), 15.0)


async def test_inside_a_command_in_the_background_goes_on_and_is_stopped(inside, trail, eventually):
    result = await inside.shell(f"echo up; sleep {trail.seconds}", background=True)
    assert result.text.endswith("In the sandbox.")
    number = int(result.text.split("process ")[1].split(".")[0])
    await eventually(lambda: any(log.read_text() == "up\n" for log in inside.logs), 15.0)
    await inside.call("process", action="stop", process=number)
    await eventually(lambda: not trail.alive(), 15.0)


async def test_a_failure_that_the_sandbox_may_be_the_cause_of_is_said_and_remembered(inside):
    command = "echo first; echo x > /etc/hermes-probe"
    result = await inside.shell(command)
    assert "may be why it failed" in result.text
    assert "Read-only file system" in inside.place.sandbox.failure(command)
    assert "may be why" in (await inside.shell(f"cat {inside.place.root.parent}/there")).text
    assert "may be why" not in (await inside.shell("echo 'read-only file system'; exit 0")).text
    assert "may be why" not in (await inside.shell("echo broken; exit 3")).text


async def test_outside_is_where_a_person_allowed_it_to_be(inside, tmp_path):
    result = await inside.shell(f"echo x > {tmp_path}/there", outside=True)
    assert result.text.endswith("Outside of the sandbox: as the person allowed.")
    assert (tmp_path / "there").exists()


# --- where there is none


@pytest.mark.parametrize("why", ["missing", "ours", "home"])
async def test_without_a_sandbox_auto_runs_outside_and_says_why_and_require_refuses(walled, tmp_path, why):
    programs = {"missing": tmp_path, "ours": walled.place.root}
    place = replace(walled.place, environ={**walled.place.environ, "PATH": f"{programs.get(why, '/usr/bin')}"})
    if why == "ours":
        (place.root / "bwrap").write_text('#!/bin/sh\nexec "$@"\n')
        (place.root / "bwrap").chmod(0o755)
    if why == "home":
        place = replace(place, environ={**place.environ, "HOME": str(place.root)})
    expected = {"ours": "not to be trusted", "home": "your home folder"}.get(why, "is not installed")
    walled.place = replace(place, sandbox=SessionSandbox(Sandboxing.AUTO))
    assert f"Outside of the sandbox: {sandbox.why_not(place)}." in (await walled.shell("echo ran")).text
    walled.place = place
    refused = await walled.shell("echo ran > x")
    assert refused.outcome is CallOutcome.NOT_RUN
    assert expected in refused.text
    assert not (place.root / "x").exists()


def test_a_bubblewrap_that_can_make_no_namespace_is_said_in_its_own_words(tmp_path):
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    program.chmod(0o755)
    assert "No permissions to create new namespace" in sandbox._tried(str(program))
    program.unlink()
    assert "No permissions" in sandbox._tried(str(program)), "it is tried once in a process"


def test_what_lies_deeper_is_mounted_later(walled):
    place = replace(walled.place, root=Path("/tmp"), cwd=Path("/tmp/sub"))
    words = sandbox.wrapper("/usr/bin/bwrap", place, place.cwd)
    home, outputs = str(place.home.parent.parent), str(place.outputs)
    order = [words.index(word) for word in ("--unshare-all", "/run", "--bind", home, outputs)]
    assert order == sorted(order)
    assert words[words.index("--bind") + 1] == "/tmp"
    assert words[-4:] == ("--remount-ro", home, "--chdir", "/tmp/sub")


async def test_while_it_is_off_there_is_no_way_out_of_it(desk):
    assert (await desk.shell("echo x")).text == "x\nExit code: 0"
    with pytest.raises(BadArguments, match=r"terminal\.sandbox"):
        await desk.shell("echo x", outside=True)


# --- what of git is not there yet


@pytest.fixture
def bare_git(inside):
    """A repository without hooks, info and the like, as `git init` makes one from an empty template."""
    git = inside.place.root / ".git"
    subprocess.run(["git", "init", "-q", "--template=", inside.place.root], check=True)
    assert not [name for name in ("hooks", "info", "commondir", "config.worktree") if (git / name).exists()]
    return git


@pytest.mark.parametrize("made", ["hooks/post-checkout", "info/attributes"])
async def test_inside_a_missing_folder_of_git_cannot_be_made(inside, bare_git, made):
    folder = made.partition("/")[0]
    result = await inside.shell(f"mkdir -p .git/{folder}; echo evil > .git/{made}")
    assert result.exit_code != 0, result.text
    assert (await inside.shell(f"mv .git/{folder} x || rmdir .git/{folder}")).exit_code != 0
    assert list((bare_git / folder).iterdir()) == []
    assert (await inside.shell("git add -A . && git status --short && git stash list")).exit_code == 0


@pytest.mark.parametrize("made", ["commondir", "config.worktree"])
@pytest.mark.parametrize("ends", ["", "; exit 3", "; kill -9 $$", "; sleep 100"])
async def test_what_a_command_made_of_the_missing_files_of_git_is_put_away_and_said(inside, bare_git, made, ends):
    result = await inside.shell(f"echo ../evil > .git/{made}{ends}", **({"timeout": 2} if "sleep" in ends else {}))
    assert f"{made} (now {made}.put-away-1)" in result.text
    assert not (bare_git / made).exists()
    assert (bare_git / f"{made}.put-away-1").read_text() == "../evil\n"


async def test_what_was_there_of_git_stays_and_nothing_is_said(inside, bare_git):
    (bare_git / "config.worktree").write_text("")
    result = await inside.shell("echo x > f; git add f")
    assert "Put away" not in result.text
    assert (bare_git / "config.worktree").exists()
