"""config.yaml: every wrong thing becomes one sentence, and everything else of the file still holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.config.load import load_settings
from agent.config.settings import Loaded, Settings, Sources
from agent.config.settings_reader import read_settings
from session.models import ApiMode

Load = Callable[[str | bytes], Loaded]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


@pytest.fixture
def load(config: Path) -> Load:
    def write_and_load(text: str | bytes) -> Loaded:
        config.write_bytes(text.encode() if isinstance(text, str) else text)
        return load_settings(config, "config.yaml")

    return write_and_load


FULL = """\
model: {default: big, provider: mine}
providers:
  mine:
    base_url: http://127.0.0.1:8000/v1/
    key_env: MY_KEY
    api_mode: responses
    context_length: 32000
    extra_body: {chat_template_kwargs: {enable_thinking: false}, seed: 7, stop: [a, null, 1.5]}
    models:
      big: {context_length: 64000, request_overrides: {temperature: 0.2}}
      1.10:
approvals: {timeout: 60, arm_ms: 0}
agent:
  max_turns: 5
  stream_retries: 0
  system_prompt: |
    two
    lines
probe_local: false
display: {theme: nord}
"""


def test_every_setting_is_read(load: Load):
    loaded = load(FULL)
    mine = loaded.settings.providers["mine"]
    assert loaded.problems == ()
    assert (loaded.settings.model.default, loaded.settings.model.provider) == ("big", "mine")
    assert (mine.base_url, mine.key_env, mine.api_mode, mine.context_length) == (
        "http://127.0.0.1:8000/v1",
        "MY_KEY",
        ApiMode.RESPONSES,
        32000,
    )
    assert mine.extra_body == {
        "chat_template_kwargs": {"enable_thinking": False},
        "seed": 7,
        "stop": ["a", None, 1.5],
    }
    assert mine.models["big"].context_length == 64000
    assert mine.models["big"].request_overrides == {"temperature": 0.2}
    assert list(mine.models) == ["big", "1.10"]
    assert (loaded.settings.approvals.timeout_s, loaded.settings.approvals.arm_ms) == (60, 0)
    assert (loaded.settings.agent.max_turns, loaded.settings.agent.stream_retries) == (5, 0)
    assert loaded.settings.agent.system_prompt == "two\nlines\n"
    assert (loaded.settings.probe_local, loaded.settings.display.theme) == (False, "nord")


def test_no_file_means_defaults_and_no_problem(config: Path):
    assert load_settings(config, "c") == Loaded(Settings(file="c"))


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "~\n", "model:\nproviders:\nagent:\n"])
def test_an_empty_file_or_section_means_defaults(load: Load, text: str):
    assert load(text) == Loaded(Settings())


def test_T19_a_byte_order_mark_is_skipped(load: Load):
    loaded = load(b"\xef\xbb\xbfmodel: {default: big, provider: mine}\nagent: {max_turns: x}\n")
    assert loaded.settings.model.default == "big"
    assert [problem.line for problem in loaded.problems] == [2]


def test_a_model_may_be_named_in_short(load: Load):
    assert load("model: openai:gpt-4.1\n").settings.model.default == "openai:gpt-4.1"


def test_text_is_taken_as_it_was_written(load: Load):
    loaded = load("model: {default: on, provider: 1.10}\n")
    assert (loaded.settings.model.default, loaded.settings.model.provider) == ("on", "1.10")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("model: {default: a", 2),
        ("model:\n\tdefault: a\n", 2),
        ("model: a: b\n", 1),
        ("model: 'open\n", None),
        ("model: *nowhere\n", 1),
        ("a: 1\n---\nb: 2\n", 2),
        ("model: a\n\0\n", 2),
        ("- a\n- b\n", 1),
        ("just words\n", 1),
        ("[" * 200_000, 1),
        ("%YAML 9.9\n---\na: 1\n", 1),
        (b"model: caf\xe9\n", None),
        ("model: a\n".encode("utf-16"), None),
        (b"# " + b"x" * 1_000_001, None),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_a_file_that_is_no_yaml_is_one_sentence_and_defaults(load: Load, text: str | bytes, line: int | None):
    loaded = load(text)
    assert len(loaded.problems) == 1
    assert loaded.problems[0].sentence == loaded.settings.unread
    assert loaded.settings == Settings(unread=loaded.settings.unread)
    if line is not None:
        assert loaded.problems[0].line == line


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ("agent: {max_turns: ninety}", "agent.max_turns", "a whole number from 1 to 10000; 90 is used"),
        ("agent: {max_turns: 0}", "agent.max_turns", "from 1 to"),
        ("agent: {max_turns: 1e3}", "agent.max_turns", "a whole number"),
        ("agent: {max_turns: 99999999999999999999999999}", "agent.max_turns", "a whole number"),
        ("agent: {max_turns: [1]}", "agent.max_turns", "a whole number"),
        ("agent: {max_turns: true}", "agent.max_turns", "a whole number"),
        ("approvals: {timeout: -1}", "approvals.timeout", "from 0 to 86400"),
        ("approvals: {timeout: 1:30}", "approvals.timeout", "a whole number"),
        ("approvals: often", "approvals", "`name: value` lines"),
        ("model: []", "model", "`name: value` lines"),
        ("model: {default: [a]}", "model.default", "takes text"),
        ('model: {default: "a\\nb"}', "model.default", "one short line"),
        ("probe_local: maybe", "probe_local", "true"),
        ("providers: [a]", "providers", "`name: value` lines"),
        ("providers: {p: x}", "providers.p", "`name: value` lines"),
        ("providers: {p: {base_url: localhost}}", "providers.p.base_url", "http://127.0.0.1:8000/v1"),
        ("providers: {p: {base_url: 'file:///etc/passwd'}}", "providers.p.base_url", "http://127.0.0.1:8000/v1"),
        ("providers: {p: {base_url: 'http://h:99999/v1'}}", "providers.p.base_url", "http://127.0.0.1:8000/v1"),
        ("providers: {p: {base_url: 'http://[::1/v1'}}", "providers.p.base_url", "http://127.0.0.1:8000/v1"),
        ("providers: {p: {base_url: 'http://u:pw@h/v1'}}", "providers.p.base_url", "key_env"),
        ("providers: {p: {key_env: sk-proj-123}}", "providers.p.key_env", "NAME of a variable"),
        ("providers: {p: {api_mode: grpc}}", "providers.p.api_mode", "chat_completions, responses"),
        ("providers: {p: {context_length: 128k}}", "providers.p.context_length", "a whole number"),
        ("providers: {p: {extra_body: 5}}", "providers.p.extra_body", "`name: value` lines"),
        ("providers: {p: {extra_body: {d: 2020-01-01}}}", "providers.p.extra_body", "quote it"),
        ("providers: {p: {extra_body: {d: .inf}}}", "providers.p.extra_body", "finite"),
        ("providers: {p: {extra_body: {d: !!python/object:os.system x}}}", "providers.p.extra_body", "no text"),
        ("providers: {p: {extra_body: &a {d: *a}}}", "providers.p.extra_body", "too large"),
    ],
)
def test_a_wrong_value_is_named_with_its_line_and_the_rest_holds(load: Load, text: str, key: str, allowed: str):
    loaded = load(f"# first line\n{text}\ndisplay: {{theme: nord}}\n")
    (problem,) = loaded.problems
    assert (problem.line, problem.key, problem.is_remark) == (2, key, False)
    assert allowed in problem.sentence
    assert problem.sentence.startswith(f"config.yaml, line 2: {key} ")
    assert loaded.settings.display.theme == "nord"


@pytest.mark.parametrize(
    "text",
    [
        "providers: {p: {key_env: sk-proj-123456}}",
        "providers: {p: {api_key: sk-proj-123456}}",
        "providers: {p: {base_url: 'http://me:sk-proj-123456@h/v1'}}",
        "agent: {max_turns: sk-proj-123456}",
        "model: [sk-proj-123456]",
    ],
)
def test_no_value_of_the_file_is_repeated(load: Load, text: str):
    assert all("123456" not in problem.sentence for problem in load(text).problems)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "agent: {max_turn: 5}",
            "agent.max_turn is not a setting of this version and is ignored. Did you mean max_turns?",
        ),
        ("colour: red", "colour is not a setting of this version and is ignored."),
        ("providers: {p: {api_key: x}}", "providers.p.api_key is ignored: keys belong in .env"),
        ("probe_local: true\nprobe_local: true", "probe_local is written twice"),
        ("x: &x {max_turns: 5}\nagent: {<<: *x}", "merge keys are not read"),
        ("[a, b]: c", "a name here is not plain text"),
    ],
)
def test_an_unknown_key_is_only_remarked_on(load: Load, text: str, said: str):
    loaded = load(text)
    assert all(problem.is_remark for problem in loaded.problems)
    assert any(said in problem.sentence or said in problem.key for problem in loaded.problems)
    assert loaded.settings.agent == Settings().agent


def test_a_provider_cannot_take_the_name_of_the_demo(load: Load):
    loaded = load("providers: {demo: {base_url: 'http://h/v1'}, ok: {base_url: 'http://h/v1'}}")
    assert list(loaded.settings.providers) == ["ok"]
    assert "built in" in loaded.problems[0].sentence


def test_a_small_text_that_unfolds_to_a_huge_one_is_refused(load: Load):
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    loaded = load("\n".join([*rows, "providers: {p: {extra_body: {b: *a9}}}"]))
    assert any("too large" in problem.sentence for problem in loaded.problems)
    assert loaded.settings.providers["p"].extra_body == {}


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop"])
def test_something_else_in_the_place_of_the_file_is_one_sentence(config: Path, kind: str):
    match kind:
        case "folder":
            config.mkdir()
        case "pipe":
            os.mkfifo(config)
        case _:
            config.symlink_to(config)
    loaded = load_settings(config, "config.yaml")
    assert len(loaded.problems) == 1
    assert loaded.settings.unread


_WORDS = (
    "model: |providers:|  p:|    models: |agent: |  max_turns: |{|}|[|]|&a |*a|<<: *a|- |\n|\n  |? |: |!!int |!!map |0x1F|~|on|'|"
    '"|#|\t|é'
)

_texts = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")),
    st.lists(st.sampled_from(_WORDS.split("|")), max_size=30).map(lambda words: "".join(words).encode()),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=_texts)
def test_no_content_makes_loading_fail_or_changes_the_file(config: Path, raw: bytes):
    config.write_bytes(raw)
    loaded = load_settings(config, "config.yaml")
    assert all(
        problem.sentence.startswith("config.yaml") and problem.sentence.isprintable() for problem in loaded.problems
    )
    assert config.read_bytes() == raw


@pytest.mark.parametrize(("text", "why"), [("a:\n\tb: 1\n", "a tab"), ("a: 1\n---\nb: 2\n", "a second document")])
def test_what_is_wrong_with_the_file_is_said_in_words_of_the_person(text: str, why: str):
    (problem,) = read_settings(Sources("c.yaml", text)).problems
    assert why in problem.sentence
    assert "token" not in problem.sentence
