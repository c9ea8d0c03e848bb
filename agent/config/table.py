"""The table of settings, as the fields of agent/config/settings.py say it: what each takes, its default, its line.

Reading the table costs some milliseconds and is done only where settings are read anew, shown or written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from typing import TypeGuard, cast

from msgspec import NODEFAULT, Struct, inspect
from msgspec.structs import replace

from agent.config.settings import ENVIRONMENT_PREFIX, Settings
from agent.config.takes import TAKES, Takes

ANY_NAME = "<name>"
_PART = re.compile(r'"([^"]+)"|([^".]+)')
_KEY = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")


class Whole(Struct, frozen=True):
    """A whole number; both ends count."""

    low: int
    high: int


class Decimal(Struct, frozen=True):
    """A number that may have a fraction; both ends count."""

    low: float
    high: float


class Choice(Struct, frozen=True):
    """One of some words, by what each stands for. In yes/no several words stand for the same."""

    values: Mapping[str, object]


class Text(Struct, frozen=True):
    takes: Takes


class Names(Struct, frozen=True):
    """A list of texts. `is_joined`: those of all sources count, each by itself, and not those of the highest alone."""

    takes: Takes
    is_joined: bool = False


class Command(Struct, frozen=True):
    """A command line, or its words."""


class Headers(Struct, frozen=True):
    """A mapping of header names to their texts."""


class Lists(Struct, frozen=True):
    """A mapping of names to lists of texts."""

    names: Takes
    texts: Takes


class Body(Struct, frozen=True):
    """Any mapping."""


class Group(Struct, frozen=True):
    """Settings of a name of their own."""

    of: type[Struct]


class Groups(Struct, frozen=True):
    """A group for each name that the person chose. A plain text in its place says the setting `short_for` of it."""

    of: type[Struct]
    takes: Takes
    short_for: str = ""


Kind = Whole | Decimal | Choice | Text | Names | Command | Headers | Lists | Body | Group | Groups

YES_NO = Choice({"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False})


class Setting(Struct, frozen=True):
    """One setting of a group: `name` in the file, `attribute` in the code, `about` for people."""

    name: str
    attribute: str
    kind: Kind
    default: object
    about: str
    is_unused: bool = False
    is_personal: bool = False  # no project says it, however much it is trusted
    is_tightened: bool = False  # a project only goes further along the choices than the person does

    @property
    def is_one_value(self) -> bool:
        """Whether a plain text, as in a variable or on the command line, can say it."""
        return isinstance(self.kind, Whole | Decimal | Choice | Text)


@cache
def settings_of(group: type[Struct]) -> tuple[Setting, ...]:
    """The settings of one group, in their order."""
    info = inspect.type_info(group)
    assert isinstance(info, inspect.StructType)
    return tuple(setting for field in info.fields if (setting := _setting(field)) is not None)


@cache
def all_settings() -> Mapping[str, Setting]:
    """Every setting that holds a value, by its full key; a name that the person chooses is written <name>."""
    return dict(_under((), Settings))


@cache
def environment_names() -> Mapping[str, str]:
    """The variables that say a setting, each with its key."""
    chosen = {key for key, setting in all_settings().items() if setting.is_one_value and ANY_NAME not in key}
    return {environment_name(key): key for key in sorted(chosen)}


def environment_name(key: str) -> str:
    return ENVIRONMENT_PREFIX + key.replace(".", "_").upper()


def find(path: tuple[str, ...]) -> Setting | None:
    """The setting or group at a path, None where there is none. What lies inside a free mapping belongs to it."""
    return _find(Setting("", "", Group(Settings), None, ""), path)


def split_key(key: str) -> tuple[str, ...]:
    """`providers.here.models."gpt-4.1".context_length` as its parts; () where it is no key."""
    if not _KEY.fullmatch(key):
        return ()
    return tuple(quoted or plain for quoted, plain in _PART.findall(key))


def join_key(parts: tuple[str, ...] | list[str]) -> str:
    return ".".join(f'"{part}"' if "." in part else part for part in parts)


def allowed(setting: Setting) -> str:
    """What a setting takes, to follow the word "takes"."""
    match setting.kind:
        case Whole(low=low, high=high):
            return f"a whole number from {low} to {high}"
        case Decimal(low=low, high=high):
            return f"a number from {low:g} to {high:g}"
        case Choice(values=values):
            return f"one of: {', '.join(values)}"
        case Text(takes=takes):
            return takes.allowed
        case Names(takes=takes):
            return "a list of texts" if takes is TAKES["text"] else f"a list of {takes.allowed}"
        case Command():
            return "a command, or a list of its words"
        case Lists(texts=takes):
            return f"`name: value` lines, each with a list of {takes.allowed}"
        case Headers() | Body() | Group() | Groups():
            return "`name: value` lines"


# --- inside


def _find(setting: Setting, rest: tuple[str, ...]) -> Setting | None:
    if not rest:
        return setting
    match setting.kind:
        case Group(of=group):
            inner = next((item for item in settings_of(group) if item.name == rest[0]), None)
            return None if inner is None else _find(inner, rest[1:])
        case Groups(of=group):
            return _find(Setting(rest[0], "", Group(group), None, setting.about), rest[1:])
        case Lists(texts=takes) if len(rest) == 1:
            return replace(setting, name=rest[0], kind=Names(takes))
        case Headers() | Body():
            return setting
        case _:
            return None


def _under(path: tuple[str, ...], group: type[Struct]) -> Iterator[tuple[str, Setting]]:
    for setting in settings_of(group):
        here = (*path, setting.name)
        match setting.kind:
            case Group(of=inner):
                yield from ((key, _like(setting, within)) for key, within in _under(here, inner))
            case Groups(of=inner):
                yield from _under((*here, ANY_NAME), inner)
            case _:
                yield ".".join(here), setting


def _like(group: Setting, setting: Setting) -> Setting:
    """A setting of a group that nothing uses is used by nothing."""
    is_personal = group.is_personal or setting.is_personal
    return replace(setting, is_unused=group.is_unused or setting.is_unused, is_personal=is_personal)


def _setting(field: inspect.Field) -> Setting | None:
    kind, about, extra = _unwrapped(field.type)
    if not about:
        return None
    default = field.default if field.default is not NODEFAULT else field.default_factory()
    flags = (bool(extra.get(name)) for name in ("is_unused", "is_personal", "is_tightened"))
    return Setting(field.encode_name, field.name, _kind(kind, extra), default, about, *flags)


def _unwrapped(kind: inspect.Type) -> tuple[inspect.Type, str, Mapping[str, object]]:
    if not isinstance(kind, inspect.Metadata):
        return kind, "", {}
    notes = cast("dict[str, object]", kind.extra_json_schema or {})  # msgspec names these dict and no more
    return kind.type, str(notes.get("description", "")), cast("dict[str, object]", kind.extra or {})


def _kind(kind: inspect.Type, extra: Mapping[str, object]) -> Kind:
    takes = TAKES[str(extra.get("takes", "text"))]
    match kind:
        case inspect.IntType(ge=int(low), le=int(high)):
            return Whole(low, high)
        case inspect.FloatType(ge=float() | int() as low, le=float() | int() as high):
            return Decimal(low, high)
        case inspect.BoolType():
            return YES_NO
        case inspect.EnumType():
            return Choice(_choices(extra["choices"]))
        case inspect.StrType():
            return Text(takes)
        case inspect.VarTupleType():
            return Names(takes, bool(extra.get("is_joined")))
        case inspect.StructType(cls=group):
            return Group(group)
        case inspect.DictType(value_type=inspect.StructType(cls=group)):
            return Groups(group, takes, str(extra.get("short_for", "")))
        case inspect.DictType(value_type=inspect.StrType()):
            return Headers()
        case inspect.DictType(value_type=inspect.VarTupleType()):
            return Lists(TAKES[str(extra["names"])], takes)
        case inspect.DictType():
            return Body()
        case inspect.UnionType(types=types):
            values = inspect.IntType | inspect.FloatType | inspect.BoolType | inspect.EnumType
            value = next((item for item in types if isinstance(item, values)), None)
            return Command() if value is None else _kind(value, extra)
        case _:
            raise TypeError(f"no setting has the type {kind}")


def _choices(values: object) -> Mapping[str, object]:
    assert _are_words(values)
    return {str(value.value): value for value in values}


def _are_words(values: object) -> TypeGuard[tuple[Enum, ...]]:
    return isinstance(values, tuple)
