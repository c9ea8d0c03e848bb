"""Writing config.yaml changes what was asked for and not one byte more."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from agent.config.config_file import NotSet, replace_config, set_setting, stored_bytes, unset_setting
from agent.config.load import load_settings
from agent.config.locked_file import NotSaved
from agent.config.table import split_key
from agent.config.yaml_words import Words

ROUNDS = int(os.environ.get("HERMES_SOAK") or 3)

HAND_WRITTEN = """\
# My settings. Ünïcode 😀 is fine.

model: {default: "a model", provider: here}   # which one

defaults: &usual    # not ours
    - 1   # one
    - 'two'

agent:            # the agent
    # a comment inside
    max_turns: 5  # five is enough
    system_prompt: |  # a header comment
      first line
        indented

      # no comment
    # after the text

colour: [red,   green]
again: *usual
providers:
    "here":
        base_url: 'http://127.0.0.1:1/v1'   # local
        extra_body: {seed:   7,
                     stop: null}   # kept
    # a provider could follow
display:
    theme: dark
terminal:
    env_passthrough:
    - A # why A
    - B
# the end"""

CHOICES = {
    "model.default": ["x", "other model", "on", "1.10", "a: b", "#1", "é'\"\\"],
    "model.provider": ["here", "openai"],
    "agent.max_turns": ["1", "90", "10000"],
    "agent.stream_retries": ["0", "10"],
    "agent.system_prompt": ["two\nlines\n", " blank ", "- no list", "\x1b[31m", "a\u2028b", "😀"],
    "providers.here.base_url": ["http://127.0.0.1:2/v1"],
    "providers.here.extra_body.seed": ["8", "[1, 2]", "{a: 1}"],
    'providers.here.models."gpt-4.1".context_length': ["128000"],
    "providers.new.key_cmd": ["pass show key", "[pass, show, key]"],
    "providers.new.key_env": ["NEW_KEY"],
    "display.theme": ["light", "off"],
    "probe_local": ["yes", "false"],
    "terminal.env_passthrough": ["A,B", "[C]"],
    "colours.of.mine": ["true", "off", "1.5"],
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(HAND_WRITTEN)
    return path


def written(path: Path) -> str:
    return path.read_bytes().decode()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_two_hundred_changes_keep_comments_order_anchors_and_unknown_keys(config: Path, seed: int):
    dice = random.Random(seed)
    eol = dice.choice(["\n", "\r\n"])
    mark = dice.choice([b"", b"\xef\xbb\xbf"])
    config.write_bytes(mark + HAND_WRITTEN.replace("\n", eol).encode())
    comments = Words(HAND_WRITTEN).comments()
    for _ in range(200):
        key = dice.choice([*CHOICES])
        value = dice.choice(CHOICES[key])
        if dice.random() < 0.6:
            set_setting(config, split_key(key), value)
        else:
            unset_setting(config, split_key(key))
    raw = config.read_bytes()
    text = raw.removeprefix(mark).decode()
    assert raw.startswith(mark) and Counter(Words(text.replace("\r\n", "\n")).comments()) >= comments
    assert ("\n" in text.replace("\r\n", "")) == (eol == "\n")
    for line in (
        "defaults: &usual    # not ours",
        "    - 1   # one",
        "    - 'two'",
        "colour: [red,   green]",
        "again: *usual",
    ):
        assert f"{line}{eol}" in text
    tops = [key.value for key, _ in yaml.compose(text).value]
    known = [key for key in tops if key in ("defaults", "agent", "colour", "again", "providers", "display")]
    assert known == ["defaults", "agent", "colour", "again", "providers", "display"]
    assert not [problem for problem in load_settings(config, "c").problems if not problem.is_remark]


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in CHOICES.items() for value in values])
def test_one_line_changes_and_the_value_is_read_as_it_was_given(config: Path, key: str, value: str):
    keys = split_key(key)
    set_setting(config, keys, value)
    before, after = HAND_WRITTEN.split("\n"), written(config).split("\n")
    assert len(Counter(before) - Counter(after)) <= 5  # the text of system_prompt has five lines
    again = written(config)
    set_setting(config, keys, value)
    assert written(config) == again
    if key == "agent.system_prompt":
        assert load_settings(config, "c").settings.agent.system_prompt == value


@pytest.mark.parametrize(
    "value", ["on", "off", "yes", "no", "null", "~", "1.10", "0x1F", "1_000", "2020-01-01", "1:30"]
)
def test_a_text_stays_a_text_for_every_reader_of_yaml(config: Path, value: str):
    set_setting(config, ("model", "default"), value)
    set_setting(config, ("agent", "system_prompt"), value)
    read = yaml.safe_load(written(config))
    assert (read["model"]["default"], read["agent"]["system_prompt"]) == (value, value)


