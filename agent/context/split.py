"""What fills a context, by category."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from agent.context.features import Features, of_text, of_tools
from agent.context.meter import ContextFigure
from agent.context.terms import Terms


class Category(StrEnum):
    """In the order in which a request has them, as a person reads them."""

    SYSTEM = "System prompt"
    TOOLS = "Tool definitions"
    RULES = "Project rules"
    SKILLS = "Skills"
    MCP = "MCP"
    MEMORY = "Memory"
    CONVERSATION = "Conversation"


class Share(Struct, frozen=True):
    """One category, by its name."""

    name: str
    tokens: int


class ContextSplit(Struct, frozen=True):
    """The shares sum to `figure.used`. Categories of nothing are left out, but for the conversation."""

    figure: ContextFigure
    shares: tuple[Share, ...]


def split(figure: ContextFigure, terms: Terms, conversation_tokens: int) -> ContextSplit:
    """`conversation_tokens` is an estimate: `meter.estimate(rows, terms) - meter.fixed_tokens(terms)`."""
    return shared_out(figure, {**fixed_estimates(terms), Category.CONVERSATION: conversation_tokens})


def fixed_estimates(terms: Terms) -> dict[Category, int]:
    """The tokens of what stands before all rows; a further tier of the system prompt is a line here."""
    rules = of_text(terms.rules)
    amounts = {
        Category.SYSTEM: Features(messages=1) + of_text(terms.stable_system) - rules,
        Category.TOOLS: of_tools(terms.tools),
        Category.RULES: rules,
    }
    return {category: terms.weights.tokens(features) for category, features in amounts.items()}


def shared_out(figure: ContextFigure, estimates: Mapping[Category, int]) -> ContextSplit:
    """The figure in shares as the estimates have it: a server counts a request as a whole only."""
    total = sum(estimates.values()) or 1
    tokens = {category: figure.used * estimates.get(category, 0) // total for category in Category}
    tokens[Category.CONVERSATION] += figure.used - sum(tokens.values())
    shares = (Share(category.value, count) for category, count in tokens.items())
    return ContextSplit(figure, tuple(one for one in shares if one.tokens or one.name == Category.CONVERSATION))
