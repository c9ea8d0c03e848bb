"""The table of commands that only read, held against the programs themselves."""

from __future__ import annotations

import os
import random
import shlex
from collections.abc import Iterator

import pytest

from agent.approvals.shell_git import VERBS
from agent.approvals.shell_options import Form
from agent.approvals.shell_read_only import PROGRAMS

ROUNDS = int(os.environ.get("HERMES_SOAK") or 1)
A_ROUND = 150
WORDS = (
    "a.py",
    "b.py",
    "list.txt",
    "src",
    "P",
    "-",
    ".",
    "1",
    "x",
    "HEAD",
    "main",
    "--",
    "data.json",
    "P/x",
    "0,1",
    "+1",
)
SLY = (
    "-o",
    "--output=P",
    "-oP",
    "--files0-from=list.txt",
    "-w",
    "-i",
    "-f",
    "-T",
    "-D",
    "-m",
    "-d",
    "--exec=touch",
    "-O",
    "-l",
)


def call(name: str, allowed: Form, chance: random.Random) -> list[str]:
    """The program with some of the options that the table names, and with words that are not what it expects."""
    options = [*option_spellings(allowed)] or [["-x"]]
    words: list[str] = []
    for _ in range(chance.randint(0, 4)):
        words += chance.choice(options)
        if chance.random() < 0.5:
            words.append(chance.choice(WORDS))
    words += chance.choices(WORDS, k=chance.randint(0, 3))
    if chance.random() < 0.3:
        words.insert(chance.randrange(len(words) + 1), chance.choice(SLY))
    return [*name.split(), *words]


def option_spellings(allowed: Form) -> Iterator[list[str]]:
    yield from ([f"-{letter}"] for letter in allowed.switches + allowed.numbered)
    for letter in allowed.valued:
        yield from ([f"-{letter}", "P"], [f"-{letter}1"])
    for name in allowed.long:
        plain = name.rstrip("=?")
        yield from ([f"--{plain}"], [f"--{plain}=P"], [f"--{plain}", "P"]) if plain != name else ([f"--{plain}"],)


@pytest.mark.soak
@pytest.mark.timeout(0 if ROUNDS > 1 else 60)
def test_no_form_that_the_table_allows_writes(bench, sandbox):
    if sandbox.why_not:
        pytest.skip(f"nothing can be run here: {sandbox.why_not}")
    forms = PROGRAMS | {f"git {verb}": allowed for verb, allowed in VERBS.items()}
    forms.pop("sleep")
    run = 0
    for number in range(ROUNDS * A_ROUND):
        chance = random.Random(f"table {number}")
        name = chance.choice(sorted(forms))
        command = shlex.join(call(name, forms[name], chance))
        if bench.decides(command) == "allow":
            run += 1
            effect = sandbox.effect(command)
            assert not effect, f"allowed, and not harmless ({effect}): {command}"
    assert run
