"""A call as the model wrote it, read: which tool it means and with which arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from agent.tools.base import Arguments, Tool
from session.models import Finish, ToolCall

KEY_IS_GONE = (
    "Not run: a secret stood in this call, and hermes ended before it ran; secrets are not stored with a conversation."
)


class NotRunnable(Exception):
    """A call that can't be run as it was written. The text goes to the model."""


class ReadCall(Struct, frozen=True):
    """`edited` is the command that a person put in the place of the model's, "" where nobody did."""

    call: ToolCall
    tool: Tool
    args: Arguments
    edited: str = ""

    @property
    def key(self) -> str:
        """The same for calls that ask for the same, however they are spelled."""
        return json.dumps(self.args, sort_keys=True)

    def with_command(self, command: str) -> ReadCall:
        """The call with another command, as a person wants it."""
        return replace(self, args={**self.args, "command": command}, edited=command)


def read_call(tools: Mapping[str, Tool], call: ToolCall, finish: Finish) -> ReadCall:
    """Raises NotRunnable."""
    if call.is_masked:
        raise NotRunnable(KEY_IS_GONE)
    tool = tools.get(call.name)
    if tool is None:
        raise NotRunnable(f"There is no tool named {call.name!r}. The tools are: {', '.join(tools)}.")
    try:
        args: object = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        # Cut arguments are never completed: half a write would run (A17).
        if finish is Finish.LENGTH:
            raise NotRunnable(
                "Not run: this call was cut off by the output limit. Send it again in smaller pieces."
            ) from error
        raise NotRunnable(f"Not run: the arguments are invalid JSON ({error}). Send the call again.") from error
    if not isinstance(args, dict):
        raise NotRunnable("Not run: the arguments must be a JSON object.")
    return ReadCall(call, tool, cast("Arguments", args))
