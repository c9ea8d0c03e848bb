"""`hermes config` as a person and a script meet it."""

from __future__ import annotations

import json
import os
import random
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent.config.config_file import NotSet, set_setting, unset_setting
from agent.config.load import load_settings
from agent.config.locked_file import NotSaved
from agent.config.settings_page import settings_page
from agent.profile import Profile
from tui.cli.dispatch import dispatch

if TYPE_CHECKING:
    from conftest import Command

ROOT = Path(__file__).resolve().parents[3]
FILES = int(os.environ.get("HERMES_SOAK") or 0) * 100 or 60

CONFIG = b"""# mine
model: {default: big, provider: mine}
providers:
  mine: &m
    base_url: http://127.0.0.1:8000/v1
    extra_body: {a: [1, 2.5, null]}   # sent along
other: *m
agent:
  max_turns: 5
  system_prompt: |
    two
    lines
"""
ENV = b"""# keys
export MY_KEY='sk-0123456789'
OTHER="two\\nlines" # why
"""
PIECES = [
    *(
        b": ",
        b"- ",
        b"\n",
        b"\r",
        b"\t",
        b"{",
        b"}",
        b"[",
        b"]",
        b"'",
        b'"',
        b"#",
        b"&m",
        b"*m",
        b"*x",
        b"<<: *m",
        b"|",
    ),
    *(
        b"\0",
        b"\xff",
        b"\xe9",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"=",
        b"$(x)",
        b"\\",
        b"---\n",
        b"...\n",
        b"%YAML 9\n",
    ),
    *(
        b"!!python/object:os.system x",
        b"? ",
        b"agent",
        b"max_turns: ",
        b"providers:\n",
        b"9" * 30,
        b"1e999",
        b"\xe2\x80\xa8",
    ),
]


def told(done: Any) -> Any:
    return json.loads(done.stdout)


def mutated(raw: bytes, dice: random.Random) -> bytes:
    """The file after some accidents: pieces lost, doubled, put elsewhere, or replaced by what no one wrote."""
    for _ in range(dice.randint(1, 6)):
        start = dice.randint(0, len(raw))
        end = min(len(raw), start + dice.choice([0, 0, 1, 3, 20]))
        new = dice.choice([b"", dice.choice(PIECES), raw[start:end] * 2, dice.randbytes(dice.randint(0, 4))])
        raw = raw[:start] + new + raw[end:]
    match dice.randint(0, 20):
        case 0:
            return raw[: dice.randint(0, len(raw))]
        case 1:
            return raw.decode("utf-8", "replace").encode("utf-16")
        case 2:
            return dice.choice([b"[", b"{a: ", b"- ", b"&a [*a, "]) * dice.choice([10, 5_000])
        case _:
            return raw


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_no_broken_file_is_lost_rewritten_or_the_end_of_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    config, env = tmp_path / "config.yaml", tmp_path / ".env"
    for seed in range(FILES):
        dice = random.Random(seed)
        config.write_bytes(mutated(CONFIG, dice))
        env.write_bytes(mutated(ENV, dice))
        env.chmod(0o600)
        before = (config.read_bytes(), env.read_bytes())
        profile = Profile.load({"HERMES_HOME": str(tmp_path)})
        profile.close()
        wrong = [problem.sentence for problem in profile.problems if not problem.is_remark]
        assert all(sentence.isprintable() for sentence in wrong), seed
        assert dispatch(["config", "check", "--json"]) == (1 if wrong else 0), seed
        problems = json.loads(capfdbinary.readouterr().out)["problems"]
        assert sum(not problem["is_remark"] for problem in problems) == len(wrong), seed
        assert (config.read_bytes(), env.read_bytes()) == before, seed
        _write_over(config, before[0], seed)


def _write_over(config: Path, before: bytes, seed: int) -> None:
    """A change is made and is all that changed, or the file is as it was."""
    try:
        set_setting(config, ("agent", "stream_retries"), "7")
    except (NotSaved, NotSet):
        assert config.read_bytes() == before, seed
        return
    assert load_settings(config, "c").settings.agent.stream_retries == 7, seed
    assert unset_setting(config, ("agent", "stream_retries")), seed


