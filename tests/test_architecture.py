"""The floors: imports run downwards only, and what is heavy is loaded late."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
FLOORS = {"tui": ("agent", "session"), "agent": ("session",), "session": ()}
SCREEN = ("textual", "rich")
HEAVY = ("openai", "httpx", "httpx2", "yaml", "dotenv", "markdown_it", "pygments", "rich.markdown", "tree_sitter_bash")


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every module an import statement names, wherever it stands in the file."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, name.name) for name in names)
            case ast.ImportFrom(module=str(module)):
                yield node.lineno, module
            case _:
                pass


def upward(floor: str, tree: ast.AST) -> list[str]:
    """Imports of a floor that it may not know, as "line: module"."""
    above = set(FLOORS) - {floor, *FLOORS[floor]}
    if floor != "tui":
        above.update(SCREEN)
    return [f"{line}: {module}" for line, module in imported(tree) if module.split(".")[0] in above]


@pytest.mark.parametrize(
    ("floor", "source", "found"),
    [
        ("session", "from session.models import Role", []),
        ("session", "def f():\n    import agent.hub", ["2: agent.hub"]),
        ("agent", "from session.db import SessionDB\nfrom textual.app import App", ["2: textual.app"]),
        ("agent", "if TYPE_CHECKING:\n    from tui.app import HermesApp", ["2: tui.app"]),
        ("tui", "import agent.hub, session.db, textual.app", []),
    ],
)
def test_an_upward_import_is_found_wherever_it_stands(floor: str, source: str, found: list[str]) -> None:
    assert upward(floor, ast.parse(source)) == found


@pytest.mark.parametrize("floor", FLOORS)
def test_imports_run_downwards_only(floor: str) -> None:
    files = sorted((REPOSITORY / floor).rglob("*.py"))
    assert files
    found = {str(file.relative_to(REPOSITORY)): upward(floor, ast.parse(file.read_bytes())) for file in files}
    assert {name: lines for name, lines in found.items() if lines} == {}


def loaded_by(statements: str) -> set[str]:
    """The modules that a fresh interpreter holds after running the statements."""
    script = f"{statements}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return set(json.loads(shown.stdout.splitlines()[-1]))


def all_modules(floor: str) -> str:
    names = sorted(
        ".".join(file.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
        for file in (REPOSITORY / floor).rglob("*.py")
    )
    return "\n".join(f"import {name}" for name in names)


def roots(modules: set[str]) -> set[str]:
    return {name.split(".")[0] for name in modules}


def test_the_store_loads_nothing_of_the_floors_above() -> None:
    loaded = roots(loaded_by(all_modules("session")))
    assert loaded & {"agent", "tui", *SCREEN} == set()


def test_the_runtime_loads_without_a_screen() -> None:
    loaded = roots(loaded_by(all_modules("agent")))
    assert loaded & {"tui", *SCREEN} == set()


# What no first frame and no typed key needs. It is loaded behind the first frame, or by who is quicker than that.
LATE = (
    "agent.approvals.policy",
    "agent.calls",
    "agent.commands.builtin",
    "agent.commands.completion",
    "agent.config.trust",
    "agent.turn",
    "tui.screens.approval",
    "tui.screens.approval_step",
    "tui.screens.question",
    "tui.widgets.call_facts",
)


def test_a_start_loads_no_turn_no_command_and_no_question() -> None:
    assert loaded_by("import agent.open, tui.cli.tui, tui.app, tui.driver") & {*LATE, *HEAVY} == set()


@pytest.mark.parametrize("module", ["agent.hub", "agent.open", "agent.commands.builtin", "session.db", "tui.app"])
def test_what_is_heavy_is_not_loaded_with(module: str) -> None:
    assert loaded_by(f"import {module}") & set(HEAVY) == set()
