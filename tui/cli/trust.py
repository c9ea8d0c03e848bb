"""`hermes trust`: which folders may bring settings of their own, and what those would do."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent.config.home import Home, launch_home
from agent.config.trust import Acting, Standing, Trust
from agent.config.trust_state import TrustedFolder
from agent.workspace import find_workspace
from session.errors import UserError
from session.ownership import refuse_foreign_or_newer
from tui.cli.console import answer, ask, data, has_screen, remark
from tui.cli.options import TrustOptions, folder

Record = dict[str, object]


class NobodyToAsk(UserError):
    """`trust add` without a terminal."""

    sentence = "There is nobody to ask, so {path} is not trusted. Look at the list; to trust it: hermes trust add --yes"


def run_trust(options: TrustOptions, environ: Mapping[str, str]) -> int:
    """Returns the exit code: 1 where the answer was no. With --json one object or array is printed. Raises UserError."""
    home = launch_home(environ)
    trust = Trust.of(home)
    match options.verb:
        case "add":
            return _add(trust, home, find_workspace(folder(options.folder)), options)
        case "remove":
            return _remove(trust, home, options)
        case _:
            return _list(trust, options)


def about_run(environ: Mapping[str, str], cwd: Path, *, is_trusting: bool) -> str:
    """What a run without a screen says of the files of its folder, "" where none would act.

    What such a run does depends on its command line alone, not on what was trusted once: --trust is for this run.
    """
    root = find_workspace(cwd)
    files = [acting.path for acting in Trust.of(launch_home(environ)).would_act(root) if acting.is_used]
    if not files:
        return ""
    if is_trusting:
        return f"Trusted for this run: {', '.join(files)} in {root}"
    return f"{root} brings {_count(len(files))} that would act; without --trust nothing of that does."


def _list(trust: Trust, options: TrustOptions) -> int:
    recorded = trust.listing()
    folders = [find_workspace(folder(options.folder))] if options.folder else list(recorded)
    if options.as_json:
        data(json.dumps([_record(path, recorded.get(path), _present(trust, path)) for path in folders]))
    elif folders:
        answer("\n\n".join(_described(path, recorded.get(path), _present(trust, path)) for path in folders))
    else:
        remark("No folder is trusted. `hermes trust add` trusts the one you are in.")
    return 0


def _add(trust: Trust, home: Home, root: Path, options: TrustOptions) -> int:
    recorded = trust.listing().get(root)  # one that can't be used is told before anything is asked
    shown = trust.would_act(root)
    fresh = [acting for acting in shown if acting.standing in (Standing.NEW, Standing.CHANGED)]
    if not options.as_json:
        answer(_described(root, recorded, shown))
    if fresh and not options.yes:
        if options.as_json or not has_screen():
            raise NobodyToAsk(path=root)
        if not ask(f"Trust {_count(len(fresh))} of this folder as shown? [y/N] "):
            remark("Nothing was changed.")
            return 1
    if fresh:
        _prepare(home)
        trust.add(root, shown)
    if options.as_json:
        data(json.dumps(_record(root, trust.listing().get(root), trust.would_act(root))))
    else:
        remark(
            f"Trusted: {root}. A file that changes is ignored until it is added again." if fresh else _nothing(shown)
        )
    return 0


def _remove(trust: Trust, home: Home, options: TrustOptions) -> int:
    # A folder that is gone can still be removed, and one that became part of a git tree since.
    named = Path(options.folder).expanduser() if options.folder else folder("")
    recorded = trust.listing()
    places = dict.fromkeys((named.resolve(), find_workspace(named)))
    found = next((place for place in places if place in recorded), None)
    if found is not None:
        _prepare(home)
        trust.remove(found)
    if options.as_json:
        data(json.dumps({"folder": str(found or named), "removed": found is not None}))
    else:
        remark(
            f"Not trusted any more: {found}"
            if found
            else f"{named} was not trusted. `hermes trust list` shows what is."
        )
    return 0 if found else 1


def _prepare(home: Home) -> None:
    """Raises UserError where the home can't be written in or is another program's."""
    if home.db.exists() and home.db.stat().st_size > 0:
        refuse_foreign_or_newer(home.db)
    home.create()


# --- what a person reads


def _described(root: Path, entry: TrustedFolder | None, shown: Sequence[Acting]) -> str:
    since = f"trusted since {time.strftime('%Y-%m-%d %H:%M', time.localtime(entry.since))}" if entry else "not trusted"
    lines = [f"{root}  ({since})"]
    for acting in shown:
        lines += [f"  {acting.path}  ({acting.standing})", *(f"    {_one_line(effect)}" for effect in acting.does)]
    return "\n".join(lines if shown else [*lines, "  It brings nothing that would act."])


def _nothing(shown: Sequence[Acting]) -> str:
    if any(acting.standing is Standing.TRUSTED for acting in shown):
        return "All of it is trusted already."
    return "There is nothing to trust."


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _count(files: int) -> str:
    return "1 file" if files == 1 else f"{files} files"


# --- what a program reads


def _record(root: Path, entry: TrustedFolder | None, shown: Sequence[Acting]) -> Record:
    files = [
        {"path": item.path, "kind": item.kind, "standing": item.standing, "sha256": item.digest, "does": item.does}
        for item in shown
    ]
    return {"folder": str(root), "trusted": entry is not None, "since": entry.since if entry else None, "files": files}


def _present(trust: Trust, root: Path) -> tuple[Acting, ...]:
    return trust.would_act(root) if root.is_dir() else ()
