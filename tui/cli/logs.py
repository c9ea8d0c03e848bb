"""`hermes logs`: the end of the log, without opening anything else."""

from __future__ import annotations

from collections.abc import Mapping

from agent.config.home import find_home
from tui.cli.console import answer, remark
from tui.cli.log_file import tail
from tui.cli.options import LogOptions


def run_logs(options: LogOptions, environ: Mapping[str, str]) -> int:
    """Raises UserError."""
    home = find_home(environ)
    lines = tail(home.logs / "hermes.log", options.lines)
    if lines:
        answer("\n".join(lines))
    else:
        remark(f"The log is empty: {home.shown}/logs/hermes.log")
    return 0
