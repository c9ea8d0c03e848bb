"""`hermes sessions repair`: works on the file itself, since a damaged one opens no profile."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import to_builtins

from agent.config.home import find_home
from session.errors import UserError
from session.repair import Report, repair
from session.repair_checks import Fault
from tui.cli.console import answer, data
from tui.cli.log_file import masking_unopened
from tui.cli.sessions.options import RepairOptions

LEFT = 1  # the exit code


class NothingToRepair(UserError):
    """There is no store yet."""

    sentence = "There is no {path} yet, so there is nothing to repair."


def run_repair(options: RepairOptions, environ: Mapping[str, str]) -> int:
    home = find_home(environ, options.profile)
    if not home.db.exists():
        raise NothingToRepair(path=home.db)
    report = repair(home.db, time.time(), looks_only=options.is_dry)
    masking = masking_unopened(home, environ)
    if options.as_json:
        data(json.dumps(masking.deep(to_builtins(report))))
    else:
        answer(masking.text("\n".join(_lines(report))))
    return LEFT if report.left else 0


def _lines(report: Report) -> Iterator[str]:
    if not report.found:
        yield f"{Path(report.path)} is sound: the file, every session, and the search index."
    yield from _listed("Found", report.found)
    yield from _listed("Mended", report.mended)
    yield from _listed("Left", report.left)
    yield from report.to_do


def _listed(head: str, faults: Sequence[Fault]) -> Iterator[str]:
    if faults:
        yield f"{head}:"
        yield from (f"  {f'{fault.session_id}: ' if fault.session_id else ''}{fault.what}" for fault in faults)
