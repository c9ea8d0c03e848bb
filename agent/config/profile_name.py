"""What a profile may be called."""

from __future__ import annotations

import re

from session.errors import UserError

DEFAULT = "default"  # the profile that lives in the home folder itself
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

# Words that mean something else beside `hermes -p`: ours, the system's, and the commands.
RESERVED = frozenset(
    {
        *("hermes", DEFAULT, "test", "tmp", "root", "sudo"),
        *(
            "approvals",
            "chat",
            "commands",
            "completion",
            "config",
            "doctor",
            "help",
            "logs",
            "model",
            "processes",
            "profile",
            "prompt",
            "provider",
            "secrets",
            "sessions",
            "trust",
            "tui",
            "version",
        ),
    }
)


class BadProfileName(UserError):
    """No profile can have this name."""

    sentence = (
        "{name!r} can't be a profile's name: {why}. "
        "A name is 1 to 64 lower-case letters, digits, - and _, and begins with a letter or digit."
    )


def check_name(name: str) -> str:
    """The name itself. Raises BadProfileName."""
    if not NAME.fullmatch(name):
        raise BadProfileName(name=name[:80], why="its form is wrong")
    if name in RESERVED:
        raise BadProfileName(name=name, why="it is reserved")
    return name


def can_be_named(name: str) -> bool:
    return NAME.fullmatch(name) is not None and name not in RESERVED
