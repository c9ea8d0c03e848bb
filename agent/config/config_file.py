"""Writing config.yaml: one setting at a time, over what is on the disk now, and nothing else of the file changes."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from pathlib import Path

from yaml import Node
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from agent.config.files import LIMIT_BYTES, NotReadable, read_text
from agent.config.layers import nested, scalar, value_node
from agent.config.locked_file import NotSaved, locked, replace_file
from agent.config.problem import Problem
from agent.config.section import ADVICE
from agent.config.settings import Sources
from agent.config.settings_reader import read_settings
from agent.config.table import YES_NO, Choice, Decimal, Names, Setting, Whole, allowed, find, join_key
from agent.config.yaml_edit import NotEditable, with_value, without
from agent.config.yaml_shape import value_at
from agent.config.yaml_tree import TAG, NotPlain, NotYaml, items, parse, plain_value, text_of
from session.errors import UserError

Keys = tuple[str, ...]


class NotSet(UserError):
    """The value is none that the setting takes."""

    sentence = "{complaint} Nothing was changed."


def set_setting(path: Path, keys: Keys, text: str, shown: str = "") -> tuple[Problem, ...]:
    """Give a setting a value as a person typed it; returns what is worth knowing about it. Raises NotSet, NotSaved.

    Blocks. The file may be missing; one that can't be read or is no YAML is left as it is.
    """
    value, remarks = checked_value(keys, text)
    _rewrite(path, shown or str(path), lambda stored: _with(stored, keys, value))
    return remarks


def set_model(path: Path, provider: str, name: str, shown: str = "") -> None:
    """Name the model of new sessions, whole: `provider` "" where the name says it all. Blocks. Raises NotSet, NotSaved."""
    pairs = {("model", "default"): name, ("model", "provider"): provider}
    values = {keys: checked_value(keys, text)[0] for keys, text in pairs.items() if text}

    def change(stored: str) -> str:
        for keys in pairs:
            stored = _with(stored, keys, values[keys]) if keys in values else _without(stored, keys) or stored
        return stored

    _rewrite(path, shown or str(path), change)


def unset_setting(path: Path, keys: Keys, shown: str = "") -> bool:
    """Take a setting out; False where the file does not have it. Blocks. Raises NotSaved."""
    return path.parent.is_dir() and _rewrite(path, shown or str(path), lambda stored: _without(stored, keys))


def add_entry(path: Path, keys: Keys, entry: str, shown: str = "") -> bool:
    """Add a text to a list as it stands in the file now; False where it is in there. Blocks. Raises NotSet, NotSaved."""
    if not all(part.isprintable() for part in (*keys, entry)):
        raise NotSet(complaint="The rule, or the folder it is for, holds characters that no settings file can.")

    def change(stored: str) -> str | None:
        listed = _listed(parse(stored), keys)
        return None if entry in listed else with_value(stored, keys, _list([*listed, entry]))

    return _rewrite(path, shown or str(path), change)


def remove_entry(path: Path, keys: Keys, entry: str, shown: str = "") -> bool:
    """Take a text out of a list; False where it is not in there. Blocks. Raises NotSaved."""

    def change(stored: str) -> str | None:
        listed = _listed(parse(stored), keys)
        if entry not in listed:
            return None
        left = [other for other in listed if other != entry]
        return with_value(stored, keys, _list(left)) if left else without(stored, keys)

    return path.parent.is_dir() and _rewrite(path, shown or str(path), change)


def replace_config(path: Path, before: bytes | None, raw: bytes, shown: str = "") -> None:
    """Put an edited copy in the place of the file it was made of. Blocks. Raises NotSaved where that one has changed."""
    name = shown or str(path)
    with locked(_target(path), name):
        if stored_bytes(path, name) != before:
            raise NotSaved(path=name, why="another program has changed it in the meantime")
        replace_file(path, raw, name)


def stored_bytes(path: Path, shown: str) -> bytes | None:
    """Exactly what the file holds, None where there is none. Raises NotSaved."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotSaved(path=shown, why=f"it can't be read ({error.strerror})") from error


def stored_value(path: Path, keys: Keys) -> object:
    """What the file itself says at a key, as JSON's types; None where it says nothing or can't be read."""
    try:
        text = read_text(path)
        node = value_at(parse(text or ""), keys)
        return None if node is None else plain_value(node)
    except (NotReadable, NotYaml, NotPlain):
        return None


def checked_value(keys: Keys, text: str) -> tuple[Node, tuple[Problem, ...]]:
    """What a person typed, as it is written in the file, and remarks on it. Raises NotSet."""
    setting, key = find(keys), join_key(keys)
    if not all(part.isprintable() for part in keys) or any("\ud800" <= char <= "\udfff" for char in text):
        raise NotSet(complaint="The key or the value holds characters that no text file can.")
    if advice := ADVICE.get(keys[-1]):
        raise NotSet(complaint=f"{key} is never read: {advice}.")
    problems = read_settings(Sources("", flags={key: text})).problems
    wrong = next((problem for problem in problems if not problem.is_remark), None)
    if wrong is not None:
        is_number = setting is not None and isinstance(setting.kind, Whole | Decimal)
        raise NotSet(complaint=f"{key} takes {allowed(setting)}." if setting and is_number else wrong.text)
    if not text.strip():
        raise NotSet(complaint=f"{key} takes a value; `hermes config unset` takes it out.")
    return _typed(setting, text), problems


