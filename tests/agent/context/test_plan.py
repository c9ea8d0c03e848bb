"""What a compaction keeps word for word, and what it summarises."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.config.settings import CompressionSettings
from agent.context.plan import HEAD_ROWS, CompactionPlan, plan
from agent.context.threshold import budget
from agent.request import LOST_RESULT, wire_messages
from session.lineage import refuse_cut
from session.models import Approval, CallOutcome, CallResult, Message, Role, ToolCall

FIXED = 2_000  # tokens
SETTINGS = CompressionSettings()


def row(role: Role, content: str = "", **fields) -> Message:
    return Message("s", role, content, 0.0, **fields)


def ask(text: str = "go on") -> list[Message]:
    return [row(Role.USER, text)]


def reply(text: str = "done") -> list[Message]:
    return [row(Role.ASSISTANT, text)]


def step(*results: str, said: str = "", given: str = "make test") -> list[Message]:
    """An answer that calls a tool for each result."""
    calls = tuple(ToolCall("", "terminal", json.dumps({"command": given})) for _ in results)
    return [row(Role.ASSISTANT, said, calls=calls), *(answered(text) for text in results)]


def answered(text: str) -> Message:
    return row(Role.TOOL, text, result=CallResult("", "terminal", CallOutcome.OK, Approval.ALLOWED_ONCE, exit_code=0))


def notice() -> list[Message]:
    return [row(Role.NOTICE, "a model answers instead")]


def summary(text: str = "what was said before") -> list[Message]:
    return [row(Role.USER, text, is_summary=True)]


def conversation(*parts: Sequence[Message]) -> list[Message]:
    """The rows with ids as the store gives them, and those of the calls, answered by the results that follow."""
    rows: list[Message] = []
    owed: list[str] = []
    for number, one in enumerate((one for part in parts for one in part), start=1):
        calls = tuple(replace(call, id=f"call-{number}-{place}") for place, call in enumerate(one.calls))
        owed += [call.id for call in calls]
        result = replace(one.result, call_id=owed.pop(0)) if one.result else None
        rows.append(replace(one, id=number, calls=calls, result=result))
    return rows


def tokens(row: Message) -> int:
    if row.role is Role.NOTICE:
        return 0
    return 4 + (len(row.sent or row.content) + sum(len(call.arguments) for call in row.calls)) // 4


def of(rows: Sequence[Message], window: int = 32_768, fixed: int = FIXED, **settings) -> CompactionPlan:
    chosen = CompressionSettings(**settings)
    return plan(rows, budget(window, None, chosen), tokens, fixed)


def words(count: int) -> str:
    """A text of so many tokens."""
    return "abc " * count


def as_sent(made: CompactionPlan) -> list[Message]:
    """The conversation as it is after the compaction."""
    shorter = {one.id: one for one in made.cut}
    middle = summary() if made.middle else []
    return [*made.head, *middle, *(shorter.get(one.id, one) for one in made.tail)]


# --- what stays


def test_the_first_rows_and_the_last_stay():
    turns = [part for number in range(40) for part in (ask(f"ask {number}"), reply(words(1_000)))]
    made = of(conversation(*turns))
    assert [one.content[:6] for one in made.head] == ["ask 0", "abc ab"], "no prompt stays whose answer goes"
    assert 5_570 <= made.tail_tokens <= 5_570 * 1.5
    assert (made.why_not, made.cut) == ("", [])
    assert made.after < made.before // 2


def test_a_large_beginning_does_not_stay():
    assert of(conversation(ask(words(10_000)), reply(), *[ask(), reply(words(1_000))] * 9)).head == []


def test_once_there_is_a_summary_nothing_stays_before_it():
    rows = conversation(ask("first"), summary(), *[ask(), reply(words(1_000))] * 20)
    made = of(rows)
    assert made.head == []
    assert rows[1] in made.middle


def test_at_least_the_last_rows_stay_though_they_are_large():
    made = of(conversation(*[ask(words(900)), reply(words(900))] * 20), protect_last_n=8)
    assert made.tail_tokens < 8_355  # one and a half of the tail's budget
    made = of(conversation(*[ask(words(1_500)), reply(words(1_500))] * 20), protect_last_n=8)
    assert len(made.tail) == 8


def test_the_number_of_rows_gives_way_where_they_would_fill_the_window():
    made = of(conversation(*[ask(words(5_000)), reply(words(5_000))] * 4))
    assert (len(made.tail), made.why_not) == (2, "")


def test_what_was_asked_last_stays_however_far_back_it_is():
    rows = conversation(
        ask(), reply(words(12_000)), ask("the task"), *[step(words(200), given="make") for _ in range(60)]
    )
    made = of(rows)
    assert made.tail[0].content == "the task"
    assert made.middle


def test_notices_stay_where_they_stand():
    rows = conversation(*[part for _ in range(20) for part in (ask(), notice(), reply(words(1_000)), notice())])
    made = of(rows)
    assert [*made.head, *made.middle, *made.tail] == rows
    assert any(one.role is Role.NOTICE for one in made.middle)


def test_B06_a_call_goes_with_its_results():
    """The tail's budget ends within a group of results."""
    rows = conversation(ask(), *[step(*[words(400)] * 10) for _ in range(6)], reply(), ask(), reply())
    made = of(rows)
    assert made.tail[0].calls
    assert LOST_RESULT not in str(wire_messages(as_sent(made), "p"))