def test_numbers_and_yes_or_no_are_yamls_own(config: Path):
    set_setting(config, ("agent", "max_turns"), "7")
    set_setting(config, ("probe_local",), "OFF")
    read = yaml.safe_load(written(config))
    assert (read["agent"]["max_turns"], read["probe_local"]) == (7, False)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("agent.max_turns", "0", "agent.max_turns takes a whole number from 1 to 10000. Nothing was changed."),
        ("agent.max_turns", "many", "a whole number"),
        ("probe_local", "perhaps", "one of: true"),
        ("providers.p.base_url", "nowhere", "http://127.0.0.1:8000/v1"),
        ("providers.p.key_env", "sk-123 456", "NAME of a variable"),
        ("providers.demo.base_url", "http://h/v1", "built in"),
        ("providers.p.extra_body", "text", "`name: value` lines"),
        ("providers.p.extra_body", "{a", "valid YAML"),
        ("agent", "5", "`name: value` lines"),
        ("display.theme", "", "takes a value"),
        ("display.theme", "\udce9", "no text file"),
    ],
)
def test_a_value_that_is_not_taken_is_refused_with_what_is(config: Path, key: str, value: str, said: str):
    with pytest.raises(NotSet) as refused:
        set_setting(config, split_key(key), value)
    assert said in str(refused.value)
    assert written(config) == HAND_WRITTEN


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"agent: [\nx: }\n", "line 2"),
        (b"model: caf\xe9\n", "UTF-8"),
        (b"# " + b"x" * 1_000_001, "larger"),
        (b"- a\n", "line 1"),
        (b"a: 1\n---\nb: 1\n", "line 2"),
        (b"agent: &a {max_turns: 1}\nother: *a\n", "line 1"),
        (b"agent: {max_turns: &a 1}\nother: *a\n", "line 1"),
    ],
)
def test_a_file_that_cannot_be_changed_alone_is_left_as_it_is(config: Path, raw: bytes, said: str):
    config.write_bytes(raw)
    for change in (lambda: set_setting(config, ("agent", "max_turns"), "7"), lambda: unset_setting(config, ("x",))):
        try:
            change()
        except NotSaved as error:
            assert said in str(error)
        assert config.read_bytes() == raw


def test_a_new_file_is_for_its_owner_and_a_link_stays_one(tmp_path: Path):
    real, link = tmp_path / "real.yaml", tmp_path / "config.yaml"
    link.symlink_to(real)
    set_setting(link, ("agent", "max_turns"), "7")
    assert link.is_symlink()
    assert written(real) == "agent:\n  max_turns: 7\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "agent:\n  max_turns: 7\n"),
        ("# mine\n", "# mine\nagent:\n  max_turns: 7\n"),
        ("{}", "{agent: {max_turns: 7}}"),
        ('{"probe_local": false}', '{"probe_local": false, "agent": {"max_turns": 7}}'),
        ("agent:\nx: 1\n", "agent:\n  max_turns: 7\nx: 1\n"),
        ("agent: ~\n", "agent: {max_turns: 7}\n"),
        ("agent: # why\n\nx: 1\n", "agent: # why\n  max_turns: 7\n\nx: 1\n"),
        ("agent:\n    stream_retries: 1\n# tail", "agent:\n    stream_retries: 1\n    max_turns: 7\n# tail"),
        ("---\nx: 1\n...\n", "---\nx: 1\nagent:\n  max_turns: 7\n...\n"),
        ("agent:\n- a\n", None),
    ],
)
def test_a_new_setting_stands_where_a_person_would_put_it(config: Path, before: str, after: str | None):
    config.write_text(before)
    if after is None:
        with pytest.raises(NotSaved):
            set_setting(config, ("agent", "max_turns"), "7")
    else:
        set_setting(config, ("agent", "max_turns"), "7")
    assert written(config) == (before if after is None else after)


def test_a_model_in_short_stays_short_until_more_is_said(config: Path):
    config.write_text("model: a  # mine\n")
    set_setting(config, ("model", "default"), "b")
    assert written(config) == "model: b  # mine\n"
    set_setting(config, ("model", "provider"), "p")
    assert written(config) == "model: {default: b, provider: p}  # mine\n"
    assert unset_setting(config, ("model", "provider"))
    set_setting(config, ("model",), "c")
    assert written(config) == "model: {default: c}  # mine\n"


def test_what_is_not_there_is_not_unset(config: Path):
    assert unset_setting(config, ("agent", "stream_retries")) is False
    assert unset_setting(config.with_name("none.yaml"), ("agent",)) is False
    assert written(config) == HAND_WRITTEN


def test_an_unknown_key_is_saved_with_a_hint(config: Path):
    (remark,) = set_setting(config, ("agent", "max_turn"), "3")
    assert "Did you mean max_turns?" in remark.sentence
    assert "max_turn: 3" in written(config)


WRITER = """
import sys
from pathlib import Path
from agent.config.config_file import set_setting
for number in range(40):
    set_setting(Path(sys.argv[1]), (sys.argv[2], f"k{number}"), str(number))
"""


def test_two_processes_that_write_at_once_lose_nothing(config: Path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(config), name]) for name in ("one", "two")]
    assert [writer.wait(25) for writer in writers] == [0, 0]
    read = yaml.safe_load(written(config))
    wanted = {f"k{number}": number for number in range(40)}
    assert (read["one"], read["two"]) == (wanted, wanted)
    assert not Counter(HAND_WRITTEN.split("\n")) - Counter(written(config).split("\n"))


def test_an_edited_copy_does_not_replace_a_file_that_changed_meanwhile(config: Path):
    before = stored_bytes(config, "c")
    set_setting(config, ("agent", "max_turns"), "7")
    changed = written(config)
    with pytest.raises(NotSaved, match="another program"):
        replace_config(config, before, b"agent: {}\n")
    assert written(config) == changed


@pytest.mark.parametrize("key", [("providers", "here", "api_key"), ("providers", "here", "models", "m", "<<")])
def test_what_would_never_be_read_is_not_written_and_a_key_is_sent_to_env(config: Path, key: tuple[str, ...]):
    with pytest.raises(NotSet) as refusal:
        set_setting(config, key, "sk-proj-123456")
    assert "is never read" in str(refusal.value) and "sk-proj" not in str(refusal.value)
    assert written(config) == HAND_WRITTEN
