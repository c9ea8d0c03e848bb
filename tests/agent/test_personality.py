"""How a model is told to speak: laid over the prompt, told once in a prompt, and never anywhere that it was not asked for."""

from __future__ import annotations

import json

import pytest

from agent.commands.parse import Call, read_line
from agent.commands.table import PersonalityAsked, Said
from agent.events import TurnEnded
from agent.personality import PERSONALITIES
from agent.personality_marker import ENDED, told_last
from agent.rewinding import Scope
from session.errors import UserError
from session.models import Role

TOLD = "[From here on speak as the personality “{}” of the system prompt says.]\n\n"


@pytest.fixture
def more_config() -> str:
    return "auxiliary: {titles: false}\nagent: {system_prompt: Be exact.}"


@pytest.fixture
def say(bench, served):
    """Asks something, and gives the request that it made."""

    async def said(text: str = "hi", of=bench):
        served.reply(text="Hello.")
        await of.ask(text)
        return served.requests[-1]["messages"]

    return said


async def command(bench, line: str):
    call = read_line(line)
    assert isinstance(call, Call)
    return await call.command.act(bench.hub, bench.session_id, call.argument)


async def reopened(bench, open_bench):
    other = await open_bench()
    other.session_id = (await other.hub.open(bench.session_id)).id
    return other


def notices(bench) -> list[str]:
    return [row.content for row in bench.rows if row.role is Role.NOTICE]


# --- the person's complaints about others


