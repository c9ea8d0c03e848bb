"""House rules that a linter does not know, each a question to the syntax tree of every product file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PRODUCT = sorted(file for floor in ("tui", "agent", "session") for file in (REPOSITORY / floor).rglob("*.py"))

pytestmark = pytest.mark.timeout(90)  # all of the product is parsed, on a machine that may be busy

Rule = Callable[[ast.Module], Iterator[int]]  # yields the lines that break it

# Widgets and calls of Textual that read a str as markup unless they are told otherwise.
PARSES_MARKUP = {"Static", "Label", "Option", "Button", "Checkbox", "RadioButton", "Link", "notify", "Selection"}
MARKUP_ATTRIBUTES = {"border_title", "border_subtitle", "tooltip"}
LITERAL_TYPES = {"Text", "Content"}


def name_of(node: ast.AST) -> str:
    """The last name of `a`, `a.b` or `a.b(...)`: `b`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=func):
            return name_of(func)
        case _:
            return ""


def makes_literal(node: ast.expr, known: set[str]) -> bool:
    """Whether an expression is text that can't be parsed: made by Text or Content, by a function that returns one, or a name for one."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner))) if owner in LITERAL_TYPES:
            return True
        case ast.Call() | ast.Name() | ast.Attribute():
            return name_of(node) in LITERAL_TYPES | known
        case ast.IfExp(body=body, orelse=orelse):
            return makes_literal(body, known) and makes_literal(orelse, known)
        case _:
            return False


def is_inert(node: ast.expr) -> bool:
    """A constant without a bracket, in which there is nothing to parse."""
    return isinstance(node, ast.Constant) and "[" not in str(node.value)


def literal_names(tree: ast.AST) -> set[str]:
    """Functions annotated to return Text or Content, and names annotated as, or assigned from, one."""
    known: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name, returns=ast.expr() as kind) if name_of(kind) in LITERAL_TYPES:
                known.add(name)
            case ast.arg(arg=name, annotation=ast.expr() as kind) if name_of(kind) in LITERAL_TYPES:
                known.add(name)
            case ast.AnnAssign(target=target, annotation=kind) if name_of(kind) in LITERAL_TYPES:
                known.add(name_of(target))
            case ast.Assign(targets=[target], value=ast.Call() as value) if makes_literal(value, known):
                known.add(name_of(target))
            case _:
                pass
    return known


@cache
def literal_functions() -> set[str]:
    return set[str]().union(*(literal_names(ast.parse(file.read_bytes())) for file in PRODUCT))


def text_that_could_be_markup(tree: ast.Module) -> Iterator[int]:
    known = literal_functions() | literal_names(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Call(args=[shown, *_], keywords=keywords) if name_of(node.func) in PARSES_MARKUP:
                is_plain = any(
                    word.arg == "markup" and isinstance(word.value, ast.Constant) and word.value.value is False
                    for word in keywords
                )
                if not is_plain and not makes_literal(shown, known):
                    yield node.lineno
            case ast.Assign(targets=[ast.Attribute(attr=attribute)], value=value) if attribute in MARKUP_ATTRIBUTES:
                if not makes_literal(value, known) and not is_inert(value):
                    yield node.lineno
            case _:
                pass


def markup_parsers(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr="from_markup") | ast.ImportFrom(module="rich.markup" | "textual.markup"):
                yield node.lineno
            case ast.Import(names=names) if any(name.name in ("rich.markup", "textual.markup") for name in names):
                yield node.lineno
            case _:
                pass


def environment_readers(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr="environ" | "environb" | "getenv" | "putenv"):
                yield node.lineno
            case ast.ImportFrom(module="os", names=names) if {n.name for n in names} & {"environ", "getenv"}:
                yield node.lineno
            case _:
                pass


def swallowed_errors(tree: ast.Module) -> Iterator[int]:
    """A broad `except` whose body does nothing."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        is_broad = node.type is None or name_of(node.type) in ("Exception", "BaseException")
        if is_broad and all(isinstance(step, ast.Pass | ast.Continue) for step in node.body):
            yield node.lineno


