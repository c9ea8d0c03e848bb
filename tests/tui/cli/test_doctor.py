"""`hermes doctor` sees what is wrong, changes nothing, and tells no secret."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from session.db import SessionDB
from session.lease import Claim

if TYPE_CHECKING:
    from conftest import Command

KEY = "sk-very-secret-0123456789"
Found = list[dict[str, str]]


class ModelServer:
    """A server that answers every GET with one status, and what it was asked."""

    def __init__(self, status: int) -> None:
        asked = self.asked = list[tuple[str, str | None]]()

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append((self.path, self.headers.get("authorization")))
                self.send_response(status)
                self.send_header("location", "/elsewhere")
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *args: object) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def model_server() -> Iterator[Callable[[int], ModelServer]]:
    running: list[ModelServer] = []

    def serve(status: int) -> ModelServer:
        running.append(ModelServer(status))
        return running[-1]

    yield serve
    for server in running:
        server.http.shutdown()
        server.http.server_close()


def examined(hermes: Command, *arguments: str, exit_code: int = 0) -> Found:
    done = hermes.run("doctor", "--json", *arguments)
    assert (done.returncode, done.stderr) == (exit_code, b"")
    return json.loads(done.stdout)["findings"]


def told(found: Found, area: str, grade: str = "") -> str:
    return "\n".join(
        f"{item['text']} {item['fix']}" for item in found if item["area"] == area and grade in ("", item["grade"])
    )


def contents(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mode, path.stat().st_mtime_ns, path.read_bytes()) for path in [*files]} | {
        str(path): (path.stat().st_mode, 0, b"") for path in [folder, *folder.rglob("*")] if path.is_dir()
    }


def test_a_home_that_is_not_there_yet_is_not_made(hermes: Command, tmp_path: Path) -> None:
    hermes.environ["HERMES_HOME"] = str(tmp_path / "later")
    assert "does not exist yet" in told(examined(hermes, "--offline"), "home", "note")
    assert not (tmp_path / "later").exists()


def test_a_home_that_was_used_stays_as_it_is(hermes: Command) -> None:
    """Also what is open to others, which a start would close."""
    hermes.configure(agent={"max_turns": 7}, nonsense=1)
    (hermes.home / ".env").write_text(f"MY_KEY={KEY}\n")
    hermes.run("chat", "-q", "help", "--model", "demo")
    for name in (".env", "state.db", "logs"):
        (hermes.home / name).chmod(0o755)
    hermes.home.chmod(0o755)
    before = contents(hermes.home)
    found = examined(hermes)
    assert contents(hermes.home) == before
    assert told(found, "home", "warning").count("Other users of this machine can open") == 4
    assert "chmod 600" in told(found, "home", "warning")


def test_all_is_well_in_a_home_that_was_used(hermes: Command) -> None:
    hermes.home.chmod(0o700)
    hermes.run("chat", "-q", "help", "--model", "demo")
    (hermes.home / "config.yaml").chmod(0o600)
    found = examined(hermes, "--offline")
    assert {item["grade"] for item in found} <= {"ok", "note"}
    assert "SQLite finds nothing wrong" in told(found, "database", "ok")


def test_names_of_secrets_are_told_and_no_value(hermes: Command, model_server: Callable[[int], ModelServer]) -> None:
    server = model_server(401)
    (hermes.home / ".env").write_text(f"MY_KEY={KEY}\nnot a line {KEY}\n")
    hermes.configure(
        providers={"p": {"base_url": server.url, "key_env": "MY_KEY", "api_key": KEY}, KEY: {"base_url": 3}}
    )
    done = hermes.run("doctor")
    assert b"MY_KEY" in done.stdout
    assert KEY.encode() not in done.stdout + done.stderr


def test_a_key_that_only_the_environment_has_is_noted_once_there_are_several_profiles(hermes: Command) -> None:
    hermes.environ.update(OPENAI_API_KEY=KEY, GROQ_API_KEY=KEY)
    (hermes.home / ".env").write_text("GROQ_API_KEY=gsk-0123456789\n")
    assert "from the environment alone" not in told(examined(hermes, "--offline"), "secrets")
    (hermes.home / "profiles" / "other").mkdir(parents=True)
    assert "default has OPENAI_API_KEY from the environment alone" in told(
        examined(hermes, "--offline"), "secrets", "note"
    )
    assert "from the environment alone" not in told(examined(hermes, "--offline", "-p", "other"), "secrets")


def test_to_look_at_another_profile_changes_nothing_in_the_first(hermes: Command) -> None:
    (hermes.home / ".env").write_text(f"MY_KEY={KEY}\n")
    (hermes.home / ".env").chmod(0o644)
    (hermes.home / "profiles" / "other").mkdir(parents=True)
    before = contents(hermes.home)
    examined(hermes, "--offline", "-p", "other")
    assert contents(hermes.home) == before


# --- what is wrong


@pytest.mark.parametrize("name", [".env", "config.yaml", "trust.json"])
def test_a_folder_where_a_file_belongs_is_to_be_moved_away(hermes: Command, name: str) -> None:
    (hermes.home / name).unlink(missing_ok=True)
    (hermes.home / name).mkdir(mode=0o755)
    code = hermes.run("doctor", "--offline").returncode
    said = told(examined(hermes, "--offline", exit_code=code), "home", "warning")
    assert f"{name} is a folder where a file belongs. move" in said
    assert f"chmod 700 {hermes.home}/{name}" not in said


def test_a_config_that_cannot_be_read_is_a_problem(hermes: Command) -> None:
    (hermes.home / "config.yaml").write_text("agent: [")
    found = examined(hermes, "--offline", exit_code=1)
    assert "not valid YAML" in told(found, "config", "problem")


def test_a_bad_setting_is_a_warning_with_its_line(hermes: Command) -> None:
    (hermes.home / "config.yaml").write_text("probe_local: false\nagent: {max_turns: many}\n")
    assert "line 2: agent.max_turns takes a whole number" in told(examined(hermes, "--offline"), "config", "warning")


def test_a_database_of_another_program_is_a_problem(hermes: Command) -> None:
    with sqlite3.connect(hermes.home / "state.db") as database:
        database.execute("CREATE TABLE t (a)")
    database.close()
    assert "belongs to another program" in told(examined(hermes, "--offline", exit_code=1), "database", "problem")


def test_a_file_that_is_no_database_is_a_problem(hermes: Command) -> None:
    (hermes.home / "state.db").write_text("words, words, words" * 40)
    assert "can't be read" in told(examined(hermes, "--offline", exit_code=1), "database", "problem")


def test_the_home_of_the_neighbour_is_a_problem(hermes: Command) -> None:
    for name in ("SOUL.md", "auth.json"):
        (hermes.home / name).touch()
    assert "hermes-agent" in told(examined(hermes, "--offline", exit_code=1), "home", "problem")


def test_a_damaged_record_of_trust_is_a_problem(hermes: Command) -> None:
    (hermes.home / "trust.json").write_text("{")
    (hermes.home / "trust.json").chmod(0o600)
    assert "damaged" in told(examined(hermes, "--offline", exit_code=1), "project", "problem")


def test_a_machine_without_programs_or_utf8_is_told(hermes: Command, tmp_path: Path) -> None:
    hermes.environ.update(PATH=str(tmp_path), LC_ALL="C")
    found = examined(hermes, "--offline")
    assert "git was not found" in told(found, "environment", "note")
    assert "not UTF-8 (LC_ALL=C)" in told(found, "environment", "warning")


def test_who_holds_a_session_is_told_without_taking_it(hermes: Command) -> None:
    hermes.run("chat", "-q", "help", "--model", "demo")
    [(session_id,)] = hermes.query("SELECT id FROM sessions")
    db = SessionDB.open(hermes.home / "state.db")
    try:
        db.write(lambda tables: tables.leases.take(Claim(session_id, "a token", "tui"), 1.0)).result()
        found = told(examined(hermes, "--offline"), "database", "ok")
    finally:
        db.close()
    assert f"Session {session_id} is held by process {os.getpid()} on {socket.gethostname()}." in found


# --- model servers


@pytest.mark.parametrize(
    ("status", "grade", "words"),
    [
        (200, "ok", "answers."),
        (401, "warning", "does not take its key (401). set MY_KEY anew"),
        (404, "ok", "lists no models"),
        (302, "warning", "status 302"),
        (503, "warning", "status 503"),
    ],
)
def test_a_server_is_asked_once_with_its_own_key(
    hermes: Command, model_server: Callable[[int], ModelServer], status: int, grade: str, words: str
) -> None:
    server = model_server(status)
    hermes.environ["MY_KEY"] = KEY
    hermes.configure(providers={"p": {"base_url": server.url, "key_env": "MY_KEY"}})
    assert words in told(examined(hermes), "providers", grade)
    assert server.asked == [("/v1/models", f"Bearer {KEY}")]


def test_offline_asks_nobody(hermes: Command, model_server: Callable[[int], ModelServer]) -> None:
    server = model_server(200)
    hermes.configure(providers={"p": {"base_url": server.url}})
    assert "was not asked" in told(examined(hermes, "--offline"), "providers")
    assert server.asked == []


def test_a_proxy_of_the_environment_sees_nothing(hermes: Command, model_server: Callable[[int], ModelServer]) -> None:
    server, proxy = model_server(200), model_server(200)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        hermes.environ[name] = proxy.url
    hermes.configure(providers={"p": {"base_url": server.url}})
    examined(hermes)
    assert (len(server.asked), proxy.asked) == (1, [])


def test_a_key_command_is_not_run(hermes: Command, model_server: Callable[[int], ModelServer], tmp_path: Path) -> None:
    server, ran = model_server(401), tmp_path / "ran"
    hermes.configure(providers={"p": {"base_url": server.url, "key_cmd": f"touch {ran}"}})
    assert "was not run" in told(examined(hermes), "providers", "ok")
    assert not ran.exists()


def test_servers_that_are_not_there_or_say_nothing_cost_two_seconds_together(hermes: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("127.0.0.1", 0)) as gone:
        ports = [silent.getsockname()[1], gone.getsockname()[1]]
        gone.close()
        urls = {f"p{port}": {"base_url": f"http://127.0.0.1:{port}/v1"} for port in ports}
        urls |= {"quiet": {"base_url": f"http://127.0.0.1:{ports[0]}/v2"}}
        hermes.configure(providers=urls)
        before = time.monotonic()
        said = told(examined(hermes), "providers", "warning")
        assert time.monotonic() - before < 8
    assert said.count("no answer within 2 s") == 2
    assert "nothing listens there" in said


def test_another_profile_is_not_examined_with_the_key_of_this_one(
    hermes: Command, model_server: Callable[[int], ModelServer]
) -> None:
    server = model_server(200)
    hermes.environ["MY_KEY"] = KEY
    other = hermes.home / "profiles" / "other"
    other.mkdir(parents=True)
    providers = {"p": {"base_url": server.url, "key_env": "MY_KEY"}}
    (other / "config.yaml").write_text(json.dumps({"probe_local": False, "providers": providers}))
    examined(hermes, "-p", "other")
    assert server.asked == [("/v1/models", None)]


# --- the terminal


def on_terminal(hermes: Command, **environ: str) -> tuple[int, str]:
    master, slave = os.openpty()
    with subprocess.Popen(
        [hermes.path, "doctor", "--offline"],
        env={**hermes.environ, **environ},
        cwd=hermes.cwd,
        stdin=slave,
        stdout=slave,
        stderr=slave,
    ) as process:
        os.close(slave)
        written = bytearray()
        while piece := _read(master):
            written += piece
        code = process.wait(timeout=20)
    os.close(master)
    return code, written.decode()


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65_536)
    except OSError:  # Linux's word for the end of a terminal
        return b""


@pytest.mark.parametrize(
    ("environ", "exit_code", "words"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, 0, "all colours"),
        ({"TERM": "dumb"}, 1, "the screen can't be drawn"),
        ({"TMUX": "/tmp/x"}, 0, "in tmux"),
        ({"SSH_TTY": "/dev/pts/1"}, 0, "over SSH"),
    ],
)
def test_the_terminal_is_described(hermes: Command, environ: dict[str, str], exit_code: int, words: str) -> None:
    code, shown = on_terminal(hermes, **environ)
    assert (code, words in shown) == (exit_code, True)


def test_without_a_terminal_nothing_is_said_of_it(hermes: Command) -> None:
    assert "not run on a terminal" in told(examined(hermes, "--offline"), "terminal", "note")