def test_a_broken_file_is_told_by_every_command_that_reads_it(hermes: Command) -> None:
    (hermes.home / "config.yaml").write_bytes(b"model: [\n}")
    assert hermes.run("version").returncode == 0
    checked = hermes.run("config", "check")
    assert (checked.returncode, b"line 2" in checked.stdout) == (1, True)
    changed = hermes.run("config", "set", "agent.max_turns", "5")
    assert changed.returncode == 1
    assert b"line 2" in changed.stderr and changed.stderr.count(b"\n") == 1
    assert (hermes.home / "config.yaml").read_bytes() == b"model: [\n}"


def test_a_value_goes_in_is_shown_with_its_source_and_comes_out_again(hermes: Command) -> None:
    assert told(hermes.run("config", "set", "agent.max_turns", "5", "--json"))["key"] == "agent.max_turns"
    shown = told(hermes.run("config", "get", "agent.max_turns", "--json"))
    assert (shown["value"], shown["layer"], shown["default"]) == (5, "user", 90)
    hermes.environ["HERMES_AGENT_MAX_TURNS"] = "6"
    listed = {item["key"]: item for item in told(hermes.run("config", "list", "--json"))}
    assert (listed["agent.max_turns"]["value"], listed["agent.max_turns"]["layer"]) == (6, "environment")
    assert listed["agent.stream_retries"]["layer"] == "default"
    assert told(hermes.run("config", "unset", "agent.max_turns", "--json"))["was_set"] is True
    assert told(hermes.run("config", "unset", "agent.max_turns", "--json"))["was_set"] is False


def test_list_and_path_are_for_people_and_programs(hermes: Command) -> None:
    assert b"agent.max_turns = 90  (default)\n" in hermes.run("config", "list").stdout
    assert hermes.run("config", "path").stdout.decode() == f"{hermes.home}/config.yaml\n"
    assert told(hermes.run("config", "path", "--json"))["env"] == f"{hermes.home}/.env"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("set", "agent.max_turns", "0"), 1, "from 1 to 10000. Nothing was changed."),
        (("get", "agent.max_turn"), 1, "is no setting of this version"),
        (("get", "a..b"), 1, "is no key"),
        (("set", "agent.max_turns"), 2, "VALUE"),
        (("get",), 2, "KEY"),
        ((), 2, "verb"),
    ],
)
def test_a_mistake_is_one_sentence_and_a_code(
    hermes: Command, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = hermes.run("config", *arguments)
    assert (done.returncode, done.stdout, said in done.stderr.decode()) == (code, b"", True)
    assert done.stderr.count(b"\n") == 1


def test_with_json_a_mistake_is_an_object_too(hermes: Command) -> None:
    done = hermes.run("config", "set", "agent.max_turns", "0", "--json")
    assert done.returncode == 1
    assert "from 1 to 10000" in told(done)["error"]


def test_a_name_of_capitals_goes_to_env_and_its_copy_leaves_the_config(hermes: Command) -> None:
    config, env = hermes.home / "config.yaml", hermes.home / ".env"
    config.write_text("# mine\nSOME_NAME: old\nagent: {max_turns: 5}\n")
    stale = hermes.run("config", "get", "SOME_NAME")
    assert stale.returncode == 1
    assert b"nothing reads it" in stale.stderr
    done = hermes.run("config", "set", "SOME_NAME", "a-secret-value")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"remark" not in done.stdout and b"a-secret-value" not in done.stdout
    assert config.read_text() == "# mine\nagent: {max_turns: 5}\n"
    assert "a-secret-value" in env.read_text()
    assert stat.S_IMODE(env.stat().st_mode) == 0o600
    shown = hermes.run("config", "get", "SOME_NAME")
    assert (shown.returncode, b"a-secret-value" in shown.stdout, b".env" in shown.stdout) == (0, False, True)
    config.write_text("SOME_NAME: old\n")
    assert told(hermes.run("config", "unset", "SOME_NAME", "--json"))["was_set"] is True
    assert "SOME_NAME" not in config.read_text() + env.read_text()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model.default", "sk-test-0123456789"),
        ("providers.mine.extra_headers", "{X-Mine: Token sk-test-0123456789}"),
        ("providers.sk-test-0123456789.base_url", "http://127.0.0.1:1/v1"),
    ],
)
def test_a_known_key_never_goes_into_the_config_file(hermes: Command, key: str, value: str) -> None:
    assert hermes.run("config", "set", "A_KEY", "sk-test-0123456789").returncode == 0
    before = (hermes.home / "config.yaml").read_bytes()
    done = hermes.run("config", "set", key, value)
    assert (done.returncode, done.stderr.count(b"\n"), b"A_KEY" in done.stderr) == (1, 1, True)
    assert b"sk-test-0123456789" not in done.stdout + done.stderr
    assert (hermes.home / "config.yaml").read_bytes() == before


