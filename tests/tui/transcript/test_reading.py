"""Reading a transcript: moving, selecting, copying its source, finding."""

from __future__ import annotations

from textual.events import MouseDown, MouseMove, MouseUp
from textual.widgets import TextArea

from session.models import Approval, CallOutcome, CallResult, Role, ToolCall

CODE = "def greet(name):\n    words = f'hello, dear {name}, ' + 'and a long line that must be broken on this page' * 2\n\n    return words"
TABLE = "| name | size |\n|------|-----:|\n| left | 12 |\n| right | 7 |"
ANSWER = f"Here **it** is:\n\n```python\n{CODE}\n```\n\n- one *thing*\n- another\n\n{TABLE}\n\nThat was `all`."


def conversation(told, turns: int):
    return [row for n in range(turns) for row in (told.prompt(f"question {n}"), told.answer(f"answer {n}\n\n- a\n- b"))]


def call(told, output: str):
    asked = told.answer("", calls=(ToolCall("c1", "terminal", '{"command": "make all"}'),))
    result = CallResult("c1", "terminal", CallOutcome.OK, Approval.NOT_ASKED)
    return [asked, told.row(Role.TOOL, output, result=result)]


# --- moving


async def test_turns_are_gone_to_and_the_end_follows_the_last(reading, told):
    reading.view.open(conversation(told, 40))
    await reading.press("home", "]", "]")
    assert reading.lines[1].strip("▶▎▌ ") == "question 2"
    await reading.press("[")
    assert reading.lines[1].strip("▶▎▌ ") == "question 1"
    await reading.press("end", "[", "]")
    assert reading.view.is_following


async def test_the_caret_takes_the_page_along_line_by_line(reading, told):
    reading.view.open(conversation(told, 40))
    await reading.press("g", *"jjj")
    assert reading.lines[3].startswith("▶")
    await reading.press("G", *"k" * 30)
    assert [line[:1] for line in reading.lines].count("▶") == 1
    assert not reading.view.is_following


async def test_scrolled_up_the_first_row_tells_the_prompt_one_is_under(reading, told):
    long = "\n\n".join(f"paragraph {n}" for n in range(40))
    reading.view.open([told.prompt("what is it?"), told.answer(long)])
    await reading.press("home", *"j" * 30)
    assert reading.lines[0].strip() == "▌ what is it?"
    assert "paragraph 10" in reading.text
    await reading.pilot.click(reading.view, offset=(5, 0))
    assert reading.lines[1].strip("▶▎▌ ") == "what is it?"


async def test_the_mouse_never_takes_the_focus_from_the_draft(reading, told):
    reading.view.open(conversation(told, 3))
    reading.app.query_one(TextArea).focus()
    await reading.pilot.click(reading.view, offset=(5, 3))
    await reading.press("j")
    assert reading.app.query_one(TextArea).text == "j"


# --- one block


async def test_a_block_is_unfolded_shown_as_source_and_copied(reading, told):
    reading.view.open([told.prompt("go"), *call(told, "\n".join(f"line {n}" for n in range(30)))])
    await reading.press("end")
    assert "line 15" not in reading.text
    await reading.press("enter")
    assert "line 14" in reading.text
    await reading.press("y")
    assert reading.app.copied == ["make all\n" + "\n".join(f"line {n}" for n in range(30))]


async def test_D16_the_source_of_an_answer_is_a_key_away(reading, told):
    reading.view.open([told.prompt("go"), told.answer(ANSWER)])
    await reading.press("end")
    assert "**it**" not in reading.text
    await reading.press("r")
    assert "Here **it** is:" in reading.text and "```python" in reading.text
    await reading.press("r")
    assert "**it**" not in reading.text


async def test_times_come_and_go(reading, told):
    reading.view.open([told.prompt("go"), told.answer("yes")])
    await reading.press("t")
    assert reading.lines[0].strip("▶▎ ").startswith("19")  # of 1970, or the evening before
    await reading.press("t")
    assert "19" not in reading.text


# --- selecting


async def test_D15_a_drag_over_three_messages_copies_their_source(reading, told):
    reading.view.open([told.prompt("first *one*"), told.answer("Some **bold** words."), told.prompt("second")])
    await reading.pilot.pause()
    await reading.drag(reading.cell_of("first"), (60, reading.cell_of("second")[1]))
    reading.view.copy_selection()
    assert reading.app.copied == ["first *one*\n\nSome **bold** words.\n\nsecond"]
    assert reading.view.reader.selection is None


async def test_D15_code_is_copied_without_borders_and_soft_breaks(reading, told):
    reading.view.open([told.prompt("go"), told.answer(ANSWER)])
    await reading.pilot.pause()
    await reading.drag(reading.cell_of("def greet"), (60, reading.cell_of("return words")[1]))
    await reading.press("y")
    assert reading.app.copied == [CODE]


async def test_D15_rows_of_a_table_are_copied_as_they_were_written(reading, told):
    reading.view.open([told.prompt("go"), told.answer(ANSWER)])
    await reading.pilot.pause()
    await reading.drag(reading.cell_of("left"), reading.cell_of("right"))
    await reading.press("y")
    assert reading.app.copied == ["| left | 12 |\n| right | 7 |"]


