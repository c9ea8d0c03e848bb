"""The commands beside chat: what they print, and how mistakes are told."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tui.cli.command_line_page import command_line_page

if TYPE_CHECKING:
    from conftest import Command

ROOT = Path(__file__).resolve().parents[3]


def test_the_version_is_that_of_the_project(hermes: Command) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    for spelling in (("version",), ("--version",), ("-V",)):
        assert hermes.run(*spelling).stdout.decode() == f"hermes {version}\n"


def test_the_version_loads_next_to_nothing(hermes: Command) -> None:
    """`hermes --version` costs little more than a bare interpreter: its own few modules and no library."""
    told = subprocess.run(
        [str(hermes.path.with_name("python")), "-X", "importtime", str(hermes.path), "version"],
        env=hermes.environ,
        capture_output=True,
        check=True,
    )
    bare = subprocess.run(
        [str(hermes.path.with_name("python")), "-X", "importtime", "-c", "import re, sys"],
        env=hermes.environ,
        capture_output=True,
        check=True,
    )
    assert len(told.stderr.splitlines()) - len(bare.stderr.splitlines()) <= 12


@pytest.mark.parametrize(
    "arguments",
    [
        ("--nonsense",),
        ("nonsense",),
        ("chat",),
        ("chat", "-q"),
        ("sessions",),
        ("logs", "-n", "0"),
        ("tui", "-c", "-r", "x"),
    ],
)
def test_a_mistake_in_the_command_line_is_one_line_and_2(hermes: Command, arguments: tuple[str, ...]) -> None:
    done = hermes.run(*arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1
    assert b"-h` shows" in done.stderr


@pytest.mark.parametrize("form", ["--json", "--stream-json"])
def test_a_mistake_in_the_command_line_is_an_object_for_a_program(hermes: Command, form: str) -> None:
    done = hermes.run("chat", form, "--mode", "nonsense", "-q", "x")
    told = json.loads(done.stdout)
    assert (done.returncode, told["exit_reason"], told["error"]["kind"]) == (2, "error", "usage")
    assert done.stderr.decode() == f"hermes: {told['error']['message']}\n"
    assert told.get("type") == ("result" if form == "--stream-json" else None)
    other = hermes.run("sessions", "list", "--json", "--limit", "none")
    assert (other.returncode, list(json.loads(other.stdout))) == (2, ["error"])


@pytest.mark.parametrize("command", [("chat", "-q", "hello"), ("sessions", "list"), ()])
def test_an_empty_profile_name_never_means_the_one_in_use(hermes: Command, command: tuple[str, ...]) -> None:
    done = hermes.run(*command, "-p", "")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"an empty one" in done.stderr
    assert not (hermes.home / "state.db").exists()


def test_the_page_of_the_command_line_is_as_the_parsers_are() -> None:
    assert (ROOT / "docs" / "command-line.md").read_text() == command_line_page(), "run: make commandline"


def test_help_names_every_command(hermes: Command) -> None:
    shown = hermes.run("-h").stdout.decode()
    assert all(f"\n    {name} " in shown for name in ("tui", "chat", "sessions", "logs", "version"))


@pytest.mark.parametrize("arguments", [(), ("tui",), ("--continue",)])
def test_the_screen_without_a_terminal_is_refused(hermes: Command, arguments: tuple[str, ...]) -> None:
    done = hermes.run(*arguments)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"needs a terminal" in done.stderr
    assert not (hermes.home / "state.db").exists()


def in_terminal(hermes: Command, *arguments: str, program: tuple[str, ...] = ()) -> tuple[int, bytes]:
    """Exit code and output of a command on a terminal of its own."""
    master, slave = os.openpty()
    process = subprocess.Popen(
        [*(program or (hermes.path,)), *arguments],
        env=hermes.environ,
        cwd=hermes.cwd,
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    code = process.wait(timeout=15)
    written = os.read(master, 65536)
    os.close(master)
    return code, written


def test_a_dumb_terminal_is_refused(hermes: Command) -> None:
    hermes.environ["TERM"] = "dumb"
    code, written = in_terminal(hermes)
    assert code == 2
    assert b"needs a terminal" in written
    assert b"\x1b" not in written


def test_an_unknown_session_is_told_before_the_screen_is_up(hermes: Command) -> None:
    code, written = in_terminal(hermes, "--resume", "20200101-000000-ffff")
    assert code == 1
    assert b"There is no session 20200101-000000-ffff" in written
    assert b"\x1b[?1049h" not in written


def test_textual_is_loaded_with_its_settings_and_the_environment_of_children_is_the_persons(hermes: Command) -> None:
    """Textual reads them once, at its import; --resume ends the command just before the screen."""
    code = (
        "import agent.profile, sys\n"
        "load = agent.profile.Profile.load\n"
        "agent.profile.Profile.load = lambda environ, **more: print('given', 'TEXTUAL_FPS' in environ) or load(environ, **more)\n"
        "from tui.cli.main import main; main(['--resume', 'x'])\n"
        "from textual import constants; print(constants.MAX_FPS, constants.TEXTUAL_ANIMATIONS)"
    )
    _, written = in_terminal(hermes, program=(sys.executable, "-c", code))
    assert b"given False" in written
    assert b"240 none" in written


def test_the_log_is_private_and_can_be_shown(hermes: Command) -> None:
    assert b"log is empty" in hermes.run("logs").stderr
    hermes.run("chat", "-q", "help")
    log = hermes.home / "logs" / "hermes.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    log.write_text("".join(f"line {number}\n" for number in range(300)))
    assert hermes.run("logs", "-n", "2").stdout == b"line 298\nline 299\n"


def test_a_long_log_makes_room_for_a_new_one(hermes: Command) -> None:
    hermes.run("chat", "-q", "help")
    log = hermes.home / "logs" / "hermes.log"
    log.write_text("old\n" * 1_000_000)
    hermes.run("chat", "-q", "help")
    assert log.stat().st_size < 1000
    assert log.with_suffix(".log.1").exists()


def test_an_error_nobody_foresaw_is_one_line_and_the_rest_is_in_the_log(hermes: Command) -> None:
    """The fault: a part of the program that cannot be imported. The traceback quotes a key, the log does not."""
    code = (
        "import sys; sys.modules['agent.hub'] = None\n"
        "from tui.cli.main import main; sys.exit(main(['sessions', 'list']))"
    )
    (hermes.home / "logs").mkdir()
    done = subprocess.run([sys.executable, "-c", code], env=hermes.environ, capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
    assert b"hermes logs" in done.stderr
    assert "Traceback" in (hermes.home / "logs" / "hermes.log").read_text()


def test_secrets_do_not_reach_the_log(hermes: Command) -> None:
    (hermes.home / ".env").write_text("MY_KEY=very-secret-value\n")
    code = (
        "import logging, os\n"
        "from agent.profile import Profile\n"
        "from tui.cli.log_file import open_log\n"
        "profile = Profile.load(os.environ)\n"
        "open_log(profile.home, profile.secrets.mask)\n"
        "try:\n    raise ValueError('Bearer very-secret-value')\n"
        "except ValueError:\n    logging.getLogger('agent').exception('failed with very-secret-value')\n"
    )
    subprocess.run([sys.executable, "-c", code], env=hermes.environ, check=True)
    logged = (hermes.home / "logs" / "hermes.log").read_text()
    assert "Traceback" in logged
    assert "very-secret-value" not in logged
