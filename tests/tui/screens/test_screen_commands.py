"""/details, /redraw, /logs, /doctor and /reasoning show: what the screen itself does about a command."""

from __future__ import annotations

from agent.config.display_settings import ReasoningShown
from tui.screens.page import PageScreen
from tui.screens.report import ReportScreen

LONG = "".join(f"line {number}\n" for number in range(60))


async def test_details_unfolds_and_folds_all_calls(desk, script, tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "long.txt").write_text(LONG)
    async with desk(size=(80, 100)) as d:
        script.says("", "cat long.txt")
        script.says("done")
        await d.send("/yolo")
        await d.until(lambda: d.main.runtime.mode.value == "yolo")
        await d.send("show it")
        await d.until(lambda: len(script.requests) == 2)
        await d.idle()
        await d.until(lambda: "done" in d.text)
        assert "line 30" not in d.text
        await d.send("/details open")
        await d.until(lambda: "line 30" in d.text)
        await d.send("/details folded")
        await d.until(lambda: "line 30" not in d.text)


async def test_the_log_and_the_doctor_are_pages_over_the_screen_and_the_draft_stays(desk, tmp_path):
    async with desk(size=(80, 40)) as d:
        logs = tmp_path / "home" / "logs"
        logs.mkdir(exist_ok=True)
        (logs / "hermes.log").write_text("one\ntwo [bold]literal[/]\nthree\n")
        await d.send("/logs 2")
        await d.until(lambda: isinstance(d.app.screen, PageScreen) and "three" in d.text)
        assert "[bold]literal[/]" in d.text and "one" not in d.text.split("Log", 1)[1].splitlines()[1]
        await d.press("escape")
        await d.send("/doctor")
        await d.until(lambda: isinstance(d.app.screen, ReportScreen) and "Python is" in d.text)
        await d.press("escape")
        assert d.app.screen is d.main and d.main.focused is d.main.composer


async def test_what_a_model_thinks_is_shown_as_the_command_says(desk):
    async with desk() as d:
        for word, shown in (("show", ReasoningShown.OPEN), ("hide", ReasoningShown.HIDDEN)):
            await d.send(f"/reasoning {word}")
            await d.until(lambda shown=shown: d.main.conversations.view._reasoning is shown)
        await d.send("/redraw")
        await d.until(lambda: d.draft == "")


async def test_reload_takes_the_files_as_they_are_and_the_next_turn_tells_the_model(desk, script):
    async with desk() as d:
        script.says("one")
        script.says("two")
        await d.send("first")
        await d.until(lambda: len(script.requests) == 1)
        await d.idle()
        home = d.hub.profile.home
        (home.root / "SOUL.md").write_text("You are the lighthouse keeper.")
        await d.send("/reload")
        await d.until(lambda: any("as in the files now" in toast for toast in d.toasts))
        await d.send("second")
        await d.until(lambda: len(script.requests) == 2)
        await d.idle()
        first, second = ("lighthouse" in str(request.messages[0]) for request in script.requests)
        assert (first, second) == (False, True)


async def test_reload_tells_what_is_wrong_in_a_file_and_keeps_what_held(desk):
    async with desk() as d:
        d.hub.profile.home.config.write_text("display: {theme: [1, 2}\n")
        await d.send("/reload")
        await d.until(lambda: any("config.yaml" in toast for toast in d.toasts))
        await d.send("/help")
        await d.until(lambda: d.app.screen is not d.main)


async def test_the_keys_are_listed_with_their_names_and_those_that_a_person_changed(desk):
    async with desk(size=(120, 40), config="keys: {main.search: ctrl+r}\n") as d:
        await d.send("/keys")
        await d.until(lambda: d.app.screen is not d.main)
        await d.press(*"main.search")
        await d.until(lambda: "main.search (yours)" in d.text)
        assert "ctrl+r" in d.text and "in the place of ctrl+f" in d.text
        await d.press("escape")
        await d.send("/palette")
        await d.until(lambda: d.app.screen is not d.main and "A command, a key or a session" in d.text)


async def test_the_editor_is_asked_for_by_a_command_and_a_text_behind_it_is_no_loss(desk):
    """This screen has no terminal to give away, which the editor says."""
    async with desk(env={"EDITOR": "true"}) as d:
        await d.send("/editor a long thought")
        await d.until(lambda: "can't be given this terminal" in "".join(d.toasts))
        assert d.draft == "a long thought"
