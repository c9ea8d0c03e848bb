"""`hermes completion`: a script by which a shell completes the command line, made from the parsers.

Each script walks along the words that are there, to the command that they name (`at`), and offers what may follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from shlex import quote

from tui.cli.command_tree import PROGRAM, Argument, Command, every
from tui.cli.console import data
from tui.cli.options import CompletionOptions

BASH = """\
# Completion of hermes for bash. In ~/.bashrc: eval "$(hermes completion bash)"
_hermes() {{
    local at={program} before=${{COMP_WORDS[COMP_CWORD-1]}} now=${{COMP_WORDS[COMP_CWORD]}} words= i
    [ "$now" = "=" ] && now=
    [ "$before" = "=" ] && before=${{COMP_WORDS[COMP_CWORD-2]}}
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${{COMP_WORDS[i]}}" in
            {valued}) ((i++)) ;;
            {steps}) at="$at ${{COMP_WORDS[i]}}" ;;
        esac
    done
    case "$at $before" in
{choices}
        {valued}) return ;;
    esac
    case $at in
{words}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$now"))
}}
complete -o default -F _hermes {program}
"""

ZSH = """\
#compdef {program}
# Completion of hermes for zsh. In ~/.zshrc, behind compinit: eval "$(hermes completion zsh)"
_hermes() {{
    local at={program} before=$words[CURRENT-1] i
    local -a found
    for ((i = 2; i < CURRENT; i++)); do
        case "$at $words[i]" in
            ({valued}) ((i++)) ;;
            ({steps}) at="$at $words[i]" ;;
        esac
    done
    case "$at $before" in
{choices}
        ({valued}) _files; return ;;
    esac
    case $at in
{words}
    esac
    _describe {program} found || _files
}}
if [ "$funcstack[1]" = "_hermes" ]; then _hermes "$@"; else compdef _hermes {program}; fi
"""

FISH = """\
# Completion of hermes for fish. To keep it: hermes completion fish > ~/.config/fish/completions/hermes.fish
function __hermes_at
    set -l at {program}
    set -l is_value no
    for word in (commandline -opc)[2..]
        if test $is_value = yes
            set is_value no
            continue
        end
        switch "$at $word"
            case {valued}
                set is_value yes
            case {steps}
                set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
complete -c {program} -e
{words}
"""


def run_completion(options: CompletionOptions) -> int:
    """Print the script for a shell."""
    from tui.cli.arguments import whole_tree

    data(SHELLS[options.shell](whole_tree()).rstrip("\n"))
    return 0


def _bash(root: Command) -> str:
    choices = (
        f"        {_either(_called(command, option))}) words={quote(' '.join(option.choices))} at= ;;"
        for command, option in _valued(root)
        if option.choices
    )
    words = (
        f"        {quote(command.path)}) words={quote(' '.join(name for name, _ in _words(command, root)))} ;;"
        for command in every(root)
    )

    return _filled(BASH, root, "|", "\n".join(choices), "\n".join(words))


def _zsh(root: Command) -> str:
    choices = (
        f"        ({_either(_called(command, option))}) compadd -- {' '.join(map(quote, option.choices))}; return ;;"
        for command, option in _valued(root)
        if option.choices
    )
    words = (f"        ({quote(command.path)}) found=({_described(command, root)}) ;;" for command in every(root))
    return _filled(ZSH, root, "|", "\n".join(choices), "\n".join(words))


def _fish(root: Command) -> str:
    lines = [line for command in every(root) for line in _fish_lines(command, root)]
    return _filled(FISH, root, " ", "", "\n".join(lines))


def _fish_lines(command: Command, root: Command) -> Iterator[str]:
    start = f"complete -c {PROGRAM} -n {_fish_quoted(f'__hermes_at {_fish_quoted(command.path)}')}"
    for one in command.commands:
        yield f"{start} -f -a {one.name} -d {_fish_quoted(one.about)}"
    for choice in _choices(command):
        yield f"{start} -f -a {_fish_quoted(choice)}"
    for option in _options(command, root):
        names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
        takes = f" -x -a {_fish_quoted(' '.join(option.choices))}" if option.choices else " -r" if option.shown else ""
        yield f"{start} {names}{takes} -d {_fish_quoted(option.about)}"


SHELLS: dict[str, Callable[[Command], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}


# --- what may stand where


def _options(command: Command, root: Command) -> tuple[Argument, ...]:
    """Those of the command, and the one that counts everywhere; behind `hermes` alone those of `hermes tui`, too."""
    if command is root:
        return (*root.options, *next(one.options for one in root.commands if one.name == "tui"))
    return (*command.options, *(option for option in root.options if option.shown))


def _choices(command: Command) -> Iterator[str]:
    for argument in command.positionals:
        yield from argument.choices


def _words(command: Command, root: Command) -> Iterator[tuple[str, str]]:
    """Each word that may come next, and what it means."""
    yield from ((one.name, one.about) for one in command.commands)
    yield from ((choice, "") for choice in _choices(command))
    yield from ((name, option.about) for option in _options(command, root) for name in option.names)


def _valued(root: Command) -> Iterator[tuple[Command, Argument]]:
    """The options behind which a value stands."""
    return ((command, option) for command in every(root) for option in _options(command, root) if option.shown)


def _called(command: Command, option: Argument) -> list[str]:
    return [f"{command.path} {name}" for name in option.names]


# --- as a shell reads it


def _filled(script: str, root: Command, between: str, choices: str, words: str) -> str:
    valued = [called for command, option in _valued(root) for called in _called(command, option)]
    steps = [command.path for command in every(root) if command is not root]
    return script.format(
        program=PROGRAM, valued=_either(valued, between), steps=_either(steps, between), choices=choices, words=words
    )


def _either(words: list[str], between: str = "|") -> str:
    return between.join(map(quote, words))


def _described(command: Command, root: Command) -> str:
    return " ".join(quote(f"{name}:{about}" if about else name) for name, about in _words(command, root))


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
