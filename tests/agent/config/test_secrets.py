"""Keys: read literally, given by name, masked in whatever is shown, and not handed to children."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.config.key_cmd import KeyCommand
from agent.config.secrets import Secrets, load_secrets

KEY = "sk-test-0123456789"


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    path = tmp_path / ".env"
    path.touch(mode=0o600)
    return path


@pytest.fixture
def load(env_file: Path) -> Callable[[str | bytes], Secrets]:
    def write_and_load(text: str | bytes) -> Secrets:
        env_file.write_bytes(text.encode() if isinstance(text, str) else text)
        secrets, problems = load_secrets(env_file, {})
        assert problems == ()
        return secrets

    return write_and_load


Load = Callable[[str | bytes], Secrets]


def test_T19_a_byte_order_mark_is_skipped(load: Load):
    assert load(b"\xef\xbb\xbfA_KEY=abc\n").get("A_KEY") == "abc"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A_KEY=abc", "abc"),
        ("export A_KEY=abc", "abc"),
        ("A_KEY = abc", "abc"),
        ("A_KEY='a # b'", "a # b"),
        ('A_KEY="a\\"b"', 'a"b'),
        ("A_KEY=abc # a comment", "abc"),
        ("A_KEY=abc#def", "abc#def"),
        ("A_KEY=abc\r\n", "abc"),
        ("A_KEY=${HOME}$HOME", "${HOME}$HOME"),
        ("A_KEY=`id`$(id)", "`id`$(id)"),
    ],
)
def test_a_line_is_read_literally(load: Load, line: str, value: str):
    assert load(line).get("A_KEY") == value


def test_the_file_wins_over_the_environment(env_file: Path):
    env_file.write_text("A_KEY=from-file\nB_KEY=\n")
    secrets, _ = load_secrets(env_file, {"A_KEY": "from-env", "B_KEY": "hidden", "C_KEY": "only-env"})
    assert [secrets.get(name) for name in ("A_KEY", "B_KEY", "C_KEY", "D_KEY", "")] == [
        "from-file",
        None,
        "only-env",
        None,
        None,
    ]


def test_reading_leaves_the_process_environment_alone(load: Load):
    before = dict(os.environ)
    load("HERMES_TEST_KEY=abc\nPATH=/nowhere\n")
    assert dict(os.environ) == before


def test_a_bad_line_is_named_without_its_content_and_the_others_hold(env_file: Path):
    env_file.write_text(f"A_KEY=abc\n\n\n{KEY}\n# fine\nB_KEY\nC_KEY=x\n")
    secrets, problems = load_secrets(env_file, {}, shown=".env")
    assert [problem.line for problem in problems] == [4, 6]
    assert problems[0].sentence == ".env, line 4: this line takes NAME=value; it is left out."
    assert (secrets.get("A_KEY"), secrets.get("C_KEY")) == ("abc", "x")


def test_a_file_others_can_read_is_remarked_on(env_file: Path):
    env_file.write_text("A_KEY=abc\n")
    env_file.chmod(0o644)
    secrets, (problem,) = load_secrets(env_file, {}, shown="~/.hermes-tui/.env")
    assert problem.is_remark
    assert "could read it until now" in problem.sentence
    assert stat.S_IMODE(env_file.stat().st_mode) == 0o600
    assert secrets.get("A_KEY") == "abc"


@pytest.mark.parametrize("kind", ["folder", "pipe", "bytes"])
def test_a_file_that_cannot_be_read_is_one_sentence_and_the_environment_holds(tmp_path: Path, kind: str):
    path = tmp_path / "env"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case _:
            path.write_bytes(b"A=\xff\n")
    secrets, problems = load_secrets(path, {"A_KEY": "abc"})
    assert len([problem for problem in problems if not problem.is_remark]) == 1
    assert secrets.get("A_KEY") == "abc"


def test_a_known_value_is_masked_by_its_name_and_a_short_one_is_not():
    secrets = Secrets(
        {"A_KEY": KEY, "LONGER": KEY + "-more", "SHORT": "abc"}, {"OPENAI_API_KEY": "sk-env-999"}, ["OPENAI_API_KEY"]
    )
    masked = secrets.mask(f"{KEY}-more {KEY} abc sk-env-999")
    assert masked == "[LONGER] [A_KEY] abc [OPENAI_API_KEY]"


def test_its_own_representation_shows_no_value():
    secrets = Secrets({"A_KEY": KEY}, {"OPENAI_API_KEY": "sk-env-999"}, ["OPENAI_API_KEY"])
    assert repr(secrets) == "Secrets(A_KEY, OPENAI_API_KEY)"


def test_a_child_gets_the_environment_without_our_keys():
    environ = {
        "PATH": "/bin",
        "EDITOR": "vi",
        "OPENAI_API_KEY": "sk-env",
        "MY_KEY": "mine",
        "HF_TOKEN": "hf",
        "A_KEY": "same name as in .env",
    }
    secrets = Secrets({"A_KEY": KEY, "PATH": "/elsewhere"}, environ, ["OPENAI_API_KEY", "MY_KEY"])
    assert secrets.child_environ() == {"PATH": "/bin", "EDITOR": "vi"}


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.one_of(st.binary(max_size=120), st.text("AB=_'\"\\ \n\r#$exportK\0é", max_size=80).map(str.encode)))
def test_no_content_makes_loading_fail(env_file: Path, raw: bytes):
    env_file.write_bytes(raw)
    secrets, problems = load_secrets(env_file, {}, shown=".env")
    assert all(problem.sentence.startswith(".env") for problem in problems)
    assert isinstance(secrets.mask("text"), str)


async def test_a_file_that_another_program_changed_is_read_again(env_file: Path, load: Load):
    secrets = load(f"A_KEY={KEY}\nB_KEY=sk-gone-0123456789\n")
    env_file.write_text("A_KEY=sk-other-987654321\n")
    assert await secrets.fresh("A_KEY") == "sk-other-987654321"
    assert secrets.names == ["A_KEY"]
    assert secrets.mask(f"{KEY} sk-other-987654321 sk-gone-0123456789") == "[A_KEY] [A_KEY] [B_KEY]"


async def test_a_name_that_was_taken_out_brings_the_one_of_the_environment_to_light_and_keeps_it_masked(env_file: Path):
    env_file.write_text(f"A_KEY={KEY}\n")
    secrets, _ = load_secrets(env_file, {"A_KEY": "sk-ambient-55555"})
    assert secrets.mask(KEY) == "[A_KEY]"
    env_file.unlink()
    assert await secrets.fresh("A_KEY") == "sk-ambient-55555"
    assert secrets.mask("sk-ambient-55555") == "[A_KEY]"


@pytest.mark.parametrize("kind", ["folder", "bytes"])
async def test_a_file_that_became_unreadable_leaves_what_is_known(env_file: Path, load: Load, kind: str):
    secrets = load(f"A_KEY={KEY}\n")
    if kind == "folder":
        env_file.unlink()
        env_file.mkdir()
    else:
        env_file.write_bytes(b"A_KEY=\xff\n")
    assert await secrets.fresh("A_KEY") == KEY


async def test_a_key_command_stays_above_a_file_that_is_read_again(env_file: Path):
    env_file.write_text("A_KEY=sk-of-the-file-1\n")
    commands = {"A_KEY": KeyCommand("providers.a.key_cmd", "echo sk-of-the-command", 300.0)}
    secrets, _ = load_secrets(env_file, {"PATH": "/usr/bin:/bin"}, commands=commands)
    env_file.write_text("A_KEY=sk-of-the-file-22\n")
    await secrets.refresh()
    assert await secrets.fresh("A_KEY") == "sk-of-the-command"