# --- inside


def _listed(root: Node | None, keys: Keys) -> list[str]:
    """The texts of a list, or of a text that stands for one."""
    node = value_at(root, keys)
    if isinstance(node, SequenceNode):
        return [text for item in items(node) if (text := text_of(item)) is not None]
    text = None if node is None else text_of(node)
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _list(texts: list[str]) -> Node:
    return SequenceNode(f"{TAG}seq", [scalar(text) for text in texts])


def _typed(setting: Setting | None, text: str) -> Node:
    """A number and a yes/no as YAML's own, every text as a text: an `off` for a text never becomes a no."""
    match setting.kind if setting is not None else None:
        case Whole():
            return ScalarNode(f"{TAG}int", str(int(text)))
        case Decimal():
            number = float(text)
            return ScalarNode(f"{TAG}{'int' if number.is_integer() else 'float'}", f"{number:.12g}")
        case Choice() as choice if choice is YES_NO:
            return ScalarNode(f"{TAG}bool", str(YES_NO.values[text.lower()]).lower())
        case Choice():
            return scalar(text.lower())
        case Names() if not text.lstrip().startswith("["):
            names = [scalar(part.strip()) for part in text.split(",") if part.strip()]
            return SequenceNode(f"{TAG}seq", names)
        case None:
            return _unknown(text)
        case _:
            return value_node(setting, text)


def _unknown(text: str) -> Node:
    """A value for a key of another version: a list, mapping, number, true or false if it plainly is one."""
    try:
        node = parse(text)
    except NotYaml:
        return scalar(text)
    is_plain = isinstance(node, ScalarNode) and (
        text in ("true", "false") or (node.tag in (f"{TAG}int", f"{TAG}float") and text.replace(".", "").isdecimal())
    )
    return node if node is not None and (is_plain or text.lstrip().startswith(("[", "{"))) else scalar(text)


def _with(text: str, keys: Keys, value: Node) -> str:
    keys, value = _fitted(parse(text), keys, value)
    return with_value(text, keys, value)


def _fitted(root: Node | None, keys: Keys, value: Node) -> tuple[Keys, Node]:
    """`model: id` and `model: {default: id}` say the same: write on in the form that the file has."""
    stored = value_at(root, ("model",))
    short = None if stored is None else text_of(stored)
    match keys:
        case ("model",) if isinstance(stored, MappingNode) and isinstance(value, ScalarNode):
            return ("model", "default"), value
        case ("model", "default") if short is not None:
            return ("model",), value
        case ("model", _) if short is not None:
            both = nested(("default",), scalar(short))
            both.value.append((scalar(keys[1]), value))
            return ("model",), both
        case _:
            return keys, value


def _without(text: str, keys: Keys) -> str | None:
    stored = value_at(parse(text), ("model",))
    if keys == ("model", "default") and stored is not None and text_of(stored) is not None:
        keys = ("model",)
    return without(text, keys)


def _rewrite(path: Path, shown: str, change: Callable[[str], str | None]) -> bool:
    """Read, change and replace the file while nobody else may; False where there is nothing to change."""
    with locked(_target(path), shown):
        mark, text = _stored(path, shown)
        try:
            changed = change(text)
        except NotYaml as error:
            where = "" if error.line is None else f" in line {error.line}"
            raise NotSaved(path=shown, why=f"it is not valid YAML{where} ({error.why}); correct that first") from error
        except NotEditable as error:
            where = "" if error.line is None else f" (line {error.line})"
            raise NotSaved(path=shown, why=f"{error}{where}; change it by hand: hermes config edit") from error
        if changed is None or (changed == text and path.exists()):
            return changed is not None
        raw = mark + changed.encode()
        if len(raw) > LIMIT_BYTES:
            raise NotSaved(path=shown, why=f"it would be larger than {LIMIT_BYTES:,} bytes, too large to be read")
        replace_file(path, raw, shown)
        return True


def _stored(path: Path, shown: str) -> tuple[bytes, str]:
    """The byte order mark (T19) and the text of the file, both empty where there is none."""
    try:
        text = read_text(path)
    except NotReadable as error:
        raise NotSaved(path=shown, why=str(error)) from error
    raw = stored_bytes(path, shown) if text is not None else None
    return (codecs.BOM_UTF8 if raw and raw.startswith(codecs.BOM_UTF8) else b""), text or ""


def _target(path: Path) -> Path:
    """What a link leads to: two homes that share one file take the same lock."""
    return Path(os.path.realpath(path))