def test_B06_a_call_without_a_result_yet_stays_with_all_behind_it():
    waiting = step("", said="may I?")[:1]
    rows = conversation(ask(), reply(words(9_000)), ask(), waiting, *[ask(), reply(words(6_000))] * 3)
    made = of(rows)
    assert rows[3] in made.tail


# --- what can't be compacted


def test_a_small_conversation_stays_as_it_is():
    made = of(conversation(ask(), reply(words(500)), ask(), reply()))
    assert "small enough" in made.why_not
    assert (made.head, made.middle, made.cut) == ([], [], [])


def test_an_empty_conversation_has_nothing_to_compact():
    assert "Nothing was said yet" in of([]).why_not
    assert "Nothing was said yet" in of(conversation(notice())).why_not


@pytest.mark.parametrize(
    "rows", [[], conversation(ask(), reply(words(500))), conversation(*[ask(words(900)), reply()] * 30)]
)
def test_G05_what_no_compaction_makes_smaller_is_named(rows: list[Message]):
    made = of(rows, window=32_768, fixed=29_000)
    assert "29,000" in made.why_not
    assert "27,852" in made.why_not
    assert "/model" in made.why_not
    assert made.middle == ()


def test_E09_no_summary_passes_over_a_damaged_row():
    rows = conversation(ask(), reply(), notice(), *[ask(), reply(words(1_000))] * 20)
    damaged = [replace(one, is_damaged=one.id == 10, role=Role.NOTICE if one.id == 10 else one.role) for one in rows]
    assert "Row 10" in of(damaged).why_not
    assert "hermes sessions repair" in of(damaged).why_not


def test_a_summary_is_not_made_of_a_summary_alone():
    rows = conversation(summary(words(1_500)), ask(), reply(words(3_000)), ask(), reply(words(3_000)))
    assert of(rows).why_not


def test_a_prompt_that_fills_the_window_alone_is_told():
    assert "Send less at once" in of(conversation(ask(words(40_000)))).why_not


# --- a last turn that read more than fits


def test_old_results_of_the_last_turn_are_sent_in_one_line_each():
    rows = conversation(ask("fix it"), *[step(f"{number}\n{words(1_000)}") for number in range(40)])
    made = of(rows)
    assert made.why_not == ""
    assert made.middle == []  # nothing to summarise, all of it belongs to what was asked last
    assert [one.id for one in made.cut] == [one.id for one in rows if one.result][: len(made.cut)]  # the oldest first
    assert made.cut[0].sent == "[terminal make test → exit 0, 2 lines, 4,002 characters; left out to make room]"
    assert made.cut[0].content == rows[2].content  # the person still sees it
    assert made.after < 27_852 // 2


def test_a_result_that_fills_the_window_keeps_its_beginning_and_its_end():
    """The model waits for it: one line would tell it nothing."""
    rows = conversation(ask("read it"), step(f"BEGINNING {words(60_000)} END"))
    [cut] = of(rows).cut
    assert cut.sent.startswith("BEGINNING abc")
    assert cut.sent.endswith("abc  END")
    assert "characters of this result were left out" in cut.sent
    assert of(rows).after < 27_852


def test_a_last_turn_that_wrote_more_than_fits_is_summarised_behind_its_prompt():
    """What its calls were given can't be left out of them."""
    rows = conversation(ask("build it"), *[step("ok", given=words(1_000)) for _ in range(60)])
    made = of(rows)
    assert made.head == rows[:1]
    assert made.is_within_turn
    assert made.after < 27_852
    again = of([*made.head, *conversation(summary()), *made.tail])
    assert "small enough" in again.why_not


def test_what_stands_before_the_last_prompt_is_summarised_where_it_is_large():
    rows = conversation(
        ask(), reply(words(12_000)), ask("build it"), *[step("ok", given=words(900)) for _ in range(60)]
    )
    made = of(rows)
    assert (made.tail[0].content, made.is_within_turn) == ("build it", False)


