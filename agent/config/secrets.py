"""Keys and passwords: read from .env and the environment, given out by name, kept out of everything that is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from agent.config.files import NotReadable, read_text
from agent.config.problem import Problem

if TYPE_CHECKING:
    from dotenv.parser import Original

MASKED_LENGTH = 6  # a shorter value would blank out ordinary words

# Other well-known names under which keys lie in an environment; those of the model servers come with `key_names`.
CREDENTIAL_NAMES = frozenset(
    {"GOOGLE_API_KEY", "KIMI_API_KEY", "GLM_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "AZURE_OPENAI_API_KEY"}
)

# A child can't do without these, whatever a .env says about them.
NEVER_REMOVED = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "TZ", "PWD"}
)


class Secrets:
    """The secrets of one profile. `values` come from its .env and win over the environment; an empty one hides a name.

    `file` names the .env as the person knows it; `key_names` are the variables that hold keys of model servers.
    """

    def __init__(
        self, values: Mapping[str, str], environ: Mapping[str, str], key_names: Iterable[str] = (), file: str = ".env"
    ) -> None:
        self.file = file
        self._values = dict(values)
        self._environ = environ
        self._key_names = CREDENTIAL_NAMES.union(key_names)

    def get(self, name: str) -> str | None:
        """The secret of this name, None where there is none or it is blank."""
        value = self._values.get(name, self._environ.get(name, "")) if name else ""
        return value.strip() or None

    def is_from_file(self, name: str) -> bool:
        return name in self._values

    def mask(self, text: str) -> str:
        """The text with the name of each secret in the place of its value."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: f"[{self._names_by_value[found[0]]}]", text)

    def child_environ(self) -> dict[str, str]:
        """What a program started by a tool gets: the environment without our keys."""
        hidden = (self._key_names | self._values.keys()) - NEVER_REMOVED
        return {name: value for name, value in self._environ.items() if name not in hidden}

    def __repr__(self) -> str:
        return f"Secrets({', '.join(sorted(set(self._names_by_value.values())))})"

    @cached_property
    def _names_by_value(self) -> dict[str, str]:
        names = [*self._values, *sorted(self._key_names - self._values.keys())]
        held = {value: name for name in names if (value := self.get(name))}
        return {value: name for value, name in held.items() if len(value) >= MASKED_LENGTH}

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        # The longest first: a value that begins another one must not leave the rest of it in sight.
        values = sorted(self._names_by_value, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, values))) if values else None


def load_secrets(
    path: Path, environ: Mapping[str, str], key_names: Iterable[str] = (), shown: str = ""
) -> tuple[Secrets, tuple[Problem, ...]]:
    """Read a .env. It is never written, never copied into the environment, and its values are taken literally."""
    name = shown or str(path)
    try:
        text = read_text(path)
    except NotReadable as error:
        return Secrets({}, environ, key_names, name), (
            Problem(name, f"{error}; until then none of its keys is known."),
        )
    if text is None:
        return Secrets({}, environ, key_names, name), ()
    values, problems = _parse(text, name)
    return Secrets(values, environ, key_names, name), (*_open_to_others(path, name), *problems)


def _parse(text: str, name: str) -> tuple[dict[str, str], list[Problem]]:
    # dotenv_values() reports a bad line to logging only; its parser says which line it was.
    from dotenv.parser import parse_stream

    values: dict[str, str] = {}
    problems: list[Problem] = []
    for binding in parse_stream(StringIO(text)):
        if binding.key is not None and binding.value is not None:
            values[binding.key] = binding.value
        elif binding.error or binding.key is not None:
            problems.append(Problem(name, "this line takes NAME=value; it is left out.", _line(binding.original)))
    return values, problems


def _line(original: Original) -> int:
    """The line that holds the words: the parser counts the blank lines before it as its own."""
    words = original.string.lstrip()
    return original.line + original.string[: len(original.string) - len(words)].count("\n")


def _open_to_others(path: Path, name: str) -> tuple[Problem, ...]:
    try:
        mode = path.stat().st_mode
    except OSError:
        return ()  # gone since it was read
    if not mode & 0o077:
        return ()
    return (Problem(name, f"other users of this machine can read it; run: chmod 600 {name}", is_remark=True),)