async def test_a_part_of_a_line_is_copied_as_its_part_of_the_source(reading, told):
    reading.view.open([told.prompt("go"), told.answer(ANSWER)])
    await reading.pilot.pause()
    x, y = reading.cell_of("That was all")
    await reading.drag((x + 5, y), (x + 7, y))
    await reading.press("y")
    x, y = reading.cell_of("one thing")
    await reading.drag((x + 4, y), (x + 3, y + 1))
    await reading.press("y")
    assert reading.app.copied == ["was", "thing*\n- anot"]


async def test_two_clicks_take_a_word_and_three_a_line(reading, told):
    reading.view.open([told.prompt("go"), told.answer("See src/app/main.py for it.\n\nMore.")])
    await reading.pilot.pause()
    await reading.pilot.click(reading.view, offset=reading.cell_of("app/main"), times=2)
    await reading.press("y")
    await reading.pilot.click(reading.view, offset=reading.cell_of("app/main"), times=3)
    await reading.press("y")
    assert reading.app.copied == ["src/app/main.py", "See src/app/main.py for it."]


async def test_keys_select_over_blocks_and_escape_takes_one_thing_back_at_a_time(reading, told):
    reading.view.open([told.prompt("first"), told.answer("middle"), told.prompt("last")])
    await reading.press("g", "j", "v", *"jjjj")
    assert reading.view.reader.selected.startswith("first\n\nmiddle\n\n")
    await reading.press("escape")
    assert reading.view.reader.selection is None and reading.view.has_focus
    await reading.press("shift+up", "shift+up", "y")
    assert reading.app.copied == ["middle\n\nl"]


async def test_a_drag_beyond_the_edge_goes_on_by_itself(reading, told):
    reading.view.open(conversation(told, 40))
    await reading.press("home")
    await reading.mouse(MouseDown, (4, 5))
    await reading.mouse(MouseMove, (4, reading.view.size.height + 1))  # below it, and there it stands still
    await reading.until(lambda: reading.view.page.anchor.block > 20)
    await reading.mouse(MouseUp, (4, 20))
    assert "question 2" in reading.view.reader.selected
    top = reading.view.page.anchor
    await reading.pilot.pause(0.2)
    assert reading.view.page.anchor == top


async def test_a_selection_stays_on_its_text_while_an_answer_comes(reading, told):
    reading.view.open(conversation(told, 40))
    await reading.pilot.pause()
    await reading.drag(reading.cell_of("question 38"), reading.cell_of("answer 38"))
    before = reading.view.reader.selected
    await reading.apply(*(told.says(f"chunk {n}\n\n") for n in range(60)))
    assert reading.view.reader.selected == before != ""


# --- finding


async def found(reading, words: str) -> None:
    reading.view.find(words)
    await reading.until(lambda: not reading.view.workers or all(w.is_finished for w in reading.view.workers))


async def test_words_are_found_over_markup_and_folds_and_gone_through(reading, told):
    output = "\n".join(f"row {n}" + (" needle" if n == 20 else "") for n in range(40))
    rows = [told.prompt("a Needle"), told.answer("one **nee**dle"), *call(told, output), *conversation(told, 30)]
    reading.view.open([*rows, told.answer("the needle")])
    await reading.press("home")
    await found(reading, "needle")
    reader = reading.view.reader
    assert (len(reader.hits), reader.at) == (4 - 1, 0)  # `**nee**dle` is written apart
    await reading.press("n")
    assert "row 20 needle" in reading.text  # unfolded on arrival
    await reading.press("n", "n", "N")
    assert reader.at == 2 and "the needle" in reading.text
    await reading.press("escape")
    assert reader.hits == [] and reading.view.has_focus


async def test_what_is_said_meanwhile_is_found_too(reading, told):
    reading.view.open([told.prompt("needle"), told.answer("no")])
    await found(reading, "needle")
    await reading.apply(told.stored(told.prompt("another needle")))
    await reading.press("n")
    await reading.until(lambda: len(reading.view.reader.hits) == 2 and reading.view.reader.at == 1)


def test_letters_that_grow_in_lower_case_do_not_shift_what_is_found():
    from tui.transcript.find import places_in

    assert places_in("İİ needle", "NEEDLE") == [(3, 9)]


# --- the page stays where it is


async def test_reading_goes_on_in_the_same_row_over_a_resize_and_a_theme(reading, told):
    reading.view.open(conversation(told, 40))
    await reading.press("home", "]", "]", "]")
    top = reading.lines[1].strip("▶▎▌ ")
    await reading.pilot.resize_terminal(60, 30)
    assert reading.lines[1].strip("▶▎▌ ") == top
    reading.app.theme = "textual-light"
    await reading.pilot.pause()
    assert reading.lines[1].strip("▶▎▌ ") == top


async def test_paging_up_holds_while_an_answer_streams(reading, told):
    reading.view.open(conversation(told, 40))
    for n in range(20):
        reading.view.action_page_up() if n == 10 else None
        await reading.apply(told.says(f"word {n}\n\n"))
        if n == 10:
            held = reading.lines[1:-1]
    assert reading.lines[1:-1] == held