def test_there_is_no_second_summary_and_a_way_out_is_told():
    rows = conversation(summary(), ask("build it"), *[step("ok", given=words(900)) for _ in range(60)])
    assert "“go on”" in of(rows).why_not
    assert of([*rows, *conversation(ask("go on"))]).why_not == ""


# --- whatever was said

sizes = st.sampled_from([0, 1, 30, 400, 3_000, 20_000])
texts = sizes.map(words)
steps = st.builds(
    lambda results, said, size: step(*results, said=said, given=words(size)),
    st.lists(texts, min_size=1, max_size=3),
    st.sampled_from(["", "I look"]),
    st.sampled_from([0, 30, 2_000]),
)
works = st.one_of(steps, st.just(notice()))
turns = st.builds(  # the last of them was interrupted where no reply follows
    lambda text, work, end: [*ask(text), *(one for part in work for one in part), *end],
    texts,
    st.lists(works, max_size=5),
    st.one_of(texts.map(reply), st.just([]), st.just(notice())),
)
beginnings = st.sampled_from([[], notice(), summary(words(900)), [*ask("first"), *summary()]])
endings = st.sampled_from([[], step("", "")[:1], step("ok", "")[:2], ask("next"), notice()])
conversations = st.builds(
    lambda before, said, after: conversation(before, *said, after), beginnings, st.lists(turns, max_size=8), endings
)
windows = st.sampled_from([2_048, 4_096, 8_192, 32_768, 200_000])
plans = st.builds(lambda rows, window: (rows, of(rows, window, fixed=window // 10), window), conversations, windows)


def is_whole(part: Sequence[Message]) -> bool:
    made = [call.id for one in part for call in one.calls]
    return sorted(made) == sorted(one.result.call_id for one in part if one.result)


def last_of(rows: Sequence[Message], role: Role) -> Message | None:
    of_role = (one for one in reversed(rows) if one.role is role and not one.is_summary)
    return next((one for one in of_role if one.content or role is Role.USER), None)


@given(plans)
def test_the_parts_are_the_rows(planned):
    rows, made, _ = planned
    assert [*made.head, *made.middle, *made.tail] == rows
    assert sum(map(tokens, rows)) == made.before - made.fixed_tokens
    assert {one.id for one in made.cut} <= {one.id for one in made.tail if one.result}


@given(plans)
def test_B06_no_part_holds_a_call_without_its_results(planned):
    rows, made, _ = planned
    assert is_whole(made.head)
    assert is_whole(made.middle)
    if made.middle:
        refuse_cut(rows, len(made.head), len(made.head) + len(made.middle))


@given(plans)
def test_B06_what_is_left_is_a_legal_conversation(planned):
    _, made, _ = planned
    owed: list[object] = []
    last = ""
    for message in wire_messages(as_sent(made), "p")[1:]:
        assert (message["role"] == "tool") == bool(owed)
        if owed:
            assert message["tool_call_id"] == owed.pop(0)
        assert message["role"] != "user" or last != "user"
        calls = message.get("tool_calls")
        owed += [call["id"] for call in calls] if isinstance(calls, list) else []
        last = message["role"]
    assert not owed


@given(plans)
def test_a_plan_helps_or_says_why_not(planned):
    _, made, _ = planned
    if made.why_not:
        assert not made.middle or any(one.is_damaged for one in made.middle)
        assert made.cut in ([], ())
        return
    assert made.after < made.before
    assert made.tail
    if made.middle:
        assert 0 < made.summary_tokens <= made.middle_tokens // 2
        assert any(one.role is not Role.NOTICE and not one.is_summary for one in made.middle)


@given(plans)
def test_what_was_said_last_stays(planned):
    rows, made, _ = planned
    prompt, answer = last_of(rows, Role.USER), last_of(rows, Role.ASSISTANT)
    if prompt is not None:
        assert prompt in (made.head if made.is_within_turn else made.tail)
    if answer is not None and answer not in made.tail:
        behind = rows[rows.index(answer) :]
        assert made.is_within_turn or sum(map(tokens, behind)) > made.tail_tokens


@given(plans)
def test_the_head_is_small_and_only_the_first_compaction_has_one(planned):
    rows, made, _ = planned
    if not made.is_within_turn:
        assert sum(one.role is not Role.NOTICE for one in made.head) <= HEAD_ROWS
        assert not (made.head and any(one.is_summary for one in rows))


@given(conversations, windows)
def test_some_passes_bring_a_conversation_below_the_threshold_or_say_why_not(rows, window):
    threshold = budget(window, None, SETTINGS).threshold
    for _ in range(SETTINGS.max_attempts):
        made = of(rows, window, fixed=window // 10)
        if made.why_not or made.after < threshold:
            break
        rows = [replace(one, id=number) for number, one in enumerate(as_sent(made), start=1)]
    assert made.why_not or made.after < threshold
