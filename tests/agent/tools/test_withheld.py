"""The one line about names that commands do not get: only where a command wants one, and only once."""

from __future__ import annotations

import pytest

from agent.tools.withheld import Withheld

NAMES = frozenset({"OPENAI_API_KEY", "HF_TOKEN"})


@pytest.mark.parametrize(
    "command",
    [
        "curl -H $OPENAI_API_KEY",
        "python -c \"os.environ['OPENAI_API_KEY']\"",
        "env",
        "cd x && env | sort",
        "(set)",
        "export -p",
    ],
)
def test_a_command_that_wants_one_is_told(command: str):
    assert "OPENAI_API_KEY" in Withheld(lambda: NAMES).note(command)


@pytest.mark.parametrize(
    "command",
    ["ls", "echo $MY_OPENAI_API_KEY", "set -e; ls", "env A=1 ls", "export A=1", "echo the env", "environment"],
)
def test_any_other_command_is_not(command: str):
    assert Withheld(lambda: NAMES).note(command) == ""


def test_it_is_told_once_on_one_line():
    withheld = Withheld(lambda: NAMES | {f"K{number}_KEY" for number in range(9)})
    assert withheld.note("env").startswith("HF_TOKEN, K0_KEY, K1_KEY and 8 more are kept from commands")
    assert withheld.note("env") == ""
