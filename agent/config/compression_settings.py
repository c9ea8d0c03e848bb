"""The settings of compaction: a section of agent/config/settings.py."""

# The annotations are evaluated with the rest of the module, for the reason given in agent/config/settings.py.
from typing import Annotated

from msgspec import Meta, Struct


class CompressionSettings(Struct, frozen=True):
    """When a conversation is made smaller, and what stays word for word."""

    enabled: Annotated[
        bool, Meta(description="Whether a conversation is compacted by itself. /compact works either way.")
    ] = True
    threshold: Annotated[
        float,
        Meta(
            ge=0.1,
            le=0.95,
            description="The part of the window at which it is; below 512,000 tokens at least 0.75.",
        ),
    ] = 0.5
    target_ratio: Annotated[
        float, Meta(ge=0.05, le=0.8, description="The part of that threshold that stays word for word at the end.")
    ] = 0.2
    protect_last_n: Annotated[
        int, Meta(ge=1, le=1_000, description="How many of the last messages stay at least; 3 to 8 of them count.")
    ] = 20
    max_attempts: Annotated[int, Meta(ge=1, le=10, description="How often a turn tries it before it gives up.")] = 3
    checkpoint_required: Annotated[
        bool, Meta(description="Whether nothing is compacted before a copy of what it drops is kept.")
    ] = False
    abort_on_summary_failure: Annotated[
        bool, Meta(description="Whether it is left undone where no model summarises, instead of keeping an outline.")
    ] = False
