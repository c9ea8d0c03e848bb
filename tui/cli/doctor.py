"""`hermes doctor`: what is wrong here and what to do about it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import to_builtins

from agent.doctor.examination import examine
from agent.doctor.finding import Finding, Grade
from agent.workspace import find_workspace
from tui.cli.console import answer, data, has_screen
from tui.cli.options import DoctorOptions, folder

TERMINAL = "terminal"
COLUMNS, LINES = 80, 24  # what the screen is laid out for; a smaller one folds


def run_doctor(options: DoctorOptions, environ: Mapping[str, str]) -> int:
    """1 where there is a problem. With --json one object is printed. Raises UserError."""
    if options.terminal:
        return _try_out(options, environ)
    findings = [
        *examine_terminal(environ),
        Finding(TERMINAL, Grade.OK, "What it can do is asked and shown by: hermes doctor --terminal"),
        *examine(environ, options.profile, find_workspace(folder("")), is_offline=options.offline),
    ]
    return _tell(findings, options)


def _try_out(options: DoctorOptions, environ: Mapping[str, str]) -> int:
    """A page on the terminal where it can draw one, and behind it what is known."""
    findings = list(examine_terminal(environ))
    is_able = has_screen() and all(finding.grade is not Grade.PROBLEM for finding in findings)
    if options.as_json or not is_able:
        return _tell(findings, options)
    from tui.cli.terminal_page import try_out

    told, exit_code = try_out(findings, environ)
    return exit_code or _tell([*findings, *told], options)


def _tell(findings: Sequence[Finding], options: DoctorOptions) -> int:
    worst = max((finding.grade for finding in findings), key=list(Grade).index)
    if options.as_json:
        data(json.dumps({"worst": worst, "findings": [to_builtins(finding) for finding in findings]}))
    else:
        answer(_shown(findings))
    return 1 if worst is Grade.PROBLEM else 0


def examine_terminal(environ: Mapping[str, str]) -> Iterator[Finding]:
    if not (os.isatty(0) and os.isatty(1)):
        yield Finding(TERMINAL, Grade.NOTE, "This is not run on a terminal, so nothing is known of it.")
        return
    yield _kind(environ.get("TERM", ""))
    yield _colours(environ)
    yield _size()
    if environ.get("TMUX"):
        fix = "set -g focus-events on; set -g set-clipboard on; set -g extended-keys on (in ~/.tmux.conf)"
        yield Finding(TERMINAL, Grade.NOTE, "It runs in tmux, which passes on what its options say.", fix)
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        yield Finding(
            TERMINAL, Grade.NOTE, "It is reached over SSH: a copy goes to the clipboard only where it allows that."
        )


def _kind(term: str) -> Finding:
    if term in ("", "dumb"):
        said = f"TERM is {term or 'not set'}: the screen can't be drawn."
        return Finding(TERMINAL, Grade.PROBLEM, said, "export TERM=xterm-256color, if that is what it is")
    return Finding(TERMINAL, Grade.OK, f"TERM is {term}.")


def _colours(environ: Mapping[str, str]) -> Finding:
    if environ.get("COLORTERM") in ("truecolor", "24bit"):
        return Finding(TERMINAL, Grade.OK, "It says that it has all colours.")
    said = "It does not say that it has all colours, so they are approximated."
    return Finding(TERMINAL, Grade.NOTE, said, "export COLORTERM=truecolor, if it has them")


def _size() -> Finding:
    try:
        columns, lines = os.get_terminal_size(1)
    except OSError:
        return Finding(TERMINAL, Grade.NOTE, "It does not tell its size; 80 columns by 24 lines are assumed.")
    said = f"It has {columns} columns and {lines} lines."
    if columns < COLUMNS or lines < LINES:
        return Finding(TERMINAL, Grade.NOTE, said, f"the screen is easier to read from {COLUMNS} by {LINES} on")
    return Finding(TERMINAL, Grade.OK, said)


def _shown(findings: Sequence[Finding]) -> str:
    lines: list[str] = []
    for area, group in groupby(findings, lambda finding: finding.area):
        lines += [area, *(line for finding in group for line in _lines(finding))]
    counts = [f"{count} {grade}" for grade in Grade if (count := sum(finding.grade is grade for finding in findings))]
    return "\n".join([*lines, "", ", ".join(counts)])


def _lines(finding: Finding) -> Iterator[str]:
    yield f"  {finding.grade:<8} {' '.join(finding.text.split())}"
    if finding.fix:
        yield f"           {finding.fix}"
