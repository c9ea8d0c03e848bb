"""What the sandbox for commands makes of a verdict: nothing milder, a question about each way out, and a word where."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.approvals.policy import judge
from agent.approvals.shell_verdict import Decision, Mode
from agent.approvals.standing import NOTHING_HELD, Kind, Source, Standing, held
from agent.approvals.verdict import Allow, Ask, Refuse
from agent.config.terminal_settings import Sandboxing
from agent.tools import sandbox, terminal
from agent.tools.base import Workplace
from agent.tools.registry import definitions
from agent.tools.session_sandbox import SessionSandbox

LS = held([Standing(Kind.SHELL, Decision.ALLOW, "npm *", Source.EVERYWHERE)])


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """Where no bubblewrap is found."""
    for name in ("ws", "person"):
        (tmp_path / name).mkdir()
    root = tmp_path / "ws"
    environ = {"HOME": str(tmp_path / "person"), "PATH": "/bin"}
    return Workplace(root, root, environ, tmp_path / "outputs", sandbox=SessionSandbox(Sandboxing.AUTO))


@pytest.fixture
def works(place, monkeypatch) -> Workplace:
    """Where it would work: only what is decided by that is looked at here."""
    monkeypatch.setattr("agent.approvals.sandbox_policy.why_not", lambda place: "")
    return place


def shell(place: Workplace, command: str, mode: Mode = Mode.ASK, rules=NOTHING_HELD, **args: object):
    touch = terminal.touches({"command": command, **args}, place)
    return judge("terminal", touch, place, rules, mode)


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.YOLO])
@pytest.mark.parametrize("command", ["echo x", "npm test", "touch x"])
def test_the_way_out_is_asked_about_each_time_in_every_mode_and_whatever_is_allowed(works, command, mode):
    found = shell(works, command, mode, LS, outside=True)
    assert isinstance(found, Ask)
    assert "leaves the sandbox" in found.why
    assert found.details.is_once and not found.details.may_save and not found.details.offers
    assert found.details.command == command


def test_a_question_about_a_way_out_tells_what_failed_inside_and_what_is_dangerous(works):
    works.sandbox.note_failure("rm -rf d", "rm: cannot remove 'd': Read-only file system")
    found = shell(works, "rm -rf d", Mode.YOLO, outside=True)
    assert isinstance(found, Ask)
    assert found.why.endswith("failed inside with “rm: cannot remove 'd': Read-only file system”")
    assert [mark.kind for mark in found.details.marks] == ["delete"]


def test_the_sandbox_lowers_nothing_of_what_is_asked_about(works):
    for command, rules in (("touch x", NOTHING_HELD), ("npm test", LS), ("echo x", NOTHING_HELD)):
        inside, before = shell(works, command, rules=rules), shell(replace(works, sandbox=SessionSandbox()), command)
        assert isinstance(inside, Ask) == (isinstance(before, Ask) and rules is NOTHING_HELD)
    asked = shell(works, "touch x")
    assert isinstance(asked, Ask) and asked.why.endswith(", in the sandbox")
    assert isinstance(shell(works, "rm -rf /", outside=True), Refuse)


def test_without_a_sandbox_auto_says_so_and_require_refuses_whatever_is_asked_for(place):
    why = sandbox.why_not(replace(place, environ={**place.environ, "PATH": str(place.root)}))
    nowhere = replace(place, environ={**place.environ, "PATH": str(place.root)})
    asked = shell(nowhere, "touch x")
    assert isinstance(asked, Ask) and asked.why.endswith(f", outside of the sandbox, since {why}")
    required = replace(nowhere, sandbox=SessionSandbox(Sandboxing.REQUIRE))
    for more in ({}, {"outside": True}):
        refused = shell(required, "echo x", Mode.YOLO, **more)
        assert refused == Refuse(f"the setting terminal.sandbox requires a sandbox, and {why}", "terminal.sandbox")
    assert isinstance(shell(replace(nowhere, sandbox=SessionSandbox()), "echo x"), Allow)


def test_the_model_is_told_of_the_way_out_only_while_there_is_a_sandbox():
    told = [
        next(entry["function"] for entry in definitions(is_sandboxed=is_sandboxed) if "terminal" in str(entry))
        for is_sandboxed in (False, True)
    ]
    assert ["outside" in each["parameters"]["properties"] for each in told] == [False, True]
    assert ["sandbox" in each["description"] for each in told] == [False, True]
