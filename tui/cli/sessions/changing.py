"""`hermes sessions rename|pin|unpin|archive|unarchive|relink`."""

from __future__ import annotations

import os
import time
from pathlib import Path

from agent.session_names import one_line
from agent.workspace import find_workspace
from session.errors import UserError
from session.models import Session, TitleSource
from session.tables import Tables
from tui.cli.options import folder
from tui.cli.sessions.options import MarkOptions, RelinkOptions, RenameOptions
from tui.cli.sessions.store import Store, session_record

DONE = {"pin": "Pinned", "unpin": "Not pinned any more", "archive": "Archived", "unarchive": "In the lists again"}


class NothingUnder(UserError):
    """No session worked in a folder that is said to have moved."""

    sentence = (
        "No session worked in {path} or below it, so nothing was changed. `hermes sessions list` shows the folders."
    )


def run_change(options: RenameOptions | MarkOptions | RelinkOptions, store: Store) -> int:
    match options:
        case RenameOptions(session, title):
            return _rename(store, store.find(session), title)
        case MarkOptions():
            return _mark(store, options)
        case RelinkOptions(moved=(old, new)):
            return _follow(store, old, new)
        case RelinkOptions(session, place):
            return _relink(store, store.find(session), folder(place))


def _rename(store: Store, session: Session, title: str) -> int:
    store.write(lambda tables: tables.sessions.set_title(session.id, title, TitleSource.PERSON))
    return _tell(store, [session.id], "Renamed")


def _mark(store: Store, options: MarkOptions) -> int:
    ids = [session.id for session in store.find_all(options.sessions)]

    def mark(tables: Tables) -> None:
        for id_ in ids:
            match options.mark:
                case "pin" | "unpin":
                    tables.sessions.set_pinned(id_, options.mark == "pin")
                case "archive":
                    tables.sessions.archive(id_, time.time())
                case "unarchive":
                    tables.sessions.unarchive(id_)

    store.write(mark)
    return _tell(store, ids, DONE[options.mark])


def _relink(store: Store, session: Session, place: Path) -> int:
    cwd = place.resolve()
    store.write(lambda tables: tables.sessions.relink(session.id, str(cwd), str(find_workspace(cwd))))
    return _tell(store, [session.id], f"Works in {cwd} from now on")


def _follow(store: Store, old: str, new: str) -> int:
    # The old one is not there any more, so that nothing can be resolved in it.
    before, after = os.path.normpath(folder("") / Path(old).expanduser()), folder(new).resolve()
    count = store.write(lambda tables: tables.sessions.relink_folder(before, str(after)))
    if not count:
        raise NothingUnder(path=before)
    said = "1 session works" if count == 1 else f"{count} sessions work"
    store.tell({"sessions": count, "old": before, "new": str(after)}, f"{said} in {after} from now on.")
    return 0


def _tell(store: Store, ids: list[str], done: str) -> int:
    """With --json the sessions as they are now."""

    def changed(tables: Tables) -> list[Session]:
        return [session for id_ in ids if (session := tables.sessions.get(id_))]

    if store.as_json:
        store.data(store.read(lambda tables: [session_record(tables, session) for session in changed(tables)]))
    else:
        store.answer("\n".join(f"{done}: {session.id}  {one_line(session)}" for session in store.read(changed)))
    return 0
