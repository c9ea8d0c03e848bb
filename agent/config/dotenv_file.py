"""A .env file: what it assigns, and giving one name a value without losing anything else in it."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from agent.config.dotenv_text import bad_lines, values, ways_to_write, with_value, without
from agent.config.files import LIMIT_BYTES, NotReadable, read_text
from agent.config.locked_file import NotSaved, locked, replace_file
from agent.config.problem import Problem

NAME = r"[A-Za-z_][A-Za-z0-9_]{0,99}"

# What decides which programs run, what they load, where hermes lives and what it asks about is never set from a file
# that something else may have been talked into writing.
_DANGEROUS = r"""(?ax)
    PATH | HOME | USER | LOGNAME | SHELL | PWD | OLDPWD | TERM | TMPDIR | IFS | ENV | BASH_ENV | SHELLOPTS | BASHOPTS
    | PROMPT_COMMAND | PS4 | CDPATH | EDITOR | VISUAL | PAGER | BROWSER | NODE_OPTIONS | JAVA_TOOL_OPTIONS
    | PERL5OPT | PERL5LIB | RUBYOPT | RUBYLIB | SSH_ASKPASS | SUDO_ASKPASS | SSL_CERT_FILE | SSL_CERT_DIR | SSLKEYLOGFILE
    | GIT_ (?: SSH | SSH_COMMAND | ASKPASS | EDITOR | SEQUENCE_EDITOR | PAGER | EXEC_PATH | EXTERNAL_DIFF | CONFIG\w* )
    | HERMES_ (?: HOME | PROFILE | MODE | TRUST | ACCEPT_HOOKS | IGNORE_RULES | YOLO\w* )
    | (?: LD | DYLD | XDG | BASH_FUNC ) _ \w* | PYTHON [A-Z0-9]+
"""


def read_names(path: Path, shown: str = "") -> tuple[dict[str, str], tuple[Problem, ...]]:
    """What a file assigns; of a name that stands there twice, the last. No file is an empty one. Never raises."""
    name = shown or str(path)
    try:
        text = read_text(path)
    except NotReadable as error:
        return {}, (Problem(name, f"{error}; until then none of its keys is known."),)
    if text is None:
        return {}, ()
    told = "this line takes NAME=value; it is left out."
    return values(text), tuple(Problem(name, told, line) for line in bad_lines(text))


def set_name(path: Path, name: str, value: str, shown: str = "") -> None:
    """Give a name a value, in the line that has it or in a new last one. Blocks. Raises NotSaved."""
    where = shown or str(path)
    check_name(name, where)
    _check_value(value, where)
    with locked(path, where):
        mark, text = _stored(path, where)
        expected = {**values(text), name: value}
        for written in ways_to_write(value):
            changed = with_value(text, name, written)
            if values(changed) == expected:
                return _replace(path, mark, changed, where)
        raise _unclosed(text, where)


def unset_name(path: Path, name: str, shown: str = "") -> bool:
    """Take out every line that gives the name a value; False when there is none. Blocks. Raises NotSaved."""
    where = shown or str(path)
    if not path.parent.is_dir():
        return False
    with locked(path, where):
        mark, text = _stored(path, where)
        expected = values(text)
        if expected.pop(name, None) is None:
            return False
        changed = without(text, name)
        if values(changed) != expected:
            raise _unclosed(text, where)
        _replace(path, mark, changed, where)
        return True


def is_dangerous(name: str) -> bool:
    """Whether a .env must not set this name."""
    return re.fullmatch(_DANGEROUS, name) is not None


def check_name(name: str, where: str) -> None:
    """Raises NotSaved where a .env takes no such name."""
    if is_dangerous(name):
        why = f"{name} decides how programs run or what hermes may do, so it is never set there"
        raise NotSaved(path=where, why=f"{why}; set it in your shell if you mean it")
    if not re.fullmatch(NAME, name):
        raise NotSaved(path=where, why="a name there takes letters, digits and underscores, such as OPENAI_API_KEY")


# --- inside


def _check_value(value: str, where: str) -> None:
    if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise NotSaved(path=where, why="the value holds characters that no text file can; copy it again")


def _stored(path: Path, where: str) -> tuple[bytes, str]:
    """The byte order mark and the text of the file, both empty where there is none."""
    try:
        text = read_text(path)
    except NotReadable as error:
        raise NotSaved(path=where, why=str(error)) from error
    if text is None:
        return b"", ""
    mark = codecs.BOM_UTF8
    with path.open("rb") as file:
        return (mark if file.read(len(mark)) == mark else b""), text


def _replace(path: Path, mark: bytes, text: str, where: str) -> None:
    raw = mark + text.encode()
    if len(raw) > LIMIT_BYTES:
        raise NotSaved(path=where, why=f"it would be larger than {LIMIT_BYTES:,} bytes, which is too large to be read")
    replace_file(path, raw, where)


def _unclosed(text: str, where: str) -> NotSaved:
    line = next(iter(bad_lines(text)), 1)
    return NotSaved(path=where, why=f"a quote that nothing closes stands in line {line}; correct that line first")
