"""What of the environment belongs to nobody's account: all that a routed profile may see of it.

A profile is routed when its home is not the one this process was started for. The keys in the environment, and those in
the .env of that other home, were given to another profile: whatever name or reason they are there for, they stay with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from agent.config.secrets import CREDENTIAL_NAMES, NEVER_REMOVED, Secrets

# Words of a variable's name, between underscores, that tell that it holds a credential or leads to one.
_WORDS = frozenset({"KEY", "KEYS", "PAT", "PASS", "PASSWD", "COOKIE", "COOKIES", "DSN", "CREDENTIAL", "CREDENTIALS"})
_ENDINGS = ("APIKEY", "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSPHRASE")
_LOGIN_IN_ADDRESS = re.compile(r"://[^/\s@]+@")


def without_credentials(environ: Mapping[str, str], key_names: Iterable[str], launch: Secrets) -> dict[str, str]:
    """The environment without every credential of the profile it was given to.

    `launch` are that profile's secrets: its names are removed, and under any other name its values. `key_names` are the
    variables that hold keys of model servers, in either profile.
    """
    named = CREDENTIAL_NAMES.union(key_names)

    def is_credential(name: str, value: str) -> bool:
        if name in NEVER_REMOVED:
            return False
        known = name in named or launch.is_from_file(name) or launch.mask(value) != value
        return known or is_named_like_one(name) or _LOGIN_IN_ADDRESS.search(value) is not None

    return {name: value for name, value in environ.items() if not is_credential(name, value)}


def is_named_like_one(name: str) -> bool:
    """Whether a variable's name says that it holds a credential: MY_API_KEY, GITHUB_TOKEN, AWS_SECRET_ACCESS_KEY."""
    words = name.upper().split("_")
    return (
        not _WORDS.isdisjoint(words) or any(word.endswith(_ENDINGS) for word in words) or name.upper().endswith("_AUTH")
    )
