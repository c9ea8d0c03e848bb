"""`hermes approvals`: what would become of a command, without running anything; which rules stand; taking one back."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import to_builtins

from agent.approvals.grants import Grants
from agent.approvals.shell_judge import judge_command
from agent.approvals.shell_rules import Rules
from agent.approvals.shell_verdict import CommandVerdict, Decision, Part
from agent.approvals.standing import Source
from agent.config.home import Home, find_home
from agent.config.load import load_settings
from agent.config.settings import Loaded
from agent.tools.base import Workplace
from agent.workspace import find_workspace
from session.errors import UserError
from tui.cli.console import answer, data, remark
from tui.cli.options import ApprovalsOptions, folder

Record = dict[str, object]

_WIDTH = 78


class NothingToJudge(UserError):
    """Neither a command nor --stdin."""

    sentence = "There is no command to judge. Name one: hermes approvals test 'ls -l'"


class NoSuchRule(UserError):
    """No rule reads like this."""

    sentence = "There is no rule {rule}. `hermes approvals list` shows those there are."


class NotInFile(UserError):
    """The rule holds, but not because of config.yaml."""

    sentence = "The rule {rule} does not stand in config.yaml, so it can't be taken out there."


_PLACES = {Source.PROJECT: "this project", Source.EVERYWHERE: "everywhere", Source.SESSION: "this session"}


class _Line(msgspec.Struct):
    """A line of --stdin."""

    cmd: str


def run_approvals(options: ApprovalsOptions, environ: Mapping[str, str]) -> int:
    """Returns the exit code: 1 where a line of --stdin was no command. Raises UserError."""
    cwd, home = folder(options.cwd), find_home(environ, options.profile)
    place, grants = Workplace(cwd, find_workspace(cwd), environ, home.outputs), _grants(home, environ)
    match options.verb:
        case "list":
            return _list(grants, place, as_json=options.as_json)
        case "revoke":
            return _revoke(grants, place, options)
        case _:
            return _test(options, place, grants.held("", place.root).shell)


def _test(options: ApprovalsOptions, place: Workplace, rules: Rules) -> int:
    if options.from_stdin:
        return _judge_lines(place, rules)
    if not options.command.strip():
        raise NothingToJudge
    verdict = judge_command(options.command, place, rules)
    if options.as_json:
        data(json.dumps(_record(verdict)))
    else:
        answer(_described(verdict))
    return 0


def _grants(home: Home, environ: Mapping[str, str]) -> Grants:
    shown = f"{home.shown}/{home.config.name}"

    def read() -> Loaded:
        return load_settings(home.config, shown, environ=environ)

    loaded = read()
    for problem in loaded.problems:
        remark(problem.sentence)
    return Grants(home.config, shown, loaded.settings, read)


# --- the rules that stand


def _list(grants: Grants, place: Workplace, *, as_json: bool) -> int:
    found = grants.held("", place.root).standing
    if as_json:
        data(json.dumps([to_builtins(one) for one in found]))
        return 0
    lines = [f"{one.kind:5}  {one}  ({_PLACES[one.source]})" for one in found]
    answer("\n".join(lines) or "No rules stand: what changes anything is asked about.")
    return 0


def _revoke(grants: Grants, place: Workplace, options: ApprovalsOptions) -> int:
    meant = [one for one in grants.held("", place.root).standing if options.rule in (one.text, str(one))]
    if not meant:
        raise NoSuchRule(rule=options.rule)
    gone = [one for one in meant if grants.revoke("", place.root, one)]
    if not gone:
        raise NotInFile(rule=options.rule)
    if options.as_json:
        data(json.dumps([to_builtins(one) for one in gone]))
    else:
        answer("\n".join(f"Took back: {one}  ({_PLACES[one.source]})" for one in gone))
    return 0


# --- judging


def _judge_lines(place: Workplace, rules: Rules) -> int:
    code = 0
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            command = msgspec.json.decode(line, type=_Line).cmd
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            data(json.dumps({"error": f'This line is not {{"cmd": "a command"}}: {error}'}))
            code = 1
            continue
        data(json.dumps(_record(judge_command(command, place, rules))))
    return code


# --- what a program reads


def _record(verdict: CommandVerdict) -> Record:
    """A rule that forbids counts as never: nothing but taking the rule away lets the command run."""
    marks = [{"kind": mark.kind, "why": mark.why} for mark in verdict.marks]
    return {"verdict": _told(verdict.verdict), "parts": [_part_record(part) for part in verdict.parts], "marks": marks}


def _part_record(part: Part) -> Record:
    return {
        "text": part.text,
        "argv": list(part.argv) if part.argv is not None else None,
        "verdict": _told(part.verdict),
        "rule": part.rule,
        "why": part.why,
    }


def _told(decision: Decision) -> str:
    return "never" if decision is Decision.DENY else str(decision)


# --- what a person reads


def _described(verdict: CommandVerdict) -> str:
    lines = [_told(verdict.verdict)]
    for part in verdict.parts:
        lines += _part_lines(part)
    lines += [f"  careful: it {mark.why}" for mark in verdict.marks]
    return "\n".join(lines)


def _part_lines(part: Part) -> Iterator[str]:
    """One line of the command, however long it is, and one or two about it."""
    yield f"  {_told(part.verdict):5}  {_shortened(part.text, _WIDTH - 9)}"
    yield f"         {part.rule}{f': it {part.why}' if part.why else ''}"


def _shortened(text: str, width: int) -> str:
    from agent.literal import visible

    line = " ".join(visible(text, fold_blanks=True).split())
    return line if len(line) <= width else f"{line[: width - 1]}…"
