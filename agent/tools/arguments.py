"""Reading the arguments of a call by type. Everything raises BadArguments with a sentence that names the field."""

from __future__ import annotations

from collections.abc import Collection

from agent.tools.base import Arguments, BadArguments

_KINDS: dict[type[object], str] = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


def known_only(args: Arguments, names: Collection[str]) -> None:
    """Refuse what the tool does not know: to ignore it silently would do something else than was asked."""
    for name in args:
        if name not in names:
            raise BadArguments(f'There is no argument "{name}". The arguments are: {", ".join(names)}.')


def required_text(args: Arguments, name: str) -> str:
    value = optional_text(args, name)
    if value is None:
        raise BadArguments(f'"{name}" is missing: it takes text.')
    return value


def optional_text(args: Arguments, name: str) -> str | None:
    """Text that can be written as UTF-8; null counts as not given."""
    value = args.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadArguments(f'"{name}" takes text, not {_kind(value)}.')
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadArguments(f'"{name}" holds half of a character (a lone surrogate) at {error.start}.') from error
    return value


def whole_number(args: Arguments, name: str, *, default: int, least: int, most: int) -> int:
    value = args.get(name)
    if value is None:
        return default
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadArguments(f'"{name}" takes a whole number, not {_kind(value)}.')
    if not least <= value <= most:
        raise BadArguments(f'"{name}" takes {least:,} to {most:,}, not {value}.')
    return value


def flag(args: Arguments, name: str) -> bool:
    value = args.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise BadArguments(f'"{name}" takes true or false, not {_kind(value)}.')
    return value


def _kind(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)
