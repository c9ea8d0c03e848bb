"""The settings of what tools fetch from the web: a section of agent/config/settings.py."""

# The annotations are evaluated with the rest of the module, for the reason given in agent/config/settings.py.
from typing import Annotated

from msgspec import Meta, Struct, field


class WebSettings(Struct, frozen=True):
    """What web_fetch may reach, for how long, and how much of it is taken."""

    allow_private: Annotated[
        bool,
        Meta(description="Whether addresses of this machine and of private networks may be fetched, also by a proxy."),
    ] = False
    timeout_s: Annotated[int, Meta(ge=1, le=600, description="Seconds that fetching one page may take in all.")] = (
        field(default=30, name="timeout")
    )
    max_bytes: Annotated[
        int, Meta(ge=1_000, le=50_000_000, description="How much of a page is read, in bytes, unpacked.")
    ] = 5_000_000
