"""`hermes chat`: the contract that scripts rely on. stdout is the answer or one JSON object; the exit code tells the rest."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Command

KEYS = {
    "session_id",
    "text",
    "reasoning",
    "refusal",
    "cut",
    "finish",
    "tool_calls",
    "usage",
    "context",
    "exit_reason",
    "error",
}
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


def only_object(stdout: bytes) -> dict[str, Any]:
    """stdout is exactly one line with exactly one object that has all the keys."""
    assert stdout.count(b"\n") == 1, stdout
    value = json.loads(stdout)
    assert value.keys() >= KEYS
    return value


def wait_streaming(hermes: Command) -> None:
    """Until something of an answer is in the store."""
    ends_at = time.monotonic() + 15
    while time.monotonic() < ends_at:
        try:
            if hermes.query("SELECT 1 FROM partials WHERE content != ''"):
                return
        except sqlite3.OperationalError:
            pass  # the store is not there yet
        time.sleep(0.02)
    raise AssertionError("no answer began")


def test_the_answer_is_on_stdout_and_all_else_on_stderr(hermes: Command) -> None:
    done = hermes.run("chat", "-q", "run touch hi")
    session_id = hermes.query("SELECT id FROM sessions")[0][0]
    assert done.returncode == 0
    assert b"did not run" in done.stdout
    assert session_id.encode() not in done.stdout
    assert f"session: {session_id}" in done.stderr.decode()
    assert b"[terminal]" in done.stderr


def test_quiet_leaves_stderr_empty(hermes: Command) -> None:
    assert hermes.run("chat", "-q", "run echo hi", "--quiet").stderr == b""


def test_json_is_one_object_with_the_agreed_keys(hermes: Command) -> None:
    done = hermes.run("chat", "--json", "-q", "run echo hi")
    turn = only_object(done.stdout)
    assert done.returncode == 0
    assert turn["session_id"] == hermes.query("SELECT id FROM sessions")[0][0]
    assert (turn["exit_reason"], turn["finish"], turn["cut"], turn["error"]) == ("completed", "stop", False, None)
    assert turn["usage"].keys() == {"input", "output", "cache_read", "cache_write", "reasoning"}
    assert turn["usage"]["output"] > 0
    assert turn["context"].keys() >= {"used", "window", "source"}
    assert turn["context"]["source"] == "provider"
    [call] = turn["tool_calls"]
    assert call.keys() == {"id", "name", "arguments", "approval", "outcome", "exit_code"}
    assert call["arguments"] == {"command": "echo hi"}


def test_what_would_be_asked_is_denied_without_a_person(hermes: Command) -> None:
    turn = only_object(hermes.run("chat", "--json", "-q", "run touch made").stdout)
    [call] = turn["tool_calls"]
    assert (call["approval"], call["outcome"], call["exit_code"]) == ("denied", "not_run", None)
    assert not (hermes.cwd / "made").exists()


def test_a_session_goes_on(hermes: Command) -> None:
    first = only_object(hermes.run("chat", "--json", "-q", "help").stdout)
    second = only_object(hermes.run("chat", "--json", "-q", "list", "--session", first["session_id"]).stdout)
    assert second["session_id"] == first["session_id"]
    assert [call["id"] for call in first["tool_calls"]] == []
    assert second["usage"]["input"] > 0
    assert hermes.query("SELECT count(*) FROM messages WHERE role = 'user'") == [(2,)]


@pytest.mark.parametrize("name", ["help", "20"])
def test_a_session_goes_on_by_its_title_or_the_beginning_of_its_id(hermes: Command, name: str) -> None:
    first = only_object(hermes.run("chat", "--json", "-q", "help").stdout)
    assert (
        only_object(hermes.run("chat", "--json", "-q", "list", "--session", name).stdout)["session_id"]
        == first["session_id"]
    )


def test_an_empty_name_never_begins_a_session_where_one_should_go_on(hermes: Command) -> None:
    done = hermes.run("chat", "-q", "hello", "--session", "")
    assert done.returncode == 2
    assert b"takes the id or the title of a session" in done.stderr
    assert not (hermes.home / "state.db").exists()


def test_a_turn_that_is_refused_repeats_nothing_of_its_session(hermes: Command) -> None:
    session_id = only_object(hermes.run("chat", "--json", "-q", "help").stdout)["session_id"]
    (hermes.home / "config.yaml").write_text("model: [bad\n")
    done = hermes.run("chat", "--json", "-q", "more", "--session", session_id)
    turn = only_object(done.stdout)
    assert (done.returncode, turn["text"], turn["tool_calls"]) == (1, "", [])


def test_the_prompt_can_come_from_stdin(hermes: Command) -> None:
    assert b"built-in demo" in hermes.run("chat", "-q", "-", input=b"help\n").stdout


@pytest.mark.parametrize("prompt", [b"", b" \n"])
def test_an_empty_prompt_is_not_sent(hermes: Command, prompt: bytes) -> None:
    done = hermes.run("chat", "--json", "-q", "-", input=prompt)
    assert done.returncode == 1
    assert "empty" in only_object(done.stdout)["error"]["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--session", "20200101-000000-ffff"),
        ("--model", "nobody:x"),
        ("--cwd", "/nonexistent"),
        ("--model", "openai:gpt-5"),
    ],
)
def test_a_turn_that_never_ran_is_still_one_object(hermes: Command, arguments: tuple[str, ...]) -> None:
    done = hermes.run("chat", "--json", "-q", "hello", *arguments)
    turn = only_object(done.stdout)
    assert done.returncode == 1
    assert (turn["session_id"], turn["exit_reason"], turn["text"]) == (None, "error", "")
    assert turn["error"]["kind"] == "unknown"
    assert turn["error"]["message"] in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_a_home_that_cannot_be_used_is_one_object_and_one_sentence(hermes: Command) -> None:
    (hermes.home / "state.db").write_bytes(b"not ours" * 100)
    done = hermes.run("chat", "--json", "-q", "hello")
    assert done.returncode == 1
    assert "not a SQLite database" in only_object(done.stdout)["error"]["message"]
    assert done.stderr.count(b"\n") == 1
    assert (hermes.home / "state.db").read_bytes() == b"not ours" * 100


def test_asking_again_is_told_while_it_is_waited(hermes: Command, model_says: Callable[..., str]) -> None:
    hermes.serve_model(model_says("here", failures=1))
    done = hermes.run("chat", "-q", "hello")
    assert (done.returncode, done.stdout) == (0, b"here\n")
    assert b"asking again" in done.stderr


@pytest.mark.parametrize(("status", "kind"), [(401, "auth"), (404, "model_not_found")])
def test_a_refusing_server_fails_with_its_kind(
    hermes: Command, model_says: Callable[..., str], status: int, kind: str
) -> None:
    hermes.serve_model(model_says(status=status))
    done = hermes.run("chat", "--json", "-q", "hello")
    assert (done.returncode, only_object(done.stdout)["error"]["kind"]) == (1, kind)


@pytest.mark.parametrize(
    "config", ["model: {default: gpt-5, provider: openai}", "model: [bad", "model: {provider: nobody}"]
)
def test_the_demo_does_not_answer_for_a_model_that_cannot_be_had(hermes: Command, config: str) -> None:
    (hermes.home / "config.yaml").write_text(f"probe_local: false\n{config}\n")
    done = hermes.run("chat", "--json", "-q", "help")
    turn = only_object(done.stdout)
    assert (done.returncode, turn["text"], turn["exit_reason"]) == (1, "", "error")
    assert turn["error"]["message"].endswith("Nothing was sent.")
    assert hermes.run("chat", "-q", "help", "--model", "demo").returncode == 0


def test_a_paid_provider_that_nobody_named_is_not_used_unasked(hermes: Command) -> None:
    hermes.environ["OPENAI_API_KEY"] = "sk-not-a-real-key"
    done = hermes.run("chat", "--json", "-q", "hello")
    assert done.returncode == 1
    assert "--model openai:" in only_object(done.stdout)["error"]["message"]
    assert b"sk-not" not in done.stdout + done.stderr


@pytest.mark.parametrize(("number", "code"), SIGNALS)
@pytest.mark.parametrize("as_json", [True, False], ids=["json", "text"])
def test_an_interrupted_turn_is_settled_and_told(hermes: Command, number: int, code: int, as_json: bool) -> None:
    process = hermes.start("chat", "-q", "long", *(["--json"] if as_json else []))
    wait_streaming(hermes)
    began_at = time.monotonic()
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=20)
    assert process.returncode == code
    assert time.monotonic() - began_at < 4  # two by the rule, and as much again for a machine that is busy
    assert b"Traceback" not in stderr
    assert hermes.query("SELECT finish FROM messages WHERE role = 'assistant'") == [("interrupted",)]
    if as_json:
        turn = only_object(stdout)
        assert (turn["exit_reason"], turn["finish"], turn["cut"], turn["error"]) == (
            "interrupted",
            "interrupted",
            True,
            None,
        )
        assert turn["text"]


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_while_the_prompt_is_read_is_told_as_well(hermes: Command, number: int, code: int) -> None:
    process = hermes.start("chat", "--json", "-q", "-", stdin=subprocess.PIPE)
    ends_at = time.monotonic() + 15
    while not reads_stdin(process.pid) and time.monotonic() < ends_at:
        time.sleep(0.02)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=20)
    assert process.returncode == code
    assert only_object(stdout)["exit_reason"] == "interrupted"
    assert b"Traceback" not in stderr


def reads_stdin(pid: int) -> bool:
    """Whether the process sleeps with its handlers set (Linux tells; elsewhere a moment must do)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        time.sleep(1)
        return True
    caught = int(status.split("SigCgt:")[1].split()[0], 16)
    return bool(caught & 1 << (signal.SIGHUP - 1)) and "State:\tS" in status


