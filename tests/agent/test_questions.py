"""A question of the model's through the hub: a request like one for approval, whose answer allows nothing."""

from __future__ import annotations

import json

import pytest

from agent.approvals.inbox import Answer
from agent.events import RequestOpened, RequestSettled, TurnEnded
from agent.tools import ask_user
from session.models import Approval, CallOutcome, ToolCall
from session.results import result_of, told


def asks(id: str = "c1", **args: object) -> dict[str, object]:
    arguments = json.dumps({"question": "Which colour?", **args})
    return {"id": id, "type": "function", "function": {"name": "ask_user", "arguments": arguments}}


def runs(id: str = "c2") -> dict[str, object]:
    return {
        "id": id,
        "type": "function",
        "function": {"name": "terminal", "arguments": '{"command": "echo ran > ran"}'},
    }


async def opened(bench, prompt: str = "go"):
    bench.hub.submit(bench.session_id, prompt)
    return next(e for e in await bench.until(lambda e: isinstance(e, RequestOpened)) if isinstance(e, RequestOpened))


async def ended(bench):
    return await bench.until(lambda e: isinstance(e, TurnEnded))


def results(bench) -> list[tuple[CallOutcome, Approval]]:
    return [(row.result.outcome, row.result.approval) for row in bench.rows if row.result]


async def test_an_answer_is_the_result_and_no_approval_of_the_next_call(bench, served):
    served.reply(asks(choices=["red", "blue"]), runs())
    served.reply(text="done")
    request = (await opened(bench)).request
    assert request.tool == "ask_user" and ask_user.decoded(request.details, request.shown).choices == ("red", "blue")
    bench.hub.answer(request.id, Answer(Approval.ANSWERED, "blue"))
    [second] = [e for e in await bench.until(lambda e: isinstance(e, RequestOpened)) if isinstance(e, RequestOpened)]
    assert second.request.tool == "terminal"
    bench.hub.answer(second.request.id, Answer(Approval.ANSWERED, "yes"))  # an answer to what is no question
    await ended(bench)
    assert results(bench)[0] == (CallOutcome.OK, Approval.ANSWERED)
    assert results(bench)[1][0] is CallOutcome.NOT_RUN and not (bench.workspace / "ran").exists()
    assert served.requests[-1]["messages"][-2]["content"] == "The person answered:\nblue"


async def test_the_same_question_is_put_again_however_it_was_answered(bench, served):
    for _ in range(2):
        served.reply(asks())
    served.reply(text="done")
    request = (await opened(bench)).request
    bench.hub.answer(request.id, Answer(Approval.ANSWERED, "red"))
    again = await bench.until(lambda e: isinstance(e, RequestOpened))
    [event] = [e for e in again if isinstance(e, RequestOpened)]
    bench.hub.answer(event.request.id, Answer(Approval.DECLINED))
    await ended(bench)
    assert [approval for _, approval in results(bench)] == [Approval.ANSWERED, Approval.DECLINED]


@pytest.mark.parametrize("word", [Approval.ALLOWED_ONCE, Approval.ALLOWED_SESSION, Approval.DENIED])
async def test_a_word_on_an_approval_is_no_answer(bench, served, word):
    served.reply(asks())
    served.reply(text="done")
    bench.hub.answer((await opened(bench)).request.id, Answer(word))
    await ended(bench)
    assert results(bench) == [(CallOutcome.NOT_RUN, Approval.CANCELLED)]


async def test_an_interrupt_cancels_the_question_with_its_cause(bench, served):
    served.reply(asks())
    request = (await opened(bench)).request
    bench.hub.interrupt(bench.session_id)
    settled = [e for e in await ended(bench) if isinstance(e, RequestSettled)]
    assert [(e.request.id, e.approval, e.cause) for e in settled] == [
        (request.id, Approval.CANCELLED, "the turn was interrupted")
    ]
    assert bench.rows[-1].content == "Not run: the turn was interrupted."


@pytest.mark.parametrize("more_config", ["approvals: {timeout: 1}"])
async def test_silence_is_told_as_silence(bench, served):
    served.reply(asks())
    served.reply(text="done")
    await opened(bench)
    await ended(bench)
    assert results(bench) == [(CallOutcome.NOT_RUN, Approval.TIMED_OUT)]
    assert "no answer within 1 s" in served.requests[-1]["messages"][-1]["content"]


@pytest.mark.parametrize("is_attended", [False])
async def test_C03_a_headless_run_asks_nobody_and_says_so(bench, served):
    served.reply(asks())
    served.reply(text="done")
    turn = await bench.ask("go")
    assert results(bench) == [(CallOutcome.NOT_RUN, Approval.NOT_ASKED)]
    assert "nobody is there" in turn.results[0][1] and not bench.hub.pending()


@pytest.mark.parametrize(
    "args",
    [
        {"question": " "},
        {"question": 7},
        {"choices": [str(n) for n in range(7)]},
        {"choices": ["a", "a"]},
        {"choices": ["a" * 201]},
        {"choices": [1]},
        {"allow_text": False},
        {"allow_text": "yes"},
        {"more": 1},
    ],
)
async def test_a_question_that_can_not_be_put_is_told_to_the_model(bench, served, args):
    served.reply(asks(**args))
    served.reply(text="done")
    await bench.ask("go")
    assert results(bench) == [(CallOutcome.NOT_RUN, Approval.NOT_ASKED)] and not bench.hub.pending()


def test_an_answer_that_a_kill_kept_from_its_row_is_not_lost():
    result = result_of(ToolCall("c1", "ask_user", "{}"), {}, (Approval.ANSWERED, "blue"), "hermes ended")
    assert result.outcome is CallOutcome.OK and told(result) == "The person answered:\nblue"
