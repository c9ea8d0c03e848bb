"""What the server would count of a session as it stands, from the messages that it would be sent: no figure of ours."""

from __future__ import annotations

from agent.open_session import OpenSession
from agent.providers.responses_dialect import dialect_of
from agent.providers.responses_input import conversation, function_tools
from agent.request import LOST_RESULT, Wire, wire_messages
from session.models import ApiMode
from tests.honesty.counting import Body, prompt_tokens
from tests.honesty.models import Model

EMPTY_PROMPT: Wire = {"role": "user", "content": ""}


def of_new_turn(s: OpenSession, model: Model) -> int:
    """Tokens of the request that a new prompt would send, were it empty: what the display claims to be."""
    return prompt_tokens(model, _body(s, [EMPTY_PROMPT]))


def of_this_turn(s: OpenSession, model: Model) -> int:
    """Tokens of the next request of this turn: what the gates judge by."""
    return prompt_tokens(model, _body(s, []))


def _body(s: OpenSession, more: list[Wire]) -> Body:
    """A call that has no result yet gets none: it runs."""
    messages = wire_messages(s.told(), s.prompt, s.route, s.parts.compatibility_for(s.route)) + more
    tools = s.parts.toolbox.definitions_without(frozenset())
    if s.route.api_mode is not ApiMode.RESPONSES:
        return {"messages": [one for one in messages if one.get("content") != LOST_RESULT], "tools": tools}
    said = conversation(messages, s.route, dialect_of(s.route).thoughts)
    items = [item for item in said.input if item.get("output") != LOST_RESULT]
    return {"instructions": said.instructions, "input": items, "tools": function_tools(tools)}