def test_an_answer_goes_into_a_pipe_as_it_is_and_onto_a_terminal_literally(
    hermes: Command, model_says: Callable[..., str]
) -> None:
    said = "red \x1b[31mtext\x07 [b]é日[/b]\ttab\nend"
    hermes.serve_model(model_says(said))
    assert hermes.run("chat", "-q", "hello").stdout.decode() == f"{said}\n"
    master, slave = os.openpty()
    assert hermes.run("chat", "-q", "hello", stdout=slave).returncode == 0
    shown = os.read(master, 4096)
    os.close(master)
    os.close(slave)
    assert b"\x1b" not in shown
    assert b"\x07" not in shown
    assert "[b]é日[/b]" in shown.decode()


def test_a_locale_without_utf8_changes_nothing(hermes: Command, model_says: Callable[..., str]) -> None:
    hermes.serve_model(model_says("é日"))
    hermes.environ |= {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert hermes.run("chat", "-q", "hello").stdout.decode() == "é日\n"


@pytest.mark.parametrize(
    "line",
    [
        "$HERMES chat -q long | head -n 1",
        "$HERMES chat -q help <&-",
        "$HERMES chat -q help >&-",
        "$HERMES chat -q help 2>&-",
        "$HERMES chat -q help <&- >&- 2>&-",
        "$HERMES sessions list >&-",
        "env -u HOME $HERMES chat -q help",
    ],
)
def test_odd_surroundings_are_no_error(hermes: Command, line: str) -> None:
    done = hermes.shell(line)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr
    assert hermes.query("PRAGMA integrity_check") == [("ok",)]


def test_a_closed_stderr_puts_nothing_else_on_stdout(hermes: Command) -> None:
    only_object(hermes.shell("$HERMES chat --json -q 'run echo hi' 2>&-").stdout)


def test_E11_a_folder_that_is_gone_is_one_sentence(hermes: Command) -> None:
    done = hermes.shell("mkdir gone && cd gone && rmdir ../gone && $HERMES chat -q help")
    assert done.returncode == 1
    assert done.stderr.decode().strip() == (
        "hermes: The folder you are in does not exist any more. Change to another one, or name one with --cwd."
    )


def test_a_headless_run_does_not_load_the_screen(hermes: Command) -> None:
    code = "import sys; from tui.cli.main import main; main(['chat', '-q', 'help']); sys.exit('textual' in sys.modules)"
    python = hermes.path.with_name("python")
    assert subprocess.run([python, "-c", code], env=hermes.environ, cwd=hermes.cwd, check=False).returncode == 0


def test_C03_a_denial_is_in_the_report_and_on_stderr_also_in_a_quiet_run(hermes: Command) -> None:
    for command in ("ls . && touch d2", "touch d2 && ls ."):
        done = hermes.run("chat", "--json", "--quiet", "-q", f"run {command}")
        [denied] = only_object(done.stdout)["denied"]
        assert (denied["name"], denied["approval"]) == ("terminal", "denied")
        assert "a headless run has nobody to ask" in denied["why"] and "touch" in denied["why"]
        assert "1 call was not allowed to run" in done.stderr.decode() and command in done.stderr.decode()
    assert not (hermes.cwd / "d2").exists()
