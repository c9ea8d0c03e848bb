"""`hermes profile` and `-p`: what they print, what they exit with, and which home a command works in."""

from __future__ import annotations

import json
import os
import pty
import sqlite3
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from agent.config.profile_name import RESERVED
from tui.cli.arguments import parse
from tui.cli.options import ChatOptions, TuiOptions
from tui.cli.profile_arguments import VERBS

if TYPE_CHECKING:
    from conftest import Command


def told(hermes: Command, *arguments: str) -> object:
    done = hermes.run("profile", *arguments, "--json")
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def refused(hermes: Command, *arguments: str) -> str:
    """The one line of a command that failed."""
    done = hermes.run(*arguments)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.count(b"\n") == 1
    return done.stderr.decode()


def test_every_command_is_reserved_as_a_name(hermes: Command):
    shown = hermes.run("-h").stdout.decode().partition("command\n")[2]
    commands = {line.split()[0] for line in shown.splitlines() if line.startswith("    ") and line[4:5].isalpha()}
    assert {"chat", "profile", "version"} <= commands
    assert commands <= RESERVED


@pytest.mark.parametrize(
    "arguments",
    [("-p", "work", "chat", "-q", "x"), ("chat", "-q", "x", "--profile=work"), ("chat", "-pwork", "-q", "x")],
)
def test_the_option_stands_anywhere_in_the_line(arguments: tuple[str, ...]):
    assert parse([*arguments]) == ChatOptions("x", profile="work")


def test_the_option_alone_opens_the_screen():
    assert parse(["-p", "work"]) == TuiOptions(profile="work")
    assert parse(["-p", "work", "--continue"]) == TuiOptions(go_on=True, profile="work")


def test_a_name_that_is_none_is_a_mistake_in_the_line(hermes: Command):
    done = hermes.run("-p", "../x", "sessions", "list")
    assert done.returncode == 2
    assert b"can't be a profile's name" in done.stderr


def test_a_profile_is_made_used_listed_renamed_and_deleted(hermes: Command):
    work = {"name": "work", "folder": str(hermes.home / "profiles/work")}
    assert told(hermes, "create", "work") == work
    assert told(hermes, "clone", "work", "play") == {"name": "play", "folder": str(hermes.home / "profiles/play")}
    assert told(hermes, "use", "work") == work
    first = {"name": "default", "folder": str(hermes.home), "is_used": False}
    play = {"name": "play", "folder": str(hermes.home / "profiles/play"), "is_used": False}
    assert told(hermes, "list") == [first, play, {**work, "is_used": True}]
    office = {"name": "office", "folder": str(hermes.home / "profiles/office")}
    assert told(hermes, "rename", "work", "office") == office
    assert told(hermes, "migrate-identity", "work", "office") == office
    assert told(hermes, "delete", "play", "--yes")
    assert told(hermes, "list") == [first, {**office, "is_used": True}]


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", "default"),
        ("create", "chat"),
        ("clone", "nothere", "play"),
        ("use", "nothere"),
        ("rename", "nothere", "play"),
        ("delete", "default", "--yes"),
        ("delete", "nothere", "--yes"),
        ("migrate-identity", "work", "nothere"),
    ],
)
def test_what_cannot_be_is_one_line_and_1(hermes: Command, arguments: tuple[str, ...]):
    assert refused(hermes, "profile", *arguments).startswith("hermes: ")


def test_with_json_what_cannot_be_is_an_object_too(hermes: Command):
    done = hermes.run("profile", "create", "default", "--json")
    assert done.returncode == 1
    assert "it is reserved" in json.loads(done.stdout)["error"]


