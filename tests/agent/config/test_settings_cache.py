"""What was read last is read again only where something differs, and is never believed where it might be wrong."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agent.config.load import load_settings

TEXT = "agent: {max_turns: 5}\nproviders: {p: {base_url: 'http://h/v1', extra_body: {a: [1, 2.5, null]}}}\nbad: 1\n"
START = """
import sys
from agent.profile import Profile
from agent.route import choose_route
profile = Profile.load({"HERMES_HOME": sys.argv[1]})
choose_route(profile.settings, profile.secrets)
profile.close()
late = {"yaml", "dotenv", "pydantic", "agent.config.table", "agent.config.yaml_edit"}
print(profile.settings.agent.max_turns, sorted(late & set(sys.modules)))
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def cache(config: Path) -> Path:
    """The file as a first start leaves it."""
    load_settings(config, "c")
    return config.parent / "cache" / "settings.json"


def started(config: Path) -> str:
    done = subprocess.run([sys.executable, "-c", START, str(config.parent)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_second_start_with_the_same_config_loads_no_yaml(config: Path):
    assert "yaml" in started(config)
    assert started(config) == "5 []"


def test_what_was_remembered_is_what_was_read(config: Path, cache: Path):
    remembered = load_settings(config, "c")
    cache.unlink()
    fresh = load_settings(config, "c", is_remembered=False)
    assert remembered == fresh
    assert fresh.problems and fresh.origins
    assert not cache.exists()


def test_a_text_of_the_same_size_and_age_is_another_text(config: Path, cache: Path):
    before = config.stat()
    config.write_text(TEXT.replace("5}", "6}"))
    os.utime(config, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load_settings(config, "c").settings.agent.max_turns == 6


def test_each_source_counts(config: Path, cache: Path):
    assert load_settings(config, "c", environ={"HERMES_AGENT_MAX_TURNS": "8"}).settings.agent.max_turns == 8
    assert load_settings(config, "c", flags={"agent.max_turns": "9"}).settings.agent.max_turns == 9
    assert load_settings(config, "c", project=("p", "agent: {max_turns: 7}")).settings.agent.max_turns == 7
    assert load_settings(config, "c").settings.agent.max_turns == 5


def test_another_program_version_reads_anew(cache: Path, config: Path):
    remembered = json.loads(cache.read_text())
    remembered["reader"] = "an older one"
    remembered["loaded"]["settings"]["agent"]["max_turns"] = 77
    cache.write_text(json.dumps(remembered))
    assert load_settings(config, "c").settings.agent.max_turns == 5


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"null", b"[" * 100_000, b"\xff\xfe", b'{"reader":1}', "out of range", "wrong type", "open to others"],
    ids=lambda raw: repr(raw)[:16],
)
def test_a_cache_that_is_broken_or_not_ours_is_ignored_and_written_again(config: Path, cache: Path, raw: bytes | str):
    good = cache.read_bytes()
    remembered = json.loads(good)
    agent = remembered["loaded"]["settings"]["agent"]
    agent["max_turns"] = {"out of range": 1_000_000, "wrong type": "many"}.get(str(raw), 77)
    cache.write_bytes(raw if isinstance(raw, bytes) else json.dumps(remembered).encode())
    cache.chmod(0o644 if raw == "open to others" else 0o600)
    assert load_settings(config, "c").settings.agent.max_turns == 5
    assert cache.read_bytes() == good


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "no folder for it"])
def test_something_else_in_its_place_changes_nothing(config: Path, cache: Path, kind: str, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    good = cache.read_bytes()
    cache.unlink()
    match kind:
        case "folder":
            cache.mkdir()
        case "pipe":
            os.mkfifo(cache)
        case "link":
            elsewhere.write_bytes(good.replace(b'"max_turns":5', b'"max_turns":6'))
            elsewhere.chmod(0o600)
            cache.symlink_to(elsewhere)
        case _:
            cache.parent.rmdir()
            cache.parent.write_text("a file")
    assert load_settings(config, "c").settings.agent.max_turns == 5
    assert not elsewhere.exists() or b'"max_turns":6' in elsewhere.read_bytes()


def test_it_is_for_its_owner_only_and_no_half_of_it_is_left_over(cache: Path):
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.parent.stat().st_mode) == 0o700
    assert [path.name for path in cache.parent.iterdir()] == ["settings.json"]


def test_a_home_without_a_config_gets_no_cache(tmp_path: Path):
    load_settings(tmp_path / "none" / "config.yaml", "c")
    assert list(tmp_path.iterdir()) == []
