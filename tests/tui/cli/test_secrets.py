"""`hermes secrets`: no value is ever shown, taken from the command line, or left in what other commands print."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pexpect
import pytest

if TYPE_CHECKING:
    from conftest import Command

KEY = "sk-test-0123456789-3f2a"


def save(hermes: Command, name: str, value: str) -> None:
    done = hermes.run("secrets", "set", name, input=value.encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert value.encode() not in done.stdout


def test_a_value_from_standard_input_is_saved_and_listed_by_its_end(hermes: Command) -> None:
    save(hermes, "WORK_KEY", f"{KEY}\n")
    env = hermes.home / ".env"
    assert env.read_text() == f"WORK_KEY={KEY}\n"
    assert stat.S_IMODE(env.stat().st_mode) == 0o600
    hermes.environ |= {"OPENAI_API_KEY": "short", "WORK_KEY": "hidden by the file"}
    listed = hermes.run("secrets", "list", "--json").stdout
    assert json.loads(listed) == [
        {"name": "OPENAI_API_KEY", "source": "the environment", "shown": "••••••"},
        {"name": "WORK_KEY", "source": str(env), "shown": "sk-…3f2a"},
    ]
    assert KEY.encode() not in hermes.run("secrets", "list").stdout


def test_a_key_command_is_listed_and_not_run(hermes: Command) -> None:
    server = {"base_url": "http://127.0.0.1:1/v1", "key_env": "WORK_KEY", "key_cmd": "touch was-run"}
    hermes.configure(providers={"work": server})
    (listed,) = json.loads(hermes.run("secrets", "list", "--json").stdout)
    assert listed == {"name": "WORK_KEY", "source": "providers.work.key_cmd", "shown": None}
    done = hermes.run("secrets", "set", "WORK_KEY", input=KEY.encode())
    assert done.returncode == 1
    assert b"comes from providers.work.key_cmd, which would win" in done.stderr
    assert not (hermes.home / "was-run").exists()


def test_a_typed_value_is_not_shown(hermes: Command) -> None:
    child = pexpect.spawn(
        str(hermes.path), ["secrets", "set", "WORK_KEY"], env=hermes.environ, cwd=str(hermes.cwd), timeout=15
    )
    child.expect_exact("WORK_KEY (not shown): ")
    deadline = time.monotonic() + 15
    while child.getecho() and time.monotonic() < deadline:
        time.sleep(0.01)
    child.sendline(KEY)
    child.expect_exact("Saved WORK_KEY in ")
    child.expect(pexpect.EOF)
    assert KEY.encode() not in (child.before or b"")
    assert (hermes.home / ".env").read_text() == f"WORK_KEY={KEY}\n"


@pytest.mark.parametrize(
    "words", [("WORK_KEY", KEY), ("WORK_KEY", f"--{KEY}"), (f"WORK_KEY={KEY}",), ("WORK_KEY", "a", KEY)]
)
def test_a_value_on_the_command_line_is_refused_and_not_repeated(hermes: Command, words: tuple[str, ...]) -> None:
    done = hermes.run("secrets", "set", *words, input=b"other")
    assert done.returncode == 2
    assert b"shell's history" in done.stderr
    assert KEY.encode() not in done.stdout + done.stderr
    assert not (hermes.home / ".env").exists()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("WORK_KEY", b" \n", b"Nothing was given"),
        ("WORK_KEY", b"a\xffb", b"characters that no text file can"),
        ("WORK_KEY", b"x" * 200_000, b"larger than 100,000 bytes"),
        ("PATH", b"/evil", b"PATH decides how programs run"),
        ("no name", b"x", b"a name there takes letters"),
    ],
    ids=["blank", "bytes", "long", "dangerous", "no name"],
)
def test_what_cannot_be_saved_is_one_sentence(hermes: Command, name: str, value: bytes, said: bytes) -> None:
    done = hermes.run("secrets", "set", name, "--json", input=value)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
    assert said in done.stderr
    assert said.decode() in json.loads(done.stdout)["error"]


@pytest.mark.parametrize("raw", [b"A_KEY=\xff\xfe\n", b"sk-no-name-to-it-0123456789\n"])
def test_a_list_says_what_of_the_file_could_not_be_read(hermes: Command, raw: bytes) -> None:
    (hermes.home / ".env").write_bytes(raw)
    for words in (("secrets", "list"), ("secrets", "list", "--json")):
        done = hermes.run(*words)
        assert done.returncode == 0
        assert b".env" in done.stderr
        assert b"line 1" in done.stderr
        assert b"sk-no" not in done.stdout + done.stderr


def test_unset_says_what_is_left(hermes: Command) -> None:
    save(hermes, "OPENAI_API_KEY", KEY)
    hermes.environ["OPENAI_API_KEY"] = "sk-other"
    first, second = (json.loads(hermes.run("secrets", "unset", "OPENAI_API_KEY", "--json").stdout) for _ in "12")
    assert first == {"name": "OPENAI_API_KEY", "was_set": True, "source": "the environment"}
    assert second == {**first, "was_set": False}


def test_neither_chat_nor_a_conversation_nor_a_list_shows_a_secret(
    hermes: Command, model_says: Callable[..., str]
) -> None:
    """Not even where the model, or the person, said it."""
    hermes.serve_model(model_says(f"your key is {KEY}"))
    save(hermes, "WORK_KEY", KEY)
    shown = [hermes.run("chat", "-q", f"say {KEY}", *more) for more in ((), ("--json",))]
    session = json.loads(shown[1].stdout)["session_id"]
    shown += [hermes.run("sessions", *words) for words in (("list",), ("list", "--json"), ("show", session, "--json"))]
    assert all(done.returncode == 0 for done in shown)
    assert all(KEY.encode() not in done.stdout + done.stderr for done in shown)
    assert json.loads(shown[1].stdout)["text"] == "your key is [WORK_KEY]"
    assert [row["content"] for row in json.loads(shown[4].stdout)["messages"][-2:]] == [
        "say [WORK_KEY]",
        "your key is [WORK_KEY]",
    ]


@pytest.mark.parametrize("place", ["the environment", ".env"])
def test_a_failure_before_the_home_is_open_is_logged_without_the_keys(hermes: Command, place: str) -> None:
    if place == ".env":
        (hermes.home / ".env").write_text(f"WORK_KEY={KEY}\n")
    else:
        hermes.environ["WORK_KEY"] = KEY
    script = (
        "import os; from tui.cli.log_file import log, open_early; open_early(os.environ)\n"
        "log.error('failed', exc_info=ValueError('KEY'))".replace("KEY", KEY)
    )
    (hermes.home / "logs").mkdir()
    done = hermes.shell(f'{os.fspath(hermes.path.with_name("python"))} -c "{script}"')
    assert (done.returncode, done.stderr) == (0, b"")
    assert "ValueError: [WORK_KEY]" in (hermes.home / "logs" / "hermes.log").read_text()