def test_a_variable_that_only_the_environment_has_is_told_from_one_that_nothing_has(hermes: Command) -> None:
    hermes.environ["SOME_KEY"] = "sk-test-0123456789"
    found, missing = (hermes.run("config", "get", name) for name in ("SOME_KEY", "OTHER_KEY"))
    assert (found.returncode, missing.returncode) == (1, 1)
    assert b"SOME_KEY is not set in" in found.stderr
    assert b"The environment has it" in found.stderr
    assert b"environment" not in missing.stderr


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "PYTHONPATH", "BASH_ENV", "HERMES_HOME", "HERMES_YOLO_MODE"])
def test_a_dangerous_name_is_refused(hermes: Command, name: str) -> None:
    done = hermes.run("config", "set", name, "x")
    assert done.returncode == 1
    assert name in done.stderr.decode()
    assert not (hermes.home / ".env").exists()


EDITORS = {
    "right": ("printf 'agent: {max_turns: 7}\\n' > \"$1\"", 0, "agent: {max_turns: 7}\n"),
    "wrong": ("printf 'agent: {max_turns: no}\\n' > \"$1\"", 1, None),
    "broken": ("printf 'agent: [' > \"$1\"", 1, None),
    "failed": ("printf 'agent: {max_turns: 7}\\n' > \"$1\"; exit 3", 1, None),
    "left alone": ("true", 0, None),
    "given up": ("exit 1", 1, None),
}


@pytest.mark.parametrize("name", EDITORS)
def test_edit_takes_the_copy_only_when_it_is_right(hermes: Command, tmp_path: Path, name: str) -> None:
    script, code, wanted = EDITORS[name]
    config, editor = hermes.home / "config.yaml", tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(0o755)
    before = config.read_text()
    hermes.environ["EDITOR"] = str(editor)
    done = hermes.run("config", "edit")
    assert done.returncode == code, done.stderr
    assert config.read_text() == (before if wanted is None else wanted)
    copies = list(hermes.home.glob("config-*.yaml"))
    assert bool(copies) == (name in ("wrong", "broken", "failed"))
    assert all(str(copy) in (done.stdout + done.stderr).decode() for copy in copies)


def test_an_editor_that_is_not_there_is_one_sentence(hermes: Command) -> None:
    hermes.environ["VISUAL"] = "/no/such/editor"
    done = hermes.run("config", "edit")
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert not list(hermes.home.glob("config-*.yaml"))


@pytest.mark.parametrize("script", ['rm "$1"', 'rm "$1"; mkdir "$1"', 'rm "$1"; exit 1'])
def test_an_editor_that_takes_the_copy_away_is_one_sentence(hermes: Command, tmp_path: Path, script: str) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(0o755)
    before = (hermes.home / "config.yaml").read_text()
    hermes.environ |= {"VISUAL": " ", "EDITOR": str(editor)}
    done = hermes.run("config", "edit")
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert str(editor) in done.stderr.decode()
    assert (hermes.home / "config.yaml").read_text() == before


def test_a_setting_of_one_run_holds_in_it_and_a_bad_one_is_told(hermes: Command) -> None:
    done = hermes.run("chat", "-q", "help", "--set", "model=demo", "--set", "agent.max_turns=no")
    assert done.returncode == 0
    assert b"the command line: agent.max_turns takes a whole number" in done.stderr
    assert hermes.run("chat", "-q", "help", "--set", "agent.max_turns").returncode == 2


def test_the_page_of_settings_is_up_to_date() -> None:
    assert (ROOT / "docs" / "settings.md").read_text() == settings_page(), "run: make settings"
