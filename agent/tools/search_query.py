"""What is searched for, as the searching program gets it; how ripgrep is told, and how it is done without.

Both write the same: for each matching line `PATH NUL LINE:COLUMN:TEXT`, for a line around it `PATH NUL LINE-TEXT`, to count
`PATH NUL COUNT`, and for names `PATH NUL`. Nothing but the standard library is imported here.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

_PLAIN_NAME = re.compile(r"[\w.*?{},+-]+", re.ASCII)


class Query(NamedTuple):
    """`kind` is "lines", "counts" or "names". `root` is the folder or file, as the searching process reaches it.

    `glob` says which files, "" for all. `top` is the path of the folder, from which the rules above it are found.
    """

    kind: str
    pattern: str
    root: str = ""
    is_file: bool = False
    glob: str = ""
    is_literal: bool = False
    ignores_case: bool = False
    context: int = 0
    with_ignored: bool = False
    top: str = ""

    @property
    def glob_ignores_case(self) -> bool:
        return self.kind == "names" and self.ignores_case

    def encoded(self) -> str:
        return json.dumps(self)

    @classmethod
    def decoded(cls, text: str) -> Query:
        return cls(*json.loads(text))


def ripgrep_arguments(query: Query) -> list[str]:
    """Nothing of a person's own settings, no other program, and only the files that Python would look at, too."""
    arguments = ["--no-config", "--color=never", "--null", "--hidden", "--glob=!.git", "--no-messages"]
    arguments += (
        ["--no-ignore"] if query.with_ignored else ["--no-ignore-dot", "--no-ignore-global", "--no-require-git"]
    )
    # A type, since a --glob would bring back what .gitignore leaves out. It goes by names; the rest is told from the results.
    name = query.glob.rpartition("/")[2]
    if _PLAIN_NAME.fullmatch(name) and "**" not in name and not query.glob_ignores_case:
        arguments += [f"--type-add=wanted:{name}", "--type=wanted"]
    if query.kind == "names":
        return [*arguments, "--files", "--", query.root]
    arguments += ["--no-heading", "--with-filename", "--crlf"]
    arguments += ["--fixed-strings"] * query.is_literal + ["--ignore-case"] * query.ignores_case
    arguments += ["--text"] * query.is_file  # a file that is named is searched to its end
    if query.kind == "counts":
        arguments += ["--count"]
    else:
        arguments += ["--line-number", "--column", f"--context={query.context}", "--no-context-separator"]
    return [*arguments, f"--regexp={query.pattern}", "--", query.root]
