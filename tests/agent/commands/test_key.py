"""/key: which key it asks for, and what it takes for one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.commands.key import NotAKey, NotAName, ask_key, checked_key, keep_key
from agent.commands.table import KeyAsked, Said
from agent.config.locked_file import NotSaved
from session.models import ApiMode

KEY = "sk-test-0123456789"


@pytest.fixture
def configure(home: Path) -> Callable[[str], None]:
    def write(text: str) -> None:
        home.mkdir(mode=0o700, exist_ok=True)
        (home / "config.yaml").write_text(f"probe_local: false\n{text}")

    return write


WORK = """\
model: {default: m, provider: work}
providers: {work: {base_url: "http://127.0.0.1:9/v1", key_env: my_work_key}}
"""
COMMAND = WORK.replace("key_env: my_work_key", "key_env: WORK_KEY, key_cmd: echo sk-of-a-command-1")


async def test_without_a_name_it_is_the_key_of_the_model_that_answers(configure, open_bench):
    configure(WORK)
    bench = await open_bench()
    await bench.hub.profile.secrets.save("my_work_key", KEY)
    bench.session_id = bench.hub.create(bench.workspace, bench.hub.models.resolve("work:m", bench.hub.choice.route)).id
    asked = ask_key(bench.hub, bench.session_id, "")
    assert isinstance(asked, KeyAsked)
    assert asked.name == "my_work_key"
    assert "takes the place of the one from" in asked.intro


async def test_a_key_that_the_configured_model_lacked_puts_it_in_the_place_of_the_demo(configure, open_bench):
    configure(WORK)
    bench = await open_bench()
    runtime = bench.hub.runtime(bench.session_id)
    assert runtime.s.route.api_mode is ApiMode.DEMO
    asked = ask_key(bench.hub, bench.session_id, "")
    assert isinstance(asked, KeyAsked)
    assert (await keep_key(bench.hub, asked, KEY)).endswith("From now on m at work answers here.")
    assert (runtime.s.route.provider, bench.hub.create(bench.workspace).s.route.provider) == ("work", "work")
    assert runtime.s.opening_notice == bench.hub.greeting
    assert "m at work answers" in bench.hub.greeting


async def test_a_first_key_puts_its_provider_in_the_place_of_the_demo(configure, open_bench):
    configure("")
    bench = await open_bench()
    said = ask_key(bench.hub, bench.session_id, "")
    assert said == Said("The built-in demo needs no key. Any other is given by its name: /key OPENAI_API_KEY")
    asked = ask_key(bench.hub, bench.session_id, "GROQ_API_KEY")
    assert isinstance(asked, KeyAsked)
    assert "at groq answers here" in await keep_key(bench.hub, asked, KEY)
    assert bench.hub.needs_confirmation(bench.session_id) == ""


async def test_a_demo_that_was_asked_for_stays(configure, open_bench):
    configure("model: {default: demo}\n")
    bench = await open_bench()
    asked = ask_key(bench.hub, bench.session_id, "GROQ_API_KEY")
    assert isinstance(asked, KeyAsked)
    assert (await keep_key(bench.hub, asked, KEY)).endswith("holds from the next request.")
    assert bench.hub.runtime(bench.session_id).s.route.api_mode is ApiMode.DEMO


@pytest.mark.parametrize(
    ("line", "error", "words"),
    [
        ("gsk_abcdef0123", NotAName, "takes the NAME of a key"),
        ("WORK_KEY sk-abc", NotAName, "takes the NAME of a key"),
        ("LD_PRELOAD", NotSaved, "is never set there"),
        ("HERMES_HOME", NotSaved, "is never set there"),
        ("WORK_KEY", NotSaved, "comes from providers.work.key_cmd, which would win"),
    ],
)
async def test_a_name_that_can_hold_no_key_is_refused_before_one_is_asked_for(
    configure, open_bench, line: str, error: type[Exception], words: str
):
    configure(COMMAND)
    bench = await open_bench()
    with pytest.raises(error, match=words) as refused:
        ask_key(bench.hub, bench.session_id, line)
    assert "abc" not in str(refused.value)


@pytest.mark.parametrize("given", [KEY, f"  {KEY}\r\n", f"\n\t{KEY}\n\n"])
def test_a_key_is_what_stands_between_the_blanks(given: str):
    assert checked_key(given) == KEY


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "Nothing was given"),
        (" \n\t", "Nothing was given"),
        ("-----BEGIN KEY-----\nabc\n-----END KEY-----\n", "one line and 3"),
        ("sk-\u200babc", "no key has"),
        ("sk-\x1babc", "no key has"),
        ("sk-\u00e4bc", "no key has"),
        ("\u201csk-abc\u201d", "no key has"),
        ("x" * 100_001, "longer than"),
    ],
)
def test_what_can_be_no_key_is_refused_with_a_sentence(given: str, words: str):
    with pytest.raises(NotAKey, match=f"{words}.*, so nothing was saved"):
        checked_key(given)
