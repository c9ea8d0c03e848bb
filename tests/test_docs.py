"""The documents name files, functions and commands that exist."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tui.cli.arguments import parse

REPOSITORY = Path(__file__).resolve().parent.parent
DOCUMENTS = [*sorted((REPOSITORY / "docs").glob("*.md")), *(REPOSITORY / name for name in ("README.md", "AGENTS.md"))]

IN_REPOSITORY = re.compile(r"(?<![\w/.~-])(?:tui|agent|session|tests|docs|snapshots|\.ci)/[\w./-]*")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
MEMBER = re.compile(r"`([A-Z][a-z]\w*)\.(\w+)`")
FUNCTION = re.compile(r"`([a-z_]+)` (?:in|\()")
MAKE = re.compile(r"\bmake ([a-z]+)")
PRODUCT = [file for floor in ("tui", "agent", "session") for file in (REPOSITORY / floor).rglob("*.py")]


def named_files(document: Path) -> Iterator[Path]:
    text = document.read_text()
    yield from (REPOSITORY / name.rstrip(".") for name in IN_REPOSITORY.findall(text))
    yield from (document.parent / name for name in LINK.findall(text))


@cache
def definitions() -> frozenset[str]:
    """Every class as its name, every function as its name, every method also as `Class.method`."""
    return frozenset(defined())


def defined() -> Iterator[str]:
    for file in PRODUCT:
        for node in ast.walk(ast.parse(file.read_bytes())):
            match node:
                case ast.ClassDef(name=owner, body=body):
                    yield owner
                    yield from (f"{owner}.{step.name}" for step in body if isinstance(step, FUNCTIONS))
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    yield name
                case _:
                    pass


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    assert [str(file) for file in named_files(document) if not file.exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_method_and_function_that_a_document_names_exists(document: Path) -> None:
    text, known = document.read_text(), definitions()
    named = [f"{owner}.{name}" for owner, name in MEMBER.findall(text)] + FUNCTION.findall(text)
    assert [name for name in named if name not in known] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_make_command_in_a_document_exists(document: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    assert {name for name in MAKE.findall(document.read_text()) if name not in targets} == set()


COMMANDS = re.findall(r"^hermes\b.*$", (REPOSITORY / "README.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_line_of_the_readme_is_understood(line: str) -> None:
    assert parse(shlex.split(line, comments=True)[1:] or ["tui"])
