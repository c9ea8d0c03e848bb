"""`hermes logs`: the log, without opening anything else, and going on with it."""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping

from agent.config.home import Home, find_home
from agent.config.load import load_settings
from agent.providers.keys import key_names
from tui.cli.console import answer, remark
from tui.cli.log_file import masking_unopened
from tui.cli.log_reading import LogLines, Wanted
from tui.cli.options import LogOptions

POLL_S = 0.25


def run_logs(options: LogOptions, environ: Mapping[str, str]) -> int:
    """Ctrl+C ends it with 130, as it does any command. Raises UserError."""
    home = find_home(environ, options.profile)
    # What was logged is masked already, unless a key became one only since.
    names = key_names(load_settings(home.config, is_remembered=False).settings)
    mask = masking_unopened(home, environ, names).text
    wanted = Wanted(options.since, options.level)
    older, newest = LogLines(home.logs / "hermes.log.1"), LogLines(home.logs / "hermes.log")
    kept: deque[str] = deque(maxlen=options.lines)
    for log in (older, newest):
        kept += filter(wanted.keeps, log.new())
        if not options.follow or log is older:
            kept += filter(wanted.keeps, log.unfinished())
    older.close()
    is_read = _show(kept, mask)
    if options.follow and is_read:
        _follow(newest, wanted, mask)
    elif not kept:
        remark(_nothing(home, options))
    newest.close()
    return 0


def _follow(log: LogLines, wanted: Wanted, mask: Callable[[str], str]) -> None:
    """Show what comes until nobody reads it any more."""
    while not _has_left() and _show(filter(wanted.keeps, log.new()), mask):
        time.sleep(POLL_S)


def _show(lines: Iterable[str], mask: Callable[[str], str]) -> bool:
    """False when nobody reads it any more."""
    return answer(mask("\n".join(lines)))


def _has_left() -> bool:
    """Whether the reader of a pipe (`| head`) is gone."""
    poller = select.poll()
    poller.register(1, 0)
    return any(seen & (select.POLLERR | select.POLLHUP) for _, seen in poller.poll(0))


def _nothing(home: Home, options: LogOptions) -> str:
    file = f"{home.shown}/logs/hermes.log"
    if options.since is None and not options.level:
        return f"The log is empty: {file}"
    return f"Nothing of that kind is in the log: {file}"
