"""The files that a system prompt takes in: SOUL.md of the home, and the instructions of a project that is trusted."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from agent.config.files import NotReadable, read_text
from agent.config.project_files import RULES, Kind, acting_files
from agent.config.trust import Acting, Standing, Trust

LEAST_CHARS, MOST_CHARS = 20_000, 500_000  # of one file
WINDOW_PERCENT, CHARS_PER_TOKEN = 6, 4
HEAD_PERCENT, TAIL_PERCENT = 70, 20  # of those that are kept of a longer one

UNTRUSTED = (
    "{path} of this folder was not read: {why}. /trust on the screen shows what would act, and "
    "asks; in a shell, hermes trust add does, for new sessions."
)
NOT_READ = "{path} was not read: {why}."
CUT = (
    "{path} is too long for the prompt: of its {chars:,} characters the first {head:,} and the last {tail:,} are in it."
)
LEFT_OUT = "\n\n[… {chars:,} characters of this file were left out here …]\n\n"


class Read(Struct, frozen=True):
    """What was found. `origin` names the files that `text` is from; `notices` say what a person should know."""

    text: str = ""
    origin: str = ""
    notices: tuple[str, ...] = ()


def most_chars(window: int | None) -> int:
    """How much of one file goes into a prompt, for a window in tokens."""
    share = (window or 0) * WINDOW_PERCENT * CHARS_PER_TOKEN // 100
    return max(LEAST_CHARS, min(share, MOST_CHARS))


def read_own(path: Path, shown: str, most: int) -> Read:
    """A file of the person's own; nothing where there is none."""
    try:
        text = read_text(path)
    except NotReadable as error:
        return Read(notices=(NOT_READ.format(path=shown, why=error),))
    return shortened((text or "").strip(), shown, most)


def read_instructions(root: Path, trust: Trust, most: int) -> Read:
    """The instructions of a project: the first of the files that may hold them which is there and says something.

    One that is not trusted is not read, and no other one in its place: it is the project's own word which one holds.
    """
    listed = [path for path, kind in acting_files(root) if kind is Kind.INSTRUCTIONS and os.path.lexists(root / path)]
    cursor = [path for path in listed if path == ".cursorrules" or path.startswith(f"{RULES}/")]
    groups = [*([path] for path in listed if path not in cursor), cursor]
    for group in groups:
        found = [acting for path in group if (acting := trust.look_at(root, path, Kind.INSTRUCTIONS)) is not None]
        read = _joined([_read(acting, most) for acting in found])
        if read.text or read.notices:
            return read
    return Read()


def shortened(text: str, origin: str, most: int) -> Read:
    """A text as it goes into a prompt: of one that is too long the beginning, and less of its end."""
    if len(text) <= most:
        return Read(text, origin)
    head, tail = most * HEAD_PERCENT // 100, most * TAIL_PERCENT // 100
    kept = text[:head] + LEFT_OUT.format(chars=len(text) - head - tail) + text[-tail:]
    return Read(kept, origin, (CUT.format(path=origin, chars=len(text), head=head, tail=tail),))


def _read(acting: Acting, most: int) -> Read:
    match acting.standing:
        case Standing.TRUSTED:
            return shortened(acting.text.strip(), acting.path, most)
        case Standing.NEW:
            return Read(notices=(UNTRUSTED.format(path=acting.path, why="the folder is not trusted with it"),))
        case Standing.CHANGED:
            return Read(notices=(UNTRUSTED.format(path=acting.path, why="it has changed since it was trusted"),))
        case Standing.REFUSED:
            why = acting.refusal.removeprefix("is never read: ")
            return Read(notices=(NOT_READ.format(path=acting.path, why=why),))


def _joined(reads: list[Read]) -> Read:
    said = [read for read in reads if read.text]
    return Read(
        "\n\n".join(read.text for read in said),
        ", ".join(read.origin for read in said),
        tuple(notice for read in reads for notice in read.notices),
    )
