"""Reading from the whole screen: the way in and out of the conversation, finding, the list of prompts, copying."""

from __future__ import annotations

from pathlib import Path

from tui.screens.outline import OutlineScreen

ANSWER = "Use **this**:\n\n```sh\nmake all\n```\n\nand it is done."


async def talked(d, script, *prompts: str) -> None:
    for prompt in prompts:
        script.says(f"About {prompt}.\n\n{ANSWER}")
        await d.send(prompt)
        await d.idle()
    view = d.main.conversations.view
    view.formatting_ready()  # a notice that the demo answers stands before the first prompt
    await d.until(lambda: len(view.blocks) == 1 + 2 * len(prompts) and view.is_following)


async def copied(d, sentence: str) -> str:
    """What is in the clipboard, which is a file here: there is no terminal."""
    await d.until(lambda: any(sentence in toast for toast in d.toasts))
    return (Path(d.hub.profile.home.root) / "clipboard.txt").read_text()


async def test_f6_goes_into_the_conversation_and_escape_back(desk, script):
    async with desk() as d:
        await talked(d, script, "one", "two")
        await d.press("f6", "k")
        await d.until(lambda: "esc back" in d.text)
        assert d.main.focused is d.main.conversations.view and "▶" in d.text
        await d.press("escape")
        await d.until(lambda: "esc back" not in d.text)
        assert d.main.focused is d.main.composer and "▶" not in d.text


async def test_F18_letters_are_text_wherever_they_are_no_keys(desk, script):
    async with desk() as d:
        await talked(d, script, "one")
        await d.write("say")
        await d.press(*" jy/n")
        assert d.draft == "say jy/n"
        await d.press("f6", "x")
        assert d.draft == "say jy/nx" and d.main.focused is d.main.composer


async def test_words_are_found_as_they_are_typed_and_counted(desk, script):
    async with desk() as d:
        await talked(d, script, "one", "two", "three")
        await d.press("f6", "/", *"done")
        await d.until(lambda: "3 of 3" in d.text)
        await d.press("down")
        await d.until(lambda: "1 of 3" in d.text)
        await d.press("enter", "n")
        await d.until(lambda: "2 of 3" in d.text and "n next" in d.text)
        await d.press("escape")
        await d.until(lambda: "esc back" in d.text)
        await d.press("/", *"nowhere")
        await d.until(lambda: "not found" in d.text)
        await d.press("escape", "escape")
        assert d.main.focused is d.main.composer and d.draft == ""


async def test_the_list_of_prompts_is_filtered_and_leads_to_one(desk, script):
    async with desk() as d:
        await talked(d, script, *(f"about {name}" for name in ("apples", "pears", "plums", "pearls")))
        await d.write("draft")
        await d.press("alt+o")
        await d.until(lambda: isinstance(d.app.screen, OutlineScreen) and "4 prompts" in d.text)
        await d.press(*"pear")
        await d.until(lambda: "2 of 4 prompts" in d.text)
        await d.resize(40, 12)
        await d.press("up", "up", "enter")
        view = d.main.conversations.view
        await d.until(lambda: d.app.screen is d.main and view.page.anchor.block == 3)
        assert d.draft == "draft" and d.main.focused is d.main.composer


async def test_F05_ctrl_c_copies_what_is_selected_before_it_interrupts(desk, script):
    async with desk() as d:
        await talked(d, script, "one")
        gate = script.holds("slow")
        await d.send("two")
        await d.until(lambda: d.main.runtime.is_busy)
        await d.press("f6", "home", "j", "shift+down", "shift+down", "ctrl+c")
        assert (await copied(d, "written to")).startswith("No model is configured")
        assert d.main.runtime.is_busy
        await d.press("ctrl+c")
        await d.idle()
        gate.set()


async def test_copy_takes_an_answer_or_its_code_as_the_model_wrote_it(desk, script):
    async with desk() as d:
        await talked(d, script, "one", "two")
        for line, sentence, text in (
            ("/copy", "9 lines", f"About two.\n\n{ANSWER}"),
            ("/copy code", "1 line ", "make all"),
            ("/copy 2", "9 lines", f"About one.\n\n{ANSWER}"),
        ):
            d.app.clear_notifications()
            await d.send(line)
            assert await copied(d, sentence) == text
        await d.send("/copy 3")
        await d.until(lambda: any("There are 2 answers" in toast for toast in d.toasts))


async def test_turns_are_gone_to_from_the_draft(desk, script):
    async with desk(size=(90, 16)) as d:
        await talked(d, script, "one", "two", "three")
        view = d.main.conversations.view
        await d.press("ctrl+pageup", "ctrl+pageup")
        assert view.page.anchor.block == 3 and d.main.focused is d.main.composer
        await d.press("ctrl+pagedown", "ctrl+pagedown")
        assert view.is_following
