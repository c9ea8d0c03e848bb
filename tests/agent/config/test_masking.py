"""No text that leaves hermes holds a secret it knows, however the secret is spelled or cut."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.config.home import Home
from agent.config.masking import BULLETS, MaskedStream, Masking, shown_value
from agent.config.secrets import Secrets
from tui.cli.log_file import open_log

KEY = "sk-test-0123456789"
# Secrets are made of other characters than their names and the words around them, so that nothing is one by chance.
SECRETS = (
    st.text('bcdfg0123456789-_+/="\\é \n', min_size=6, max_size=40).map(str.strip).filter(lambda text: len(text) >= 6)
)
WORDS = st.text("xyz ,.\n", max_size=20)


def masking_of(secrets: list[str]) -> Masking:
    masking = Masking()
    for number, secret in enumerate(secrets):
        masking.add(f"NAME{'AEIOU'[number]}", secret)
    return masking


@settings(max_examples=200)
@given(secrets=st.lists(SECRETS, min_size=1, max_size=4), words=st.lists(WORDS, min_size=1, max_size=5))
def test_no_secret_is_left_in_a_text(secrets: list[str], words: list[str]):
    masking = masking_of(secrets)
    text = "".join(word + secret + quote(secret) + json.dumps(secret) for word in words for secret in secrets)
    masked = masking.text(text)
    assert not any(secret in masked or json.dumps(secret)[1:-1] in masked for secret in secrets)
    assert masking.text("".join(words)) == "".join(words)


@settings(max_examples=200)
@given(secrets=st.lists(SECRETS, min_size=1, max_size=3), words=st.lists(WORDS, min_size=1, max_size=4), cuts=st.data())
def test_a_secret_that_comes_in_pieces_is_masked_as_in_one(secrets: list[str], words: list[str], cuts: st.DataObject):
    """Also where it ends in the middle of one, or where one begins or ends another."""
    whole = "".join(word + secret for word in words for secret in secrets)
    text = whole = whole[: cuts.draw(st.integers(0, len(whole)), "length")]
    shown: list[str] = []
    stream = MaskedStream(masking_of(secrets))
    while text:
        size = cuts.draw(st.integers(1, len(text)))
        shown.append(stream.add(text[:size]))
        text = text[size:]
    shown.append(stream.finish())
    assert not any(secret in "".join(shown) for secret in secrets)
    assert "".join(shown) == masking_of(secrets).text(whole)


@pytest.mark.parametrize(
    ("secrets", "pieces", "shown"),
    [
        (["abcdef", "abcdefghij"], ["abcdef", "ghij", " abcdef", "gx"], "[NAMEE] [NAMEA]gx"),  # one begins another
        (["xyzabc", "abc123"], ["xyzabc", "123", " abc123"], "[NAMEA]123 [NAMEE]"),  # one ends as another begins
        (["aab-aab-c"], ["aab-aab", "-aab-c"], "aab-[NAMEA]"),  # what looked like the beginning was none
        (["abcdefghij"], ["is abcd"], "is abcd"),  # broken off, with less than half of it to be seen
        (["abcdefghij"], ["is abcd", "efghi"], "is [NAMEA]"),  # and with more
    ],
)
def test_pieces_of_secrets_that_resemble_each_other(secrets: list[str], pieces: list[str], shown: str):
    stream = MaskedStream(masking_of(secrets))
    assert "".join([*(stream.add(piece) for piece in pieces), stream.finish()]) == shown
    assert masking_of(secrets).text("".join(pieces)) == shown


@pytest.mark.parametrize(
    "raw", ['{"a": "' + KEY.replace("s", "\\u0073") + '"}', '{"a": ["' + KEY + '"]}', '{"' + KEY + '": 1']
)
def test_a_secret_in_json_is_masked_however_it_is_spelled(raw: str):
    masked = masking_of([KEY]).json_text(raw)
    assert "[NAMEA]" in masked
    assert KEY not in masked.encode().decode("unicode_escape")


def test_what_can_be_no_secret_is_passed_on_at_once():
    stream = MaskedStream(masking_of([KEY]))
    assert [stream.add("a line\n"), stream.add("and sk-te")] == ["a line\n", "and "]
    assert stream.add("a") == "sk-tea"


def test_a_record_is_masked_in_every_text_of_it():
    record = {"a": [f"x {KEY}", 1, None, {KEY: True}], "b": ({"c": KEY},)}
    assert masking_of([KEY]).deep(record) == {"a": ["x [NAMEA]", 1, None, {"[NAMEA]": True}], "b": [{"c": "[NAMEA]"}]}


def test_each_line_of_a_key_of_several_lines_is_masked():
    masking = masking_of([f"-----BEGIN KEY-----\n{KEY * 2}\nend"])
    assert masking.text(f"  1: {KEY * 2}\n-----BEGIN KEY-----") == "  1: [NAMEA]\n-----BEGIN KEY-----"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("sk-abcdefghijklmnop3f2a", "sk-…3f2a"),
        ("abcdefghijklmnopqrstuvwxyz", "…wxyz"),
        ("sk-short", BULLETS),
        ("", BULLETS),
        ("a\nb" * 20, BULLETS),
    ],
)
def test_of_a_long_value_the_kind_and_the_end_are_shown(value: str, shown: str):
    assert shown_value(value) == shown


def test_plain_settings_in_the_file_are_not_masked_and_addresses_with_a_password_are():
    values = {"A_MODEL": "gpt-4.1", "A_MODE": "development", "A_URL": "http://10.0.0.1", "B_URL": "pg://me:word@host"}
    secrets = Secrets(values, {})
    assert secrets.mask("gpt-4.1 development http://10.0.0.1") == "gpt-4.1 development http://10.0.0.1"
    assert secrets.mask("pg://me:word@host") == "[B_URL]"


@pytest.mark.parametrize("word", ["ollama", "lm-studio", "not-needed", "placeholder"])
def test_a_word_that_a_local_server_takes_for_a_key_stays_an_ordinary_word(word: str):
    secrets = Secrets({"OPENAI_API_KEY": word}, {"MY_KEY": word}, ["OPENAI_API_KEY", "MY_KEY"])
    assert secrets.mask(f"run {word} now") == f"run {word} now"


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "MY_PASSWORD"])
def test_what_looks_like_a_key_or_is_named_like_a_password_is_masked(name: str):
    value = "abcdefghijklmnopq" if name == "OPENAI_API_KEY" else "ollama"
    assert Secrets({name: value}, {}, ["OPENAI_API_KEY"]).mask(f"it is {value}") == f"it is [{name}]"


# --- the log


@pytest.fixture
def log_file(tmp_path: Path) -> Iterator[Path]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    home = Home(tmp_path, "~")
    home.create_folders()
    open_log(home, Secrets({"A_KEY": KEY}, {}).mask)
    yield home.logs / "hermes.log"
    root.handlers[:], root.level = handlers, level


def fails() -> None:
    try:
        raise ValueError(f"the server said {KEY}")
    except ValueError as error:
        raise RuntimeError(KEY[:7], KEY) from error


def test_no_secret_reaches_the_log(log_file: Path):
    log = logging.getLogger("hermes")
    log.error("whole %s, in parts %s%s, in a record %r", KEY, KEY[:5], KEY[5:], {"key": KEY})
    try:
        fails()
    except RuntimeError:
        log.exception("it failed")
    text = log_file.read_text()
    assert KEY not in text
    assert text.count("[A_KEY]") >= 5
    assert "Traceback" in text


def test_a_record_that_cannot_be_put_together_is_masked_too(tmp_path: Path):
    """Python's own way with it is to print the arguments, as they are, on the terminal."""
    script = (
        "import logging, sys; from pathlib import Path; from agent.config.home import Home\n"
        "from agent.config.secrets import Secrets; from tui.cli.log_file import open_log\n"
        "home = Home(Path(sys.argv[1]), '~'); home.create_folders(); open_log(home, Secrets({'A_KEY': sys.argv[2]}, {}).mask)\n"
        "logging.getLogger('hermes').error('too few arguments %s %s', sys.argv[2])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), KEY], capture_output=True, timeout=20, check=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    assert "too few arguments %s %s ('[A_KEY]',)" in (tmp_path / "logs" / "hermes.log").read_text()


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(secret=SECRETS, words=WORDS, cut=st.integers(0, 40))
def test_no_secret_reaches_the_log_in_any_record(log_file: Path, secret: str, words: str, cut: int):
    open_log(Home(log_file.parents[1], "~"), Secrets({"A_KEY": secret}, {}).mask)
    log = logging.getLogger("hermes")
    log.warning("%s%s %s%s", words, secret, secret[:cut], secret[cut:])
    log.warning(words.replace("%", "") + secret.replace("%", ""), exc_info=ValueError(secret + words))
    assert secret not in log_file.read_text()
