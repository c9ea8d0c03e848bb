"""The settings of the commands that tools run: a section of agent/config/settings.py."""

# The annotations are evaluated with the rest of the module, for the reason given in agent/config/settings.py.
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct


class Sandboxing(StrEnum):
    """Whether commands run in a sandbox, from the loosest: never, where it works, or not at all without one."""

    OFF = "off"
    AUTO = "auto"
    REQUIRE = "require"


class TerminalSettings(Struct, frozen=True):
    """What the commands of tools get, and where they run."""

    env_passthrough: Annotated[
        tuple[str, ...],
        Meta(
            description="Variables that commands get although they hold a key or stand in .env.",
            extra={"takes": "variable"},
        ),
    ] = ()
    sandbox: Annotated[
        Sandboxing,
        Meta(
            description="Whether commands run without network and write only in the workspace: auto is where bubblewrap "
            "works, require refuses them where it does not. A project can only tighten this.",
            extra={"choices": tuple(Sandboxing), "is_tightened": True},
        ),
    ] = Sandboxing.OFF
