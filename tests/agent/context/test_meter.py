"""The context figure rests on what the provider counted, and says what it rests on."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agent.context.estimate import text_tokens
from agent.context.features import NONE, Features, of_row, of_text, of_tools
from agent.context.meter import FigureSource
from session.models import ApiMode, Message, Role, Route, Usage

LONG = "It is a long story that is told in many words. " * 40
THOUGHT = "First I look at what there is, and then I think about it. " * 100


def test_A01_the_figure_is_what_the_provider_counted(talk):
    talk.asks("hi")
    talk.answers("Hi", Usage(input=1_000, output=50))
    figure = talk.figure
    assert (figure.used, figure.source, figure.percent) == (1_050, FigureSource.PROVIDER, 1)
    assert figure.read_at == talk.rows[-1].created_at


def test_what_came_after_the_reading_is_added_as_an_estimate(talk):
    talk.asks("hi")
    talk.answers("Hi", Usage(input=10, output=50))
    talk.asks("x" * 40)
    figure = talk.figure
    assert (figure.used, figure.source) == (
        60 + talk.terms.weights.tokens(of_row(talk.rows[-1])),
        FigureSource.PROVIDER_PLUS_ESTIMATE,
    )


def test_each_tool_result_counts_at_once(talk):
    talk.asks("look")
    talk.answers("", Usage(1_000, 20), calls=["a", "b"])
    seen = [talk.figure.used]
    for call in ("a", "b"):
        talk.results(call, LONG)
        seen.append(talk.figure.used)
    assert seen[0] < seen[1] < seen[2]


def test_G01_cached_tokens_are_counted_once(talk):
    talk.asks("hi")
    talk.answers("", Usage(input=1_000, cache_read=9_000, output=0))
    assert talk.figure.used == 10_000


# --- no reading


@pytest.mark.parametrize("usage", [None, Usage(), Usage(output=50)])
def test_G03_an_answer_without_a_count_of_its_prompt_is_no_reading(talk, usage: Usage | None):
    talk.asks("x" * 40)
    talk.answers("Hi", usage)
    figure = talk.figure
    assert (figure.source, figure.read_at) == (FigureSource.ESTIMATE, None)
    assert figure.used > 10
    assert talk.meter.omits_usage(talk.column, talk.terms)


def test_G03_an_answer_without_a_reading_takes_no_anchor_away(talk):
    talk.asks("hello")
    talk.answers("Hi", Usage(5_000, 5))
    talk.asks("and now")
    talk.answers("Now.")
    figure = talk.figure
    assert (figure.source, figure.used > 5_005) == (FigureSource.PROVIDER_PLUS_ESTIMATE, True)
    talk.asks("again")
    talk.answers("Again.", Usage(5_100, 5))
    assert not talk.meter.omits_usage(talk.column, talk.terms)


def test_an_anchor_that_fits_no_more_is_gone_with_the_next_answer(talk):
    talk.asks("hello")
    talk.answers("Hi", Usage(5_000, 5))
    talk.rows = [replace(talk.rows[0], content="changed"), *talk.rows[1:]]
    talk.answers("Now.")
    assert '"last"' not in talk.column


def test_an_empty_session_claims_nothing(talk):
    assert (talk.figure.used, talk.figure.source) == (0, FigureSource.UNKNOWN)
    talk.notes("A notice is no part of it.")
    assert (talk.figure.used, talk.figure.source) == (0, FigureSource.UNKNOWN)


def test_a_notice_changes_nothing(talk):
    talk.asks("hi")
    talk.answers("Hi", Usage(input=10, output=50))
    talk.notes("x" * 400)
    assert talk.figure.source is FigureSource.PROVIDER


def test_an_estimate_has_all_that_is_sent(talk):
    talk.asks(LONG)
    fixed = Features(messages=1) + of_text(talk.terms.stable_system) + of_tools(talk.terms.tools)
    assert talk.figure.used == talk.terms.weights.tokens(fixed + of_row(talk.rows[0]))


def test_an_answer_on_whose_way_the_server_compacted_leaves_no_anchor(talk):
    talk.asks("hello")
    talk.answers("Hi", Usage(5_000, 5))
    answer = Message("s", Role.ASSISTANT, "Shorter.", 1.0, usage=Usage(900, 5))
    assert talk.meter.note_answer(talk.rows, talk.column, answer, talk.terms, is_compacted=True).column == ""


# --- windows


def test_G08_an_unknown_window_has_no_percent(talk):
    talk.terms = replace(talk.terms, window=None, route=Route("p", "m", "http://127.0.0.1", ApiMode.CHAT))
    talk.asks("hi")
    assert (talk.figure.percent, talk.figure.declared) == (None, None)


def test_a_window_that_the_server_proved_smaller_is_told_with_the_one_that_was_declared(talk):
    talk.terms = replace(talk.terms, window=30_000)
    talk.asks("hi")
    assert (talk.figure.window, talk.figure.declared) == (30_000, 200_000)


# --- what stands before the rows


def test_a_personality_moves_nothing_whether_counted_or_not(talk):
    talk.asks("hi")
    estimated = talk.figure
    other = replace(talk.terms, system=f"{talk.terms.stable_system} {LONG}")
    assert talk.meter.figure(talk.rows, "", other) == estimated
    talk.answers("Hi", Usage(1_000, 5))
    assert talk.meter.figure(talk.rows, talk.column, other) == talk.figure


@pytest.mark.parametrize(("tools", "moves"), [(True, 1), (False, -1)])
def test_other_tools_and_another_prompt_count_at_once(talk, tools: bool, moves: int):
    talk.asks("hi")
    talk.answers("Hi", Usage(1_000, 5))
    more = ({"function": {"name": "other", "description": LONG}},) if tools else ()
    other = replace(talk.terms, read_tools=lambda: more, stable_system=LONG if tools else "")
    figure = talk.meter.figure(talk.rows, talk.column, other)
    assert (figure.used > 1_005) == (moves > 0)
    assert figure.source is FigureSource.PROVIDER_PLUS_ESTIMATE


def test_a_branch_that_ends_before_the_answer_has_only_what_was_asked(talk):
    talk.asks("hi")
    talk.answers("Hi", Usage(1_000, 200))
    talk.rows = talk.rows[:1]
    assert talk.figure.used == 1_000


# --- thinking


def test_thinking_that_does_not_come_back_is_not_shown(talk):
    talk.asks("hi")
    talk.answers("Hi", Usage(1_000, 800, reasoning=790), thinks=THOUGHT)
    assert (talk.figure.used, talk.figure.source, talk.pressure.used) == (1_010, FigureSource.PROVIDER, 1_010)


def test_thinking_is_shared_out_where_one_number_stands_for_both(talk):
    talk.asks("hi")
    said, thought = (talk.terms.weights.tokens(of_text(text)) for text in (LONG, THOUGHT))
    talk.answers(LONG, Usage(1_000, said + thought), thinks=THOUGHT)
    figure = talk.figure
    assert figure.used == pytest.approx(1_000 + said, abs=10)
    assert figure.source is FigureSource.PROVIDER_PLUS_ESTIMATE


def test_an_answer_that_is_longer_than_it_was_taken_for_is_no_thinking_beside_the_output(talk):
    talk.asks("hi")
    said, thought = (talk.terms.weights.tokens(of_text(text)) for text in (LONG, THOUGHT))
    talk.answers(LONG, Usage(1_000, said + thought // 2), thinks=THOUGHT)
    assert talk.figure.used < 1_000 + said + thought // 2 - 100


def test_thinking_that_is_counted_nowhere_is_not_taken_from_the_output(talk):
    talk.asks("hi")
    said = talk.terms.weights.tokens(of_text(LONG))
    talk.answers(LONG, Usage(1_000, said), thinks=THOUGHT)
    assert talk.figure.used == 1_000 + said


def test_thinking_that_is_counted_beside_the_output_is_not_taken_from_it(talk):
    talk.asks("hi")
    talk.answers(LONG, Usage(1_000, 480, reasoning=300))
    assert talk.figure.used == 1_480


@pytest.mark.parametrize("reasoning", [0, 19_995])
def test_G02_a_figure_does_not_fall_with_the_next_turn(talk, reasoning: int):
    """Thinking that nobody tells of is in the count of the answer and not in the next prompt."""
    talk.asks("hello")
    talk.answers("Hi", Usage(50_000, 20_000, reasoning=reasoning))
    ended = talk.figure.used
    assert 50_000 < ended < 50_100
    talk.asks("x " * 5_000)
    talk.answers("Yes", Usage(55_000, 200))
    assert talk.figure.used >= ended


def test_G02_an_answer_that_stays_is_counted_with_the_conversation(talk):
    talk.asks("hello")
    talk.answers("word " * 20_000, Usage(50_000, 20_000))
    assert talk.figure.used == 70_000
    talk.asks("x")
    talk.answers("Yes", Usage(70_010, 200))
    assert talk.figure.used == 70_210


def test_a_reasoning_turn_shows_the_conversation_and_weighs_what_is_sent(echoing):
    """Each request of a turn has the thinking of those before it; the first of the next turn has none of it."""
    echoing.asks("do it")
    prompt, shown = 10_000, []
    for step in range(3):
        echoing.answers("", Usage(prompt, 5_010, reasoning=5_000), calls=[f"c{step}"], thinks=THOUGHT)
        shown.append(echoing.figure.used)
        assert echoing.pressure.used == prompt + 5_010
        echoing.results(f"c{step}", "x" * 40)
        prompt += 5_010 + 20
    echoing.answers("Done.", Usage(prompt, 20))
    assert shown == [10_010, 10_040, 10_070]
    assert echoing.figure.used == 10_000 + 3 * 30 + 20
    assert echoing.pressure.used == prompt + 20
    assert echoing.figure.source is FigureSource.PROVIDER
    echoing.asks("x" * 40)
    assert echoing.pressure.used == echoing.figure.used  # what is sent next has no thinking of the last turn
    before = echoing.figure.used
    echoing.answers("Yes.", Usage(10_000 + 3 * 30 + 20 + 20, 5))
    assert echoing.figure.used >= before * 0.98


def test_where_thinking_is_not_counted_the_first_reading_of_the_turn_is_shown(echoing):
    echoing.asks("do it")
    echoing.answers("", Usage(10_000, 1_450), calls=["a"], thinks=THOUGHT)
    first = echoing.figure
    echoing.results("a", "x" * 40)
    echoing.answers("", Usage(11_500, 1_450), calls=["b"], thinks=THOUGHT)
    assert echoing.figure.read_at == first.read_at
    assert first.used < echoing.figure.used < 10_200
    assert echoing.pressure.used == 12_950
    echoing.results("b", "x" * 40)
    echoing.asks("and now")
    echoing.answers("Yes.", Usage(10_150, 5))
    assert (echoing.figure.used, echoing.figure.read_at) == (10_155, echoing.rows[-1].created_at)


def test_thinking_that_a_server_reads_again_in_later_turns_is_shown_with_the_conversation(echoing):
    echoing.asks("hello")
    echoing.answers("Hi", Usage(10_000, 5_010, reasoning=5_000), thinks=THOUGHT)
    assert echoing.figure.used == 10_010
    echoing.asks("x" * 40)
    echoing.answers("Yes", Usage(15_030, 2_010, reasoning=2_000), thinks=THOUGHT)
    assert echoing.figure.used == 17_040
    echoing.asks("x" * 40)
    assert echoing.figure.used == echoing.pressure.used > 17_040
    assert echoing.reopened() == echoing.figure


def test_thinking_that_a_server_gets_and_does_not_read_is_neither_shown_nor_weighed(echoing):
    """Its prompts grow by the words alone, in the turn itself."""
    echoing.asks("do it")
    echoing.answers("", Usage(10_000, 5_010, reasoning=5_000), calls=["a"], thinks=THOUGHT)
    echoing.results("a", "x" * 40)
    echoing.answers("", Usage(10_040, 4_010, reasoning=4_000), calls=["b"], thinks=THOUGHT)
    assert echoing.figure.used == echoing.pressure.used == 10_050
    assert lesson(echoing) == (of_row(echoing.rows[1]) + of_row(echoing.rows[2]), 40)
    echoing.results("b", "x" * 40)
    assert echoing.figure == echoing.reopened()
    echoing.answers("", calls=["c"], thinks=THOUGHT)
    assert echoing.pressure.used == echoing.figure.used
    echoing.results("c", "x" * 40)
    echoing.answers("Done.", Usage(10_150, 4_010, reasoning=4_000), thinks=THOUGHT)
    assert echoing.figure.used == echoing.pressure.used == 10_160


def test_a_server_that_reads_thinking_after_all_is_believed(echoing):
    echoing.asks("do it")
    echoing.answers("", Usage(10_000, 5_010, reasoning=5_000), calls=["a"], thinks=THOUGHT)
    echoing.results("a", "x" * 40)
    echoing.answers("", Usage(10_040, 4_010, reasoning=4_000), calls=["b"], thinks=THOUGHT)
    echoing.results("b", "x" * 40)
    echoing.answers("Done.", Usage(14_080, 4_010, reasoning=4_000), thinks=THOUGHT)
    assert echoing.pressure.used == 18_090
    assert echoing.figure.used == 14_080 - 4_000 + 10


def test_sealed_thinking_of_a_responses_answer_goes_back_and_plain_answers_have_none(talk):
    talk.terms = replace(talk.terms, route=replace(talk.terms.route, api_mode=ApiMode.RESPONSES))
    talk.asks("hello")
    talk.answers("", Usage(1_000, 510, reasoning=500), calls=["a"], extras='{"responses": {}}')
    assert (talk.figure.used, talk.pressure.used) == (1_010, 1_510)
    talk.results("a", "ok")
    talk.answers("Hi", Usage(1_530, 510, reasoning=500))
    assert (talk.figure.used, talk.pressure.used) == (1_530 - 500 + 10, 1_540)


# --- what the gates get


def test_an_estimate_for_the_gates_has_the_thinking_of_the_turn(echoing):
    echoing.asks("do it")
    echoing.answers("", calls=["a"], thinks=THOUGHT)
    echoing.results("a", "ok")
    pressure, thought = echoing.pressure, echoing.terms.weights.tokens(of_text(THOUGHT))
    assert not pressure.is_anchored
    assert pressure.used - echoing.figure.used == pytest.approx(thought, abs=2)


def test_the_last_count_of_another_route_is_none_of_this_one(talk):
    talk.asks("hi")
    talk.answers("Hi", Usage(1_000, 5))
    assert talk.meter.last_prompt(talk.column, talk.terms) == 1_000
    other = replace(talk.terms, route=replace(talk.terms.route, model="other"))
    assert talk.meter.last_prompt(talk.column, other) == 0
    assert not talk.meter.pressure(talk.rows, talk.column, other).is_anchored


def test_a_route_that_comes_back_after_a_silent_other_one_finds_its_anchor(talk):
    talk.asks("hi")
    talk.answers("Hi", Usage(1_000, 5))
    chosen = talk.terms
    talk.terms = replace(chosen, route=replace(chosen.route, model="other"))
    talk.asks("and now")
    talk.answers("Now.")
    assert talk.figure.source is FigureSource.ESTIMATE
    talk.terms = chosen
    assert talk.figure.source is FigureSource.PROVIDER_PLUS_ESTIMATE


def test_counted_thinking_is_told_from_the_rest_also_where_a_compaction_in_its_turn_took_the_reading_away(talk):
    talk.terms = replace(talk.terms, route=replace(talk.terms.route, api_mode=ApiMode.RESPONSES))
    talk.asks("do it")
    talk.answers("", Usage(10_000, 5_010, reasoning=5_000), calls=["a"], extras='{"responses": {}}')
    talk.results("a", LONG)
    talk.column = ""
    assert talk.pressure.used == talk.figure.used + 5_000
    talk.answers("Done.", Usage(6_500, 10))
    assert (talk.figure.used, talk.figure.source) == (1_510, FigureSource.PROVIDER)


# --- what a reading teaches


def lesson(talk) -> tuple[Features, int]:
    found = talk.noted[-1].lesson
    return (found.features, found.tokens) if found else (NONE, 0)


def test_a_first_reading_teaches_what_the_whole_request_costs(talk):
    talk.asks(LONG)
    talk.answers("Hi", Usage(1_000, 5))
    whole = Features(messages=1) + of_text(talk.terms.system) + of_tools(talk.terms.tools) + of_row(talk.rows[0])
    assert lesson(talk) == (whole, 1_000)


def test_the_next_one_teaches_what_came_between(talk):
    talk.asks("hi")
    talk.answers(LONG, Usage(1_000, 5))
    talk.asks("and now")
    talk.answers("Now.", Usage(1_600, 5))
    assert lesson(talk) == (of_row(talk.rows[1]) + of_row(talk.rows[2]), 600)


def test_thinking_is_not_taken_for_what_came_between(echoing):
    echoing.asks("do it")
    echoing.answers("", Usage(10_000, 5_010, reasoning=5_000), calls=["a"], thinks=THOUGHT)
    echoing.results("a", LONG)
    echoing.answers("Done.", Usage(15_500, 5_010, reasoning=5_000), thinks=THOUGHT)
    between = of_row(echoing.rows[1]) + of_row(echoing.rows[2])
    assert lesson(echoing) == (between, 500)
    echoing.asks("x" * 40)
    echoing.answers("Yes", Usage(10_540, 5))
    assert lesson(echoing) == (of_row(echoing.rows[3]) + of_row(echoing.rows[4]), 40)


@pytest.mark.parametrize("usage", [None, Usage(900, 5)])
def test_nothing_is_learned_without_a_reading_or_from_one_that_fell(talk, usage: Usage | None):
    talk.asks("hi")
    talk.answers("Hi", Usage(1_000, 5))
    talk.asks("and now")
    talk.answers("Now.", usage)
    assert lesson(talk) == (NONE, 0)


def test_thinking_that_nobody_counted_is_learned_from_as_the_text_that_it_is(echoing):
    """And the next turn, which has none of it, from what the last one began with."""
    echoing.asks("do it")
    echoing.answers("", Usage(10_000, 1_450), calls=["a"], thinks=THOUGHT)
    echoing.results("a", LONG)
    echoing.answers("Done.", Usage(12_000, 10))
    between = of_row(echoing.rows[1]) + of_row(echoing.rows[2])
    assert lesson(echoing) == (between + of_text(THOUGHT), 2_000)
    echoing.asks("and now")
    echoing.answers("Yes.", Usage(10_600, 10))
    assert lesson(echoing) == (between + of_row(echoing.rows[3]) + of_row(echoing.rows[4]), 600)


# --- A39


def test_A39_what_the_server_did_not_read_is_shown_and_nothing_rests_on_what_it_did(talk):
    talk.asks("word " * 8_000)
    sent = talk.figure.used
    talk.answers("Hi", Usage(4_096, 5))
    figure = talk.figure
    assert (figure.source, figure.unread) == (FigureSource.ESTIMATE, pytest.approx(sent - 4_096, abs=10))
    assert figure.used >= sent
    assert (talk.pressure.is_anchored, talk.noted[-1].lesson) == (False, None)
    assert talk.reopened() == figure
    talk.asks("and now")
    talk.answers("Now.", Usage(8_100, 5))
    assert (talk.figure.used, talk.figure.unread) == (8_105, 0)


def test_A39_a_count_that_leaves_the_cache_out_is_no_cut_prompt(talk):
    talk.asks("word " * 8_000)
    talk.answers("Hi", Usage(1_100, 5, cache_read=4_000))
    assert talk.figure.unread == 0


def test_A39_a_prompt_is_also_cut_in_the_middle_of_a_conversation(talk):
    talk.asks("word " * 3_000)
    talk.answers("Hi", Usage(3_000, 5))
    talk.asks("word " * 5_000)
    talk.answers("Yes", Usage(4_096, 5))
    assert talk.figure.unread > 3_000


def test_cjk_counts_a_token_a_character_and_cyrillic_by_bytes():
    assert text_tokens("日本語") == 3
    assert text_tokens("привет") == 3
    assert text_tokens("") == 0
    assert text_tokens("a") == 1
