"""`hermes secrets`: which keys there are and where they come from, and changing those in .env. No value is ever shown."""

from __future__ import annotations

import asyncio
import getpass
import json
import sys
import warnings
from collections.abc import Iterable, Mapping

from agent.config.masking import shown_value
from agent.config.problem import Problem
from agent.config.secrets import Secrets
from agent.profile import Profile
from session.errors import UserError
from tui.cli.console import answer, data, mistake, remark
from tui.cli.options import SecretsOptions

USAGE = 2
LONGEST_VALUE_BYTES = 100_000
VALUE_ON_COMMAND_LINE = (
    "Give only the name: a value on the command line would stand in the shell's history. It is asked for, hidden, "
    "or read from standard input. Nothing was saved; take what you typed out of the history."
)


class NoValue(UserError):
    """Nothing to save came."""

    sentence = "Nothing was given, so nothing was saved. To take a secret away: hermes secrets unset NAME"


class NotHidden(UserError):
    """The terminal would show what is typed."""

    sentence = "This terminal can't hide what is typed. Pipe the value in: hermes secrets set NAME < FILE"


class ValueTooLong(UserError):
    """More came than any key is."""

    sentence = "What came is larger than {limit:,} bytes, which is no key, so nothing was saved."


def run_secrets(options: SecretsOptions, environ: Mapping[str, str]) -> int:
    """Returns the exit code. With --json one object or array is printed. Raises UserError."""
    if options.surplus or "=" in options.name:
        mistake(VALUE_ON_COMMAND_LINE, as_json=options.as_json)
        return USAGE
    value = _read_value(options.name) if options.verb == "set" else ""
    profile = Profile.load(environ, name=options.profile)
    try:
        match options.verb:
            case "set":
                return _set(options, profile.secrets, value)
            case "unset":
                return _unset(options, profile.secrets)
            case _:
                _remark(profile.problems, profile.secrets)
                return _list(options, profile.secrets)
    finally:
        profile.close()


def _remark(problems: Iterable[Problem], secrets: Secrets) -> None:
    """What of .env can't be read is missing in the list."""
    for problem in problems:
        if problem.file == secrets.file:
            remark(secrets.mask(problem.sentence))


def _list(options: SecretsOptions, secrets: Secrets) -> int:
    records = [_record(secrets, name) for name in secrets.names]
    if options.as_json:
        data(json.dumps(records))
    elif records:
        answer("\n".join(f"{one['name']}  {one['shown'] or 'not asked for yet'}  ({one['source']})" for one in records))
    else:
        remark("There are no secrets yet. `hermes secrets set OPENAI_API_KEY` saves one.")
    return 0


def _set(options: SecretsOptions, secrets: Secrets, value: str) -> int:
    asyncio.run(secrets.save(options.name, value))
    said = f"Saved {options.name} in {secrets.file}. A hermes that is open already takes it with its next request."
    return _tell(options, _record(secrets, options.name), said)


def _unset(options: SecretsOptions, secrets: Secrets) -> int:
    was_there = asyncio.run(secrets.remove(options.name))
    name, left = options.name, secrets.source(options.name) if secrets.has(options.name) else ""
    said = f"{name} is no longer in {secrets.file}." if was_there else f"{name} was not in {secrets.file}."
    if left:
        said += f" It still comes from {left}."
    return _tell(options, {"name": name, "was_set": was_there, "source": left or None}, said)


def _record(secrets: Secrets, name: str) -> dict[str, object]:
    value = secrets.get(name)
    is_asked = secrets.has(name) and value is None
    return {"name": name, "source": secrets.source(name), "shown": None if is_asked else shown_value(value or "")}


def _tell(options: SecretsOptions, record: dict[str, object], said: str) -> int:
    if options.as_json:
        data(json.dumps(record))
    else:
        answer(said)
    return 0


def _read_value(name: str) -> str:
    """Asked for on a terminal, where nothing of it is shown, else the whole of standard input without its last newline."""
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - None when closed
        raise NoValue
    value = _typed(name) if sys.stdin.isatty() else _piped()
    if not value.strip():
        raise NoValue
    return value


def _typed(name: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(f"{name} (not shown): ").strip()
        except getpass.GetPassWarning as error:
            raise NotHidden from error
        except EOFError as error:
            raise NoValue from error


def _piped() -> str:
    raw = sys.stdin.buffer.read(LONGEST_VALUE_BYTES + 1)
    if len(raw) > LONGEST_VALUE_BYTES:
        raise ValueTooLong(limit=LONGEST_VALUE_BYTES)
    # Bytes that are no text become what can't be saved, and are refused with the sentence about that.
    return raw.decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")
