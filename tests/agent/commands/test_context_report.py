"""What is told of a context, of compacting it, of what was spent and of a switch, where there is no screen."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agent.commands.context_report import context_asked, preview, switch_report
from agent.commands.usage_report import usage_report
from agent.context.meter import ContextFigure, FigureSource
from agent.context.plan import CompactionPlan
from agent.context.preflight import Switch
from agent.context.split import ContextSplit, Share
from agent.context.words import ago, dollars, percent, source_sentence, tokens
from agent.spending import Line, Spending
from session.models import ApiMode, Message, Role, Route, ToolCall, Usage
from session.usage import Spent

ROUTE = Route("desk", "gpt-4.1", "http://desk/v1", ApiMode.CHAT, window=128_000)
NOW = 1_000_000.0
FIGURE = ContextFigure(
    41_200, 128_000, FigureSource.PROVIDER_PLUS_ESTIMATE, read_at=NOW - 12, threshold=96_000, estimated=1_240
)
SHARES = (Share("System prompt", 1_200), Share("Tool definitions", 3_100), Share("Conversation", 36_900))


def rows(count: int) -> list[Message]:
    return [Message("s", Role.USER, f"line {number}\nand more", 1.0) for number in range(count)]


PLAN = CompactionPlan(
    head=rows(1), middle=rows(60), tail=rows(9),
    head_tokens=100, middle_tokens=30_000, tail_tokens=6_800, summary_tokens=6_000, fixed_tokens=4_300,
)  # fmt: skip


def context_text(figure: ContextFigure = FIGURE, plan: CompactionPlan = PLAN, route: Route = ROUTE) -> list[str]:
    return context_asked(ContextSplit(figure, SHARES), plan, route, NOW).report.text.splitlines()


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0"), (812, "812"), (1_000, "1k"), (41_200, "41.2k"), (128_000, "128k"), (999_960, "1m"), (1_500_000, "1.5m")],
)
def test_a_count_of_tokens_is_told_in_few_characters(count: int, shown: str):
    assert tokens(count) == shown


@pytest.mark.parametrize(
    ("fraction", "shown"), [(0, "0%"), (0.0001, "<1%"), (0.32, "32%"), (0.999, ">99%"), (1, "100%"), (1.2, "120%")]
)
def test_a_share_is_never_rounded_to_nothing_nor_to_all(fraction: float, shown: str):
    assert percent(fraction) == shown


@pytest.mark.parametrize(
    ("amount", "shown"),
    [(0, "$0.00"), (0.00002, "<$0.0001"), (0.0042, "$0.0042"), (1.269, "$1.27"), (1_400.4, "$1,400")],
)
def test_dollars(amount: float, shown: str):
    assert dollars(amount) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-3, "0 s ago"), (12.9, "12 s ago"), (185, "3 min ago"), (7_300, "2 h ago"), (90_000, "1 day ago"), (200_000, "2 days ago")],
)  # fmt: skip
def test_how_long_ago(seconds: float, shown: str):
    assert ago(seconds) == shown


# --- /context


def test_context_tells_the_figure_what_it_rests_on_and_what_fills_it():
    told = context_text()
    assert told[:4] == [
        "Context",
        "~41.2k tokens are in use of the 128k that this model takes: 32%.",
        "Counted by the server 12 s ago; 1.2k of it, which came since, are estimated.",
        "It is compacted at 96k (75%), which is 54.8k away.",
    ]
    assert [line.split() for line in told[5:10]] == [
        ["System", "prompt", "1.2k", "1%"],
        ["Tool", "definitions", "3.1k", "2%"],
        ["Conversation", "36.9k", "29%"],
        ["Free", "54.8k", "43%"],
        ["Past", "compaction", "32k", "25%"],
    ]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (FigureSource.PROVIDER_PLUS_ESTIMATE, "Counted by the server 12 s ago; what came since is estimated."),
        (FigureSource.PROVIDER, "Counted by the server 12 s ago."),
        (FigureSource.ESTIMATE, "An estimate: no server has counted this conversation as it is now."),
        (FigureSource.UNKNOWN, "Nothing was said yet."),
    ],
)
def test_what_a_figure_rests_on_is_a_sentence(source: FigureSource, said: str):
    assert source_sentence(replace(FIGURE, source=source, estimated=0), NOW) == said


def test_G08_of_an_unknown_window_it_tells_how_to_set_it_and_claims_no_part():
    told = "\n".join(context_text(replace(FIGURE, window=None, threshold=None)))
    assert "How many this model takes is not known." in told
    assert """hermes config set 'providers.desk.models."gpt-4.1".context_length' TOKENS""" in told
    assert "%" not in told and "Free" not in told


def test_G09_A39_a_window_that_is_smaller_than_declared_and_a_prompt_that_was_cut_are_told_in_words():
    told = "\n".join(context_text(replace(FIGURE, declared=1_000_000, unread=3_900)))
    assert "! The settings declare 1m, but the server took no more than 128k." in told
    assert "≠ The server did not read about 3.9k of what was sent." in told and "num_ctx" in told


def test_past_the_threshold_nothing_is_away_and_nothing_below_it_is_free():
    told = context_text(replace(FIGURE, used=100_000))
    assert "It is compacted at 96k (75%), before the next request." in told
    assert [line.split()[-2:] for line in told if line.startswith(("Free", "Past"))] == [["0", "0%"], ["28k", "22%"]]


# --- /compact preview


def test_a_preview_tells_what_stays_what_is_summarised_and_how_large_it_is_then():
    told = preview(PLAN, FIGURE).text
    lines = [line.split() for line in told.splitlines()]
    assert ["Kept", "at", "the", "start", "1", "100"] in lines
    assert ["Summarised", "60", "30k"] in lines
    assert ["Its", "summary,", "at", "most", "1", "6k"] in lines
    assert ["Kept", "at", "the", "end", "9", "6.8k"] in lines
    assert ["All", "of", "it", "now", "70", "~41.2k"] in lines
    assert ["Afterwards", "at", "most", "11", "~17.2k"] in lines
    assert "you: line 0 and more" in told and "… 20 more …" in told


def test_the_estimates_of_a_preview_are_shares_of_what_the_server_counted():
    lines = [
        line.split()
        for line in preview(PLAN, replace(FIGURE, used=82_400, source=FigureSource.PROVIDER)).text.splitlines()
    ]
    assert ["Summarised", "60", "60k"] in lines and ["Its", "summary,", "at", "most", "1", "6k"] in lines
    assert ["All", "of", "it", "now", "70", "82.4k"] in lines
    assert ["Afterwards", "at", "most", "11", "~28.4k"] in lines


def test_a_preview_names_who_speaks():
    call = ToolCall("c1", "terminal", "{}")
    spoken = [
        Message("s", Role.USER, "so far", 1.0, is_summary=True),
        Message("s", Role.ASSISTANT, "", 1.0, calls=(call, call)),
    ]
    told = preview(replace(PLAN, middle=spoken), FIGURE).text
    assert "summary: so far" in told and "model: calls terminal, terminal" in told


def test_where_nothing_can_be_compacted_only_the_reason_is_told():
    plan = replace(PLAN, why_not="The conversation is too short.")
    assert preview(plan, FIGURE).text == "Compaction preview\nThe conversation is too short."
    assert context_text(plan=plan)[-1] == "The conversation is too short."


# --- /usage


def line(model: str, usage: Usage, cost: float | None, task: str = "", requests: int = 1) -> Line:
    return Line(Spent("desk", model, task, requests, usage), cost)


ASKED = line("big", Usage(10_000, 500, 30_000, 0, 200), 0.5, requests=4)
NAMED = line("big", Usage(300, 10), 0.001, "title")
OTHER = line("free", Usage(50, 5), None)


def test_G12_usage_tells_tokens_by_kind_requests_cost_and_what_came_from_a_cache():
    told = usage_report(Spending([ASKED, NAMED], {"2026-11-29": [OTHER], "2026-11-30": [ASKED, NAMED]})).text
    lines = [one.split() for one in told.splitlines()]
    assert ["desk:big", "4", "10k", "30k", "500", "200", "$0.50"] in lines
    assert ["desk:big,", "for", "a", "title", "1", "300", "0", "10", "0", "$0.0010"] in lines
    assert ["Together", "5", "10.3k", "30k", "510", "200", "$0.50"] in lines
    assert ["2026-11-29", "1", "50", "0", "5", "0", "?"] in lines
    assert ["2026-11-30", "5", "10.3k", "30k", "510", "200", "$0.50"] in lines
    assert "74% of what was read came from a cache." in told
    assert "no price is known for desk:free." in told


def test_usage_of_nothing():
    assert "Nothing was sent to a model." in usage_report(Spending([], {})).text


# --- before a switch


def switch_text(**known: object) -> str:
    ahead = Switch(replace(ROUTE, model="small"), 600_000, 272_000, 204_000)
    return switch_report(ROUTE, replace(ahead, **known)).text


def test_G10_a_switch_to_a_smaller_window_is_told_in_numbers():
    told = switch_text(compacted=60_000, cost=0.42, dropped_thinking=9_000)
    for said in (
        "Let small go on?",
        "~600k",
        "272k",
        "204k",
        "~9k",
        "~$0.42",
        "does not fit",
        "about 60k are left",
    ):
        assert said in told, said
    assert told.endswith("Otherwise gpt-4.1 goes on, and nothing is changed.")


def test_where_nothing_would_be_compacted_the_way_out_is_named():
    assert "no compaction can help" in switch_text(compacted=None, why_not="So no compaction can help.")


def test_a_switch_that_fits_claims_nothing_about_size_or_unknown_cost():
    told = switch_text(used=1_000)
    assert "does not fit" not in told and "summary" not in told and "costs" not in told