def dotenv_searches(tree: ast.Module) -> Iterator[int]:
    """load_dotenv looks for a file upwards from the project; ours is named."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node) in ("load_dotenv", "find_dotenv"):
            yield node.lineno


def fields_that_show_raw_text(tree: ast.Module) -> Iterator[int]:
    """Textual's own fields show what is pasted as it is, escape sequences too; ours hold only what can be seen."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="Input" | "TextArea")):
                yield node.lineno
            case ast.ClassDef(name=name, bases=bases) if name not in ("LineField", "GraphemeArea"):
                if {"Input", "TextArea"} & set(map(name_of, bases)):
                    yield node.lineno
            case _:
                pass


RULES: list[tuple[Rule, str, str]] = [
    (text_that_could_be_markup, "Static(reply)", "Static(Text(reply))"),
    (text_that_could_be_markup, 'self.notify(f"no {name}")', 'self.notify(f"no {name}", markup=False)'),
    (text_that_could_be_markup, 'Label("plain")', 'Label(Content("plain"))'),
    (text_that_could_be_markup, "Option(a if b else c)", "def f(a: Text) -> Option: return Option(a)"),
    (text_that_could_be_markup, "widget.border_title = title", "widget.border_title = Content(title)"),
    (text_that_could_be_markup, "widget.tooltip = '[b]'", "widget.tooltip = 'Leave'"),
    (
        text_that_could_be_markup,
        "def shown(a) -> str: ...\nStatic(shown(a))",
        "def shown(a) -> Text: ...\nStatic(shown(a))",
    ),
    (markup_parsers, "Content.from_markup(text)", "Content(text)"),
    (markup_parsers, "from rich.markup import escape", "from rich.text import Text"),
    (environment_readers, 'os.environ.get("HOME")', "profile.environ.get('HOME')"),
    (environment_readers, "from os import getenv", "from os import fspath"),
    (swallowed_errors, "try: f()\nexcept Exception: pass", "try: f()\nexcept OSError: pass"),
    (swallowed_errors, "try: f()\nexcept: pass", "try: f()\nexcept Exception: log.exception('f')"),
    (dotenv_searches, "load_dotenv()", "dotenv_values(path)"),
    (fields_that_show_raw_text, "Input(text)", "LineField(text)"),
    (fields_that_show_raw_text, "class Words(Input): ...", "class LineField(Input): ..."),
    (fields_that_show_raw_text, "TextArea()", "GraphemeArea()"),
]

MAY_READ_THE_ENVIRONMENT = ("agent/profile.py", "agent/open.py", "tui/cli/")


@pytest.mark.parametrize(("rule", "broken", "kept"), RULES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_rule_finds_what_breaks_it_and_nothing_else(rule: Rule, broken: str, kept: str) -> None:
    assert list(rule(ast.parse(broken)))
    assert list(rule(ast.parse(kept))) == []


@cache
def breaches() -> dict[Rule, list[str]]:
    """What breaks each rule, every file parsed once."""
    found: dict[Rule, list[str]] = {rule: [] for rule, _, _ in RULES}
    for file in PRODUCT:
        name, tree = file.relative_to(REPOSITORY).as_posix(), ast.parse(file.read_bytes())
        for rule, lines in found.items():
            if rule is environment_readers and name.startswith(MAY_READ_THE_ENVIRONMENT):
                continue
            lines += [f"{name}:{line}" for line in rule(tree)]
    return found


@pytest.mark.parametrize("rule", dict.fromkeys(rule for rule, _, _ in RULES), ids=lambda rule: rule.__name__)
def test_the_product_keeps(rule: Rule) -> None:
    assert breaches()[rule] == []


def test_no_module_is_named_for_holding_anything() -> None:
    vague = {"utils", "util", "helpers", "helper", "manager", "misc", "common"}
    assert [file for file in PRODUCT if file.stem in vague or vague & set(file.relative_to(REPOSITORY).parts)] == []
