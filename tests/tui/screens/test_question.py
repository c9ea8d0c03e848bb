"""The question of a model's: answered by a choice, in words, or not at all, and only by a deliberate press."""

from __future__ import annotations

import json
import time

import pytest
from textual import events

from agent.approvals.inbox import Answer
from agent.providers.base import Reply
from session.models import Approval, CallOutcome, Finish, ToolCall
from tui.screens.question import QuestionScreen


async def ask(d, script, *, then: str = "done", **args) -> None:
    call = ToolCall(f"call_{len(script.answers)}", "ask_user", json.dumps({"question": "Which colour?", **args}))
    script.answers.append(Reply("", "", "", (call,), Finish.TOOL_CALLS, None))
    script.says(then)
    await d.send("do it")
    await d.until(lambda: isinstance(d.app.screen, QuestionScreen))


def results(d) -> list[tuple[str, CallOutcome, Approval]]:
    rows = [row for row in d.main.runtime.s.rows if row.result is not None]
    return [(row.content, row.result.outcome, row.result.approval) for row in rows]


RED_OR_BLUE = ["red", "blue"]


@pytest.mark.parametrize(
    ("args", "keys", "said"),
    [
        ({}, ["g", "r", "e", "e", "n", "enter"], "green"),
        ({"choices": RED_OR_BLUE}, ["g", "enter"], "g"),
        ({"choices": RED_OR_BLUE}, ["up", "enter"], "blue"),
        ({"choices": RED_OR_BLUE}, ["up", "up", "enter"], "red"),
        ({"choices": RED_OR_BLUE}, ["up", "1", "enter"], "1"),
        ({"choices": RED_OR_BLUE}, ["a", "shift+enter", "b", "enter"], "a\nb"),
        ({"choices": RED_OR_BLUE, "allow_text": False}, ["2"], "blue"),
        ({"choices": RED_OR_BLUE, "allow_text": False}, ["down", "enter"], "red"),
    ],
)
async def test_an_answer_is_what_was_chosen_or_written(desk, script, args, keys, said):
    async with desk() as d:
        await ask(d, script, **args)
        await d.asked()
        await d.press(*keys)
        await d.idle()
        assert results(d) == [(f"The person answered:\n{said}", CallOutcome.OK, Approval.ANSWERED)]
        assert d.app.screen is d.main and not d.draft


@pytest.mark.parametrize(
    ("args", "keys"),
    [
        ({}, ["escape"]),
        ({"choices": RED_OR_BLUE}, ["escape"]),
        ({"choices": RED_OR_BLUE}, ["down", "enter"]),
        ({"choices": RED_OR_BLUE, "allow_text": False}, ["enter"]),
        ({"choices": RED_OR_BLUE, "allow_text": False}, ["3"]),
    ],
)
async def test_no_answer_is_told_as_exactly_that(desk, script, args, keys):
    async with desk() as d:
        await ask(d, script, **args)
        await d.asked()
        await d.press(*keys)
        await d.idle()
        [(text, outcome, approval)] = results(d)
        assert text.startswith("The person declined to answer") and outcome is CallOutcome.NOT_RUN
        assert approval is Approval.DECLINED and "denied" not in text


async def test_enter_in_an_empty_field_answers_nothing(desk, script):
    async with desk() as d:
        await ask(d, script, choices=RED_OR_BLUE)
        await d.asked()
        await d.press("enter", "enter", "space", "enter")
        assert d.hub.pending() and isinstance(d.app.screen, QuestionScreen)


async def test_what_enter_does_is_told_as_the_field_fills(desk, script):
    async with desk() as d:
        await ask(d, script, choices=RED_OR_BLUE)
        await d.asked()
        await d.until(lambda: "write an answer" in d.text)
        await d.press("h")
        await d.until(lambda: "enter answers" in d.text)
        await d.press("backspace")
        await d.until(lambda: "write an answer" in d.text)


async def test_C20_what_is_typed_ahead_stays_in_the_field_and_its_enter_does_nothing(desk, script):
    async with desk(arm_ms=5_000) as d:
        await ask(d, script, choices=RED_OR_BLUE)
        d.main.composer.insert("yes pl")
        for key in ["e", "a", "s", "e", "enter", "1", "tab", "enter", "up", "enter", "escape"]:
            await d.press(key)
        assert d.hub.pending() and not d.app.screen.is_armed
        assert d.app.screen._field.text == "ease1" and d.draft == "yes pl"


async def test_C21_a_held_enter_answers_nothing(desk, script):
    async with desk(arm_ms=1_000) as d:
        await ask(d, script, choices=RED_OR_BLUE, allow_text=False)
        until = time.monotonic() + 1.3
        while time.monotonic() < until:
            d.app.post_message(events.Key("enter", "\r"))
            await d.pilot.pause(0.033)
        assert d.hub.pending() and not results(d)


async def test_what_was_written_is_kept_while_another_session_is_shown(desk, script):
    async with desk() as d:
        await ask(d, script)
        await d.asked()
        await d.press("h", "a", "l", "f")
        asking = d.shown
        d.main.show(d.hub.create(d.main.runtime.s.place.cwd).id)
        await d.until(lambda: d.app.screen is d.main and not d.draft)
        await d.pilot.pause()
        d.main.show(asking)
        await d.until(lambda: isinstance(d.app.screen, QuestionScreen))
        await d.until(lambda: d.app.screen._field.text == "half")


async def test_what_was_written_to_a_question_that_is_declined_stands_in_the_draft(desk, script):
    async with desk() as d:
        await ask(d, script)
        await d.asked()
        await d.press("h", "i", "escape")
        await d.idle()
        await d.until(lambda: d.draft == "hi")
        assert results(d)[0][2] is Approval.DECLINED


async def test_an_interrupt_withdraws_the_question_with_its_cause(desk, script):
    async with desk() as d:
        await ask(d, script)
        await d.asked()
        await d.press("ctrl+c")
        await d.idle()
        await d.until(lambda: d.app.screen is d.main)
        assert results(d) == [("Not run: the turn was interrupted.", CallOutcome.NOT_RUN, Approval.CANCELLED)]


async def test_C28_a_question_that_is_answered_elsewhere_closes(desk, script):
    async with desk() as d:
        await ask(d, script)
        await d.asked()
        d.hub.answer(d.hub.pending()[0].id, Answer(Approval.ANSWERED, "blue"))
        await d.idle()
        await d.until(lambda: d.app.screen is d.main)
        assert "you declined" not in d.text and "answered" in d.text


async def test_C16_what_a_model_asks_is_shown_literally(desk, script):
    async with desk() as d:
        await ask(d, script, question="[b]Sure?[/b]\x1b[2K \u202eevil", choices=["[red]a[/red]", "b\u200bc"])
        await d.asked()
        assert r"[b]Sure?[/b]\x1b[2K \u202eevil" in d.text
        assert "[red]a[/red]" in d.text and r"b\u200bc" in d.text


@pytest.mark.parametrize("size", [(20, 6), (40, 10), (80, 24), (160, 50)])
async def test_the_answers_are_in_sight_in_every_terminal(desk, script, size):
    async with desk(size=size) as d:
        await ask(d, script, question="Long. " * 400, choices=["one", "two", "three", "four", "five", "x" * 200])
        await d.asked()
        await d.pilot.pause()
        assert d.app.screen.answers.region.bottom <= size[1] and d.app.screen._field.region.bottom <= size[1]
        assert "Your own" in d.text and d.app.screen._field.region.height >= 1
