"""Keys and passwords: from .env, the environment and commands, given out by name, kept out of everything that is shown.

A profile's `Secrets` are its scope. They hold what its own .env says, read again before a request when another program
has changed it, and above that, always, what its key commands gave. There is no other place to ask: whoever wants a key
must have been given the `Secrets` of a profile, and thereby has said whose key it is.

The process environment is a mapping that is handed in, by the launch profile as a whole and by any other without its
credentials. It is never written, and nothing reads os.environ after the start: a saved key reaches, besides requests,
only the commands of tools, and those only where terminal.env_passthrough names it, in the profile that saved it.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path

from agent.config.dotenv_file import check_name, is_dangerous, read_names, set_name, unset_name
from agent.config.dotenv_text import values as assigned
from agent.config.files import NotReadable, read_text
from agent.config.key_cmd import CommandKey, KeyCommand
from agent.config.locked_file import NotSaved
from agent.config.masking import Masking
from agent.config.private_files import tighten_env
from agent.config.problem import Problem
from agent.config.watch import Stamp, stamp_of

# Other well-known names under which keys lie in an environment; those of the model servers come with `key_names`.
CREDENTIAL_NAMES = frozenset(
    {"GOOGLE_API_KEY", "KIMI_API_KEY", "GLM_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "AZURE_OPENAI_API_KEY"}
)

# A child can't do without these, whatever a .env says about them.
NEVER_REMOVED = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "TZ", "PWD"}
)

# A .env also holds plain settings; masking `gpt-4.1` or `development` would spoil every text.
_SETTING_NAME = re.compile(
    r"(?:\w+_)?(?:URL|URI|HOST|PORT|MODEL|PROVIDER|REGION|ZONE|PATH|DIR|FOLDER|HOME|MODE|LEVEL|LANG|LOCALE|TZ|THEME|TIMEOUT"
    r"|VERSION|ENV|USER|USERNAME|NAME|EMAIL|ENABLED|DEBUG)"
)
_RANDOM = re.compile(r"[\w-]{20}|://[^/\s]*@")

# What local servers are given for a key: `ollama`, `lm-studio`, `not-needed`. A server that asks for a key makes a longer
# one up, and masking these would take an ordinary word out of each text and each command.
_STAND_IN = re.compile(r"(?=.{1,16}$)[a-z]+(?:[-_][a-z]+)*")

NO_COMMANDS: Mapping[str, KeyCommand] = {}


class Secrets:
    """The secrets of one profile: what a key command gives, else `values`, else the environment.

    `values` come from its .env; an empty one hides a name of the environment. `file` names that .env as the person knows
    it, `path` is where it is. `key_names` are the variables that hold keys of model servers, `commands` are those that
    give a key by its name, and `passthrough` names what commands of tools get although it is secret. `stamp` is that of
    the .env that `values` were read from.
    """

    def __init__(
        self,
        values: Mapping[str, str],
        environ: Mapping[str, str],
        key_names: Iterable[str] = (),
        file: str = ".env",
        *,
        path: Path = Path(".env"),
        commands: Mapping[str, KeyCommand] = NO_COMMANDS,
        passthrough: Iterable[str] = (),
        is_routed: bool = False,
        stamp: Stamp | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.file = file
        self.is_routed = is_routed  # the environment holds no keys for this profile, whatever is put into it
        self._path = path
        self._values, self._stamp = dict(values), stamp
        self._changing = asyncio.Lock()  # what was read before a save never comes after it
        self._environ = environ
        self._key_names = CREDENTIAL_NAMES.union(key_names, commands)
        self._passthrough = frozenset(passthrough)
        self._commands = {
            name: CommandKey(asked, self._command_environ, path.parent, clock) for name, asked in commands.items()
        }

    # --- giving

    def get(self, name: str) -> str | None:
        """The secret as far as it is known now, None where there is none or it is blank."""
        if name in self._commands:
            return self._commands[name].last
        value = self._values.get(name, self._environ.get(name, "")) if name else ""
        return value.strip() or None

    def has(self, name: str) -> bool:
        """Whether there is such a secret, or a command that gives it."""
        return name in self._commands or self.get(name) is not None

    async def fresh(self, name: str) -> str | None:
        """The secret for the next request; a command is run where its last answer is outdated. Raises NoKey."""
        if name not in self._commands:
            await self.refresh()
            return self.get(name)
        key = await self._commands[name].fresh()
        self.masking.add(name, key)
        return key

    def outdate(self, name: str) -> None:
        """The server refused this key: where a command gives it, the next request asks for another."""
        if name in self._commands:
            self._commands[name].outdate()

    def source(self, name: str) -> str:
        """Where a secret comes from, in words: a setting, the .env, or the environment."""
        if name in self._commands:
            return self._commands[name].asked.setting
        return self.file if name in self._values else "the environment"

    def is_from_file(self, name: str) -> bool:
        return name in self._values

    def is_set_here(self, name: str) -> bool:
        """Whether the person gave it to hermes, and not merely to the environment."""
        return name in self._commands or name in self._values

    @property
    def names(self) -> list[str]:
        """Every secret that there is, by name; of the environment only what is known to hold keys."""
        return sorted(name for name in self._values.keys() | self._key_names if name in self._values or self.has(name))

    # --- changing

    async def refresh(self) -> None:
        """Take .env as it is now, where it was changed since it was read. One that can't be read changes nothing."""
        async with self._changing:
            read = await asyncio.to_thread(_read_again, self._path, self._stamp)
            if read is None:
                return
            masking, former = self.masking, self._values  # with the former values in it
            self._stamp, self._values = read
            for name in former.keys() | self._values.keys():
                self._mask(masking, name)

    def check(self, name: str) -> None:
        """Raises NotSaved where no secret of this name can be saved."""
        self._refuse_command(name)
        check_name(name, self.file)

    async def save(self, name: str, value: str) -> None:
        """Write a secret into .env; it holds at once. Raises NotSaved."""
        self._refuse_command(name)
        async with self._changing:
            await asyncio.to_thread(set_name, self._path, name, value, self.file)
            masking = self.masking  # with the former value in it
            self._values[name] = value
            self._mask(masking, name)

    async def remove(self, name: str) -> bool:
        """Take a secret out of .env, False where it is not in it; one of the environment comes to light again.

        Raises NotSaved.
        """
        async with self._changing:
            was_there = await asyncio.to_thread(unset_name, self._path, name, self.file)
            masking = self.masking  # with the former value in it
            self._values.pop(name, None)
            self._mask(masking, name)
            return was_there

    def _refuse_command(self, name: str) -> None:
        if name in self._commands:
            why = f"{name} comes from {self.source(name)}, which would win; take that setting out first"
            raise NotSaved(path=self.file, why=why)

    # --- keeping

    def mask(self, text: str) -> str:
        """The text with the name of each secret in the place of its value."""
        return self.masking.text(text)

    @cached_property
    def masking(self) -> Masking:
        """What to mask. Values that were replaced stay in it."""
        masking = Masking()
        for name in (*self._values, *sorted(self._key_names - self._values.keys())):
            self._mask(masking, name)
        return masking

    def _mask(self, masking: Masking, name: str) -> None:
        value = self.get(name)
        if value is None:
            return
        if not self._is_plain(name, value):
            masking.add(name, value)

    def _is_plain(self, name: str, value: str) -> bool:
        """Whether this is no secret, although it lies where secrets lie."""
        if name in self._commands:
            return False
        if name in self._key_names:
            return _STAND_IN.fullmatch(value) is not None
        return _SETTING_NAME.fullmatch(name) is not None and not _RANDOM.search(value)

    def child_environ(self) -> dict[str, str]:
        """What a program started by a tool gets: the environment without our keys, but with what is passed through."""
        kept = {name: value for name, value in self._environ.items() if name not in self._hidden}
        passed = {name: value for name in self._passthrough if (value := self.get(name)) and not is_dangerous(name)}
        return kept | passed

    @property
    def withheld(self) -> frozenset[str]:
        """The names of which `child_environ` keeps something back."""
        return frozenset(name for name in self._hidden if name in self._values or name in self._environ)

    @property
    def _hidden(self) -> frozenset[str]:
        return (self._key_names | self._values.keys()) - NEVER_REMOVED - self._passthrough

    def _command_environ(self) -> dict[str, str]:
        """What a key command gets: this profile's own environment and .env, which may hold what it signs in with."""
        own = {name: value for name, value in self._values.items() if not is_dangerous(name)}
        return {**self._environ, **own}

    def __repr__(self) -> str:
        return f"Secrets({', '.join(sorted(self.masking.names))})"


def load_secrets(
    path: Path,
    environ: Mapping[str, str],
    key_names: Iterable[str] = (),
    shown: str = "",
    *,
    commands: Mapping[str, KeyCommand] = NO_COMMANDS,
    passthrough: Iterable[str] = (),
    is_routed: bool = False,
) -> tuple[Secrets, tuple[Problem, ...]]:
    """Read a .env, and close it to others where it is open to them. Its values are taken literally, and copied nowhere."""
    name = shown or str(path)
    tightened = tighten_env(path, name)
    stamp = stamp_of(path)  # before it is read: what is changed meanwhile is read again
    values, problems = read_names(path, name)
    secrets = Secrets(
        values,
        environ,
        key_names,
        name,
        path=path,
        commands=commands,
        passthrough=passthrough,
        is_routed=is_routed,
        stamp=stamp,
    )
    return secrets, (*tightened, *problems)


def _read_again(path: Path, known: Stamp | None) -> tuple[Stamp | None, dict[str, str]] | None:
    """The stamp and the content of a .env that is another one than the known; None where it isn't, or can't be read."""
    stamp = stamp_of(path)
    if stamp == known:
        return None
    try:
        return stamp, assigned(read_text(path) or "")
    except NotReadable:
        return None
