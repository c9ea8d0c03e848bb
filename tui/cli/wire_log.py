"""`hermes logs wire`: the last requests to model servers, without opening anything else."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping

from msgspec import json

from agent.config.home import find_home
from agent.providers.wire_log import Exchange, wire_log_path, written
from tui.cli.console import answer, data, remark
from tui.cli.options import WireLogOptions
from tui.cli.table import table

HEADS = ("when", "session", "model", "host", "try", "status", "sent", "received", "opened", "first", "end", "outcome")


def run_wire_log(options: WireLogOptions, environ: Mapping[str, str]) -> int:
    """With --json one array is printed. Raises UserError."""
    home = find_home(environ, options.profile)
    found = deque(written(wire_log_path(home.logs), options.session), options.lines)
    if options.as_json:
        data(json.encode(list(found)).decode())
    elif found:
        answer(table([HEADS, *map(_row, found)]))
    else:
        whose = f"the session {options.session}" if options.session else "this profile"
        remark(f"No request of {whose} is in the log: {home.shown}/logs/wire.log")
    return 0


def _row(one: Exchange) -> tuple[str, ...]:
    return (
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one.at)),
        one.session or "-",
        f"{one.provider}:{one.model}",
        one.host or "-",
        str(one.attempt),
        str(one.status or "-"),
        _size(one.sent_bytes),
        _size(one.received_bytes),
        _seconds(one.opened_s),
        _seconds(one.first_s),
        _seconds(one.ended_s),
        one.outcome,
    )


def _size(size_bytes: int) -> str:
    return f"{size_bytes} B" if size_bytes < 1000 else f"{size_bytes / 1000:,.1f} kB"


def _seconds(passed_s: float | None) -> str:
    return "-" if passed_s is None else f"{passed_s:.2f} s"