def test_conversations_go_to_the_profile_that_is_named_and_else_to_the_one_in_use(hermes: Command):
    for name in ("work", "play"):
        told(hermes, "create", name)
        (hermes.home / f"profiles/{name}/config.yaml").write_text("probe_local: false\n")
    told(hermes, "use", "play")
    for arguments in (("-p", "work"), ("-p", "default"), ()):
        assert hermes.run(*arguments, "chat", "-q", "help").returncode == 0
    for root in (hermes.home, hermes.home / "profiles/work", hermes.home / "profiles/play"):
        db = sqlite3.connect(root / "state.db")
        assert db.execute("SELECT count(*) FROM sessions").fetchall() == [(1,)]
        db.close()
    assert len(json.loads(hermes.run("-p", "work", "sessions", "list", "--json").stdout)) == 1


def test_a_key_of_the_environment_is_not_for_a_profile_that_is_named(hermes: Command, model_says: Callable[..., str]):
    told(hermes, "create", "work")
    hermes.environ["OWN_KEY"] = "sk-ambient-3333333"
    server = {"base_url": model_says("hello"), "key_env": "OWN_KEY", "models": {"m": {}}}
    settings = {"model": {"default": "m", "provider": "own"}, "providers": {"own": server}}
    hermes.configure(**settings)
    (hermes.home / "profiles" / "work" / "config.yaml").write_text(json.dumps({"probe_local": False, **settings}))
    assert hermes.run("chat", "-q", "hi").stdout == b"hello\n"
    done = hermes.run("-p", "work", "chat", "-q", "hi")
    assert done.returncode == 1
    assert b"put OWN_KEY=... into " in done.stderr
    assert b"are for the profile hermes was started for" in done.stderr
    assert b"sk-ambient" not in done.stderr


def test_deleting_asks_for_the_name(hermes: Command):
    told(hermes, "create", "work")
    assert "--yes" in refused(hermes, "profile", "delete", "work")
    for typed, code in (("wrong", 1), ("work", 0)):
        primary, secondary = pty.openpty()
        with subprocess.Popen(
            [hermes.path, "profile", "delete", "work"],
            env=hermes.environ,
            stdin=secondary,
            stdout=secondary,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stderr is not None
            seen = b""
            while b"to delete it: " not in seen:
                seen += process.stderr.read1(1000)
            os.write(primary, f"{typed}\n".encode())
            assert process.wait(20) == code
        os.close(primary)
        os.close(secondary)
        assert (hermes.home / "profiles/work").exists() == bool(code)


@pytest.mark.parametrize("move", [("delete", "work", "--yes"), ("rename", "work", "office")])
def test_a_profile_that_is_open_is_refused_with_its_process(hermes: Command, move: tuple[str, ...]):
    told(hermes, "create", "work")
    code = (
        "import sys; from agent.profile import Profile\n"
        "p = Profile.load({'HERMES_HOME': sys.argv[1]}, name='work'); print(flush=True); sys.stdin.read()"
    )
    python = hermes.path.with_name("python")
    with subprocess.Popen(
        [python, "-c", code, str(hermes.home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert f"process {holder.pid}" in refused(hermes, "profile", *move)
        holder.communicate(timeout=10)
    assert hermes.run("profile", *move).returncode == 0


def test_half_a_rename_prints_the_command_that_finishes_it_and_that_command_does(hermes: Command):
    told(hermes, "create", "office")
    told(hermes, "create", "play")
    path = hermes.home / "profiles/play/state.db"
    version = set_version(path, 999)
    said = refused(hermes, "profile", "migrate-identity", "work", "office")
    assert str(path) in said
    assert said.endswith("hermes profile migrate-identity work office\n")
    set_version(path, version)
    assert hermes.run(*said.rpartition("run: hermes ")[2].split()).returncode == 0


def set_version(path: os.PathLike[str], version: int) -> int:
    db = sqlite3.connect(path)
    before = db.execute("PRAGMA user_version").fetchone()[0]
    db.execute(f"PRAGMA user_version = {version}")
    db.commit()
    db.close()
    return before


def test_each_verb_has_help(hermes: Command):
    shown = hermes.run("profile", "-h").stdout.decode()
    assert all(f"\n    {verb}" in shown for verb in VERBS)
