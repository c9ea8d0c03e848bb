"""`hermes completion`: what a shell offers is what the parsers take, in each shell that this machine has."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tui.cli.arguments import COMMANDS, whole_tree
from tui.cli.command_tree import every
from tui.cli.completion import SHELLS

BASH = """\
source {script}
COMP_WORDS=({words} '') COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_hermes
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# The builtins of zsh that offer words can be called while it completes and at no other time.
ZSH = """\
compdef() {{ }}
compadd() {{ shift; print -l -- $@ }}
_describe() {{ print -l -- ${{${{(P)2}}%%:*}} }}
_files() {{ }}
source {script}
words=({words} '') CURRENT=$#words
_hermes
"""
FISH = """\
source {script}
complete -C '{words} ' | string replace -r '\\t.*' ''
complete -C '{words} {dash}' | string replace -r '\\t.*' ''
"""
ASKED = {"bash": BASH, "zsh": ZSH, "fish": FISH}
FLAGS = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}

Offered = Callable[[str], set[str]]


@pytest.fixture(params=list(SHELLS))
def offered(request: pytest.FixtureRequest, tmp_path: Path) -> Offered:
    """What a shell offers behind some words and a blank."""
    shell: str = request.param
    if (program := shutil.which(shell)) is None:
        pytest.skip(f"this machine has no {shell}")
    script = tmp_path / "script"
    script.write_text(SHELLS[shell](whole_tree()))

    def offer(words: str) -> set[str]:
        dash = "" if words.rpartition(" ")[2].startswith("-") else "-"  # fish offers options behind that alone
        asked = ASKED[shell].format(script=script, words=words, dash=dash)
        done = subprocess.run(
            [program, *FLAGS[shell], "-c", asked], cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False
        )
        assert done.stderr == ""
        return {line for line in done.stdout.splitlines() if line and line != "script"}

    return offer


def test_behind_hermes_stand_the_commands_and_the_options_of_the_screen(offered: Offered) -> None:
    assert offered("hermes") >= {*COMMANDS, "--continue", "--resume", "--profile", "--version"}


@pytest.mark.parametrize("before", ["hermes chat", "hermes -p chat sessions", "hermes tui --resume chat"])
def test_what_follows_a_command_is_its_own(offered: Offered, before: str) -> None:
    """Also where the value of an option is spelled like a command."""
    place = " ".join(
        word for word in before.split() if word in ("hermes", "sessions", "tui") or before == "hermes chat"
    )
    [command] = [one for one in every(whole_tree()) if one.path == place]
    own = {name for option in command.options for name in option.names} | {one.name for one in command.commands}
    assert offered(before) == own | {"-p", "--profile"}


@pytest.mark.parametrize("before", ["hermes chat --mode", "hermes --mode"])
def test_behind_an_option_stand_its_choices(offered: Offered, before: str) -> None:
    assert offered(before) == {"ask", "accept-edits", "plan", "yolo"}


@pytest.mark.parametrize("before", ["hermes chat --query", "hermes chat --cwd"])
def test_behind_an_option_that_takes_anything_stand_files(offered: Offered, before: str) -> None:
    assert offered(before) == set()


def test_a_word_can_be_one_of_few(offered: Offered) -> None:
    assert offered("hermes completion") >= {"bash", "zsh", "fish"}
