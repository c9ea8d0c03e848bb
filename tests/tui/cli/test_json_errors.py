"""With --json what goes wrong is an object on stdout, too, and the exit code says the same as without."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Command

KEY = "sk-proj-0123456789abcdefghij"


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (("config", "get", "a..b"), "is no key", 1),
        (("config", "list", "-p", "nothere"), "There is no profile nothere", 1),
        (("secrets", "unset", "X", "-p", "nothere"), "There is no profile nothere", 1),
        (("secrets", "set", "X", "Y"), "Give only the name", 2),
        (("profile", "create", "default"), "it is reserved", 1),
        (("profile", "delete", "nothere"), "There is no profile nothere", 1),
        (("trust", "add", "no/such/folder"), "is not a folder", 1),
        (("sessions", "list", "-p", "nothere"), "There is no profile nothere", 1),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_a_mistake_is_an_object_a_line_and_the_same_code(
    hermes: Command, arguments: tuple[str, ...], said: str, code: int
) -> None:
    done = hermes.run(*arguments, "--json")
    assert (done.returncode, list(json.loads(done.stdout))) == (code, ["error"])
    assert said in json.loads(done.stdout)["error"]
    plain = hermes.run(*arguments)
    assert (plain.returncode, plain.stdout, plain.stderr) == (code, b"", done.stderr)
    assert done.stderr.decode() == f"hermes: {json.loads(done.stdout)['error']}\n"


def test_a_folder_that_is_gone_is_an_object_for_the_doctor(hermes: Command) -> None:
    done = hermes.shell("mkdir gone && cd gone && rmdir ../gone && exec $HERMES doctor --offline --json")
    assert (done.returncode, list(json.loads(done.stdout))) == (1, ["error"])


def test_a_home_that_is_no_folder_is_an_object_whoever_is_asked(hermes: Command) -> None:
    (hermes.cwd / "file").write_text("")
    hermes.environ["HERMES_HOME"] = str(hermes.cwd / "file")
    for command in (("config", "list"), ("secrets", "list"), ("profile", "list"), ("trust", "list")):
        done = hermes.run(*command, "--json")
        assert (done.returncode, list(json.loads(done.stdout))) == (1, ["error"])


def test_the_object_names_a_key_that_was_typed_and_does_not_repeat_it(hermes: Command) -> None:
    (hermes.home / ".env").write_text(f"WORK_KEY={KEY}\n")
    (hermes.home / ".env").chmod(0o600)
    done = hermes.run("config", "get", KEY, "--json")
    assert "[WORK_KEY]" in json.loads(done.stdout)["error"]
    assert KEY.encode() not in done.stdout + done.stderr


def test_what_nothing_foresaw_is_an_object_too(hermes: Command) -> None:
    """A broken installation: a module of the command itself can't be loaded."""
    (hermes.cwd / "yaml.py").write_text("raise RuntimeError('broken')")
    hermes.environ["PYTHONPATH"] = str(hermes.cwd)
    done = hermes.run("config", "set", "agent.max_turns", "5", "--json")
    assert done.returncode == 1
    assert "because of an error in it (RuntimeError)" in json.loads(done.stdout)["error"]
    assert b"Traceback" not in done.stderr
