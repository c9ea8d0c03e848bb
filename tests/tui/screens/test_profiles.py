"""Several profiles on one screen: each with its own sessions, drafts and questions, and none lost when another is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from agent.config.home import launch_home
from agent.config.profiles import create
from tui.screens.approval import ApprovalScreen


@pytest.fixture
async def two(desk: Callable[..., Any], tmp_path, script):
    """A desk on the profile default, with a profile work beside it that the same model plays for."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    create(launch_home({"HERMES_HOME": str(home)}), "work")
    (home / "profiles" / "work" / "config.yaml").write_text("probe_local: false\napprovals: {arm_ms: 150}\n")
    async with desk() as d:
        yield d


async def enter(d: Any, name: str) -> None:
    await d.send(f"/profile {name}")
    await d.until(lambda: d.main.hub.profile.name == name and d.app.screen is d.main and d.main.is_mounted)
    s = d.main.runtime.s
    s.parts = replace(s.parts, provider_for=lambda _: d.script)
    await d.pilot.pause()


async def test_a_profile_is_entered_and_left_as_it_was(two):
    d = two
    first = d.shown
    await enter(d, "work")
    assert d.shown != first
    assert "work: work" in d.text  # the profile, and the folder
    assert any("restart" in toast for toast in d.toasts)
    d.script.says("from work")
    await d.send("hello")
    await d.until(lambda: "from work" in d.text)
    of_work = d.shown
    await enter(d, "default")
    assert d.shown == first
    assert "from work" not in d.text
    await enter(d, "work")
    assert d.shown == of_work
    assert "from work" in d.text


async def test_a_question_of_another_profile_waits_and_is_counted(two):
    d = two
    gate = d.script.holds("thinking")
    await d.send("work on it")
    first = d.main
    await d.until(lambda: first.runtime.is_busy)
    await enter(d, "work")
    d.script.says("asking", "touch x")
    gate.set()
    await d.until(lambda: not first.runtime.is_busy)
    first.hub.submit(first.runtime.id, "run it")
    await d.until(lambda: bool(first.hub.pending()))
    await d.until(lambda: "1 asking" in d.text)
    assert not isinstance(d.app.screen, ApprovalScreen)
    await d.send("/profile default")
    await d.until(lambda: isinstance(d.app.screen, ApprovalScreen))


async def test_a_profile_that_is_not_there_is_one_sentence(two):
    await two.send("/profile nothere")
    await two.until(lambda: any("no profile nothere" in toast for toast in two.toasts))
    assert two.main.hub.profile.name == "default"


async def test_a_profile_that_is_open_here_is_renamed_from_here_with_its_conversation_and_draft(two):
    d = two
    await enter(d, "work")
    d.script.says("from work")
    await d.send("hello")
    await d.until(lambda: "from work" in d.text)
    shown = d.shown
    await d.send("/profile rename office")
    await d.until(lambda: d.main.hub.profile.name == "office" and d.app.screen is d.main and d.main.is_mounted)
    await d.until(lambda: "from work" in d.text)
    assert d.shown == shown
    folders = d.main.hub.profile.home.profiles
    assert (folders / "office").is_dir() and not (folders / "work").exists()
    await enter(d, "default")
    await enter(d, "office")
    assert "from work" in d.text


async def test_a_profile_at_work_is_not_renamed(two):
    d = two
    await enter(d, "work")
    d.script.holds("thinking")
    await d.send("hello")
    await d.until(lambda: d.main.runtime.is_busy)
    await d.send("/profile rename office")
    await d.until(lambda: any("still runs in the profile work" in toast for toast in d.toasts))
    assert d.main.hub.profile.name == "work"


@pytest.mark.parametrize("taken", ["default", "play"])
async def test_a_rename_onto_a_profile_that_is_open_here_too_leaves_both_as_they_were(two, taken: str):
    d = two
    create(launch_home({"HERMES_HOME": str(d.main.hub.profile.home.root)}), "play")
    await enter(d, "play")
    await enter(d, "work")
    shown, main = d.shown, d.main
    await d.send(f"/profile rename {taken}")
    await d.until(
        lambda: any("be a profile's name" in toast or "a profile play already" in toast for toast in d.toasts)
    )
    assert (d.app.screen, d.shown, d.main.hub.profile.name) == (main, shown, "work")
    await enter(d, taken)
    assert d.main.hub.profile.name == taken


async def test_each_profile_lists_its_own_sessions_and_a_link_holds_when_one_gets_another_name(two):
    d = two
    d.script.says("from default")
    await d.send("of the first")
    await d.until(lambda: "from default" in d.text)
    await d.idle()
    await enter(d, "work")
    d.script.says("from work")
    await d.send("of the second")
    await d.until(lambda: "from work" in d.text)
    await d.idle()
    of_work = d.shown
    await d.press("alt+s")
    await d.until(lambda: d.main.sessions.has_focus)
    titles = [d.main.sessions.line(key).session.title for key in d.main.sessions.keys]
    assert titles == ["of the second"]
    await d.press("escape")
    await d.send("/profile rename labour")
    await d.until(lambda: d.main.hub.profile.name == "labour" and d.app.screen is d.main and d.main.is_mounted)
    await d.send("/new")
    await d.until(lambda: d.shown != of_work)
    await d.send(f"/resume @session:work/{of_work}")
    await d.until(lambda: d.shown == of_work)


async def test_a_profile_brings_its_theme_and_keys_and_leaving_it_gives_back_those_before(two):
    d = two
    home = d.main.hub.profile.home
    (home.profiles / "work" / "themes").mkdir()
    (home.profiles / "work" / "themes" / "sea.yaml").write_text("base: light\n")
    (home.profiles / "work" / "config.yaml").write_text(
        "probe_local: false\ndisplay: {theme: sea}\nkeys: {main.outline: f9}\n"
    )
    await enter(d, "work")
    await d.until(lambda: d.app.theme.startswith("own-sea") and d.app.keymap == {"main.outline": "f9"})
    await enter(d, "default")
    await d.until(lambda: d.app.theme == "hermes-dark" and not d.app.keymap)
