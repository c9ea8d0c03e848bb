"""A profile opens one home, says what is wrong in it, and leaves a neighbour's alone."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.profile import Profile
from session.errors import ForeignDatabase

KEY = "sk-test-0123456789"


@contextmanager
def opened(**environ: str) -> Iterator[Profile]:
    profile = Profile.load(environ)
    try:
        yield profile
    finally:
        profile.close()


def test_an_empty_folder_becomes_a_home_without_problems(tmp_path: Path):
    with opened(HOME=str(tmp_path)) as profile:
        assert (profile.name, profile.problems, profile.home.root) == ("default", (), tmp_path / ".hermes-tui")
        assert sorted(path.name for path in profile.home.root.iterdir() if path.is_dir()) == [
            "locks",
            "logs",
            "outputs",
        ]


def test_problems_of_both_files_are_told_and_the_rest_holds(tmp_path: Path):
    (tmp_path / "config.yaml").write_text("agent: {max_turns: many}\nprobe_local: false\n")
    (tmp_path / ".env").write_text(f"nonsense\nMY_KEY={KEY}\n")
    (tmp_path / ".env").chmod(0o600)
    with opened(HERMES_HOME=str(tmp_path)) as profile:
        assert [problem.line for problem in profile.problems] == [1, 1]
        assert profile.settings.probe_local is False
        assert profile.secrets.get("MY_KEY") == KEY


def test_a_key_named_in_the_config_is_kept_from_children(tmp_path: Path):
    (tmp_path / "config.yaml").write_text("providers: {p: {base_url: 'http://h/v1', key_env: WORK_KEY}}\n")
    with opened(HERMES_HOME=str(tmp_path), WORK_KEY=KEY, OPENAI_API_KEY=KEY, EDITOR="vi") as profile:
        assert profile.secrets.child_environ() == {"HERMES_HOME": str(tmp_path), "EDITOR": "vi"}


def test_its_representation_shows_no_secret(tmp_path: Path):
    with opened(HERMES_HOME=str(tmp_path), OPENAI_API_KEY=KEY) as profile:
        assert KEY not in repr(profile)


def test_the_process_environment_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "other"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with opened(HERMES_HOME=str(tmp_path / "mine")) as profile:
        assert profile.home.root == tmp_path / "mine"
        assert profile.secrets.get("OPENAI_API_KEY") is None
    assert not (tmp_path / "other").exists()


def test_a_home_with_the_neighbours_database_is_left_byte_for_byte(tmp_path: Path):
    database = sqlite3.connect(tmp_path / "state.db")
    database.execute("CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, user_id TEXT, model TEXT)")
    database.commit()
    database.close()
    (tmp_path / "config.yaml").write_text("model: {default: x}\n")
    before = contents(tmp_path)
    with pytest.raises(ForeignDatabase):
        Profile.load({"HERMES_HOME": str(tmp_path)})
    assert contents(tmp_path) == before


def contents(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_a_first_start_imports_neither_yaml_nor_dotenv_nor_http(tmp_path: Path):
    start = (
        "import sys; from agent.profile import Profile; from agent.route import choose_route\n"
        "p = Profile.load({'HOME': sys.argv[1]}); choose_route(p.settings, p.secrets); p.db.close()\n"
        "print(sorted({'yaml', 'dotenv', 'httpx', 'httpx2', 'openai'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", start, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=20,
        env={"PATH": os.defpath},
    )
    assert done.stdout == "[]\n", done.stderr
