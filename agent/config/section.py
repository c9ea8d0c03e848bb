"""One mapping of config.yaml, read key by key, with a sentence for each thing that does not hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from yaml import Node
from yaml.nodes import MappingNode

from agent.config.problem import Problem
from agent.config.yaml_tree import WHOLE_NUMBER, NotPlain, is_null, line_of, pairs, plain, text_of

Chosen = TypeVar("Chosen")

# Says what a text should be instead, "" when it is right.
Check = Callable[[str], str]

YES_NO = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
SHOWABLE_KEY = re.compile(r"[\w./@-]{1,60}")
ADVICE = {
    "api_key": "keys belong in .env; give the name of the variable in key_env",
    "<<": "merge keys are not read; write the settings out",
}


def check_name(text: str) -> str:
    """A name goes into a status bar and a request: one line, not too long."""
    return "" if text.isprintable() and len(text) <= 200 else "takes one short line of text"


class Section:
    """Reading takes a key out of the mapping; `finish` remarks on the keys that nobody took."""

    def __init__(self, node: Node | None, path: str, file: str, problems: list[Problem]) -> None:
        self.path = path
        self.file = file
        self.problems = problems
        self._nodes: dict[str, tuple[Node, Node]] = {}
        self._known: list[str] = []
        if isinstance(node, MappingNode):
            for key, value in pairs(node):
                self._add(key, value)

    def peek(self, key: str) -> Node | None:
        return self._nodes[key][1] if key in self._nodes else None

    def text(self, key: str, check: Check | None = None) -> str:
        """A text exactly as it was written, "" when it is not given or wrong."""
        node = self._take(key)
        if node is None:
            return ""
        text = text_of(node)
        complaint = "takes text" if text is None else check(text) if check else ""
        if text is None or complaint:
            self._problem(node, key, f"{complaint}.")
            return ""
        return text

    def whole(self, key: str, default: int, low: int, high: int) -> int:
        number = self._number(key, low, high, f"; {default} is used")
        return default if number is None else number

    def tokens(self, key: str) -> int | None:
        """A size in tokens, None when it is not given or wrong."""
        return self._number(key, 1, 1_000_000_000, "; it counts as unknown")

    def choice(self, key: str, choices: Mapping[str, Chosen], default: Chosen) -> Chosen:
        node = self._take(key)
        if node is None:
            return default
        text = (text_of(node) or "").lower()
        if text not in choices:
            self._problem(node, key, f"takes one of: {', '.join(choices)}.")
        return choices.get(text, default)

    def yes_no(self, key: str, default: bool) -> bool:
        return self.choice(key, YES_NO, default)

    def body(self, key: str) -> dict[str, object]:
        """A mapping that goes into a request as it is."""
        node = self._take(key)
        if node is None:
            return {}
        if not isinstance(node, MappingNode):
            self._problem(node, key, "takes `name: value` lines.")
            return {}
        try:
            return plain(node)
        except NotPlain as error:
            self._problem(node, key, f"is left out: {error}.")
            return {}

    def section(self, key: str) -> Section:
        node = self._take(key)
        if node is not None and not isinstance(node, MappingNode):
            self._problem(node, key, "takes `name: value` lines.")
        return Section(node, self._name(key), self.file, self.problems)

    def sections(self, key: str, check: Check = check_name) -> dict[str, Section]:
        """A mapping whose keys the person chose, each with a section of its own."""
        outer = self.section(key)
        inner: dict[str, Section] = {}
        for name in outer.names():
            complaint = check(name)
            if complaint:
                outer.complain(name, complaint)
            else:
                inner[name] = outer.section(name)
        return inner

    def names(self) -> tuple[str, ...]:
        return tuple(self._nodes)

    def complain(self, key: str, complaint: str) -> None:
        """Say that a key itself is wrong, and leave it out."""
        self._remark(self._nodes.pop(key)[0], self.path, f"{complaint}; this one is left out.", is_remark=False)

    def flaw_since(self, count: int) -> str:
        """The first problem told after the first `count`, "" for none."""
        return next((problem.sentence for problem in self.problems[count:] if not problem.is_remark), "")

    def finish(self) -> None:
        for key, (node, _) in self._nodes.items():
            self._remark(node, self._name(key), self._advice(key))

    # --- inside

    def _add(self, key: Node, value: Node) -> None:
        name = text_of(key)
        if name is None:
            self._remark(key, self.path, "a name here is not plain text; it is left out.")
            return
        if name in self._nodes:
            self._remark(key, self._name(name), "is written twice; the later one holds.")
        self._nodes[name] = (key, value)

    def _take(self, key: str) -> Node | None:
        """The value of a key; an empty one (`theme:`) says nothing."""
        self._known.append(key)
        node = self._nodes.pop(key, (None, None))[1]
        return None if node is None or is_null(node) else node

    def _number(self, key: str, low: int, high: int, instead: str) -> int | None:
        node = self._take(key)
        if node is None:
            return None
        text = text_of(node) or ""
        number = int(text) if WHOLE_NUMBER.fullmatch(text) else None
        if number is None or not low <= number <= high:
            self._problem(node, key, f"takes a whole number from {low} to {high}{instead}.")
            return None
        return number

    def _advice(self, key: str) -> str:
        if key in ADVICE:
            return f"is ignored: {ADVICE[key]}."
        close = get_close_matches(key, self._known, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        return f"is not a setting of this version and is ignored.{hint}"

    def _name(self, key: str) -> str:
        shown = key if SHOWABLE_KEY.fullmatch(key) else "(a key)"
        return f"{self.path}.{shown}" if self.path else shown

    def _problem(self, node: Node, key: str, text: str) -> None:
        name = self._name(key)
        self.problems.append(Problem(self.file, f"{name} {text}", line_of(node), name))

    def _remark(self, node: Node, name: str, text: str, *, is_remark: bool = True) -> None:
        said = f"{name} {text}" if name else text
        self.problems.append(Problem(self.file, said, line_of(node), name, is_remark))
