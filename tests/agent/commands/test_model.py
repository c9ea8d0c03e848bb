"""/model: the whole route at once, for as long as it was asked for, and never another one than was named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.commands.builtin import COMMANDS
from agent.commands.model import Decision, NotAChoice, Wish, read_wish, switch
from agent.commands.table import ModelsAsked, Said, SwitchAsked
from agent.events import TurnEnded
from agent.open import open_hub
from agent.profile import Profile
from agent.route import MissingKey, RouteError
from agent.session_model import Holds
from session.errors import UserError
from session.models import ApiMode, ExitReason

MODEL = next(command for command in COMMANDS if command.name == "model")
KEYS = "FIRST_KEY=sk-first-0123456789\nSECOND_KEY=sk-second-0123456789\n"
CONFIG = """\
model: {{default: m, provider: first}}
probe_local: false
auxiliary: {{titles: false}}
model_aliases:
  Fav: second:big
  other: {{model: own, base_url: "{url}/own", context_length: 100000}}
  hard: {{model: far, provider: second}}
providers:
  first: {{base_url: "{url}/first", key_env: FIRST_KEY, context_length: 100000}}
  second: {{base_url: "{url}/second", key_env: SECOND_KEY, context_length: 100000}}
"""


@pytest.fixture
async def desk(served, home, open_bench):
    """One server in three places, each with a key of its own or none; `where` tells what each request was."""
    configure(home, served)
    bench = await open_bench()
    bench.run = lambda line: MODEL.act(bench.hub, bench.session_id, line)
    return bench


def configure(home: Path, served, change: Callable[[str], str] = lambda text: text) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.yaml").write_text(change(CONFIG.format(url=served.url.removesuffix("/v1"))))
    (home / ".env").write_text(KEYS)
    (home / ".env").chmod(0o600)


def where(served) -> list[tuple[str, str, str]]:
    """The place, model and key of each request as the server got them."""
    found = []
    for head, request in zip(served.heads, served.requests, strict=True):
        bearer = [line.split()[-1] for line in head.splitlines() if line.lower().startswith("authorization: bearer ")]
        found.append((head.split("/")[1], request["model"], "".join(bearer)))
    return found


def on_row(bench):
    return bench.hub.profile.db.read(lambda tables: tables.sessions.get(bench.session_id)).result().route


FIRST = ("first", "m", "sk-first-0123456789")
SECOND = ("second", "big", "sk-second-0123456789")


@pytest.mark.parametrize(
    ("line", "wish"),
    [
        ("", Wish("", Holds.SESSION)),
        ("a:b --once", Wish("a:b", Holds.ONCE)),
        ("—global a:b", Wish("a:b", Holds.GLOBAL)),
        ("a:b –session", Wish("a:b", Holds.SESSION)),
        ("b:32k --provider a", Wish("a:b:32k", Holds.SESSION)),
        ("--provider=a", Wish("a", Holds.SESSION)),
        ("here:/disk/my model.gguf", Wish("here:/disk/my model.gguf", Holds.SESSION)),
    ],
)
def test_what_is_written_behind_the_command_is_a_name_and_how_long(line, wish):
    assert read_wish(line) == wish


@pytest.mark.parametrize("line", ["a --once --global", "a --twice", "--provider"])
def test_what_can_not_be_followed_is_a_sentence(line):
    with pytest.raises(NotAChoice, match="Write /model provider:model"):
        read_wish(line)


async def test_complaint_67_a_switch_changes_address_model_and_key_as_one(desk, served):
    for line, expected in (("", FIRST), ("second:big", SECOND), ("fav", SECOND), ("first:m", FIRST)):
        if line:
            assert isinstance(await desk.run(line), Said)
        served.reply(text="ok")
        await desk.ask("hi")
        assert where(served)[-1] == expected
        route = on_row(desk)
        assert (route.base_url.rpartition("/")[2], route.model, route.key_ref) == (
            expected[0],
            expected[1],
            f"{expected[0].upper()}_KEY",
        )


async def test_complaint_67_an_alias_with_an_address_of_its_own_gets_no_key_of_the_model_before(desk, served):
    await desk.run("OTHER")
    served.reply(text="ok")
    await desk.ask("hi")
    assert where(served) == [("own", "own", "none")]  # the word stands for no key


async def test_complaint_67_a_name_nobody_has_goes_to_no_other_provider(desk, served):
    await desk.run("demo")
    with pytest.raises(RouteError, match="No provider is known for the model unheard"):
        await desk.run("unheard")
    assert desk.hub.runtime(desk.session_id).s.route.api_mode is ApiMode.DEMO


async def test_complaint_67_a_switch_to_the_model_that_stood_in_is_one(served, home, open_bench):
    configure(home, served, lambda text: f"{text}fallback: ['second:big']\nagent: {{api_max_retries: 0}}\n")
    bench = await open_bench()
    served.refuse("500 Internal Server Error", "{}")
    served.reply(text="ok")
    await bench.ask("hi")
    assert where(served)[-1] == SECOND
    await MODEL.act(bench.hub, bench.session_id, "second:big")
    await asyncio.sleep(0)
    bench.hub._parts.fallback._rests_until.clear()  # the one that failed is well again
    served.reply(text="ok")
    await bench.ask("hi")
    assert where(served)[-1] == SECOND


async def test_complaint_67_a_server_that_moved_is_followed_and_that_is_told(desk, served, home, open_bench):
    served.reply(text="ok")
    await desk.ask("hi")
    configure(home, served, lambda text: text.replace('/first", key_env: FIRST_KEY', '/moved", key_env: SECOND_KEY'))
    later = await open_bench()
    later.session_id = desk.session_id
    runtime = await later.hub.open(desk.session_id)
    assert "This session talked to m at first (" in runtime.s.opening_notice
    assert "/moved now" in runtime.s.opening_notice
    served.reply(text="ok")
    await later.ask("again")
    assert where(served)[-1] == ("moved", "m", "sk-second-0123456789")
    assert on_row(later).base_url.endswith("/moved")
    assert any("/moved now" in row.content for row in later.rows)


async def test_a_stored_model_whose_provider_is_gone_says_so_and_the_row_follows(desk, served, home, open_bench):
    await desk.run("second:big")
    served.reply(text="ok")
    await desk.ask("hi")
    configure(home, served, lambda text: "".join(line for line in text.splitlines(True) if "second" not in line))
    later = await open_bench()
    later.session_id = desk.session_id
    runtime = await later.hub.open(desk.session_id)
    assert "There is no provider second" in runtime.s.opening_notice
    assert on_row(later).provider == "second"  # it was merely looked at
    served.reply(text="ok")
    await later.ask("again")
    assert where(served)[-1] == FIRST
    assert on_row(later).provider == "first"


async def test_a_settings_file_that_can_not_be_read_moves_no_session(desk, served, home, open_bench):
    await desk.run("second:big")
    served.reply(text="ok")
    await desk.ask("hi")
    (home / "config.yaml").write_text("providers: [")
    later = await open_bench()
    runtime = await later.hub.open(desk.session_id)
    assert (runtime.s.route.provider, runtime.s.opening_notice) == ("second", "")


async def test_once_is_for_one_turn_however_it_ends(desk, served):
    for line in ("second:big --once", "second:big --once", "fav --once"):
        said = await desk.run(line)
        assert "next turn" in said.text
    served.refuse("401 Unauthorized", "{}")
    turn = await desk.ask("fails")
    assert turn.ended.reason is ExitReason.ERROR
    served.reply(text="ok")
    await desk.ask("back")
    await desk.run("second:big —once")
    served.reply(text="ok")
    await desk.ask("once")
    assert on_row(desk).provider == "first"
    served.reply(text="ok")
    await desk.ask("back again")
    assert [place for place, _, _ in where(served)] == ["second", "first", "second", "first"]


async def test_once_ends_with_the_process_that_it_was_asked_in(desk, served, open_bench):
    served.reply(text="ok")
    await desk.ask("hi")
    await desk.run("second:big --once")
    later = await open_bench()  # as after a kill: nothing of the turn for which it was meant is in the store
    later.session_id = desk.session_id
    await later.hub.open(desk.session_id)
    served.reply(text="ok")
    await later.ask("again")
    assert where(served)[-1] == FIRST


async def test_a_model_chosen_for_the_session_ends_what_was_chosen_for_one_turn(desk, served):
    await desk.run("second:big --once")
    await desk.run("second:other")
    for _ in range(2):
        served.reply(text="ok")
        await desk.ask("hi")
    assert [model for _, model, _ in where(served)] == ["other", "other"]


async def test_global_is_for_every_new_session_here_and_after_a_restart(desk, home, open_bench):
    before = (home / "config.yaml").read_text()
    await desk.run("fav --global")
    assert desk.hub.runtime(desk.hub.create(desk.workspace).id).s.route.model == "big"
    later = await open_bench()
    assert (later.hub.choice.route.provider, later.hub.choice.route.model) == ("second", "big")
    changed = (home / "config.yaml").read_text()
    assert changed.splitlines()[1:] == before.splitlines()[1:]  # nothing else in the file
    await desk.run("other --global")
    assert (await open_bench()).hub.choice.route.base_url.endswith("/own")


async def test_global_says_where_something_stronger_names_another_model(served, home, workspace):
    configure(home, served)
    profile = Profile.load({"HERMES_HOME": str(home), "PATH": "/usr/bin:/bin", "HERMES_MODEL_DEFAULT": "first:m"})
    hub = await open_hub(profile, source="tui", is_attended=True)
    try:
        said = await MODEL.act(hub, hub.create(workspace).id, "second:big --global")
        assert "names another one for new sessions here" in said.text
        assert hub.choice.route.provider == "first"
    finally:
        await hub.close("the test ended")
        profile.close()


async def test_a_default_that_can_not_be_saved_switches_nothing(desk, home):
    (home / "config.yaml").write_text("providers: [")
    with pytest.raises(UserError, match="not valid YAML"):
        await desk.run("second:big --global")
    assert desk.hub.runtime(desk.session_id).s.route.provider == "first"


async def test_while_a_turn_runs_the_switch_waits_or_interrupts_as_the_person_says(desk, served):
    runtime = desk.hub.runtime(desk.session_id)
    gate = served.hold('data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n')
    desk.hub.submit(desk.session_id, "first")
    await asyncio.wait_for(served.waiting.wait(), 15)
    asked = await desk.run("second:big")
    assert isinstance(asked, SwitchAsked) and asked.is_busy
    said = await switch(desk.hub, desk.session_id, asked.route, asked.holds)
    assert "When what runs here has ended, big at second takes over" in said.text
    assert runtime.s.route.provider == "first"
    gate.set()
    await desk.until(lambda event: isinstance(event, TurnEnded))
    assert on_row(desk) == runtime.s.route == asked.route

    served.waiting.clear()
    served.hold('data: {"choices":[{"index":0,"delta":{"content":"two"}}]}\n\n')
    desk.hub.submit(desk.session_id, "second")
    await asyncio.wait_for(served.waiting.wait(), 15)
    asked = await desk.run("first:m")
    await switch(desk.hub, desk.session_id, asked.route, asked.holds, Decision.INTERRUPT)
    ended = await desk.until(lambda event: isinstance(event, TurnEnded))
    assert next(event for event in ended if isinstance(event, TurnEnded)).reason is ExitReason.INTERRUPTED
    assert on_row(desk) == runtime.s.route == asked.route


async def test_complaint_67_a_failure_names_the_address_that_was_asked(desk, served, home):
    port = served.url.partition("//")[2].partition("/")[0]
    await desk.run("second:big")
    served.refuse("401 Unauthorized", '{"error": {"message": "no such key"}}')
    turn = await desk.ask("hi")
    assert port in turn.ended.error and "SECOND_KEY" in turn.ended.error
    (home / ".env").write_text("")
    await desk.hub.profile.secrets.refresh()
    with pytest.raises(MissingKey, match=r"provider first needs a key.*FIRST_KEY"):
        await desk.run("first:m")


async def test_without_a_name_the_list_is_asked_for(desk):
    assert await desk.run("--once") == ModelsAsked(desk.session_id, Holds.ONCE)


async def test_what_could_be_named_is_suggested_without_asking_anybody(desk):
    assert MODEL.complete is not None
    texts = [one.text for one in MODEL.complete(desk.hub, desk.session_id, "f")]
    assert texts[:2] == ["Fav", "first:m"]
    assert [one.text for one in MODEL.complete(desk.hub, desk.session_id, "fav --o")] == ["fav --once"]