async def test_complaint_68_a_personality_that_was_chosen_is_applied_at_once_and_history_stays(bench, say):
    base = (await say("one"))[0]["content"]
    await command(bench, "/personality pirate")
    messages = await say("two")
    assert messages[0]["content"].startswith(f"{base}\n\n") and PERSONALITIES["pirate"] in messages[0]["content"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[3]["content"] == TOLD.format("pirate") + "two"


async def test_complaint_68_it_is_effective_in_a_session_whose_prompt_was_stored(bench, say, open_bench):
    base = (await say())[0]["content"]
    other = await reopened(bench, open_bench)
    await command(other, "/personality pirate")
    messages = await say("two", of=other)
    assert messages[0]["content"].startswith(f"{base}\n\n") and PERSONALITIES["pirate"] in messages[0]["content"]


async def test_complaint_68_it_stays_with_its_session_and_never_sticks_to_another(bench, say, home):
    before = (home / "config.yaml").read_bytes()
    await command(bench, "/personality pirate")
    await say()
    first, bench.session_id = bench.session_id, bench.hub.create(bench.workspace).id
    messages = await say()
    assert "personality" not in json.dumps(messages)
    assert bench.hub.runtime(first).s.session.personality == "pirate"
    assert (home / "config.yaml").read_bytes() == before


@pytest.mark.parametrize("name", ["pirate", "none"])
async def test_complaint_68_the_system_prompt_of_the_person_is_never_written_over(bench, say, home, name: str):
    before = (home / "config.yaml").read_text()
    await command(bench, "/personality pirate --global")
    await command(bench, f"/personality {name} --global")
    told = {line.strip() for line in (home / "config.yaml").read_text().splitlines()}
    assert {line.strip() for line in before.splitlines()} <= told
    assert ("personality: pirate" in told) is (name == "pirate")
    assert (await say())[0]["content"].startswith("Be exact.\n\n")


@pytest.mark.parametrize("word", ["none", "default", "neutral", "NONE"])
async def test_complaint_68_how_to_be_rid_of_it_is_said_and_works(bench, say, word: str):
    chosen = await command(bench, "/personality pirate")
    assert "/personality none ends it" in chosen.text
    base = (await say("one"))[0]["content"].partition("\n\nHow to speak")[0]
    await command(bench, f"/personality {word}")
    messages = await say("two")
    assert messages[0]["content"] == base
    assert messages[3]["content"] == f"{ENDED}\n\ntwo"


# --- the marker


async def test_what_was_typed_stays_as_it_was_typed_and_the_model_is_told_once(bench, say):
    await command(bench, "/personality bard")
    await say("one")
    messages = await say("two")
    assert [row.content for row in bench.rows if row.role is Role.USER] == ["one", "two"]
    assert [message["content"] for message in messages if message["role"] == "user"] == [
        TOLD.format("bard") + "one",
        "two",
    ]


async def test_the_marker_waits_for_the_next_prompt_also_over_a_restart(bench, say, open_bench):
    await say("one")
    await command(bench, "/personality bard")
    messages = await say("two", of=await reopened(bench, open_bench))
    assert messages[-1]["content"] == TOLD.format("bard") + "two"


async def test_a_prompt_that_is_taken_back_comes_without_its_marker_and_the_next_one_has_it(bench, say):
    await say("one")
    await command(bench, "/personality bard")
    await say("two")
    prompt = next(row for row in reversed(bench.rows) if row.role is Role.USER)
    seen = await bench.hub.rewind_preview(bench.session_id, prompt.id)
    assert seen.text == "two"
    await bench.hub.rewind(bench.session_id, seen, Scope.CONVERSATION)
    assert (await say("three"))[-1]["content"] == TOLD.format("bard") + "three"


async def test_a_secret_in_a_marked_prompt_is_stored_by_its_name_and_sent_as_it_was_typed(bench, home, say):
    (home / ".env").write_text("MY_API_KEY=sk-verysecretvalue123456\n")
    await bench.hub.profile.secrets.refresh()
    await command(bench, "/personality bard")
    messages = await say("use sk-verysecretvalue123456")
    assert messages[-1]["content"] == TOLD.format("bard") + "use sk-verysecretvalue123456"
    row = next(row for row in bench.rows if row.role is Role.USER)
    assert "verysecret" not in row.content + row.sent and row.sent.startswith(TOLD.format("bard"))


async def test_a_turn_that_runs_ends_as_it_began_and_the_next_one_speaks_otherwise(bench, served):
    gate = served.hold()
    bench.hub.submit(bench.session_id, "one")
    await served.waiting.wait()
    await command(bench, "/personality pirate")
    gate.set()
    await bench.until(lambda event: isinstance(event, TurnEnded))
    served.reply(text="Arr.")
    await bench.ask("two")
    first, second = (request["messages"][0]["content"] for request in served.requests)
    assert second.startswith(f"{first}\n\n") and PERSONALITIES["pirate"] in second


# --- where they come from


async def test_a_file_of_the_person_is_one_at_once_and_goes_before_ours(bench, home, say):
    folder = home / "personalities"
    folder.mkdir()
    (folder / "Captain.md").write_text("\ufeff# A captain\n\nSay aye.")
    (folder / "pirate.md").write_text("Say yarr.")
    await command(bench, "/personality captain")
    assert "# A captain\n\nSay aye." in (await say())[0]["content"]
    assert bench.hub.runtime(bench.session_id).s.session.personality == "Captain"
    await command(bench, "/personality pirate")
    said = (await say())[0]["content"]
    assert "Say yarr." in said and PERSONALITIES["pirate"] not in said
    (folder / "pirate.md").write_text("Say ahoy.")
    assert "Say ahoy." in (await say())[0]["content"]


async def test_the_settings_give_one_too_and_a_broken_file_of_them_takes_none_away(bench, home, say):
    config = home / "config.yaml"
    good = config.read_text() + 'personalities: {calm: "Be calm.", slow: {text: "Be slow."}}\n'
    config.write_text(good)
    for name in ("calm", "slow"):
        await command(bench, f"/personality {name}")
        assert f"Be {name}." in (await say())[0]["content"]
    config.write_text(good + "  : [broken")
    assert "Be slow." in (await say())[0]["content"]


async def test_one_whose_file_vanished_says_so_and_the_model_speaks_without_it(bench, home, say):
    (home / "personalities").mkdir()
    (home / "personalities/captain.md").write_text("Say aye.")
    await command(bench, "/personality captain")
    await say("one")
    (home / "personalities/captain.md").unlink()
    messages = await say("two")
    assert "How to speak" not in messages[0]["content"] and messages[-1]["content"] == f"{ENDED}\n\ntwo"
    await say("three")
    assert [text for text in notices(bench) if "captain" in text] == [
        "The personality captain of this session is not there any more, so the model speaks without one. "
        "/personality lists those there are."
    ]


async def test_files_that_are_no_personalities_are_told_and_take_none_away(bench, home):
    folder = home / "personalities"
    folder.mkdir()
    (folder / "none.md").write_text("x")
    (folder / "two words.md").write_text("x")
    (folder / "empty.md").write_text(" \n")
    (folder / "binary.md").write_bytes(b"\xff\xfe")
    (folder / "long.md").write_text("x" * 20_001)
    (folder / "link.md").symlink_to(folder / "gone.md")
    found = bench.hub.runtime(bench.session_id).s.parts.prompts.read_personalities()
    assert set(found.by_name) == set(PERSONALITIES)
    assert len(found.problems) == 6


async def test_new_sessions_begin_with_the_one_of_the_settings(bench, open_bench, say, home):
    await command(bench, "/personality teacher --global")
    bench.session_id = bench.hub.create(bench.workspace).id
    assert PERSONALITIES["teacher"] in (await say())[0]["content"]
    assert PERSONALITIES["teacher"] in (await say(of=await open_bench()))[0]["content"]


# --- the command


async def test_the_command_without_a_name_leads_to_the_list_and_an_unknown_name_changes_nothing(bench):
    assert await command(bench, "/personality") == PersonalityAsked(bench.session_id)
    assert await command(bench, "/personality --global") == PersonalityAsked(bench.session_id, is_global=True)
    with pytest.raises(UserError, match=r"There is no personality piratt\. There are: concise, .*none"):
        await command(bench, "/personality piratt --global")
    with pytest.raises(UserError, match="Write /personality NAME"):
        await command(bench, "/personality a b")
    assert bench.hub.runtime(bench.session_id).s.session.personality == ""


async def test_the_argument_of_the_command_is_completed(bench, home):
    call = read_line("/personality x")
    assert isinstance(call, Call) and call.command.complete
    told = {one.text: one.about for one in call.command.complete(bench.hub, bench.session_id, "")}
    assert told["pirate"] == PERSONALITIES["pirate"] and "none" in told and len(told) >= 13
    assert isinstance(await command(bench, "/personality bard"), Said)


async def compacted(bench, served) -> None:
    for number in range(4):
        served.reply(text="Hello.", usage=(3_000 * (number + 1), 5))
        await bench.ask(f"{number} " + "word " * 1_500)
    served.reply(text="## Aim\nTo see it through.")
    bench.hub.compact(bench.session_id)
    await bench.until(lambda event: type(event).__name__ == "CompactionEnded")
    assert any(row.is_summary for row in bench.rows)


async def test_it_survives_a_compaction_and_the_model_is_told_anew(bench, say, served):
    await command(bench, "/personality bard")
    await compacted(bench, served)
    messages = await say("and now?")
    assert PERSONALITIES["bard"] in messages[0]["content"]
    assert told_last(bench.rows) == "bard"


async def test_complaint_68_its_end_is_told_once_also_behind_a_compaction_and_a_restart(bench, say, served, open_bench):
    await command(bench, "/personality bard")
    await compacted(bench, served)
    other = await reopened(bench, open_bench)
    await command(other, "/personality none")
    assert (await say("and now?", of=other))[-1]["content"] == f"{ENDED}\n\nand now?"
    assert (await say("and then?", of=other))[-1]["content"] == "and then?"
