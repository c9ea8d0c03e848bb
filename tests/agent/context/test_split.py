"""The shares of a context."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context.meter import ContextFigure, FigureSource
from agent.context.split import Category, shared_out, split
from session.models import Usage

estimates = st.dictionaries(st.sampled_from(list(Category)), st.integers(0, 10**6))


def figure(used: int) -> ContextFigure:
    return ContextFigure(used, 200_000, FigureSource.PROVIDER)


@given(st.integers(0, 10**6), estimates)
def test_shares_sum_to_the_figure_in_the_order_of_a_request(used: int, told: dict[Category, int]):
    found = shared_out(figure(used), told)
    names = [one.name for one in found.shares]
    assert sum(one.tokens for one in found.shares) == used
    assert names == [category for category in Category if category in names]
    assert all(one.tokens > 0 or one.name == Category.CONVERSATION for one in found.shares)


def test_what_a_server_counted_is_shared_out_as_the_estimates_are():
    found = shared_out(figure(2_000), {Category.SYSTEM: 100, Category.TOOLS: 300, Category.CONVERSATION: 600})
    assert [one.tokens for one in found.shares] == [200, 600, 1_200]


@pytest.mark.parametrize("usage", [None, Usage(input=9_000, output=100)], ids=["estimated", "counted"])
def test_the_system_prompt_and_the_tools_are_told_beside_the_conversation(talk, usage: Usage | None):
    talk.asks("hi")
    talk.answers("Hi", usage)
    meter, terms = talk.meter, talk.terms
    found = split(talk.figure, terms, meter.estimate(talk.rows, terms) - meter.fixed_tokens(terms))
    assert [one.name for one in found.shares] == [Category.SYSTEM, Category.TOOLS, Category.CONVERSATION]
    assert sum(one.tokens for one in found.shares) == talk.figure.used
