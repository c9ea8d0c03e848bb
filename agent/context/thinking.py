"""How much of an answer was thinking: servers tell it, tell it otherwise, or hide it in one number."""

from __future__ import annotations

from msgspec import Struct

from agent.context.features import of_row, of_text
from agent.context.sent_rows import least_tokens_of
from agent.context.weights import Weights
from session.models import ApiMode, Message, Route, Usage

CLEARLY = 3  # times as near
SLACK = 256  # tokens that an answer may have beyond its words without being taken for hidden thinking


class Output(Struct, frozen=True):
    """The tokens of an answer in two: what stays in the conversation, and the thinking.

    `is_exact`: as the server counted them.
    """

    said: int
    thinking: int
    is_exact: bool


def split_output(answer: Message, usage: Usage, weights: Weights) -> Output:
    """`answer` is what was understood of it. xAI counts thinking beside the output, others within it."""
    said = weights.tokens(of_row(answer))
    if usage.reasoning > 0:
        rest = usage.output - usage.reasoning
        is_beside = rest < least_tokens_of(answer) and abs(usage.output - said) < abs(rest - said)
        return Output(usage.output if is_beside else max(0, rest), usage.reasoning, is_exact=True)
    if thought := weights.tokens(of_text(answer.reasoning)):
        return _shared_out(usage.output, said, thought)
    if usage.output > max(2 * said, said + SLACK):  # no text is so dense: there was thinking that nobody tells of
        return Output(said, usage.output - said, is_exact=False)
    return Output(usage.output, 0, is_exact=True)


def _shared_out(output: int, said: int, thought: int) -> Output:
    """One number for both; for the words alone where an estimate speaks for that by far, as few servers count so."""
    if abs(output - said) * CLEARLY < abs(output - said - thought):
        return Output(output, thought, is_exact=False)
    thinking = output * thought // (said + thought)
    return Output(output - thinking, thinking, is_exact=False)


def is_resent(answer: Message, route: Route, *, echoes: bool) -> bool:
    """Whether the thinking of an answer goes back to its server: Responses gets its items, Chat what it is to get."""
    if route.api_mode is ApiMode.RESPONSES:
        return bool(answer.extras)
    return echoes and bool(answer.reasoning or answer.extras)
